/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store as its own files see it: who holds the writer, which traces are on the disk, and what the
 * background does. Locks are taken in this order: maintenance, ingest, commit.
 */
#ifndef SONDE_STORE_PRIVATE_H
#define SONDE_STORE_PRIVATE_H

#include <pthread.h>
#include <time.h>

#include "base/vec.h"
#include "store/store.h"

#define SONDE_PART_NAME_SIZE 16

/* Tickets first < t <= last were lost by a failure. */
struct sonde_lost_tickets {
	uint64_t first, last;
};

/* Failures with successes between them that are told apart. */
#define SONDE_MOST_LOST 256

struct sonde_store {
	char *base;
	int lock_fd;
	struct sonde_store_settings settings;

	/* Held from begin to end: the writer is one thread's at a time. */
	pthread_mutex_t ingest;
	struct zts_writer *writer; /* NULL: the next begin opens or makes one */
	bool may_go_on;		   /* with the current part, where there is no writer */
	uint32_t highest;	   /* number of the newest part; SONDE_NONE */
	time_t part_began;
	struct zts_writer_size counted; /* of the writer: what is in `counters` already */
	struct zts_writer_names *names; /* for the next part */

	/* What is on the disk. */
	pthread_mutex_t commit;
	pthread_cond_t changed;
	bool has_leader;       /* a thread syncs or is about to, for all that wait */
	bool in_flight;	       /* it has taken what to sync from the writer */
	bool writer_is_broken; /* a sync failed: the writer has to be opened anew */
	uint64_t ended;	       /* tickets given out */
	uint64_t synced;       /* all up to here is on the disk, or lost and in `lost` */
	/* In the order of time. Not allocated: they are needed when memory fails. */
	struct sonde_lost_tickets lost[SONDE_MOST_LOST];
	size_t lost_count;
	struct sonde_error failure; /* the last one */
	struct sonde_store_counters counters;
	uint32_t current; /* the part that is written on; SONDE_NONE */

	/* Archiving and retention: one part at a time, by one thread. */
	pthread_mutex_t maintenance;
	pthread_t background;
	bool has_background;		      /* to be joined */
	bool is_running, has_work, must_stop; /* under `commit` */
};

/* settings.c */
char *sonde_store_props_lines(const struct sonde_store_settings *settings);

/* parts.c: the numbers of all parts, ascending; malloc'd. */
struct sonde_part_numbers {
	SONDE_VEC(uint32_t) list;
};
enum sonde_status sonde_store_parts(const char *base, struct sonde_part_numbers *numbers,
				    struct sonde_error *err);
char *sonde_store_part_path(const char *base, uint32_t number);
/* What an interrupted making or removing of a part left goes. */
void sonde_store_clean(const char *base);
/* With `ingest` held: opens the current part where that may be; without a writer a new one is needed. */
enum sonde_status sonde_store_go_on(struct sonde_store *store,
				    struct sonde_diagnostics *diagnostics, struct sonde_error *err);
/* With `ingest` held: a writer of the current part, gone on with or made. */
enum sonde_status sonde_store_need_writer(struct sonde_store *store, struct sonde_error *err);
/* With `ingest` held: syncs and closes the current part, if there is one. */
enum sonde_status sonde_store_finish_part(struct sonde_store *store, struct sonde_error *err);
/* With `ingest` held: brings the counters up to date with the writer. */
void sonde_store_count(struct sonde_store *store);

/* commit.c: with `ingest` held. */
/* The writer's unsynced traces are lost: their tickets fail. The writer is freed. */
void sonde_store_lose_writer(struct sonde_store *store, const struct sonde_error *err);
/*
 * Frees the writer where a sync of it has failed. With `wait`, none that another thread began uses it any
 * more: before it is synced or freed.
 */
void sonde_store_settle(struct sonde_store *store, bool wait);

/* retain.c */
void sonde_store_wake_background(struct sonde_store *store);
void sonde_store_stop_background(struct sonde_store *store);

#endif
