/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Zorka agents: they register, open a session, send definitions and traces. 401 makes an agent
 * register again, 412 makes it open another session and send its definitions again.
 */
#include <microhttpd.h>
#include <stdio.h>

#include "base/base64.h"
#include "base/cbor.h"
#include "base/hex.h"
#include "base/json.h"
#include "serve/serve_private.h"

#define CBOR_TYPE "application/zorka+cbor+v1"
#define FORM_TYPE "application/x-www-form-urlencoded"
#define RECORD_BYTE 0xc8 /* with which a trace begins */

/* --- JSON requests --- */

/* What agents say; texts that are too long are cut. */
struct agent_request {
	char rkey[512], id[SESSION_ID_SIZE], key[SESSION_KEY_SIZE];
	struct session_names names;
};

static bool key_is(const struct sonde_json_reader *json, const char *name)
{
	return !strcmp(json->text, name);
}

static enum sonde_status read_member(struct sonde_json_reader *json, struct agent_request *agent,
				     struct sonde_error *err)
{
	enum sonde_status status;
	char *place = NULL;
	size_t size = sizeof(agent->names.host);

	if (key_is(json, "rkey")) {
		place = agent->rkey;
		size = sizeof(agent->rkey);
	} else if (key_is(json, "uuid")) {
		place = agent->id;
		size = sizeof(agent->id);
	} else if (key_is(json, "akey") || key_is(json, "authkey")) {
		place = agent->key;
		size = sizeof(agent->key);
	} else if (key_is(json, "name") || key_is(json, "host")) {
		place = agent->names.host;
	} else if (key_is(json, "app")) {
		place = agent->names.app;
	} else if (key_is(json, "env")) {
		place = agent->names.env;
	} else {
		return sonde_json_skip(json, err);
	}
	status = sonde_json_next(json, err);
	if (status < 0 || json->token == SONDE_JSON_NULL)
		return status;
	if (json->token != SONDE_JSON_STRING || json->length >= size)
		return sonde_fail(err, SONDE_CORRUPT, json->offset,
				  "a text of less than %zu bytes was expected", size);
	memcpy(place, json->text, json->length + 1);
	return SONDE_OK;
}

static enum sonde_status read_agent(struct sonde_bytes body, struct agent_request *agent,
				    struct sonde_error *err)
{
	struct sonde_json_reader json;
	enum sonde_status status;

	*agent = (struct agent_request){ 0 };
	sonde_json_reader_init(&json, (const char *)body.data, body.size, NULL, NULL);
	status = sonde_json_next(&json, err);
	if (status >= 0 && json.token != SONDE_JSON_OBJECT_BEGIN)
		status = sonde_fail(err, SONDE_CORRUPT, 0, "a JSON object was expected");
	while (status >= 0) {
		status = sonde_json_next(&json, err);
		if (status < 0 || json.token != SONDE_JSON_KEY)
			break;
		status = read_member(&json, agent, err);
	}
	if (status >= 0)
		status = sonde_json_next(&json, err);
	sonde_json_reader_release(&json);
	return status < 0 ? status : SONDE_OK;
}

static void put_answer(struct http_answer *answer, const char *const names[2],
		       const char *const values[2])
{
	struct sonde_json_writer json;

	answer->content_type = "application/json";
	sonde_json_writer_init(&json, &answer->body, false);
	sonde_json_object_begin(&json);
	for (unsigned int i = 0; i < 2 && names[i]; i++)
		sonde_json_member_string(&json, names[i], values[i]);
	sonde_json_object_end(&json);
}

void agent_register(void *user, struct http_request *request, struct http_answer *answer)
{
	static const char *const names[2] = { "uuid", "authkey" };
	struct serve *serve = user;
	struct agent_request agent;
	struct sonde_error err = { 0 };
	bool is_new = false;

	if (read_agent(http_body(request), &agent, &err) < 0) {
		http_refuse(request, answer, MHD_HTTP_BAD_REQUEST, "%s", err.message);
		return;
	}
	if (serve->settings.token && !http_same_secret(agent.rkey, serve->settings.token)) {
		http_refuse(request, answer, MHD_HTTP_UNAUTHORIZED,
			    "rkey must be the token that the server was started with");
		return;
	}
	if (!sessions_register(serve->sessions, agent.id, &agent.names, agent.key, &is_new)) {
		answer->retry_after_s = 10;
		http_refuse(request, answer, MHD_HTTP_SERVICE_UNAVAILABLE, "out of memory");
		return;
	}
	answer->status = is_new ? MHD_HTTP_CREATED : MHD_HTTP_OK;
	put_answer(answer, names, (const char *const[2]){ agent.id, agent.key });
}

void agent_open_session(void *user, struct http_request *request, struct http_answer *answer)
{
	static const char *const names[2] = { "session", NULL };
	char session[SESSION_ID_SIZE];
	struct agent_request agent;
	struct serve *serve = user;
	struct sonde_error err = { 0 };

	if (read_agent(http_body(request), &agent, &err) < 0) {
		http_refuse(request, answer, MHD_HTTP_BAD_REQUEST, "%s", err.message);
		return;
	}
	if (!sessions_open(serve->sessions, agent.id, agent.key, session)) {
		http_refuse(request, answer, MHD_HTTP_UNAUTHORIZED,
			    "no agent with this uuid and authkey is registered");
		return;
	}
	answer->status = MHD_HTTP_OK;
	put_answer(answer, names, (const char *const[2]){ session, NULL });
}

/* --- definitions and traces --- */

void agent_submit_check(void *user, struct http_request *request, struct http_answer *answer)
{
	(void)user;
	if (!serve_is_type(request, CBOR_TYPE) &&
	    !serve_is_type(request, "application/octet-stream"))
		http_refuse(request, answer, MHD_HTTP_UNSUPPORTED_MEDIA_TYPE,
			    "the Content-Type must be " CBOR_TYPE);
	else
		serve_check_encoding(request, answer);
}

/* Decodes base64, line ends and all; false (and refused) where it is none. */
static bool decode_base64(struct http_request *request, struct http_answer *answer,
			  const char *text, size_t size, struct sonde_buffer *out)
{
	size_t kept = 0, used;
	char *place = sonde_buffer_reserve(out, size + 1);

	if (!place) {
		answer->retry_after_s = 10;
		http_refuse(request, answer, MHD_HTTP_SERVICE_UNAVAILABLE, "out of memory");
		return false;
	}
	for (size_t i = 0; i < size; i++)
		if (text[i] != '\r' && text[i] != '\n')
			place[kept++] = text[i];
	/* the bytes never get ahead of the characters that they are made of */
	out->size += sonde_base64_decode(place, kept, (uint8_t *)place, &used);
	if (used == kept)
		return true;
	http_refuse(request, answer, MHD_HTTP_BAD_REQUEST, "expected CBOR, or base64 of it");
	return false;
}

/* The CBOR of a body: unpacked, and out of base64 where an older agent sent that. */
static bool find_cbor(struct serve *serve, struct http_request *request, struct http_answer *answer,
		      struct sonde_buffer spaces[2], struct sonde_bytes *body)
{
	if (!serve_unpack(serve, request, answer, &spaces[0], body))
		return false;
	if (!body->size || body->data[0] >= 0x80)
		return true;
	if (!decode_base64(request, answer, (const char *)body->data, body->size, &spaces[1]))
		return false;
	*body = sonde_bytes_of(spaces[1].data, spaces[1].size);
	return true;
}

/* The session that the headers name; NULL (and refused) where there is none. */
static struct session *find_session(struct serve *serve, struct http_request *request,
				    struct http_answer *answer)
{
	const char *id = http_header(request, "X-Zorka-Session-UUID");
	struct session *session = id ? sessions_acquire(serve->sessions, id, NULL) : NULL;

	if (!session)
		http_refuse(request, answer, MHD_HTTP_PRECONDITION_FAILED,
			    "there is no such session; open another and send the definitions "
			    "again");
	return session;
}

/* False where the session is of no more use. */
static bool define(struct session *session, struct sonde_bytes body, struct http_request *request,
		   struct http_answer *answer)
{
	struct sonde_error err = { 0 };
	enum sonde_status status;

	status = sonde_agent_define(session_agent(session), body.data, body.size, &err);
	if (status < 0)
		serve_refuse(request, answer, status, &err);
	else
		answer->status = MHD_HTTP_ACCEPTED;
	/* too many definitions: the next session begins with those that are in use */
	return status != SONDE_LIMIT;
}

static void take_traces(struct serve *serve, struct session *session, struct sonde_bytes body,
			struct http_request *request, struct http_answer *answer)
{
	const char *uuid = http_header(request, "X-Zorka-Trace-UUID");
	struct sonde_ingest_result result;
	struct sonde_error err = { 0 };
	enum sonde_status status;
	uint64_t ticket;

	status = sonde_agent_traces(session_agent(session), serve->store, uuid, body.data,
				    body.size, &result, &ticket, &err);
	if (status < 0) {
		serve_refuse(request, answer, status, &err);
		return;
	}
	answer->status = MHD_HTTP_ACCEPTED;
	serve_accept(serve, answer, &result, ticket);
}

static void submit(struct serve *serve, struct http_request *request, struct http_answer *answer,
		   bool is_traces)
{
	struct sonde_buffer spaces[2] = { 0 };
	struct session *session;
	struct sonde_bytes body;
	bool is_of_use = true;

	if (find_cbor(serve, request, answer, spaces, &body)) {
		session = find_session(serve, request, answer);
		if (session && is_traces)
			take_traces(serve, session, body, request, answer);
		else if (session)
			is_of_use = define(session, body, request, answer);
		if (session)
			sessions_release(serve->sessions, session, !is_of_use);
	}
	sonde_buffer_release(&spaces[0]);
	sonde_buffer_release(&spaces[1]);
}

void agent_submit_definitions(void *user, struct http_request *request, struct http_answer *answer)
{
	submit(user, request, answer, false);
}

void agent_submit_traces(void *user, struct http_request *request, struct http_answer *answer)
{
	submit(user, request, answer, true);
}

/* --- the form --- */

/* Decodes one value of a form; a plus of base64 that was not escaped has become a space. */
static void decode_value(const uint8_t *text, size_t size, char space, struct sonde_buffer *out)
{
	for (size_t i = 0; i < size; i++) {
		int high = -1, low = -1;

		if (text[i] == '%' && size - i > 2) {
			high = sonde_hex_digit(text[i + 1]);
			low = sonde_hex_digit(text[i + 2]);
		}
		if (high >= 0 && low >= 0) {
			sonde_buffer_put_char(out, (char)(high << 4 | low));
			i += 2;
		} else {
			sonde_buffer_put_char(out, text[i] == '+' ? space : (char)text[i]);
		}
	}
}

/* The value of a field, decoded to `out`; false where there is none. */
static bool find_field(struct sonde_bytes form, const char *name, char space,
		       struct sonde_buffer *out)
{
	size_t length = strlen(name), start = 0;

	while (start < form.size) {
		const uint8_t *field = form.data + start;
		const uint8_t *end = memchr(field, '&', form.size - start);
		size_t size = end ? (size_t)(end - field) : form.size - start;

		if (size > length && field[length] == '=' && !memcmp(field, name, length)) {
			decode_value(field + length + 1, size - length - 1, space, out);
			return !out->failed;
		}
		start += size + 1;
	}
	return false;
}

/*
 * How many bytes come before the first trace; all where a fault comes first, which is told later.
 */
static size_t size_of_definitions(struct sonde_bytes body)
{
	while (body.position < body.size && body.data[body.position] != RECORD_BYTE)
		if (sonde_cbor_skip(&body, 8, NULL) < 0)
			return body.size;
	return body.position;
}

/* Definitions, then traces. */
static void take_both(struct serve *serve, const char *host, struct sonde_bytes body,
		      struct http_request *request, struct http_answer *answer)
{
	struct session_names names = { 0 };
	struct session *session;
	size_t definitions;
	char id[300];
	bool is_of_use = true;

	snprintf(names.host, sizeof(names.host), "%s", host);
	snprintf(id, sizeof(id), "host:%s", names.host);
	session = sessions_acquire(serve->sessions, id, &names);
	if (!session) {
		answer->retry_after_s = 10;
		http_refuse(request, answer, MHD_HTTP_SERVICE_UNAVAILABLE, "out of memory");
		return;
	}
	definitions = size_of_definitions(body);
	is_of_use = define(session, sonde_bytes_of(body.data, definitions), request, answer);
	if (answer->status == MHD_HTTP_ACCEPTED && definitions < body.size)
		take_traces(serve, session,
			    sonde_bytes_of(body.data + definitions, body.size - definitions),
			    request, answer);
	sessions_release(serve->sessions, session, !is_of_use);
}

static void submit_form(struct serve *serve, struct http_request *request,
			struct http_answer *answer, struct sonde_buffer spaces[4])
{
	static const struct {
		const char *name;
		bool is_packed;
		enum sonde_packing packing;
	} fields[] = {
		{ "data", false, 0 },
		{ "zdata", true, SONDE_PACKING_ZLIB },
		{ "ldata", true, SONDE_PACKING_LZ4_FRAME },
	};
	struct sonde_bytes form = http_body(request), body;
	size_t field = 0;

	if (!find_field(form, "host", ' ', &spaces[0]) || !spaces[0].size ||
	    !sonde_buffer_text(&spaces[0])) {
		http_refuse(request, answer, MHD_HTTP_BAD_REQUEST, "the parameter host is missing");
		return;
	}
	while (field < 3 && !find_field(form, fields[field].name, '+', &spaces[1]))
		field++;
	if (field == 3) {
		http_refuse(request, answer, MHD_HTTP_BAD_REQUEST,
			    "one of the parameters data, zdata and ldata is needed");
		return;
	}
	if (!decode_base64(request, answer, spaces[1].data, spaces[1].size, &spaces[2]))
		return;
	body = sonde_bytes_of(spaces[2].data, spaces[2].size);
	if (fields[field].is_packed) {
		if (!serve_unpack_as(serve, request, answer, fields[field].packing, body,
				     &spaces[3]))
			return;
		body = sonde_bytes_of(spaces[3].data, spaces[3].size);
	}
	take_both(serve, spaces[0].data, body, request, answer);
}

void agent_submit_form(void *user, struct http_request *request, struct http_answer *answer)
{
	struct sonde_buffer spaces[4] = { 0 };

	if (!serve_is_type(request, FORM_TYPE))
		http_refuse(request, answer, MHD_HTTP_UNSUPPORTED_MEDIA_TYPE,
			    "the Content-Type must be " FORM_TYPE);
	else
		submit_form(user, request, answer, spaces);
	for (size_t i = 0; i < 4; i++)
		sonde_buffer_release(&spaces[i]);
}
