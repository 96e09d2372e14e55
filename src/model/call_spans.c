/* SPDX-License-Identifier: Apache-2.0 */
/* Calls and returns become spans, by a stack of what is open. */
#include "model/call_spans.h"

#include <string.h>

struct taker {
	sonde_call_span_take *take;
	void *user;
};

const char *sonde_span_end_name(enum sonde_span_end end)
{
	static const char *const words[] = {
#define X(name, word) word,
		SONDE_SPAN_END_LIST(X)
#undef X
	};

	return words[end];
}

void sonde_call_spans_release(struct sonde_call_spans *spans)
{
	sonde_vec_release(&spans->open);
	sonde_vec_release(&spans->children_ns);
	sonde_vec_release(&spans->open_calls);
}

/* How many calls of a function are open; NULL where memory failed. */
static uint32_t *open_calls_of(struct sonde_call_spans *spans, uint32_t function)
{
	size_t more;

	if (function < spans->open_calls.count)
		return &spans->open_calls.items[function];
	more = function + (size_t)1 - spans->open_calls.count;
	if (!sonde_vec_reserve(&spans->open_calls, more))
		return NULL;
	memset(spans->open_calls.items + spans->open_calls.count, 0,
	       more * sizeof(*spans->open_calls.items));
	spans->open_calls.count += more;
	return &spans->open_calls.items[function];
}

/* The innermost call is over. */
static enum sonde_status close_innermost(struct sonde_call_spans *spans,
					 enum sonde_span_end ended_by, const struct taker *taker,
					 struct sonde_error *err)
{
	size_t place = --spans->open.count;
	const struct sonde_open_call *call = &spans->open.items[place];
	struct sonde_call_span span = {
		.start_ns = call->time_ns,
		.duration_ns = spans->last_ns - call->time_ns,
		.function = call->function,
		.caller = place ? call[-1].function : SONDE_NONE,
		.depth = call->depth ? call->depth : (uint32_t)place + 1,
		.ended_by = ended_by,
	};

	span.self_ns = span.duration_ns - spans->children_ns.items[place];
	spans->children_ns.count = place;
	if (place)
		spans->children_ns.items[place - 1] += span.duration_ns;
	if (call->function != SONDE_NONE)
		span.is_recursive = --spans->open_calls.items[call->function] != 0;
	return taker->take(taker->user, &span, err);
}

/* Calls whose returns are not there, down to a number of open ones. */
static enum sonde_status close_lost(struct sonde_call_spans *spans, size_t count,
				    const struct taker *taker, struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	while (!status && spans->open.count > count)
		status = close_innermost(spans, SONDE_SPAN_END_LOST, taker, err);
	return status;
}

static enum sonde_status add_call(struct sonde_call_spans *spans, const struct sonde_event *event,
				  const struct taker *taker, struct sonde_error *err)
{
	size_t count = spans->open.count;
	enum sonde_status status;
	uint32_t *open_calls;

	/* those at its depth or deeper are over, though their returns are lost; 0 is no depth */
	while (event->depth && count && spans->open.items[count - 1].depth >= event->depth)
		count--;
	status = close_lost(spans, count, taker, err);
	if (status)
		return status;
	if (!sonde_vec_reserve(&spans->children_ns, 1) || !sonde_vec_reserve(&spans->open, 1))
		return sonde_fail_nomem(err);
	if (event->function != SONDE_NONE) {
		open_calls = open_calls_of(spans, event->function);
		if (!open_calls)
			return sonde_fail_nomem(err);
		++*open_calls;
	}
	spans->open.items[spans->open.count++] = (struct sonde_open_call){
		.function = event->function,
		.depth = event->depth,
		.time_ns = spans->last_ns,
	};
	spans->children_ns.items[spans->children_ns.count++] = 0;
	return SONDE_OK;
}

static enum sonde_status add_return(struct sonde_call_spans *spans, const struct sonde_event *event,
				    const struct taker *taker, struct sonde_error *err)
{
	const struct sonde_call_stack *open = &spans->open;
	size_t left = open->count - 1;
	enum sonde_status status = SONDE_OK;

	if (!open->count)
		return SONDE_OK;
	if (open->items[left].function != event->function ||
	    open->items[left].depth != event->depth) {
		left = sonde_call_stack_find_by_depth(open, event);
		if (left == SONDE_NO_CALL)
			return SONDE_OK;
		status = close_lost(spans, left + 1, taker, err);
	}
	if (status)
		return status;
	return close_innermost(spans,
			       event->kind == SONDE_EVENT_RETURN ? SONDE_SPAN_END_RETURN :
								   SONDE_SPAN_END_EXCEPTION,
			       taker, err);
}

enum sonde_status sonde_call_spans_add(struct sonde_call_spans *spans,
				       const struct sonde_event *events, size_t count,
				       sonde_call_span_take *take, void *user,
				       struct sonde_error *err)
{
	const struct taker taker = { take, user };
	enum sonde_status status = SONDE_OK;

	for (size_t i = 0; !status && i < count; i++) {
		const struct sonde_event *event = &events[i];

		if (event->time_ns > spans->last_ns)
			spans->last_ns = event->time_ns;
		if (event->kind == SONDE_EVENT_CALL)
			status = add_call(spans, event, &taker, err);
		else if (sonde_event_leaves(event))
			status = add_return(spans, event, &taker, err);
	}
	return status;
}

enum sonde_status sonde_call_spans_end(struct sonde_call_spans *spans, sonde_call_span_take *take,
				       void *user, struct sonde_error *err)
{
	const struct taker taker = { take, user };
	enum sonde_status status = SONDE_OK;

	while (!status && spans->open.count)
		status = close_innermost(spans, SONDE_SPAN_END_TRACK, &taker, err);
	spans->last_ns = 0;
	return status;
}
