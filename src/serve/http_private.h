/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the HTTP server share: connections with their deadlines, requests, the server.
 */
#ifndef SONDE_SERVE_HTTP_PRIVATE_H
#define SONDE_SERVE_HTTP_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "serve/http.h"
#include "serve/http_library.h"

/* A connection as the guard sees it; all fields under server->guard.mutex. */
struct http_connection {
	struct http_connection *next, *previous;
	int socket;
	uint64_t deadline_ns; /* CLOCK_MONOTONIC; 0: none, the server itself is working */
	bool is_excess;	      /* more than the limit: gets 503 */
	bool is_idle;	      /* between two requests */
	bool timed_out;	      /* was answered 408 and shut down */
};

struct http_guard {
	pthread_mutex_t mutex;
	pthread_cond_t wake; /* to stop */
	pthread_t thread;
	bool has_thread, stops;
	struct http_connection *connections;
	uint64_t count, total;
	uint64_t tokens_ns; /* the bucket of the rate, as time; see http_guard_take() */
	uint64_t refilled_ns;
};

enum http_state {
	HTTP_READING,	 /* headers are there, the body comes */
	HTTP_DISCARDING, /* the answer is settled; the rest of the body is passed over */
	HTTP_ABANDONED,	 /* answered behind the back of the library; the rest is passed over */
	HTTP_WAITING,	 /* for the disk */
	HTTP_ANSWERED,	 /* the answer is ready */
	HTTP_QUEUED,	 /* and given to the library */
};

struct http_request {
	struct http_server *server;
	struct MHD_Connection *connection;
	struct http_connection *peer;
	const struct http_route *route;
	enum http_state state;
	bool was_seen; /* by the handler of the library */
	bool counted;  /* as active */
	struct sonde_buffer body;
	size_t accounted; /* bytes of `body` counted as in flight */
	struct http_answer answer;
	struct http_request *next; /* in the queue of those that wait */
};

struct http_committer {
	pthread_mutex_t mutex;
	pthread_cond_t wake;
	pthread_t thread;
	bool has_thread, stops;
	struct http_request *first, **end;
};

struct http_server {
	struct http_settings settings;
	struct MHD_Daemon *daemon;
	struct http_guard guard;
	struct http_committer committer;
	_Atomic bool drains;
	_Atomic uint64_t active; /* requests between their first line and the end of the answer */
	_Atomic uint64_t bytes_in_flight, most_bytes_in_flight, body_bytes, waiting;
	_Atomic uint64_t by_status[HTTP_STATUSES];
};

void http_count_status(struct http_server *server, unsigned int status);

/* --- http_guard.c --- */
enum sonde_status http_guard_start(struct http_server *server, struct sonde_error *err);
void http_guard_stop(struct http_server *server);
/* NULL where memory failed. */
struct http_connection *http_guard_add(struct http_server *server, int socket);
void http_guard_remove(struct http_server *server, struct http_connection *connection);
/* Sets the deadline to so many ns from now; 0: none. False where it was past already. */
bool http_guard_set(struct http_server *server, struct http_connection *connection,
		    uint64_t from_now_ns);
/*
 * A request was answered; the next may take its time, and is missed by nobody where it does not
 * come.
 */
void http_guard_set_idle(struct http_server *server, struct http_connection *connection);
/* Whether the rate allows one more request. */
bool http_guard_take(struct http_server *server);
/* Whether so many more bytes may be in memory; they are counted then. */
bool http_guard_reserve(struct http_server *server, uint64_t bytes);
void http_guard_unreserve(struct http_server *server, uint64_t bytes);
/* Writes an answer without a body to a socket that the library is only reading from. */
void http_answer_raw(int socket, unsigned int status, unsigned int retry_after_s);

/* --- http_commit.c --- */
enum sonde_status http_committer_start(struct http_server *server, struct sonde_error *err);
void http_committer_stop(struct http_server *server);
/* Takes a suspended request; resumes it when its data is on the disk. */
void http_committer_add(struct http_server *server, struct http_request *request);

#endif
