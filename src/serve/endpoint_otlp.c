/* SPDX-License-Identifier: Apache-2.0 */
/* POST /v1/traces: OTLP over HTTP in protobuf and JSON, with answers in the same encoding. */
#include <microhttpd.h>

#include "base/json.h"
#include "serve/serve_private.h"

#define PROTOBUF_TYPE "application/x-protobuf"
#define JSON_TYPE "application/json"

static bool is_json(const struct http_request *request)
{
	return serve_is_type(request, JSON_TYPE);
}

void otlp_check(void *user, struct http_request *request, struct http_answer *answer)
{
	(void)user;
	if (!is_json(request) && !serve_is_type(request, PROTOBUF_TYPE))
		http_refuse(request, answer, MHD_HTTP_UNSUPPORTED_MEDIA_TYPE,
			    "the Content-Type must be " PROTOBUF_TYPE " or " JSON_TYPE);
	else
		serve_check_encoding(request, answer);
}

static void put_varint(struct sonde_buffer *out, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		sonde_buffer_put_char(out, (char)(value | 0x80));
	sonde_buffer_put_char(out, (char)value);
}

static void put_number_field(struct sonde_buffer *out, unsigned int number, uint64_t value)
{
	if (!value)
		return;
	put_varint(out, number << 3);
	put_varint(out, value);
}

static void put_bytes_field(struct sonde_buffer *out, unsigned int number, const void *bytes,
			    size_t size)
{
	put_varint(out, number << 3 | 2);
	put_varint(out, size);
	sonde_buffer_put(out, bytes, size);
}

/* The code of google.rpc.Status that goes with a status of HTTP. */
static unsigned int status_code(unsigned int status)
{
	switch (status) {
	case MHD_HTTP_UNAUTHORIZED:
		return 16; /* UNAUTHENTICATED */
	case MHD_HTTP_FORBIDDEN:
		return 7; /* PERMISSION_DENIED */
	case MHD_HTTP_CONTENT_TOO_LARGE:
	case MHD_HTTP_TOO_MANY_REQUESTS:
		return 8; /* RESOURCE_EXHAUSTED */
	case MHD_HTTP_SERVICE_UNAVAILABLE:
		return 14; /* UNAVAILABLE */
	default:
		return 3; /* INVALID_ARGUMENT */
	}
}

/* google.rpc.Status, as OTLP has it for failures. */
void otlp_explain(struct http_request *request, struct http_answer *answer, const char *message)
{
	struct sonde_json_writer json;

	if (!is_json(request)) {
		answer->content_type = PROTOBUF_TYPE;
		put_number_field(&answer->body, 1, status_code(answer->status));
		put_bytes_field(&answer->body, 2, message, strlen(message));
		return;
	}
	answer->content_type = JSON_TYPE;
	sonde_json_writer_init(&json, &answer->body, false);
	sonde_json_object_begin(&json);
	sonde_json_member_u64(&json, "code", status_code(answer->status));
	sonde_json_member_string(&json, "message", message);
	sonde_json_object_end(&json);
}

/* ExportTraceServiceResponse: empty, or with what was rejected or mended. */
static void put_protobuf(struct sonde_buffer *out, const struct sonde_ingest_result *result)
{
	struct sonde_buffer partial = { 0 };

	if (!result->reason[0])
		return;
	put_number_field(&partial, 1, result->rejected);
	put_bytes_field(&partial, 2, result->reason, strlen(result->reason));
	put_bytes_field(out, 1, partial.data, partial.size);
	sonde_buffer_release(&partial);
}

static void put_json(struct sonde_buffer *out, const struct sonde_ingest_result *result)
{
	struct sonde_json_writer json;

	sonde_json_writer_init(&json, out, false);
	sonde_json_object_begin(&json);
	if (result->reason[0]) {
		char number[24];

		sonde_json_key(&json, "partialSuccess");
		sonde_json_object_begin(&json);
		/* 64 bits are a text in JSON of protobuf */
		snprintf(number, sizeof(number), "%llu", (unsigned long long)result->rejected);
		sonde_json_member_string(&json, "rejectedSpans", number);
		sonde_json_member_string(&json, "errorMessage", result->reason);
		sonde_json_object_end(&json);
	}
	sonde_json_object_end(&json);
}

void otlp_handle(void *user, struct http_request *request, struct http_answer *answer)
{
	struct serve *serve = user;
	struct sonde_ingest_result result;
	struct sonde_buffer space = { 0 };
	struct sonde_error err = { 0 };
	enum sonde_status status;
	struct sonde_bytes body;
	uint64_t ticket;

	if (!serve_unpack(serve, request, answer, &space, &body)) {
		sonde_buffer_release(&space);
		return;
	}
	status = is_json(request) ? sonde_ingest_otlp_json(serve->store, body.data, body.size,
							   &result, &ticket, &err) :
				    sonde_ingest_otlp_protobuf(serve->store, body.data, body.size,
							       &result, &ticket, &err);
	sonde_buffer_release(&space);
	if (status < 0) {
		serve_refuse(request, answer, status, &err);
		return;
	}
	answer->status = MHD_HTTP_OK;
	answer->content_type = is_json(request) ? JSON_TYPE : PROTOBUF_TYPE;
	if (is_json(request))
		put_json(&answer->body, &result);
	else
		put_protobuf(&answer->body, &result);
	serve_accept(serve, answer, &result, ticket);
}
