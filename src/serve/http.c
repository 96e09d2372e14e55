/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The HTTP server over libmicrohttpd: collects a request within its limits, gives it to the handler
 * of its route, and sends the answer. What a client may not do is refused as early as it is known.
 */
#include <stdio.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/now.h"
#include "serve/http_private.h"

#define NS_PER_MS UINT64_C(1000000)
/* How long the rest of a refused body is listened to, so that the client sees the answer. */
#define LINGER_NS (1000 * NS_PER_MS)
#define RETRY_AFTER_S 1

void http_count_status(struct http_server *server, unsigned int status)
{
	if (status < HTTP_STATUSES)
		atomic_fetch_add(&server->by_status[status], 1);
}

const char *http_header(const struct http_request *request, const char *name)
{
	return MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, name);
}

struct sonde_bytes http_body(const struct http_request *request)
{
	return sonde_bytes_of(request->body.data, request->body.size);
}

bool http_same_secret(const char *given, const char *secret)
{
	size_t length = strlen(given), secret_length = strlen(secret);
	unsigned int difference = length != secret_length;

	for (size_t i = 0; i < length; i++)
		difference |= (unsigned char)given[i] ^
			      (unsigned char)secret[i < secret_length ? i : 0];
	return !difference;
}

void http_refuse(struct http_request *request, struct http_answer *answer, unsigned int status,
		 const char *format, ...)
{
	char message[640];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(message, sizeof(message), format, arguments);
	va_end(arguments);
	answer->status = status;
	answer->waits = false;
	sonde_buffer_clear(&answer->body);
	if (request->route && request->route->explain) {
		request->route->explain(request, answer, message);
		return;
	}
	answer->content_type = "text/plain; charset=utf-8";
	sonde_buffer_put_text(&answer->body, message);
	sonde_buffer_put_char(&answer->body, '\n');
}

/* --- before the body --- */

static bool has_token(const struct http_request *request)
{
	const char *given = http_header(request, MHD_HTTP_HEADER_AUTHORIZATION);
	static const char scheme[] = "Bearer ";

	if (!request->server->settings.token)
		return true;
	if (!given || strncasecmp(given, scheme, sizeof(scheme) - 1))
		return false;
	return http_same_secret(given + sizeof(scheme) - 1, request->server->settings.token);
}

/* The route of a path; where only the method is wrong, *allow is what would be right. */
static const struct http_route *find_route(const struct http_server *server, const char *path,
					   const char *method, const char **allow)
{
	bool is_post = !strcmp(method, MHD_HTTP_METHOD_POST);
	bool is_get = !strcmp(method, MHD_HTTP_METHOD_GET) || !strcmp(method, MHD_HTTP_METHOD_HEAD);

	*allow = NULL;
	for (const struct http_route *route = server->settings.routes; route->path; route++) {
		if (strcmp(route->path, path))
			continue;
		if (route->is_post ? is_post : is_get)
			return route;
		*allow = route->is_post ? "POST" : "GET, HEAD";
	}
	return NULL;
}

/* What the size of the body says. */
static void check_size(struct http_request *request)
{
	const struct http_limits *limits = &request->server->settings.limits;
	const char *length = http_header(request, MHD_HTTP_HEADER_CONTENT_LENGTH);
	const char *encoding = http_header(request, MHD_HTTP_HEADER_TRANSFER_ENCODING);

	if (!request->route->is_post)
		return;
	if (!length && !encoding)
		http_refuse(request, &request->answer, MHD_HTTP_LENGTH_REQUIRED,
			    "a Content-Length or a chunked body is needed");
	else if (length && strtoull(length, NULL, 10) > limits->body_bytes)
		http_refuse(request, &request->answer, MHD_HTTP_CONTENT_TOO_LARGE,
			    "a body of %s bytes; at most %llu are taken", length,
			    (unsigned long long)limits->body_bytes);
}

static void check_request(struct http_request *request, const char *path, const char *method)
{
	struct http_server *server = request->server;
	struct http_answer *answer = &request->answer;
	const char *allow;

	request->route = find_route(server, path, method, &allow);
	if (!request->route) {
		answer->allow = allow;
		if (allow)
			http_refuse(request, answer, MHD_HTTP_METHOD_NOT_ALLOWED,
				    "this path takes %s only", allow);
		else
			http_refuse(request, answer, MHD_HTTP_NOT_FOUND, "there is no such path");
		return;
	}
	if (atomic_load(&server->drains) || !request->peer || request->peer->is_excess) {
		answer->retry_after_s = RETRY_AFTER_S;
		http_refuse(request, answer, MHD_HTTP_SERVICE_UNAVAILABLE,
			    atomic_load(&server->drains) ? "the server is stopping" :
							   "too many connections");
		return;
	}
	if (request->route->is_post && http_header(request, MHD_HTTP_HEADER_ORIGIN)) {
		http_refuse(request, answer, MHD_HTTP_FORBIDDEN,
			    "requests of web pages are not taken");
		return;
	}
	if (!request->route->is_open && !has_token(request)) {
		answer->asks_token = true;
		http_refuse(request, answer, MHD_HTTP_UNAUTHORIZED,
			    "a bearer token is needed, the one that the server was started with");
		return;
	}
	if (request->route->is_post && !http_guard_take(server)) {
		answer->retry_after_s = RETRY_AFTER_S;
		http_refuse(request, answer, MHD_HTTP_TOO_MANY_REQUESTS,
			    "more than %llu requests a second",
			    (unsigned long long)server->settings.limits.requests_per_second);
		return;
	}
	check_size(request);
	if (!answer->status && request->route->check)
		request->route->check(server->settings.user, request, answer);
}

/* --- answers --- */

static void release_body(struct http_request *request)
{
	sonde_buffer_release(&request->body);
	http_guard_unreserve(request->server, request->accounted);
	request->accounted = 0;
}

static void add_headers(struct MHD_Response *response, const struct http_answer *answer)
{
	char retry[16];

	if (answer->content_type)
		MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE,
					answer->content_type);
	if (answer->allow)
		MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, answer->allow);
	if (answer->asks_token)
		MHD_add_response_header(response, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer");
	if (answer->retry_after_s) {
		snprintf(retry, sizeof(retry), "%u", answer->retry_after_s);
		MHD_add_response_header(response, MHD_HTTP_HEADER_RETRY_AFTER, retry);
	}
}

static enum MHD_Result send_answer(struct http_request *request)
{
	struct http_answer *answer = &request->answer;
	struct MHD_Response *response;
	enum MHD_Result result;

	request->state = HTTP_QUEUED;
	response = MHD_create_response_from_buffer(answer->body.size, answer->body.data,
						   MHD_RESPMEM_MUST_COPY);
	if (!response)
		return MHD_NO;
	add_headers(response, answer);
	if (atomic_load(&request->server->drains) || (request->peer && request->peer->is_excess))
		MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
	result = MHD_queue_response(request->connection, answer->status, response);
	MHD_destroy_response(response);
	if (result == MHD_YES)
		http_count_status(request->server, answer->status);
	return result;
}

/*
 * Answers in the middle of a body that is too large: the library would read all of it first. What
 * still comes is passed over for a short time, since closing at once would make the client's
 * system forget the answer.
 */
static void answer_midway(struct http_request *request)
{
	release_body(request);
	request->state = HTTP_ABANDONED;
	if (!http_guard_set(request->server, request->peer, 0) || !request->peer)
		return;
	http_answer_raw(request->peer->socket, request->answer.status,
			request->answer.retry_after_s);
	http_count_status(request->server, request->answer.status);
	shutdown(request->peer->socket, SHUT_WR);
	http_guard_set(request->server, request->peer, LINGER_NS);
}

/* Headers are there. A refused body is passed over where it is not large, else answered at once. */
static enum MHD_Result begin_request(struct http_request *request, const char *path,
				     const char *method)
{
	const char *expects;

	request->was_seen = true;
	check_request(request, path, method);
	if (!request->answer.status)
		return MHD_YES;
	expects = http_header(request, MHD_HTTP_HEADER_EXPECT);
	if (expects && !strcasecmp(expects, "100-continue"))
		return send_answer(request);
	request->state = HTTP_DISCARDING;
	if (request->answer.status == MHD_HTTP_CONTENT_TOO_LARGE)
		answer_midway(request);
	return MHD_YES;
}

/* --- the body --- */

/* Counts memory before it is taken. */
static bool make_room(struct http_request *request, size_t size)
{
	size_t wanted = request->body.size + size + 1, more;

	if (wanted <= request->accounted)
		return true;
	if (wanted < 2 * request->accounted)
		wanted = 2 * request->accounted;
	more = wanted - request->accounted;
	if (!http_guard_reserve(request->server, more))
		return false;
	request->accounted += more;
	return sonde_buffer_reserve(&request->body, wanted - request->body.size) != NULL;
}

static void take_body(struct http_request *request, const char *data, size_t size)
{
	struct http_server *server = request->server;

	atomic_fetch_add(&server->body_bytes, size);
	if (request->state != HTTP_READING)
		return;
	if (request->body.size + size > server->settings.limits.body_bytes) {
		http_refuse(request, &request->answer, MHD_HTTP_CONTENT_TOO_LARGE, "too large");
		answer_midway(request);
		return;
	}
	if (!make_room(request, size)) {
		request->answer.retry_after_s = RETRY_AFTER_S;
		http_refuse(request, &request->answer, MHD_HTTP_TOO_MANY_REQUESTS, "too much");
		answer_midway(request);
		return;
	}
	sonde_buffer_put(&request->body, data, size);
}

/* The whole request is there. */
static enum MHD_Result handle(struct http_request *request)
{
	struct http_server *server = request->server;

	if (!http_guard_set(server, request->peer, 0))
		return MHD_NO; /* a moment too late: it was answered so */
	request->route->handle(server->settings.user, request, &request->answer);
	release_body(request);
	if (request->answer.body.failed) {
		sonde_buffer_release(&request->answer.body);
		request->answer.status = MHD_HTTP_SERVICE_UNAVAILABLE;
	}
	if (!request->answer.waits)
		return send_answer(request);
	request->state = HTTP_WAITING;
	MHD_suspend_connection(request->connection);
	http_committer_add(server, request);
	return MHD_YES;
}

/* Called with the headers, then with each piece of the body, then with nothing. */
static enum MHD_Result on_request(void *user, struct MHD_Connection *connection, const char *path,
				  const char *method, const char *version, const char *data,
				  size_t *size, void **context)
{
	struct http_request *request = *context;

	(void)user;
	(void)connection;
	(void)version;
	if (!request)
		return MHD_NO;
	if (!request->was_seen)
		return begin_request(request, path, method);
	if (*size) {
		take_body(request, data, *size);
		*size = 0;
		return MHD_YES;
	}
	switch (request->state) {
	case HTTP_READING:
		return handle(request);
	case HTTP_DISCARDING:
		if (!http_guard_set(request->server, request->peer, 0))
			return MHD_NO;
		return send_answer(request);
	case HTTP_ANSWERED:
		return send_answer(request);
	case HTTP_QUEUED:
	case HTTP_WAITING:
		return MHD_YES;
	default:
		return MHD_NO;
	}
}

/* --- life of connections and requests --- */

static void on_connection(void *user, struct MHD_Connection *connection, void **context,
			  enum MHD_ConnectionNotificationCode code)
{
	const union MHD_ConnectionInfo *info;
	struct http_server *server = user;

	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
		*context = info ? http_guard_add(server, info->connect_fd) : NULL;
	} else if (*context) {
		http_guard_remove(server, *context);
		*context = NULL;
	}
}

/* The first line of a request is there. */
static void *on_first_line(void *user, const char *uri, struct MHD_Connection *connection)
{
	struct http_server *server = user;
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	struct http_request *request = calloc(1, sizeof(*request));

	(void)uri;
	if (!request)
		return NULL;
	request->server = server;
	request->connection = connection;
	request->peer = info ? info->socket_context : NULL;
	atomic_fetch_add(&server->active, 1);
	http_guard_set(server, request->peer, server->settings.limits.request_ns);
	return request;
}

static void on_completed(void *user, struct MHD_Connection *connection, void **context,
			 enum MHD_RequestTerminationCode code)
{
	struct http_request *request = *context;
	struct http_server *server = user;

	(void)connection;
	(void)code;
	if (!request)
		return;
	http_guard_set_idle(server, request->peer);
	release_body(request);
	sonde_buffer_release(&request->answer.body);
	free(request);
	*context = NULL;
	atomic_fetch_sub(&server->active, 1);
}

/* --- life of the server --- */

static void ignore_message(void *user, const char *format, va_list arguments)
{
	(void)user;
	(void)format;
	(void)arguments;
}

static unsigned int thread_count(void)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);

	if (processors < 2)
		return 2;
	return processors > 8 ? 8 : (unsigned int)processors;
}

static enum sonde_status start_daemon(struct http_server *server, struct sonde_error *err)
{
	const struct http_limits *limits = &server->settings.limits;
	unsigned int threads = thread_count();
	enum sonde_status status = http_library_load(err);

	if (status < 0)
		return status;
	/*
	 * more connections than the limit, so that those beyond get an answer; each thread its
	 * share
	 */
	server->daemon = MHD_start_daemon(
		MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG, 0,
		NULL, NULL, on_request, server, MHD_OPTION_EXTERNAL_LOGGER, ignore_message, NULL,
		MHD_OPTION_LISTEN_SOCKET, server->settings.listen_socket,
		MHD_OPTION_THREAD_POOL_SIZE, threads, MHD_OPTION_CONNECTION_LIMIT,
		(unsigned int)(2 * limits->connections + 8 * threads),
		MHD_OPTION_CONNECTION_TIMEOUT,
		(unsigned int)(limits->idle_ns / (1000 * NS_PER_MS)) + 1,
		MHD_OPTION_NOTIFY_CONNECTION, on_connection, server, MHD_OPTION_URI_LOG_CALLBACK,
		on_first_line, server, MHD_OPTION_NOTIFY_COMPLETED, on_completed, server,
		MHD_OPTION_END);
	if (!server->daemon)
		return sonde_fail(err, SONDE_IO, SONDE_NO_OFFSET,
				  "the HTTP server could not be started");
	return SONDE_OK;
}

enum sonde_status http_server_open(const struct http_settings *settings,
				   struct http_server **server, struct sonde_error *err)
{
	struct http_server *opened = calloc(1, sizeof(*opened));
	enum sonde_status status;

	if (!opened) {
		close(settings->listen_socket);
		return sonde_fail_nomem(err);
	}
	opened->settings = *settings;
	*server = opened; /* handlers may ask for it as soon as the first thread runs */
	status = http_guard_start(opened, err);
	if (status >= 0)
		status = http_committer_start(opened, err);
	if (status >= 0)
		status = start_daemon(opened, err);
	if (status >= 0)
		return SONDE_OK;
	*server = NULL;
	close(settings->listen_socket);
	http_server_close(opened);
	return status;
}

void http_server_stop(struct http_server *server)
{
	int listen_socket;

	if (!server || !server->daemon)
		return;
	listen_socket = MHD_quiesce_daemon(server->daemon);
	if (listen_socket >= 0)
		close(listen_socket);
	atomic_store(&server->drains, true);
	/* Ends: what does not come in time is closed by the guard. */
	while (atomic_load(&server->active))
		usleep(5000);
	MHD_stop_daemon(server->daemon);
	server->daemon = NULL;
}

void http_server_close(struct http_server *server)
{
	if (!server)
		return;
	http_server_stop(server);
	http_committer_stop(server);
	http_guard_stop(server);
	free(server);
}

void http_server_counters(struct http_server *server, struct http_counters *counters)
{
	*counters = (struct http_counters){
		.body_bytes = atomic_load(&server->body_bytes),
		.bytes_in_flight = atomic_load(&server->bytes_in_flight),
		.most_bytes_in_flight = atomic_load(&server->most_bytes_in_flight),
		.waiting = atomic_load(&server->waiting),
	};
	for (size_t i = 0; i < HTTP_STATUSES; i++)
		counters->by_status[i] = atomic_load(&server->by_status[i]);
	pthread_mutex_lock(&server->guard.mutex);
	counters->connections = server->guard.count;
	counters->connections_total = server->guard.total;
	pthread_mutex_unlock(&server->guard.mutex);
}
