/* SPDX-License-Identifier: Apache-2.0 */
/* Data of other programs into a store: OpenTelemetry (OTLP), Zorka agents, any recording. */
#ifndef SONDE_STORE_INGEST_H
#define SONDE_STORE_INGEST_H

#include <sonde/pipeline.h>

#include "store/store.h"

struct sonde_ingest_result {
	uint64_t traces;   /* trees put into the store */
	uint64_t records;  /* spans, calls */
	uint64_t rejected; /* spans that cannot be: without id, without time */
	uint64_t mended;   /* kept, but not as sent: bad UTF-8, an end before the start */
	char reason[160];  /* of the first one rejected; where none was, of the first one mended */
};

/*
 * An ExportTraceServiceRequest: all of its spans, or (SONDE_CORRUPT, SONDE_LIMIT) none. Spans of
 * one resource whose parent is in the request become one tree. Nothing is durable before
 * sonde_store_wait(ticket).
 */
enum sonde_status sonde_ingest_otlp_protobuf(struct sonde_store *store, const void *body,
					     size_t size, struct sonde_ingest_result *result,
					     uint64_t *ticket, struct sonde_error *err);
enum sonde_status sonde_ingest_otlp_json(struct sonde_store *store, const void *body, size_t size,
					 struct sonde_ingest_result *result, uint64_t *ticket,
					 struct sonde_error *err);

/* What one agent session has defined: its ids of strings and methods. Memory is bounded. */
struct sonde_agent;
struct sonde_agent *sonde_agent_new(const char *host, const char *app, const char *env);
void sonde_agent_free(struct sonde_agent *agent);
/* Bytes that its definitions take. */
size_t sonde_agent_memory(const struct sonde_agent *agent);
/* CBOR agent data: definitions of strings, methods, attributes. */
enum sonde_status sonde_agent_define(struct sonde_agent *agent, const void *body, size_t size,
				     struct sonde_error *err);
/*
 * CBOR trace data: one or more records. SONDE_ARGUMENT, with nothing stored, where it uses ids that
 * are not defined.
 */
enum sonde_status sonde_agent_traces(struct sonde_agent *agent, struct sonde_store *store,
				     const char *trace_uuid, const void *body, size_t size,
				     struct sonde_ingest_result *result, uint64_t *ticket,
				     struct sonde_error *err);

/* How a recording is cut into traces. */
struct sonde_ingest_options {
	/*
	 * NULL: every top-level call is a trace; else calls of functions with this name pattern are
	 */
	const char *split_by;
	const char *service; /* names for the traces; NULL: the process's name, ... */
	const char *host, *env;
	const struct sonde_progress *progress;
	struct sonde_loss *loss;
};
enum sonde_status sonde_ingest_recording(struct sonde_store *store,
					 struct sonde_recording *recording,
					 const struct sonde_ingest_options *options,
					 struct sonde_ingest_result *result,
					 struct sonde_error *err);

#endif
