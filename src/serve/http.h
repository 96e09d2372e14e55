/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small HTTP server for requests that fit into memory: limits on size, time, rate, connections
 * and memory, a bearer token, and answers that wait until a store has made data durable. What the
 * paths mean is not known here.
 */
#ifndef SONDE_SERVE_HTTP_H
#define SONDE_SERVE_HTTP_H

#include <stdbool.h>

#include "base/buffer.h"
#include "store/store.h"

struct http_limits {
	uint64_t body_bytes;	  /* of one request as it comes */
	uint64_t unpacked_bytes;  /* and when it is unpacked */
	uint64_t bytes_in_flight; /* of all bodies that are in memory */
	uint64_t connections;
	uint64_t requests_per_second; /* 0: no limit */
	uint64_t request_ns;	      /* from the first byte to the last of a request */
	uint64_t idle_ns;	      /* between two requests of a connection */
};

struct http_request; /* private to http.c */

/*
 * Headers and the body; NULL where there is no such header. Borrowed, as long as the handler runs.
 */
const char *http_header(const struct http_request *request, const char *name);
struct sonde_bytes http_body(const struct http_request *request);

struct http_answer {
	unsigned int status;
	const char *content_type; /* a literal */
	const char *allow;	  /* 405: a literal */
	unsigned int retry_after_s;
	bool asks_token; /* 401 */
	struct sonde_buffer body;
	/*
	 * waits: the answer is sent when the store has all up to `ticket` on the disk; else it is a
	 * 503.
	 */
	bool waits;
	uint64_t ticket;
};

typedef void http_handler(void *user, struct http_request *request, struct http_answer *answer);

/* Ends with one without a path. */
struct http_route {
	const char *path;
	bool is_post; /* else GET (and HEAD) */
	bool is_open; /* needs no token */
	/* Before the body is read; may refuse by setting a status. NULL: takes all. */
	http_handler *check;
	http_handler *handle;
	/*
	 * Makes the body of an answer that the server itself gives (413, 429, 503 ...). NULL: plain
	 * text.
	 */
	void (*explain)(struct http_request *request, struct http_answer *answer,
			const char *message);
};

struct http_settings {
	const struct http_route *routes;
	void *user; /* for the handlers */
	struct sonde_store *store;
	int listen_socket; /* the server's from now on, also where opening fails */
	const char *token; /* NULL: none is asked for */
	struct http_limits limits;
};

struct http_server;

enum sonde_status http_server_open(const struct http_settings *settings,
				   struct http_server **server, struct sonde_error *err);
/* Takes no more connections, lets the requests under way end, closes all. Counters stay. */
void http_server_stop(struct http_server *server);
/* The same, and frees. */
void http_server_close(struct http_server *server);

/* Sets the status and a text that says why, in the route's own way. */
void http_refuse(struct http_request *request, struct http_answer *answer, unsigned int status,
		 const char *format, ...) __attribute__((format(printf, 4, 5)));

#define HTTP_STATUSES 600
struct http_counters {
	uint64_t by_status[HTTP_STATUSES];
	uint64_t body_bytes; /* received */
	uint64_t bytes_in_flight, most_bytes_in_flight;
	uint64_t connections, connections_total;
	uint64_t waiting; /* for the disk */
};
void http_server_counters(struct http_server *server, struct http_counters *counters);

/* Equal, in a time that depends on the lengths only. */
bool http_same_secret(const char *given, const char *secret);

#endif
