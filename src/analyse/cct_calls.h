/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of building a tree of calls: cct_calls.c reads the tracks and finishes, cct_calls_add.c sums up. */
#ifndef SONDE_ANALYSE_CCT_CALLS_H
#define SONDE_ANALYSE_CCT_CALLS_H

#include <pthread.h>

#include "analyse/cct_private.h"
#include "base/pool.h"
#include "base/vec.h"
#include "model/call_tree.h"

#define NS_PER_SECOND 1e9

typedef unsigned __int128 cct_wide;

enum { CCT_METRIC_TIME, CCT_METRIC_CALLS };

/* What a node of the union has of all tracks so far. */
struct cct_sums {
	uint64_t calls, exceptions, unfinished, sum_ns, min_ns, max_ns;
	cct_wide squares;
};

/* As struct cct_spread, in whole numbers. */
struct cct_whole_spread {
	uint32_t count, max_place;
	uint64_t min, max, sum;
	cct_wide squares;
};

/* Totals of the metric whose spread is wanted, by node or by class of function. */
struct cct_totals {
	SONDE_VEC(uint64_t) values;
	SONDE_VEC(uint32_t) touched;
};

/* What nodes and functions have of one place. */
struct cct_place {
	struct cct_totals nodes, functions;
};

struct cct_process {
	uint32_t tracks_left;
	struct cct_place place;
};

struct cct_piece {
	uint32_t track, process;
};

struct cct_work {
	struct sonde_recording *recording;
	const struct sonde_selection_spec *spec;
	struct cct_body *body;
	uint32_t spread_metric;
	SONDE_VEC(struct cct_piece) pieces;
	struct sonde_meter meter;
	struct cct_process *processes; /* by process, one more for tracks without */
	uint32_t process_count;
	/* all below is of the lock */
	pthread_mutex_t lock;
	struct sonde_context_union *tree;
	SONDE_VEC(struct cct_sums) sums;	  /* by node */
	SONDE_VEC(struct sonde_sketch) durations; /* by class of function */
	SONDE_VEC(struct cct_whole_spread)
	node_tracks, node_processes, function_tracks, function_processes;
	SONDE_VEC(uint32_t) open; /* by class: how many calls of it are above */
	struct cct_place place;	  /* of the track that is being added */
};

void cct_place_release(struct cct_place *place);

/* Adds a whole track to all tracks. Takes the lock. */
enum sonde_status cct_work_add_track(struct cct_work *work, const struct cct_piece *piece,
				     const struct sonde_call_tree *tree, struct sonde_error *err);

#endif
