/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls of a track that are open at places here and there, found on the way of a first pass, so that a
 * later one can start near to what it looks for and still knows what is around it.
 */
#ifndef SONDE_QUERY_SPAN_MARKS_H
#define SONDE_QUERY_SPAN_MARKS_H

#include "query/query_tables.h"

struct span_call {
	uint32_t function;
	uint32_t depth; /* as recorded, or how many are open where nobody said */
	uint64_t start_ns;
	uint64_t children_ns; /* spent in calls that it made and that are over */
	uint64_t index;	      /* of its event in the track */
	bool wanted;	      /* of the present query */
};

/* Outermost first. */
struct span_stack {
	struct span_call *items;
	size_t count, capacity;
};

struct span_mark {
	uint64_t index;	     /* of the event that comes next */
	uint64_t time_ns;    /* of that event */
	size_t first, count; /* its calls among those of the track */
};

/* A place where the track is to be marked: none before `frontier`. */
uint64_t query_marks_frontier(struct query_recording *source, uint32_t track);

/* Marks it; where memory is short it stays unmarked. */
void query_marks_add(struct query_recording *source, uint32_t track, const struct span_stack *open,
		     uint64_t index, uint64_t time_ns);

/*
 * Puts the calls that are open at the last mark whose event is at `index` at most or is before `time_ns` on
 * the stack, and gives the index of that event; 0 and nothing where there is none. SONDE_NOMEM only.
 */
enum sonde_status query_marks_find(const struct query_recording *source, uint32_t track,
				   uint64_t index, uint64_t time_ns, struct span_stack *open,
				   uint64_t *place, struct sonde_error *err);

#endif
