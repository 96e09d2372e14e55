/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Group commit: of the threads that wait for their traces to be on the disk, one syncs for all, and
 * others go on with the writer meanwhile. What a failure loses is kept in mind by ticket, so that
 * nothing is acknowledged that is not there.
 */
#include <string.h>

#include "store/store_private.h"

/* With `commit` held: the tickets up to `last` that are not on the disk never will be. */
static void lose_tickets(struct sonde_store *store, uint64_t last, const struct sonde_error *err)
{
	struct sonde_lost_tickets *lost = store->lost;

	store->failure = *err;
	if (last <= store->synced)
		return;
	if (store->lost_count && lost[store->lost_count - 1].last == store->synced) {
		lost[store->lost_count - 1].last = last;
	} else {
		if (store->lost_count == SONDE_MOST_LOST) {
			/* The oldest two become one, with the successes between them. */
			lost[1].first = lost[0].first;
			memmove(lost, lost + 1, (SONDE_MOST_LOST - 1) * sizeof(*lost));
			store->lost_count--;
		}
		lost[store->lost_count++] = (struct sonde_lost_tickets){ store->synced, last };
	}
	store->synced = last;
	pthread_cond_broadcast(&store->changed);
}

void sonde_store_lose_writer(struct sonde_store *store, const struct sonde_error *err)
{
	pthread_mutex_lock(&store->commit);
	while (store->in_flight)
		pthread_cond_wait(&store->changed, &store->commit);
	store->writer_is_broken = false;
	lose_tickets(store, store->ended, err);
	pthread_mutex_unlock(&store->commit);
	zts_writer_free(store->writer);
	store->writer = NULL;
	store->may_go_on = true;
}

void sonde_store_settle(struct sonde_store *store, bool wait)
{
	struct sonde_error failure;
	bool is_broken;

	pthread_mutex_lock(&store->commit);
	while (wait && store->in_flight)
		pthread_cond_wait(&store->changed, &store->commit);
	is_broken = store->writer_is_broken;
	failure = store->failure;
	pthread_mutex_unlock(&store->commit);
	if (is_broken)
		sonde_store_lose_writer(store, &failure);
}

/* With `commit` held. */
static bool is_lost(const struct sonde_store *store, uint64_t ticket)
{
	for (size_t i = store->lost_count; i-- > 0;)
		if (ticket > store->lost[i].first && ticket <= store->lost[i].last)
			return true;
	return false;
}

/* Takes what is to be synced from the writer; NULL where there is nothing, or it failed. */
static struct zts_writer_sync *take(struct sonde_store *store, uint64_t *covers)
{
	struct zts_writer_sync *sync = NULL;
	struct sonde_error failure;

	pthread_mutex_lock(&store->ingest);
	sonde_store_settle(store, false);
	pthread_mutex_lock(&store->commit);
	*covers = store->ended;
	pthread_mutex_unlock(&store->commit);
	if (store->writer && zts_writer_sync_begin(store->writer, &sync, &failure) < 0)
		sonde_store_lose_writer(store, &failure);
	if (sync) {
		pthread_mutex_lock(&store->commit);
		store->in_flight = true;
		pthread_mutex_unlock(&store->commit);
	}
	pthread_mutex_unlock(&store->ingest);
	return sync;
}

/* Syncs for all that wait. With `commit` held, which it lets go meanwhile. */
static void lead(struct sonde_store *store)
{
	struct zts_writer_sync *sync;
	struct sonde_error failure;
	enum sonde_status status = SONDE_OK;
	uint64_t covers;

	store->has_leader = true;
	pthread_mutex_unlock(&store->commit);
	sync = take(store, &covers);
	if (sync)
		status = zts_writer_sync_finish(sync, &failure);
	pthread_mutex_lock(&store->commit);
	if (status < 0) {
		store->writer_is_broken = true;
		lose_tickets(store, covers, &failure);
	} else if (sync) {
		store->counters.syncs++;
		if (covers > store->synced)
			store->synced = covers;
	}
	store->in_flight = store->has_leader = false;
	pthread_cond_broadcast(&store->changed);
}

enum sonde_status sonde_store_wait(struct sonde_store *store, uint64_t ticket,
				   struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	pthread_mutex_lock(&store->commit);
	if (ticket > store->ended)
		ticket = store->ended;
	while (store->synced < ticket) {
		if (store->has_leader)
			pthread_cond_wait(&store->changed, &store->commit);
		else
			lead(store);
	}
	if (is_lost(store, ticket)) {
		const struct sonde_error *failure = &store->failure;

		status = failure->status < 0 ? failure->status : SONDE_IO;
		sonde_fail(err, status, SONDE_NO_OFFSET,
			   "the traces could not be kept, send them again: %s%s%s",
			   failure->message, failure->cause[0] ? ": " : "", failure->cause);
		sonde_error_set_file(err, failure->file);
	}
	pthread_mutex_unlock(&store->commit);
	return status;
}
