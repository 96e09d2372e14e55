/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The critical path of a recording: the chain of work, from track to track, that its duration is made of.
 * Found backwards from the end: the path stays on a track until that waited for another one, and goes on
 * there. What ties tracks is said by flows and by spans of a store; where neither does, functions that wait
 * are recognised by name, which is a guess and is marked as one.
 */
#ifndef SONDE_ANALYSE_CRITICAL_PATH_H
#define SONDE_ANALYSE_CRITICAL_PATH_H

#include <sonde/pipeline.h>

#include "base/buffer.h"

/* X(name, word, how sure, text): what a part of the path waited for before it began. */
#define CRITICAL_REASON_LIST(X)                                                                    \
	X(START, "start", EXACT, "the path begins here")                                           \
	X(FLOW, "flow", EXACT, "a flow came from there")                                           \
	X(SPAN_BEGIN, "span-begin", EXACT, "a span there began this one")                          \
	X(SPAN_END, "span-end", LIKELY, "a span within ended there")                               \
	X(JOIN, "join", LIKELY, "that thread ended while this one joined one")                     \
	X(BARRIER, "barrier", LIKELY, "that thread came last to the barrier")                      \
	X(WAKE, "wake", GUESS, "that thread released something while this one waited")             \
	X(CREATE, "create", GUESS, "that thread had created one last")                             \
	X(PRESENT, "present", GUESS, "nothing says who began this track; that one was there")      \
	X(GAP, "gap", GUESS, "nothing was recorded in between")

enum critical_reason {
#define X(name, word, sure, text) CRITICAL_##name,
	CRITICAL_REASON_LIST(X)
#undef X
		CRITICAL_REASONS,
};

enum critical_certainty { CRITICAL_EXACT, CRITICAL_LIKELY, CRITICAL_GUESS };

const char *critical_reason_word(enum critical_reason reason);
const char *critical_reason_text(enum critical_reason reason);
enum critical_certainty critical_reason_certainty(enum critical_reason reason);
const char *critical_certainty_word(enum critical_certainty certainty); /* "exact" */

/* One part of the path; the next begins when it ends. */
struct critical_segment {
	uint64_t from_ns, to_ns;
	uint32_t track;	  /* SONDE_NONE: nothing was recorded */
	uint32_t node;	  /* where most of the time went; see critical_path_put_calls() */
	uint64_t node_ns; /* how much of it */
	enum critical_reason reason; /* how it follows from the one before */
	/* The track stood still so long before from_ns: that much slower might the others have been sooner. */
	uint64_t waited_ns;
	uint32_t
		by; /* FLOW: its event type; WAKE, BARRIER, CREATE: the function; else SONDE_NONE */
};

/* One function; SONDE_NONE: outside of functions. */
struct critical_function {
	uint32_t function;
	uint64_t path_ns;   /* on the path, itself */
	uint64_t self_ns;   /* on all tracks */
	uint64_t waited_ns; /* tracks stood in it until the path came from elsewhere: their slack */
};

#define CRITICAL_SEGMENT_LIMIT                                                                     \
	1000000 /* kept; the path is followed to its beginning all the same */

struct critical_node {
	uint32_t parent, function, depth;
	uint32_t recent_child;
};

struct critical_path {
	uint64_t from_ns, to_ns;	   /* segments cover all of it */
	struct critical_segment *segments; /* from the beginning to the end */
	size_t segment_count;
	uint64_t segments_cut;		     /* at the beginning: not kept */
	struct critical_function *functions; /* by time on the path, the most first */
	size_t function_count;
	uint64_t counts[CRITICAL_REASONS]; /* of segments */
	uint64_t flows; /* in the recording: pairs of events on two tracks that a flow ties */
	uint64_t spans; /* pairs of spans on two tracks */
	bool is_alone;	/* nothing ties tracks: it is that of the longest one */
	bool gave_up;	/* looking for who woke whom took too long: fewer ties than there may be */
	struct critical_node *nodes; /* [0]: outside of calls */
	uint32_t node_count;
};

/*
 * Of the selection, time and tracks count; anything else is SONDE_ARGUMENT. Reads all events once, and
 * those on the path again. Memory: contexts, 40 bytes a flow event, 8 bytes for 4096 events.
 */
enum sonde_status critical_path_find(struct critical_path *path, struct sonde_recording *recording,
				     const struct sonde_selection_spec *selection,
				     const struct sonde_progress *progress,
				     struct sonde_error *err);
void critical_path_release(struct critical_path *path);

/* "main > work > load", the outermost left out beyond `most`. */
void critical_path_put_calls(const struct critical_path *path,
			     const struct sonde_definitions *definitions, uint32_t node,
			     unsigned int most, struct sonde_buffer *out);

#endif
