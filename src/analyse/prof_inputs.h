/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What there is to merge: the profiles in measurement folders, single profiles, and tracks of recordings
 * with calls, numbered in an order that does not depend on how they were given.
 */
#ifndef SONDE_ANALYSE_PROF_INPUTS_H
#define SONDE_ANALYSE_PROF_INPUTS_H

#include "analyse/prof.h"
#include "analyse/prof_union.h"

struct prof_item {
	const char *path;
	uint32_t recording; /* number in recordings; SONDE_NONE: an .hpcrun file */
	uint32_t track;	    /* in the recording */
};

/* Zeroed means empty. Files are not kept open, recordings are. */
struct prof_inputs {
	struct sonde_arena texts;
	SONDE_VEC(struct prof_item) items;
	SONDE_VEC(const char *) folders; /* of measurements, sorted, each once */
	SONDE_VEC(const char *) recording_paths;
	struct sonde_recording **recordings; /* as many as paths */
};

/*
 * What is no input, or given twice, is refused in `refused`. With a team rank 0 looks, and all get what
 * it found; the refusals are rank 0's alone.
 */
enum sonde_status prof_inputs_find(struct prof_inputs *inputs, const char *const *paths,
				   size_t count, const struct sonde_prof_options *options,
				   struct prof_union *refused, struct sonde_error *err);
void prof_inputs_release(struct prof_inputs *inputs);

/* The path of the trace that belongs to a profile, or NULL where it cannot be made; malloc'd. */
char *prof_trace_path(const char *profile);

/* "because of what": an error on one line without its file, which is told apart. */
const char *prof_reason(const struct sonde_error *err, char *space, size_t size);

#endif
