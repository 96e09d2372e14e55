/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls with their returns, by one pass over each track with a stack. A span is handed out when it ends, so
 * they come in the order of their ends; where nobody asks for ends, with the calls. Which call a return leaves
 * is decided as in model/call_tree.c.
 */
#ifndef SONDE_QUERY_SPAN_READER_H
#define SONDE_QUERY_SPAN_READER_H

#include "query/span_marks.h"

enum span_end { SPAN_END_RETURN, SPAN_END_EXCEPTION, SPAN_END_LOSS, SPAN_END_TRACK };

/* How much of the work is needed. */
enum span_mode {
	SPAN_MODE_CALLS,     /* only what calls say: nothing is paired */
	SPAN_MODE_AT_CALLS,  /* what is around calls too: spans come with the calls */
	SPAN_MODE_WITH_ENDS, /* all */
};

struct span {
	uint32_t track;
	uint32_t function;
	uint32_t depth;
	enum span_end ended_by;
	uint64_t start_ns, end_ns;
	uint64_t children_ns;
	int64_t id;
	int64_t parent; /* QUERY_NULL: none */
};

/* Which spans; the wishes must stay where they are. */
struct span_wants {
	enum span_mode mode;
	const struct query_wish *ids, *tracks, *functions, *starts, *durations, *depths, *parents;
	/* Functions of these numbers plus one, none being 0: a part of those wished for. */
	uint32_t first_slot, last_slot;
};

static inline uint32_t span_slot(uint32_t function)
{
	return function + 1; /* SONDE_NONE becomes 0 */
}

/* Zeroed means not started. */
struct span_reader {
	struct span row; /* what span_reader_next() found */
	/* the rest is private */
	struct query_recording *source;
	struct span_wants wants;
	int64_t low_id, high_id;
	uint64_t low_ns, high_ns; /* of the start */
	uint64_t low_index, high_index;
	bool has_parent; /* only calls out of that one: */
	uint64_t parent_index;
	size_t parent_place; /* on the stack; SIZE_MAX: not met yet */
	bool looks_closer;   /* more than time and index decides about a call */
	bool is_over;
	/* where it is */
	uint32_t track;
	struct sonde_cursor *events;
	const struct sonde_event *batch;
	size_t position, count;
	uint64_t index; /* of batch[position] */
	uint64_t frontier;
	bool track_ends; /* all that is open ends now */
	/* what is open */
	struct span_stack open;
	size_t wanted_open;
	size_t keep; /* calls above so many are over ... */
	size_t left; /* ... and this one by what follows, the others for want of a return */
	enum span_end left_by;
	uint64_t now_ns;
};

/* Starts, or starts anew. */
enum sonde_status span_reader_start(struct span_reader *reader, struct query_recording *source,
				    const struct span_wants *wants, struct sonde_error *err);

/* The next span into reader->row; SONDE_END after the last. */
enum sonde_status span_reader_next(struct span_reader *reader, struct sonde_error *err);
void span_reader_release(struct span_reader *reader);

#endif
