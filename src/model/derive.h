/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one kind of lane says in the words of another: calls as contexts, values and samples for a
 * target without events, and samples as calls and returns for a target without samples.
 */
#ifndef SONDE_MODEL_DERIVE_H
#define SONDE_MODEL_DERIVE_H

#include <pthread.h>

#include <sonde/pipeline.h>

#include "model/context_union.h"

/*
 * Events -> contexts, values, samples. Two runs over the events: the contexts must all be known
 * before the first value is handed on, and nothing is kept of a track between the runs.
 */
struct sonde_derived_profile {
	const struct sonde_definitions *definitions;
	struct sonde_context_union *tree; /* borrowed; to be set before the first run */
	pthread_mutex_t lock;		  /* of the tree while it grows */
	bool has_lock;
	uint32_t main_name, thread_name; /* strings */
	uint32_t calls, time;		 /* metrics */
};

/* Defines names and metrics in the target; all ids below are the target's. */
enum sonde_status sonde_derived_profile_init(struct sonde_derived_profile *profile,
					     struct sonde_definitions *target,
					     struct sonde_error *err);
void sonde_derived_profile_release(struct sonde_derived_profile *profile);

/* A thread that its process began with: by its id where the system gave one, else the first. */
bool sonde_track_is_main(const struct sonde_definitions *definitions, uint32_t track);
/* What a track's outermost calls are below: the entry of a main thread, or of another. */
struct sonde_context sonde_derived_entry(const struct sonde_derived_profile *profile,
					 uint32_t track);

/* The context of a node of calls, below that of its parent. */
struct sonde_context sonde_derived_context(uint32_t function);

/* The first run: takes the events of one track and its end, and adds its paths to the tree. */
enum sonde_status sonde_gather_paths_new(struct sonde_derived_profile *profile,
					 struct sonde_sink **sink, struct sonde_error *err);

/*
 * The second run, after the tree was finished: hands events on as they are, each change of the
 * innermost call as a sample, and at the end the values of the track.
 */
enum sonde_status sonde_derive_profile_new(struct sonde_derived_profile *profile,
					   struct sonde_sink *next, struct sonde_sink **sink,
					   struct sonde_error *err);

/*
 * Samples -> events, for all tracks of a recording. What is called is a function; a line, loop or
 * instruction belongs to the function around it, and is one itself where there is none. Functions
 * are defined anew in the process of a track where they are not of that process.
 */
struct sonde_derived_events;

/*
 * Calls deeper than that are left out: they belong to the last one that is not. From one sample to the next
 * as many events may follow, so that a small hostile file must not have paths without any end.
 */
#define SONDE_DERIVED_DEPTH (1 << 17)

enum sonde_status sonde_derived_events_new(struct sonde_recording *recording,
					   struct sonde_derived_events **derived,
					   struct sonde_error *err);
void sonde_derived_events_free(struct sonde_derived_events *derived);

/* Contexts that became part of another: those that are no functions, and those too deep. */
uint32_t sonde_derived_events_folded(const struct sonde_derived_events *derived);
uint32_t sonde_derived_events_too_deep(const struct sonde_derived_events *derived);

/* A cursor over one track; it goes forward only. */
enum sonde_status sonde_derived_cursor_open(struct sonde_derived_events *derived, uint32_t track,
					    struct sonde_cursor **cursor, struct sonde_error *err);

/* How many samples it has read so far. */
uint64_t sonde_derived_cursor_samples(const struct sonde_cursor *cursor);

#endif
