/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps clients within their limits: a thread that closes connections whose request does not come
 * in time, however slowly they go on sending; the rate of requests; the memory of bodies.
 */
#include <stdio.h>
#include <sys/socket.h>

#include "base/now.h"
#include "serve/http_private.h"

#define NS_PER_S UINT64_C(1000000000)
#define TICK_NS (NS_PER_S / 10)

void http_answer_raw(int socket, unsigned int status, unsigned int retry_after_s)
{
	char text[256], retry[48] = "";
	int size;

	if (retry_after_s)
		snprintf(retry, sizeof(retry), "Retry-After: %u\r\n", retry_after_s);
	size = snprintf(text, sizeof(text),
			"HTTP/1.1 %u %s\r\n%sContent-Length: 0\r\nConnection: close\r\n\r\n",
			status, MHD_get_reason_phrase_for(status), retry);
	/* A client that takes no answer gets none. */
	if (size > 0 && send(socket, text, (size_t)size, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		return;
}

/* Under the mutex, so that the socket is still that of the connection. */
static void time_out(struct http_server *server, struct http_connection *connection)
{
	connection->timed_out = true;
	connection->deadline_ns = 0;
	if (!connection->is_idle) {
		http_answer_raw(connection->socket, MHD_HTTP_REQUEST_TIMEOUT, 0);
		http_count_status(server, MHD_HTTP_REQUEST_TIMEOUT);
	}
	shutdown(connection->socket, SHUT_RDWR);
}

static void *watch(void *argument)
{
	struct http_server *server = argument;
	struct http_guard *guard = &server->guard;

	pthread_mutex_lock(&guard->mutex);
	while (!guard->stops) {
		uint64_t now = sonde_now_ns(CLOCK_MONOTONIC), then = now + TICK_NS;
		struct timespec until = { .tv_sec = (time_t)(then / NS_PER_S),
					  .tv_nsec = (long)(then % NS_PER_S) };

		for (struct http_connection *at = guard->connections; at; at = at->next)
			if (at->deadline_ns && at->deadline_ns <= now)
				time_out(server, at);
		pthread_cond_timedwait(&guard->wake, &guard->mutex, &until);
	}
	pthread_mutex_unlock(&guard->mutex);
	return NULL;
}

enum sonde_status http_guard_start(struct http_server *server, struct sonde_error *err)
{
	struct http_guard *guard = &server->guard;
	pthread_condattr_t attributes;

	guard->refilled_ns = sonde_now_ns(CLOCK_MONOTONIC);
	guard->tokens_ns = NS_PER_S;
	pthread_mutex_init(&guard->mutex, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&guard->wake, &attributes);
	pthread_condattr_destroy(&attributes);
	if (pthread_create(&guard->thread, NULL, watch, server))
		return sonde_fail(err, SONDE_NOMEM, SONDE_NO_OFFSET,
				  "a thread for the server could not be started");
	guard->has_thread = true;
	return SONDE_OK;
}

void http_guard_stop(struct http_server *server)
{
	struct http_guard *guard = &server->guard;

	pthread_mutex_lock(&guard->mutex);
	guard->stops = true;
	pthread_cond_signal(&guard->wake);
	pthread_mutex_unlock(&guard->mutex);
	if (guard->has_thread)
		pthread_join(guard->thread, NULL);
	pthread_cond_destroy(&guard->wake);
	pthread_mutex_destroy(&guard->mutex);
}

struct http_connection *http_guard_add(struct http_server *server, int socket)
{
	struct http_connection *connection = calloc(1, sizeof(*connection));
	struct http_guard *guard = &server->guard;

	if (!connection)
		return NULL;
	connection->socket = socket;
	connection->deadline_ns =
		sonde_now_ns(CLOCK_MONOTONIC) + server->settings.limits.request_ns;
	pthread_mutex_lock(&guard->mutex);
	connection->next = guard->connections;
	if (connection->next)
		connection->next->previous = connection;
	guard->connections = connection;
	guard->total++;
	connection->is_excess = ++guard->count > server->settings.limits.connections;
	pthread_mutex_unlock(&guard->mutex);
	return connection;
}

void http_guard_remove(struct http_server *server, struct http_connection *connection)
{
	struct http_guard *guard = &server->guard;

	pthread_mutex_lock(&guard->mutex);
	if (connection->next)
		connection->next->previous = connection->previous;
	if (connection->previous)
		connection->previous->next = connection->next;
	else
		guard->connections = connection->next;
	guard->count--;
	pthread_mutex_unlock(&guard->mutex);
	free(connection);
}

bool http_guard_set(struct http_server *server, struct http_connection *connection,
		    uint64_t from_now_ns)
{
	struct http_guard *guard = &server->guard;
	bool in_time;

	if (!connection)
		return true;
	pthread_mutex_lock(&guard->mutex);
	in_time = !connection->timed_out;
	connection->is_idle = false;
	connection->deadline_ns =
		from_now_ns && in_time ? sonde_now_ns(CLOCK_MONOTONIC) + from_now_ns : 0;
	pthread_mutex_unlock(&guard->mutex);
	return in_time;
}

void http_guard_set_idle(struct http_server *server, struct http_connection *connection)
{
	http_guard_set(server, connection, server->settings.limits.idle_ns);
	if (!connection)
		return;
	pthread_mutex_lock(&server->guard.mutex);
	connection->is_idle = true;
	pthread_mutex_unlock(&server->guard.mutex);
}

/*
 * A second's worth of requests may come at once; then as many as the time that has passed allows.
 */
bool http_guard_take(struct http_server *server)
{
	uint64_t rate = server->settings.limits.requests_per_second, now, price;
	struct http_guard *guard = &server->guard;
	bool taken;

	if (!rate)
		return true;
	price = NS_PER_S / rate ? NS_PER_S / rate : 1;
	pthread_mutex_lock(&guard->mutex);
	now = sonde_now_ns(CLOCK_MONOTONIC);
	guard->tokens_ns += now - guard->refilled_ns;
	guard->refilled_ns = now;
	if (guard->tokens_ns > NS_PER_S)
		guard->tokens_ns = NS_PER_S;
	taken = guard->tokens_ns >= price;
	if (taken)
		guard->tokens_ns -= price;
	pthread_mutex_unlock(&guard->mutex);
	return taken;
}

bool http_guard_reserve(struct http_server *server, uint64_t bytes)
{
	uint64_t all = atomic_fetch_add(&server->bytes_in_flight, bytes) + bytes, most;

	if (all > server->settings.limits.bytes_in_flight) {
		atomic_fetch_sub(&server->bytes_in_flight, bytes);
		return false;
	}
	most = atomic_load(&server->most_bytes_in_flight);
	while (all > most &&
	       !atomic_compare_exchange_weak(&server->most_bytes_in_flight, &most, all))
		continue;
	return true;
}

void http_guard_unreserve(struct http_server *server, uint64_t bytes)
{
	atomic_fetch_sub(&server->bytes_in_flight, bytes);
}
