/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pieces of a file whose sizes are only known when they are made: threads make them in memory, in any order; they
 * get their places in the order of their numbers, and are stored in that order. Nobody waits for the end of a round
 * but who has no room: while one is placed and stored, those of the next two are made.
 */
#include <pthread.h>
#include <stdlib.h>

#include "formats/hpcdb/hpcdb_write_private.h"

#define ROUNDS_AT_ONCE 3

/* Pieces of this rank are counted from 0 here, in all rounds as many; those beyond the last are empty. */
struct run {
	const struct hpcdb_rounds *rounds;
	struct sonde_team *team;
	size_t slots, window; /* of a round, and of all that are in memory */
	size_t total;
	uint64_t *numbers;    /* of each slot; behind them, of all pieces of a round of all ranks */
	bool *is_made;	      /* each slot */
	pthread_t caller;     /* he alone calls the team */
	bool has_agreed;      /* with the others that it failed */
	pthread_mutex_t lock; /* over what follows, and is_made */
	pthread_cond_t changed;
	size_t next, placed, stored;
	bool is_storing, failed;
};

size_t hpcdb_rounds_slots(const struct hpcdb_job *job)
{
	return (size_t)ROUNDS_AT_ONCE * job->slots;
}

/* Its number among those of all ranks. */
static size_t piece_of(const struct run *run, size_t mine)
{
	return (mine / run->slots * sonde_team_size(run->team) + sonde_team_rank(run->team)) *
		       run->slots +
	       mine % run->slots;
}

static uint64_t *numbers_of(const struct run *run, size_t slot)
{
	return run->numbers + slot * run->rounds->number_count;
}

/* Unlocks for as long as the work takes, as do the two below. */
static enum sonde_status make_next(struct run *run, struct sonde_error *err)
{
	const struct hpcdb_rounds *rounds = run->rounds;
	size_t mine = run->next++, slot = mine % run->window, piece = piece_of(run, mine);
	enum sonde_status status = SONDE_OK;

	pthread_mutex_unlock(&run->lock);
	if (piece < rounds->count)
		status = rounds->make(rounds->user, piece, slot, numbers_of(run, slot), err);
	pthread_mutex_lock(&run->lock);
	run->is_made[slot] = true;
	return status;
}

static enum sonde_status store_next(struct run *run, struct sonde_error *err)
{
	const struct hpcdb_rounds *rounds = run->rounds;
	size_t slot = run->stored % run->window, piece = piece_of(run, run->stored);
	enum sonde_status status = SONDE_OK;

	run->is_storing = true;
	pthread_mutex_unlock(&run->lock);
	if (piece < rounds->count)
		status = rounds->store(rounds->user, piece, slot, err);
	pthread_mutex_lock(&run->lock);
	run->is_storing = false;
	run->is_made[slot] = false;
	run->stored++;
	return status;
}

static enum sonde_status place_pieces(struct run *run, struct sonde_error *err)
{
	const struct hpcdb_rounds *rounds = run->rounds;
	size_t all = run->slots * sonde_team_size(run->team);
	size_t first = run->placed / run->slots * all, mine = piece_of(run, run->placed);
	const uint64_t *numbers = numbers_of(run, run->window);
	enum sonde_status status = SONDE_OK;

	for (size_t i = first; i < first + all && i < rounds->count && status >= 0; i++) {
		bool is_mine = i >= mine && i - mine < run->slots;

		status = rounds->place(rounds->user, i,
				       is_mine ? (run->placed + i - mine) % run->window : SIZE_MAX,
				       numbers + (i - first) * rounds->number_count, err);
	}
	return status;
}

static enum sonde_status place_round(struct run *run, struct sonde_error *err)
{
	size_t count = run->slots * run->rounds->number_count;
	enum sonde_status status;

	pthread_mutex_unlock(&run->lock);
	status = sonde_team_agree(run->team, SONDE_OK, err);
	run->has_agreed = status < 0;
	if (status >= 0)
		status = sonde_team_exchange(run->team, numbers_of(run, run->placed % run->window),
					     count, numbers_of(run, run->window), err);
	if (status >= 0)
		status = place_pieces(run, err);
	pthread_mutex_lock(&run->lock);
	run->placed += run->slots;
	return status;
}

/* Where not all of them were handed out, their slots are others'. */
static bool is_round_made(const struct run *run)
{
	if (run->next < run->placed + run->slots)
		return false;
	for (size_t i = 0; i < run->slots; i++)
		if (!run->is_made[(run->placed + i) % run->window])
			return false;
	return true;
}

/* One thread; all of them do whatever comes next. */
static enum sonde_status work(void *user, size_t number, struct sonde_error *err)
{
	struct run *run = user;
	bool is_caller = pthread_equal(pthread_self(), run->caller);
	enum sonde_status status = SONDE_OK;

	(void)number;
	pthread_mutex_lock(&run->lock);
	while (status >= 0 && !run->failed && run->stored < run->total) {
		if (is_caller && is_round_made(run)) {
			status = place_round(run, err);
		} else if (run->stored < run->placed && !run->is_storing) {
			status = store_next(run, err);
		} else if (run->next < run->total && run->next < run->stored + run->window) {
			status = make_next(run, err);
		} else {
			pthread_cond_wait(&run->changed, &run->lock);
			continue;
		}
		pthread_cond_broadcast(&run->changed);
	}
	run->failed = run->failed || status < 0;
	pthread_mutex_unlock(&run->lock);
	return status;
}

enum sonde_status hpcdb_rounds_run(const struct hpcdb_rounds *rounds, struct sonde_error *err)
{
	const struct hpcdb_job *job = rounds->job;
	size_t all = (size_t)job->slots * sonde_team_size(job->team);
	struct run run = {
		.rounds = rounds,
		.team = job->team,
		.slots = job->slots,
		.window = hpcdb_rounds_slots(job),
		.total = (rounds->count + all - 1) / all * job->slots,
		.caller = pthread_self(),
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.changed = PTHREAD_COND_INITIALIZER,
	};
	enum sonde_status status = SONDE_OK;

	run.numbers = calloc((run.window + all) * rounds->number_count, sizeof(*run.numbers));
	run.is_made = calloc(run.window, sizeof(*run.is_made));
	if (!run.numbers || !run.is_made)
		status = sonde_fail_nomem(err);
	else
		status = sonde_pool_run(run.slots, job->options->threads, work, &run, err);
	if (!run.has_agreed)
		status = sonde_team_agree(run.team, status, err);
	free(run.numbers);
	free(run.is_made);
	pthread_cond_destroy(&run.changed);
	pthread_mutex_destroy(&run.lock);
	return status;
}
