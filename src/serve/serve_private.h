/* SPDX-License-Identifier: Apache-2.0 */
/* What the endpoints of the server share. */
#ifndef SONDE_SERVE_SERVE_PRIVATE_H
#define SONDE_SERVE_SERVE_PRIVATE_H

#include <stdatomic.h>

#include "base/bytes.h"
#include "codec/codec.h"
#include "serve/serve.h"
#include "serve/sessions.h"

struct serve {
	struct sonde_store *store;
	struct serve_settings settings;
	struct http_server *http;
	struct sessions *sessions;
	_Atomic uint64_t traces, records, rejected, mended;
	char address[128];
};

/* The body, unpacked where Content-Encoding says so; `space` holds it then. False: refused. */
bool serve_unpack(struct serve *serve, struct http_request *request, struct http_answer *answer,
		  struct sonde_buffer *space, struct sonde_bytes *body);
/* The same for a body that is packed in a way that the caller knows. */
bool serve_unpack_as(struct serve *serve, struct http_request *request, struct http_answer *answer,
		     enum sonde_packing packing, struct sonde_bytes packed,
		     struct sonde_buffer *space);
/* Before the body is read: refuses encodings that are not known. */
void serve_check_encoding(struct http_request *request, struct http_answer *answer);
/* Whether a Content-Type is this one, whatever parameters follow. */
bool serve_is_type(const struct http_request *request, const char *type);

/* The status for an error of the store or of a decoder. */
void serve_refuse(struct http_request *request, struct http_answer *answer,
		  enum sonde_status status, const struct sonde_error *err);
/* Counts, and makes the answer wait where something was stored. */
void serve_accept(struct serve *serve, struct http_answer *answer,
		  const struct sonde_ingest_result *result, uint64_t ticket);

/* --- endpoint_otlp.c --- */
http_handler otlp_check, otlp_handle;
void otlp_explain(struct http_request *request, struct http_answer *answer, const char *message);

/* --- endpoint_agent.c --- */
http_handler agent_register, agent_open_session, agent_submit_check, agent_submit_definitions,
	agent_submit_traces, agent_submit_form;

/* --- endpoint_status.c --- */
http_handler status_health, status_metrics;

#endif
