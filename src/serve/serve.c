/* SPDX-License-Identifier: Apache-2.0 */
/* Puts the server together: where it listens, which paths there are, what all endpoints share. */
#include "serve/serve.h"

#include <arpa/inet.h>
#include <microhttpd.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "codec/codec.h"
#include "serve/serve_private.h"

#define BACKLOG 512

/* --- shared by the endpoints --- */

bool serve_is_type(const struct http_request *request, const char *type)
{
	const char *given = http_header(request, MHD_HTTP_HEADER_CONTENT_TYPE);
	size_t length = strlen(type);

	if (!given || strncasecmp(given, type, length) != 0)
		return false;
	given += length;
	while (*given == ' ' || *given == '\t')
		given++;
	return !*given || *given == ';';
}

struct encoding {
	const char *name;
	bool is_packed;
	enum sonde_packing packing;
};

/* NULL: not known. */
static const struct encoding *find_encoding(const struct http_request *request)
{
	static const struct encoding encodings[] = {
		{ "identity", false, 0 },
		{ "gzip", true, SONDE_PACKING_GZIP },
		{ "x-gzip", true, SONDE_PACKING_GZIP },
		{ "deflate", true, SONDE_PACKING_ZLIB },
		{ "lz4", true, SONDE_PACKING_LZ4_FRAME },
	};
	const char *given = http_header(request, MHD_HTTP_HEADER_CONTENT_ENCODING);

	if (!given || !*given)
		return &encodings[0];
	for (size_t i = 0; i < sizeof(encodings) / sizeof(encodings[0]); i++)
		if (!strcasecmp(given, encodings[i].name))
			return &encodings[i];
	return NULL;
}

void serve_check_encoding(struct http_request *request, struct http_answer *answer)
{
	if (!find_encoding(request))
		http_refuse(request, answer, MHD_HTTP_UNSUPPORTED_MEDIA_TYPE,
			    "the Content-Encoding must be gzip, deflate, lz4 or none");
}

/* An LZ4 frame says so; what does not is a bare block. */
static enum sonde_packing exact_packing(enum sonde_packing packing, const struct sonde_bytes *body)
{
	static const uint8_t frame_magic[] = { 0x04, 0x22, 0x4d, 0x18 };

	if (packing == SONDE_PACKING_LZ4_FRAME &&
	    (body->size < sizeof(frame_magic) ||
	     memcmp(body->data, frame_magic, sizeof(frame_magic)) != 0))
		return SONDE_PACKING_LZ4_BLOCK;
	return packing;
}

bool serve_unpack_as(struct serve *serve, struct http_request *request, struct http_answer *answer,
		     enum sonde_packing packing, struct sonde_bytes packed,
		     struct sonde_buffer *space)
{
	uint64_t limit = serve->settings.limits.unpacked_bytes;
	struct sonde_error err = { 0 };
	enum sonde_status status;

	status = sonde_unpack(exact_packing(packing, &packed), packed.data, packed.size, limit,
			      space, &err);
	if (status == SONDE_LIMIT)
		http_refuse(request, answer, MHD_HTTP_CONTENT_TOO_LARGE,
			    "the body is more than %llu bytes when it is unpacked",
			    (unsigned long long)limit);
	else if (status == SONDE_NOMEM)
		serve_refuse(request, answer, status, &err);
	else if (status < 0)
		http_refuse(request, answer, MHD_HTTP_BAD_REQUEST,
			    "the body cannot be unpacked: %s", err.message);
	return status >= 0;
}

bool serve_unpack(struct serve *serve, struct http_request *request, struct http_answer *answer,
		  struct sonde_buffer *space, struct sonde_bytes *body)
{
	const struct encoding *encoding = find_encoding(request);

	*body = http_body(request);
	if (!encoding || !encoding->is_packed)
		return true;
	if (!serve_unpack_as(serve, request, answer, encoding->packing, *body, space))
		return false;
	*body = sonde_bytes_of(space->data, space->size);
	return true;
}

void serve_refuse(struct http_request *request, struct http_answer *answer,
		  enum sonde_status status, const struct sonde_error *err)
{
	switch (status) {
	case SONDE_CORRUPT:
	case SONDE_TRUNCATED:
	case SONDE_FORMAT:
	case SONDE_UNSUPPORTED:
		http_refuse(request, answer, MHD_HTTP_BAD_REQUEST, "%s", err->message);
		break;
	case SONDE_LIMIT:
		http_refuse(request, answer, MHD_HTTP_CONTENT_TOO_LARGE, "%s", err->message);
		break;
	case SONDE_ARGUMENT: /* of agents: ids that are not defined */
		http_refuse(request, answer, MHD_HTTP_PRECONDITION_FAILED, "%s", err->message);
		break;
	default:
		answer->retry_after_s = 10;
		http_refuse(request, answer, MHD_HTTP_SERVICE_UNAVAILABLE,
			    "the store could not be written: %s", err->message);
		break;
	}
}

void serve_accept(struct serve *serve, struct http_answer *answer,
		  const struct sonde_ingest_result *result, uint64_t ticket)
{
	atomic_fetch_add(&serve->traces, result->traces);
	atomic_fetch_add(&serve->records, result->records);
	atomic_fetch_add(&serve->rejected, result->rejected);
	atomic_fetch_add(&serve->mended, result->mended);
	answer->waits = result->traces > 0;
	answer->ticket = ticket;
}

/* --- where it listens --- */

static bool is_loopback(const struct sockaddr *address)
{
	if (address->sa_family == AF_INET) {
		const struct sockaddr_in *in = (const void *)address;

		return ntohl(in->sin_addr.s_addr) >> 24 == 127;
	}
	if (address->sa_family == AF_INET6) {
		const struct sockaddr_in6 *in6 = (const void *)address;

		return IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr);
	}
	return false;
}

/* "host:port" or "[host]:port" in two; "" for a host left out. */
static enum sonde_status split_address(const char *text, char *host, size_t host_size,
				       const char **port, struct sonde_error *err)
{
	const char *colon = strrchr(text, ':'), *start = text, *end = colon;

	if (colon && text[0] == '[' && colon > text + 1 && colon[-1] == ']') {
		start = text + 1;
		end = colon - 1;
	} else if (colon && memchr(text, ':', (size_t)(colon - text))) {
		colon = NULL; /* an IPv6 address without brackets */
	}
	if (!colon || !colon[1] || (size_t)(end - start) >= host_size)
		return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
				  "'%s' is no address to listen on; write 127.0.0.1:4318 or "
				  "[::1]:4318",
				  text);
	if (strspn(colon + 1, "0123456789") != strlen(colon + 1) || strlen(colon + 1) > 5 ||
	    strtoul(colon + 1, NULL, 10) > 65535)
		return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
				  "'%s' has no port between 0 and 65535", text);
	memcpy(host, start, (size_t)(end - start));
	host[end - start] = '\0';
	*port = colon + 1;
	return SONDE_OK;
}

static enum sonde_status bind_socket(const char *text, const struct addrinfo *address, int *out,
				     struct sonde_error *err)
{
	int listener = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int on = 1;

	if (listener < 0)
		return sonde_fail_errno(err, text, "a socket could not be made");
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(listener, address->ai_addr, address->ai_addrlen) || listen(listener, BACKLOG)) {
		sonde_fail_errno(err, text, "cannot be listened on; is another server there?");
		close(listener);
		return SONDE_IO;
	}
	*out = listener;
	return SONDE_OK;
}

/* Who can reach it must be known. *found is to be freed where this succeeds. */
static enum sonde_status find_address(const struct serve_settings *settings,
				      struct addrinfo **found, struct sonde_error *err)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
					.ai_flags = AI_PASSIVE | AI_NUMERICSERV };
	enum sonde_status status;
	const char *port = NULL;
	char host[256] = "";
	int failure;

	status = split_address(settings->listen, host, sizeof(host), &port, err);
	if (status < 0)
		return status;
	failure = getaddrinfo(host[0] ? host : NULL, port, &hints, found);
	if (failure)
		return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
				  "'%s' is no address to listen on: %s", settings->listen,
				  gai_strerror(failure));
	if (settings->token || is_loopback((*found)->ai_addr))
		return SONDE_OK;
	freeaddrinfo(*found);
	return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
			  "'%s' can be reached from other machines: that needs a token, "
			  "by --token-file or in SONDE_TOKEN",
			  settings->listen);
}

enum sonde_status serve_check(const struct serve_settings *settings, struct sonde_error *err)
{
	struct addrinfo *found;
	enum sonde_status status = find_address(settings, &found, err);

	if (status >= 0)
		freeaddrinfo(found);
	return status;
}

static enum sonde_status make_listener(const struct serve_settings *settings, int *listener,
				       struct sonde_error *err)
{
	struct addrinfo *found;
	enum sonde_status status = find_address(settings, &found, err);

	if (status < 0)
		return status;
	status = bind_socket(settings->listen, found, listener, err);
	freeaddrinfo(found);
	return status;
}

static void name_address(struct serve *serve, int listener)
{
	struct sockaddr_storage address;
	socklen_t size = sizeof(address);
	char host[64] = "", port[16] = "";

	if (getsockname(listener, (struct sockaddr *)&address, &size) ||
	    getnameinfo((struct sockaddr *)&address, size, host, sizeof(host), port, sizeof(port),
			NI_NUMERICHOST | NI_NUMERICSERV))
		return;
	snprintf(serve->address, sizeof(serve->address), strchr(host, ':') ? "[%s]:%s" : "%s:%s",
		 host, port);
}

/* --- the server --- */

static const struct http_route routes[] = {
	{ .path = "/v1/traces",
	  .is_post = true,
	  .check = otlp_check,
	  .handle = otlp_handle,
	  .explain = otlp_explain },
	{ .path = "/health", .is_open = true, .handle = status_health },
	{ .path = "/healthz", .is_open = true, .handle = status_health },
	{ .path = "/metrics", .handle = status_metrics },
	/* agents show their own keys instead of the token */
	{ .path = "/agent/register", .is_post = true, .is_open = true, .handle = agent_register },
	{ .path = "/agent/session",
	  .is_post = true,
	  .is_open = true,
	  .handle = agent_open_session },
	{ .path = "/agent/submit/agd",
	  .is_post = true,
	  .is_open = true,
	  .check = agent_submit_check,
	  .handle = agent_submit_definitions },
	{ .path = "/agent/submit/trc",
	  .is_post = true,
	  .is_open = true,
	  .check = agent_submit_check,
	  .handle = agent_submit_traces },
	{ .path = "/submit/agent", .is_post = true, .handle = agent_submit_form },
	{ 0 },
};

enum sonde_status serve_open(struct sonde_store *store, const struct serve_settings *settings,
			     struct serve **serve, struct sonde_error *err)
{
	struct serve *opened = calloc(1, sizeof(*opened));
	struct http_settings http = { .routes = routes, .user = opened, .store = store };
	enum sonde_status status;

	if (!opened)
		return sonde_fail_nomem(err);
	opened->store = store;
	opened->settings = *settings;
	opened->sessions = sessions_new(SESSIONS_MOST, SESSIONS_MEMORY);
	status = opened->sessions ? make_listener(settings, &http.listen_socket, err) :
				    sonde_fail_nomem(err);
	if (status >= 0) {
		name_address(opened, http.listen_socket);
		http.token = settings->token;
		http.limits = settings->limits;
		status = http_server_open(&http, &opened->http, err);
	}
	if (status < 0) {
		serve_close(opened);
		return status;
	}
	*serve = opened;
	return SONDE_OK;
}

const char *serve_address(const struct serve *serve)
{
	return serve->address;
}

void serve_stop(struct serve *serve)
{
	http_server_stop(serve->http);
}

void serve_close(struct serve *serve)
{
	if (!serve)
		return;
	http_server_close(serve->http);
	sessions_free(serve->sessions);
	free(serve);
}

void serve_counters(struct serve *serve, struct serve_counters *counters)
{
	http_server_counters(serve->http, &counters->http);
	counters->traces = atomic_load(&serve->traces);
	counters->records = atomic_load(&serve->records);
	counters->rejected = atomic_load(&serve->rejected);
	counters->mended = atomic_load(&serve->mended);
}
