/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server of a trace store: OpenTelemetry (OTLP over HTTP) and Zorka agents, health and metrics.
 * What is acknowledged is on the disk.
 */
#ifndef SONDE_SERVE_SERVE_H
#define SONDE_SERVE_SERVE_H

#include "serve/http.h"

#define SERVE_DEFAULT_ADDRESS "127.0.0.1:4318"

struct serve_settings {
	const char *listen; /* "address:port", "[address]:port"; port 0: a free one */
	const char *token;  /* NULL: none, which needs a loopback address */
	struct http_limits limits;
};

/* Whether one may listen there, before anything is made. SONDE_ARGUMENT as serve_open(). */
enum sonde_status serve_check(const struct serve_settings *settings, struct sonde_error *err);

struct serve;

/*
 * Strings in `settings` are borrowed. SONDE_ARGUMENT for an address that is none, or needs a token.
 */
enum sonde_status serve_open(struct sonde_store *store, const struct serve_settings *settings,
			     struct serve **serve, struct sonde_error *err);
/* Where it listens: "127.0.0.1:4318". Borrowed. */
const char *serve_address(const struct serve *serve);
/* Takes no more connections, finishes what is under way. Counters stay. */
void serve_stop(struct serve *serve);
/* The same, and frees. The store stays open. */
void serve_close(struct serve *serve);

struct serve_counters {
	struct http_counters http;
	uint64_t traces, records, rejected, mended;
};
void serve_counters(struct serve *serve, struct serve_counters *counters);

#endif
