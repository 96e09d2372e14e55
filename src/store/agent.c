/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an agent defines: strings, methods and attributes of its own, sent before and between
 * traces.
 */
#include "store/agent.h"

#include "base/utf8.h"

/* Tags of agent data. In trace data the same numbers mean something else. */
enum { DEFINE_STRING = 0x0d, DEFINE_METHOD = 0x0e, DEFINE_ATTRIBUTE = 0x0f };

struct sonde_agent *sonde_agent_new(const char *host, const char *app, const char *env)
{
	struct sonde_agent *agent = calloc(1, sizeof(*agent));

	if (!agent)
		return NULL;
	host = host ? host : "";
	app = app ? app : "";
	env = env ? env : "";
	agent->host = sonde_arena_copy_text(&agent->arena, host, strlen(host));
	agent->app = sonde_arena_copy_text(&agent->arena, app, strlen(app));
	agent->env = sonde_arena_copy_text(&agent->arena, env, strlen(env));
	if (agent->host && agent->app && agent->env)
		return agent;
	sonde_agent_free(agent);
	return NULL;
}

void sonde_agent_free(struct sonde_agent *agent)
{
	if (!agent)
		return;
	sonde_arena_release(&agent->arena);
	sonde_vec_release(&agent->strings);
	sonde_vec_release(&agent->methods);
	sonde_vec_release(&agent->attributes);
	sonde_key_map_release(&agent->string_ids);
	sonde_key_map_release(&agent->method_ids);
	free(agent);
}

size_t sonde_agent_memory(const struct sonde_agent *agent)
{
	/* a place in a map is taken twice over at most */
	return agent->arena.bytes + agent->strings.capacity * sizeof(*agent->strings.items) +
	       agent->methods.capacity * sizeof(*agent->methods.items) +
	       (agent->strings.count + agent->methods.count) * 4 * sizeof(struct sonde_key_slot);
}

struct agent_string *agent_find_string(struct sonde_agent *agent, uint64_t id)
{
	uint32_t place = sonde_key_map_find(&agent->string_ids, id);

	return place == SONDE_NONE ? NULL : &agent->strings.items[place];
}

struct agent_method *agent_find_method(struct sonde_agent *agent, uint64_t id)
{
	uint32_t place = sonde_key_map_find(&agent->method_ids, id);

	return place == SONDE_NONE ? NULL : &agent->methods.items[place];
}

/* --- CBOR --- */

enum sonde_status agent_next(struct sonde_bytes *bytes, struct sonde_cbor_item *item,
			     struct sonde_error *err)
{
	enum sonde_status status = sonde_cbor_next(bytes, item, err);

	if (status != SONDE_END)
		return status;
	return sonde_fail(err, SONDE_TRUNCATED, bytes->position,
			  "expected more of an agent's data, found the end");
}

static enum sonde_status unexpected(struct sonde_error *err, size_t offset, const char *expected)
{
	return sonde_fail(err, SONDE_CORRUPT, offset,
			  "expected %s, found something else in the data of an agent", expected);
}

enum sonde_status agent_open_array(struct sonde_bytes *bytes, struct agent_array *array,
				   struct sonde_error *err)
{
	size_t start = bytes->position;
	struct sonde_cbor_item item;
	enum sonde_status status = agent_next(bytes, &item, err);

	if (status < 0)
		return status;
	if (item.type != SONDE_CBOR_ARRAY)
		return unexpected(err, start, "an array");
	*array = (struct agent_array){ .indefinite = item.indefinite, .left = item.value };
	return SONDE_OK;
}

enum sonde_status agent_more(struct sonde_bytes *bytes, struct agent_array *array,
			     struct sonde_error *err)
{
	if (!array->indefinite)
		return array->left-- ? SONDE_OK : SONDE_END;
	if (!sonde_bytes_left(bytes))
		return sonde_fail(err, SONDE_TRUNCATED, bytes->position,
				  "expected the end of an array, found the end of the data");
	if (bytes->data[bytes->position] != 0xff)
		return SONDE_OK;
	bytes->position++;
	return SONDE_END;
}

/* A number, also one with a tag before it. */
static enum sonde_status read_id(struct sonde_bytes *bytes, uint32_t *id, struct sonde_error *err)
{
	size_t start = bytes->position;
	struct sonde_cbor_item item;
	enum sonde_status status;

	do {
		status = agent_next(bytes, &item, err);
		if (status < 0)
			return status;
	} while (item.type == SONDE_CBOR_TAG);
	if (item.type != SONDE_CBOR_UINT || item.value >= UINT32_MAX)
		return unexpected(err, start, "an id");
	*id = (uint32_t)item.value;
	return SONDE_OK;
}

/* A text that stays: bad UTF-8 becomes U+FFFD. */
static enum sonde_status read_text(struct sonde_agent *agent, struct sonde_bytes *bytes,
				   const char **text, uint32_t *size, struct sonde_error *err)
{
	size_t start = bytes->position, to = 0;
	struct sonde_cbor_item item;
	enum sonde_status status = agent_next(bytes, &item, err);
	char *copy;

	if (status < 0)
		return status;
	if (item.type == SONDE_CBOR_SIMPLE && item.value == 22) {
		*text = "";
		*size = 0;
		return SONDE_OK;
	}
	if ((item.type != SONDE_CBOR_TEXT && item.type != SONDE_CBOR_BYTES) || item.indefinite)
		return unexpected(err, start, "a text");
	if (item.value > AGENT_LONGEST_TEXT / 3 ||
	    agent->arena.bytes + 3 * item.value > AGENT_MOST_TEXT)
		return sonde_fail(
			err, SONDE_LIMIT, start,
			"the texts of this agent take more than %zu bytes, or one of them "
			"more than %zu",
			AGENT_MOST_TEXT, AGENT_LONGEST_TEXT / 3);
	if (sonde_utf8_valid((const char *)item.bytes, item.value)) {
		*text = sonde_arena_copy_text(&agent->arena, (const char *)item.bytes, item.value);
		*size = (uint32_t)item.value;
		return *text ? SONDE_OK : sonde_fail_nomem(err);
	}
	copy = sonde_arena_take(&agent->arena, 3 * item.value + 1);
	if (!copy)
		return sonde_fail_nomem(err);
	for (size_t from = 0; from < item.value;) {
		const char *at = (const char *)item.bytes + from;
		size_t length = sonde_utf8_length(at, item.value - from);

		memcpy(copy + to, length ? at : "\xEF\xBF\xBD", length ? length : 3);
		to += length ? length : 3;
		from += length ? length : 1;
	}
	copy[to] = '\0';
	*text = copy;
	*size = (uint32_t)to;
	return SONDE_OK;
}

/* --- definitions --- */

static enum sonde_status check_count(size_t count, struct sonde_error *err)
{
	if (count < AGENT_MOST_DEFINITIONS)
		return SONDE_OK;
	return sonde_fail(err, SONDE_LIMIT, SONDE_NO_OFFSET, "an agent with more than %zu texts",
			  AGENT_MOST_DEFINITIONS);
}

static bool is_text_kind(uint32_t kind)
{
	return kind == ZTS_TEXT_STRING || (kind >= ZTS_TEXT_KEYWORD && kind <= ZTS_TEXT_SIGNATURE);
}

/* [id, text, type] */
static enum sonde_status define_string(struct sonde_agent *agent, struct sonde_bytes *bytes,
				       struct sonde_error *err)
{
	struct agent_string defined = { 0 }, *known;
	size_t start = bytes->position;
	uint32_t id = 0, kind = 0;
	enum sonde_status status;

	status = read_id(bytes, &id, err);
	if (status >= 0)
		status = read_text(agent, bytes, &defined.text, &defined.size, err);
	if (status >= 0)
		status = read_id(bytes, &kind, err);
	if (status < 0)
		return status;
	if (!is_text_kind(kind))
		return unexpected(err, start, "a string of type 0 or 4 to 8");
	defined.kind = kind;
	known = agent_find_string(agent, id);
	if (known) {
		*known = defined;
		return SONDE_OK;
	}
	status = check_count(agent->strings.count, err);
	if (status < 0)
		return status;
	known = sonde_vec_push(&agent->strings);
	if (!known ||
	    !sonde_key_map_add(&agent->string_ids, id, (uint32_t)agent->strings.count - 1))
		return sonde_fail_nomem(err);
	*known = defined;
	return SONDE_OK;
}

/* [id, class, method, signature] */
static enum sonde_status define_method(struct sonde_agent *agent, struct sonde_bytes *bytes,
				       struct sonde_error *err)
{
	struct agent_method defined = { 0 }, *known;
	enum sonde_status status;
	uint32_t id = 0;

	status = read_id(bytes, &id, err);
	if (status >= 0)
		status = read_id(bytes, &defined.class_id, err);
	if (status >= 0)
		status = read_id(bytes, &defined.name, err);
	if (status >= 0)
		status = read_id(bytes, &defined.signature, err);
	if (status < 0)
		return status;
	known = agent_find_method(agent, id);
	if (known) {
		*known = defined;
		return SONDE_OK;
	}
	status = check_count(agent->methods.count, err);
	if (status < 0)
		return status;
	known = sonde_vec_push(&agent->methods);
	if (!known ||
	    !sonde_key_map_add(&agent->method_ids, id, (uint32_t)agent->methods.count - 1))
		return sonde_fail_nomem(err);
	*known = defined;
	return SONDE_OK;
}

/* Those that say where traces come from; names given when the session began count first. */
static void take_name(struct sonde_agent *agent, const struct agent_attribute *attribute)
{
	const char **place = NULL;

	if (!strcmp(attribute->key, "host") || !strcmp(attribute->key, "hostname"))
		place = &agent->host;
	else if (!strcmp(attribute->key, "app"))
		place = &agent->app;
	else if (!strcmp(attribute->key, "env"))
		place = &agent->env;
	if (place && !**place)
		*place = attribute->value;
}

/* [key, value] */
static enum sonde_status define_attribute(struct sonde_agent *agent, struct sonde_bytes *bytes,
					  struct sonde_error *err)
{
	struct agent_attribute defined = { "", "" }, *place = NULL;
	enum sonde_status status;
	uint32_t size;

	status = read_text(agent, bytes, &defined.key, &size, err);
	if (status >= 0)
		status = read_text(agent, bytes, &defined.value, &size, err);
	if (status < 0)
		return status;
	take_name(agent, &defined);
	for (size_t i = 0; i < agent->attributes.count; i++)
		if (!strcmp(agent->attributes.items[i].key, defined.key))
			place = &agent->attributes.items[i];
	if (!place && agent->attributes.count == AGENT_MOST_ATTRIBUTES)
		return sonde_fail(err, SONDE_LIMIT, SONDE_NO_OFFSET,
				  "an agent with more than %u attributes", AGENT_MOST_ATTRIBUTES);
	if (!place)
		place = sonde_vec_push(&agent->attributes);
	if (!place)
		return sonde_fail_nomem(err);
	*place = defined;
	return SONDE_OK;
}

static enum sonde_status define(struct sonde_agent *agent, struct sonde_bytes *bytes,
				struct sonde_error *err)
{
	static const struct {
		uint64_t tag;
		uint64_t members;
		enum sonde_status (*read)(struct sonde_agent *agent, struct sonde_bytes *bytes,
					  struct sonde_error *err);
	} kinds[] = {
		{ DEFINE_STRING, 3, define_string },
		{ DEFINE_METHOD, 4, define_method },
		{ DEFINE_ATTRIBUTE, 2, define_attribute },
	};
	size_t start = bytes->position, kind = 0;
	struct sonde_cbor_item item, array;
	enum sonde_status status = agent_next(bytes, &item, err);

	if (status >= 0)
		status = agent_next(bytes, &array, err);
	if (status < 0)
		return status;
	while (kind < 3 && (item.type != SONDE_CBOR_TAG || item.value != kinds[kind].tag))
		kind++;
	if (kind == 3 || array.type != SONDE_CBOR_ARRAY ||
	    (!array.indefinite && array.value != kinds[kind].members))
		return unexpected(err, start, "a definition");
	status = kinds[kind].read(agent, bytes, err);
	if (status < 0 || !array.indefinite)
		return status;
	status = agent_next(bytes, &item, err);
	if (status >= 0 && item.type != SONDE_CBOR_BREAK)
		return unexpected(err, start, "a definition");
	return status;
}

enum sonde_status sonde_agent_define(struct sonde_agent *agent, const void *body, size_t size,
				     struct sonde_error *err)
{
	struct sonde_bytes bytes = sonde_bytes_of(body, size);

	while (sonde_bytes_left(&bytes)) {
		enum sonde_status status = define(agent, &bytes, err);

		if (status < 0)
			return status;
	}
	return SONDE_OK;
}
