/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of a tree of contexts: what cct.c owns and finishes, and what the builders fill in
 * (cct_calls.c, cct_profile.c, cct_merge.c). Metrics may be added to a finished one.
 */
#ifndef SONDE_ANALYSE_CCT_PRIVATE_H
#define SONDE_ANALYSE_CCT_PRIVATE_H

#include "analyse/cct.h"
#include "base/sketch.h"
#include "model/context_union.h"

/* All arrays are malloc'd; the members of `cct` are set from them by cct_body_finish(). */
struct cct_body {
	struct cct cct;
	struct sonde_definitions *definitions;
	struct sonde_context *contexts;
	uint32_t context_count;
	bool *recursive;
	struct cct_calls *calls, *function_calls;
	struct sonde_sketch *durations; /* by function; NULL where there are no calls */
	struct cct_track *tracks;
	struct cct_spread *context_spread, *function_spread;
	struct cct_spread *context_process_spread, *function_process_spread;
};

/* Empty, with definitions of its own; NULL where memory failed. cct_free() frees it. */
struct cct_body *cct_body_new(void);

/* Room for what a track has, for all tracks of the definitions. */
enum sonde_status cct_body_add_tracks(struct cct_body *body, struct sonde_error *err);

/* Works out what follows from the contexts alone: `recursive`. They must be there. */
enum sonde_status cct_body_add_recursion(struct cct_body *body, struct sonde_error *err);

/* Sums over functions and over tracks, and sets what everybody sees. */
enum sonde_status cct_body_finish(struct cct_body *body, struct sonde_error *err);

/*
 * A new metric at the end, with zeros for all contexts, and for all tracks in their totals. The texts are
 * copied. *added is borrowed until the next one. For a finished tree as well.
 */
enum sonde_status cct_add_metric(struct cct *cct, const char *name, const char *description,
				 struct cct_metric **added, struct sonde_error *err);

/* From `self` of all contexts, and of those below each. */
void cct_sum_up(const struct cct *cct, struct cct_metric *metric);

/* Adds numbers of calls; those of none are neutral. */
void cct_calls_add(struct cct_calls *calls, const struct cct_calls *more);

/* One more place with some of a metric. Of places with as much the lowest is kept. */
void cct_spread_add(struct cct_spread *spread, uint32_t place, double value);

/*
 * The definitions of a tree, made of those of a recording: processes, tracks, clocks and attributes as they
 * are, and of functions and modules those that its contexts have.
 */
struct cct_define {
	const struct sonde_definitions *source;
	struct sonde_definitions *target;
	/* by id in the source; SONDE_NONE: not needed so far */
	uint32_t *functions, *modules;
	uint32_t function_count, module_count;
};

enum sonde_status cct_define_init(struct cct_define *define, const struct sonde_definitions *source,
				  struct sonde_definitions *target, struct sonde_error *err);
void cct_define_release(struct cct_define *define);

/* The contexts of a finished union (by content) as those of a tree, with the ids of its definitions. */
enum sonde_status cct_define_contexts(struct cct_define *define,
				      const struct sonde_context_union *tree, struct cct_body *body,
				      struct sonde_error *err);

/* A string of the source in the target. */
enum sonde_status cct_copy_string(const struct sonde_definitions *source,
				  struct sonde_definitions *target, uint32_t string, uint32_t *id,
				  struct sonde_error *err);

/*
 * Processes with their clocks, tracks, and attributes of these and of the recording, at the end of what
 * the target has.
 */
enum sonde_status cct_copy_places(const struct sonde_definitions *source,
				  struct sonde_definitions *target, struct sonde_error *err);

/* By track of the recording: whether it is selected. malloc'd. */
enum sonde_status cct_wanted_tracks(const struct sonde_definitions *definitions,
				    const struct sonde_selection_spec *spec, bool **wanted,
				    struct sonde_error *err);

/*
 * The tree in the cache: found there, or NULL; and kept there, where it can be. `of_calls`: what it is made
 * of. All of `options` are set.
 */
struct cct_body *cct_cache_load(struct sonde_recording *recording,
				const struct cct_options *options, bool of_calls);
void cct_cache_store(struct sonde_recording *recording, const struct cct_options *options,
		     bool of_calls, const struct cct_body *body);

/* The builders. `body` is empty. */
enum sonde_status cct_build_calls(struct cct_body *body, struct sonde_recording *recording,
				  const struct cct_options *options, struct sonde_error *err);
enum sonde_status cct_build_profile(struct cct_body *body, struct sonde_recording *recording,
				    const struct cct_options *options, struct sonde_error *err);

#endif
