/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls of one track with their returns, one after the other as they end. Memory is that of the calls
 * that are open. Which call a return leaves is decided as in call_tree.c, and so are durations: both
 * give the same sums.
 */
#ifndef SONDE_MODEL_CALL_SPANS_H
#define SONDE_MODEL_CALL_SPANS_H

#include "model/call_stack.h"

/* X(name, word): how a call ended. */
#define SONDE_SPAN_END_LIST(X)                                                                     \
	X(RETURN, "return")                                                                        \
	X(EXCEPTION, "exception")                                                                  \
	X(LOST, "lost") /* its return is missing */                                                \
	X(TRACK, "end") /* of the track */

enum sonde_span_end {
#define X(name, word) SONDE_SPAN_END_##name,
	SONDE_SPAN_END_LIST(X)
#undef X
		SONDE_SPAN_END_COUNT
};

struct sonde_call_span {
	uint64_t start_ns, duration_ns;
	uint64_t self_ns;  /* without the calls that it made */
	uint32_t function; /* SONDE_NONE: not known */
	uint32_t caller;   /* the function around it; SONDE_NONE: none, or not known */
	uint32_t depth;
	enum sonde_span_end ended_by;
	/* A call of the same function is around it: durations of one function add up without it. */
	bool is_recursive;
};

typedef enum sonde_status sonde_call_span_take(void *user, const struct sonde_call_span *span,
					       struct sonde_error *err);

/* Zeroed is one for a new track. */
struct sonde_call_spans {
	struct sonde_call_stack open;
	SONDE_VEC(uint64_t) children_ns; /* by place on the stack: what calls that are over took */
	SONDE_VEC(uint32_t) open_calls;	 /* by function */
	uint64_t last_ns;		 /* never goes back, whatever the events do */
};

void sonde_call_spans_release(struct sonde_call_spans *spans);

/* Each span that ends by these events is taken. */
enum sonde_status sonde_call_spans_add(struct sonde_call_spans *spans,
				       const struct sonde_event *events, size_t count,
				       sonde_call_span_take *take, void *user,
				       struct sonde_error *err);

/* All that is open ends, and it is as new. */
enum sonde_status sonde_call_spans_end(struct sonde_call_spans *spans, sonde_call_span_take *take,
				       void *user, struct sonde_error *err);

/* The word for an end ("return"). */
const char *sonde_span_end_name(enum sonde_span_end end);

#endif
