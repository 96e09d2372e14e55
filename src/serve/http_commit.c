/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers that wait for the disk: their connections are suspended, and one thread waits for the
 * store and resumes all whose data is there. So one sync serves every request that came during the
 * one before, and no thread of the server stands still.
 */
#include "serve/http_private.h"

/* The first of a batch waits for all of them; each learns what became of its own data. */
static void finish(struct http_server *server, struct http_request *request)
{
	struct sonde_error err = { 0 };
	enum sonde_status status;

	status = sonde_store_wait(server->settings.store, request->answer.ticket, &err);
	atomic_fetch_sub(&server->waiting, 1);
	if (status < 0) {
		request->answer.retry_after_s = 10;
		http_refuse(request, &request->answer, MHD_HTTP_SERVICE_UNAVAILABLE,
			    "the store could not be written: %s", err.message);
	}
	request->state = HTTP_ANSWERED;
	MHD_resume_connection(request->connection);
}

static void *commit(void *argument)
{
	struct http_server *server = argument;
	struct http_committer *committer = &server->committer;

	pthread_mutex_lock(&committer->mutex);
	for (;;) {
		struct http_request *batch;

		while (!committer->first && !committer->stops)
			pthread_cond_wait(&committer->wake, &committer->mutex);
		batch = committer->first;
		if (!batch)
			break;
		committer->first = NULL;
		committer->end = &committer->first;
		pthread_mutex_unlock(&committer->mutex);
		while (batch) {
			/* when it is resumed it is no longer ours */
			struct http_request *next = batch->next;

			finish(server, batch);
			batch = next;
		}
		pthread_mutex_lock(&committer->mutex);
	}
	pthread_mutex_unlock(&committer->mutex);
	return NULL;
}

enum sonde_status http_committer_start(struct http_server *server, struct sonde_error *err)
{
	struct http_committer *committer = &server->committer;

	committer->end = &committer->first;
	pthread_mutex_init(&committer->mutex, NULL);
	pthread_cond_init(&committer->wake, NULL);
	if (pthread_create(&committer->thread, NULL, commit, server))
		return sonde_fail(err, SONDE_NOMEM, SONDE_NO_OFFSET,
				  "a thread for the server could not be started");
	committer->has_thread = true;
	return SONDE_OK;
}

void http_committer_stop(struct http_server *server)
{
	struct http_committer *committer = &server->committer;

	pthread_mutex_lock(&committer->mutex);
	committer->stops = true;
	pthread_cond_signal(&committer->wake);
	pthread_mutex_unlock(&committer->mutex);
	if (committer->has_thread)
		pthread_join(committer->thread, NULL);
	pthread_cond_destroy(&committer->wake);
	pthread_mutex_destroy(&committer->mutex);
}

void http_committer_add(struct http_server *server, struct http_request *request)
{
	struct http_committer *committer = &server->committer;

	atomic_fetch_add(&server->waiting, 1);
	request->next = NULL;
	pthread_mutex_lock(&committer->mutex);
	*committer->end = request;
	committer->end = &request->next;
	pthread_cond_signal(&committer->wake);
	pthread_mutex_unlock(&committer->mutex);
}
