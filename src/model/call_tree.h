/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events -> contexts and values: the calls of one track as a tree in which equal paths are one node,
 * with how often each was called and how long it ran. This is the only place where that is derived.
 * Memory grows with distinct paths.
 */
#ifndef SONDE_MODEL_CALL_TREE_H
#define SONDE_MODEL_CALL_TREE_H

#include <sonde/recording.h>

#include "base/sketch.h"

struct sonde_call_tree;

/*
 * Node 0 is the track itself; its own time is that between first and last event outside of calls. All
 * numbers are known after the end. One cache line each.
 */
struct sonde_call_node {
	uint64_t calls;
	uint64_t sum_ns;	 /* of the durations of its calls */
	uint64_t min_ns, max_ns; /* of one call */
	double squares;		 /* sum of the squared durations */
	union {
		uint64_t self_ns;
		uint64_t key; /* private, before the end: by what events name the function */
	};
	uint32_t parent;   /* SONDE_NONE for node 0; parents come before children */
	uint32_t function; /* SONDE_NONE for node 0 */
	/* private: the call that comes first in this one, and the one after it; 0: not known */
	uint32_t first, next;
};

/* What is rare: how calls of a node ended otherwise than by returning. */
struct sonde_call_ends {
	uint64_t exceptions;
	uint64_t unfinished; /* the return is not there */
};

struct sonde_call_tree *sonde_call_tree_new(void);
/* One that also keeps how the durations of each function's calls are distributed. */
struct sonde_call_tree *sonde_call_tree_new_with_durations(void);
void sonde_call_tree_free(struct sonde_call_tree *tree);

/* Makes it empty again, keeping its memory. */
void sonde_call_tree_clear(struct sonde_call_tree *tree);

/*
 * Adds events of the track, in the order of time. Calls that are never left end with the track; a
 * return without its call closes nothing. `on_change` (may be NULL) is told each time the track is
 * in another node from `time_ns` on: this is what samples are made of.
 */
typedef enum sonde_status sonde_call_tree_change(void *user, uint64_t time_ns, uint32_t node,
						 struct sonde_error *err);
enum sonde_status sonde_call_tree_add(struct sonde_call_tree *tree,
				      const struct sonde_event *events, size_t count,
				      sonde_call_tree_change *on_change, void *user,
				      struct sonde_error *err);
/*
 * The same of raw events (model/recording.h), without telling. All events of a tree are of one kind.
 * `function` is asked for the function of a key where it is not known from the same place before.
 */
typedef enum sonde_status sonde_call_tree_function(void *user, uint64_t key, uint32_t *function,
						   struct sonde_error *err);
enum sonde_status sonde_call_tree_add_raw(struct sonde_call_tree *tree, const uint8_t *bytes,
					  size_t count, sonde_call_tree_function *function,
					  void *user, struct sonde_error *err);
/* Closes what is open, at the time of the last event. */
enum sonde_status sonde_call_tree_end(struct sonde_call_tree *tree,
				      sonde_call_tree_change *on_change, void *user,
				      struct sonde_error *err);

const struct sonde_call_node *sonde_call_tree_nodes(const struct sonde_call_tree *tree,
						    uint32_t *count);

struct sonde_call_ends sonde_call_tree_ends(const struct sonde_call_tree *tree, uint32_t node);

/* By function, of one with durations; functions from *count on were not called. */
const struct sonde_sketch *sonde_call_tree_durations(const struct sonde_call_tree *tree,
						     uint32_t *count);

/* Of the first event and of the last; false (and zeros) where there was none. */
bool sonde_call_tree_times(const struct sonde_call_tree *tree, uint64_t *first_ns,
			   uint64_t *last_ns);

/* The metrics that are made of it, in this order: self_ns as seconds, and calls. */
#define SONDE_METRIC_TIME "REALTIME (sec)"
#define SONDE_METRIC_TIME_TEXT "time between call and return"
#define SONDE_METRIC_CALLS "CALLS"
#define SONDE_METRIC_CALLS_TEXT "how often it was called"

#endif
