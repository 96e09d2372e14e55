/* SPDX-License-Identifier: Apache-2.0 */
/* Runs independent pieces of work on a few threads, and adds up progress from all of them. */
#ifndef SONDE_BASE_POOL_H
#define SONDE_BASE_POOL_H

#include <sonde/progress.h>
#include <sonde/status.h>

/* One piece; called with 0 .. count-1, each once. */
typedef enum sonde_status sonde_pool_work(void *user, size_t number, struct sonde_error *err);

/*
 * Runs `count` pieces on up to `threads` threads (0: one a processor), the caller's among them.
 * The first failure stops the handing out; the failure with the lowest number is returned. Where
 * threads cannot be started the caller does all the work.
 */
enum sonde_status sonde_pool_run(size_t count, unsigned int threads, sonde_pool_work *work,
				 void *user, struct sonde_error *err);

/* Progress shared by the pieces. A zeroed struct with `progress` NULL swallows everything. */
struct sonde_meter {
	const struct sonde_progress *progress;
	uint64_t total;
	_Atomic uint64_t done;
	_Atomic _Bool cancelled;
	_Atomic _Bool busy; /* one report at a time; others are skipped */
	_Atomic uint64_t reported_ns;
};

/* Counts units and reports now and then; SONDE_CANCELLED once the caller asked for a stop. */
enum sonde_status sonde_meter_add(struct sonde_meter *meter, uint64_t units,
				  struct sonde_error *err);

#endif
