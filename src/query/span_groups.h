/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spans in the order of their functions, for GROUP BY, in memory of a fixed size whatever their number:
 * a first pass counts those of each function, then each pass takes as many functions as there is room for.
 */
#ifndef SONDE_QUERY_SPAN_GROUPS_H
#define SONDE_QUERY_SPAN_GROUPS_H

#include "query/span_reader.h"

/* The spans of a function within those of a pass. */
struct span_room {
	uint64_t end;	/* behind its last span */
	uint64_t limit; /* where the next function's begin */
};

/* Zeroed means not started. */
struct span_groups {
	struct query_recording *source;
	struct span_reader reader;
	struct span_wants wants;
	SONDE_VEC(uint64_t) counts; /* by slot of a function */
	uint64_t next_slot;	    /* the first that no pass has taken yet */
	bool streams; /* one function with more than there is room for: as they come */
	/* of a pass: */
	SONDE_VEC(struct span) spans;
	SONDE_VEC(struct span_room) rooms; /* by slot, from wants.first_slot on */
	size_t room;			   /* in which ... */
	uint64_t position;		   /* ... and the span that is next */
};

enum sonde_status span_groups_start(struct span_groups *groups, struct query_recording *source,
				    const struct span_wants *wants, struct sonde_error *err);

/* The next one, borrowed until the call after it; SONDE_END after the last. */
enum sonde_status span_groups_next(struct span_groups *groups, const struct span **span,
				   struct sonde_error *err);
void span_groups_release(struct span_groups *groups);

#endif
