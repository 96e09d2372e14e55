/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of struct sonde_resume of <sonde/pipeline.h>: where the next piece of each track begins,
 * so that a recording is cut into many pieces in one pass over its events.
 */
#ifndef SONDE_MODEL_RESUME_H
#define SONDE_MODEL_RESUME_H

#include <sonde/pipeline.h>

#include "model/call_stack.h"

/* A track at a border between two pieces. Zeroed: before its first event. */
struct sonde_resume_point {
	uint64_t index;		      /* of the first event behind the border */
	struct sonde_call_stack open; /* calls open there */
	bool has_context;	      /* samples: it is in a context there already */
	uint32_t context;
};

struct sonde_resume {
	bool is_started;
	bool is_written; /* `next` is that of a run that went well */
	uint32_t track_count;
	uint64_t border_ns, next_border_ns;
	struct sonde_resume_point *points; /* by track, counted on from source to source */
	struct sonde_resume_point *next;
};

/* A run begins: the first one makes room for the tracks, others must go on where the last ended. */
enum sonde_status sonde_resume_begin(struct sonde_resume *resume, uint32_t track_count,
				     const struct sonde_selection_spec *spec,
				     struct sonde_error *err);

/* Keeps a copy of the open calls; false where memory failed. */
bool sonde_resume_point_keep(struct sonde_resume_point *point, uint64_t index,
			     const struct sonde_call_stack *open);

#endif
