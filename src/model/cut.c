/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The filter that cuts a piece of time out of a track. What lies before the piece only maintains
 * the stack of open calls; what lies behind it only shows that the track goes on. Times that go
 * backwards in a damaged track are tested one by one, and the order of events is kept.
 */
#include <stdatomic.h>
#include <stdlib.h>

#include "model/call_stack.h"
#include "model/filters.h"

/* Marks of open calls. */
enum { CALL_OUTSIDE, CALL_PASSED };

#define SYNTHETIC_BATCH 64

struct cut {
	struct sonde_sink base;
	struct sonde_sink *next;
	uint64_t from_ns;
	uint64_t last_ns; /* the last time that belongs to the piece */
	bool is_open;	  /* the piece was reached: the open calls are opened in the output */
	struct sonde_call_stack stack;
	struct sonde_event synthetic[SYNTHETIC_BATCH];
	size_t synthetic_count;
	/* of a piece that goes on where another one ended, and another one goes on from; else NULL */
	struct sonde_resume_point *end;
	_Atomic uint64_t *out_of_order;
	uint64_t position; /* index of the next event */
	bool is_over;	   /* the track went beyond the piece, and *end is filled in */
};

static bool is_inside(const struct cut *cut, const struct sonde_event *event)
{
	return event->time_ns >= cut->from_ns && event->time_ns <= cut->last_ns;
}

static enum sonde_status flush(struct cut *cut, uint32_t track, struct sonde_error *err)
{
	struct sonde_batch batch = {
		.events = cut->synthetic,
		.count = cut->synthetic_count,
		.first_index = SONDE_NO_INDEX,
	};

	if (!batch.count)
		return SONDE_OK;
	cut->synthetic_count = 0;
	return cut->next->ops->events(cut->next, track, &batch, err);
}

static enum sonde_status put_synthetic(struct cut *cut, uint32_t track,
				       const struct sonde_open_call *call,
				       enum sonde_event_kind kind, uint64_t time_ns,
				       struct sonde_error *err)
{
	cut->synthetic[cut->synthetic_count++] = (struct sonde_event){
		.time_ns = time_ns,
		.track = track,
		.function = call->function,
		.depth = call->depth,
		.kind = (uint8_t)kind,
		.flags = SONDE_EVENT_SYNTHETIC,
		.detail = SONDE_NONE,
	};
	return cut->synthetic_count < SYNTHETIC_BATCH ? SONDE_OK : flush(cut, track, err);
}

/* The piece is reached. */
static enum sonde_status open_calls(struct cut *cut, uint32_t track, struct sonde_error *err)
{
	cut->is_open = true;
	for (size_t i = 0; i < cut->stack.count; i++) {
		struct sonde_open_call *call = &cut->stack.items[i];
		enum sonde_status status =
			put_synthetic(cut, track, call, SONDE_EVENT_CALL, cut->from_ns, err);

		if (status)
			return status;
		call->mark = CALL_PASSED;
	}
	return flush(cut, track, err);
}

static bool note_call(struct cut *cut, const struct sonde_event *event, uint32_t mark)
{
	return event->kind != SONDE_EVENT_CALL || sonde_call_stack_push(&cut->stack, event, mark);
}

static void note_leave(struct cut *cut, const struct sonde_event *event)
{
	size_t left = sonde_call_stack_find_left(&cut->stack, event);

	if (left != SONDE_NO_CALL)
		cut->stack.count = left;
}

static void count_out_of_order(struct cut *cut, size_t count)
{
	if (cut->out_of_order && count)
		atomic_fetch_add_explicit(cut->out_of_order, count, memory_order_relaxed);
}

/* Takes in events before the piece is reached; gives how many those were. */
static enum sonde_status take_before(struct cut *cut, const struct sonde_batch *batch,
				     size_t *taken, struct sonde_error *err)
{
	size_t i;

	for (i = 0; i < batch->count && batch->events[i].time_ns < cut->from_ns; i++) {
		const struct sonde_event *event = &batch->events[i];

		if (sonde_event_leaves(event))
			note_leave(cut, event);
		else if (!note_call(cut, event, CALL_OUTSIDE))
			return sonde_fail_nomem(err);
	}
	*taken = i;
	count_out_of_order(cut, i);
	return SONDE_OK;
}

/* Passes the events inside the piece that start at *place, and moves it behind them. */
static enum sonde_status pass_inside(struct cut *cut, uint32_t track,
				     const struct sonde_batch *batch, size_t *place,
				     struct sonde_error *err)
{
	struct sonde_batch part = *batch;
	size_t first = *place, i;

	for (i = first; i < batch->count && is_inside(cut, &batch->events[i]); i++) {
		const struct sonde_event *event = &batch->events[i];

		if (sonde_event_leaves(event))
			note_leave(cut, event);
		else if (!note_call(cut, event, CALL_PASSED))
			return sonde_fail_nomem(err);
	}
	*place = i;
	if (i == first)
		return SONDE_OK;
	part.events += first;
	part.count = i - first;
	part.first_index += first;
	return cut->next->ops->events(cut->next, track, &part, err);
}

/* Leaves the calls from place `left` on; those that were passed are closed in the output. */
static enum sonde_status close_calls(struct cut *cut, uint32_t track, size_t left, uint64_t time_ns,
				     struct sonde_error *err)
{
	while (cut->stack.count > left) {
		const struct sonde_open_call *call = &cut->stack.items[--cut->stack.count];
		enum sonde_status status;

		if (call->mark != CALL_PASSED)
			continue;
		status = put_synthetic(cut, track, call, SONDE_EVENT_RETURN, time_ns, err);
		if (status)
			return status;
	}
	return flush(cut, track, err);
}

/* Time went back before the piece: what is left there is left at its start. */
static enum sonde_status take_ahead(struct cut *cut, uint32_t track,
				    const struct sonde_event *event, struct sonde_error *err)
{
	size_t left;

	count_out_of_order(cut, 1);
	if (!sonde_event_leaves(event))
		return note_call(cut, event, CALL_OUTSIDE) ? SONDE_OK : sonde_fail_nomem(err);
	left = sonde_call_stack_find_left(&cut->stack, event);
	if (left == SONDE_NO_CALL)
		return SONDE_OK;
	return close_calls(cut, track, left, cut->from_ns, err);
}

/* The track goes on behind the piece: all that is open ends with the piece. */
static enum sonde_status end_piece(struct cut *cut, uint32_t track, uint64_t index,
				   struct sonde_error *err)
{
	if (cut->end) {
		cut->is_over = true;
		if (!sonde_resume_point_keep(cut->end, index, &cut->stack))
			return sonde_fail_nomem(err);
	}
	return close_calls(cut, track, 0, cut->last_ns + 1, err);
}

/* Takes in the events outside the piece that start at *place, and moves it behind them. */
static enum sonde_status take_outside(struct cut *cut, uint32_t track,
				      const struct sonde_batch *batch, size_t *place,
				      struct sonde_error *err)
{
	for (; *place < batch->count && !cut->is_over; ++*place) {
		const struct sonde_event *event = &batch->events[*place];
		enum sonde_status status;

		if (is_inside(cut, event))
			break;
		if (event->time_ns > cut->last_ns)
			status = end_piece(cut, track, batch->first_index + *place, err);
		else
			status = take_ahead(cut, track, event, err);
		if (status)
			return status;
	}
	return SONDE_OK;
}

static enum sonde_status cut_events(struct sonde_sink *sink, uint32_t track,
				    const struct sonde_batch *batch, struct sonde_error *err)
{
	struct cut *cut = (struct cut *)sink;
	enum sonde_status status = SONDE_OK;
	size_t place = 0;

	cut->position = batch->first_index + batch->count;
	if (!cut->is_open) {
		status = take_before(cut, batch, &place, err);
		if (!status && place < batch->count)
			status = open_calls(cut, track, err);
	}
	while (!status && place < batch->count && !cut->is_over) {
		status = pass_inside(cut, track, batch, &place, err);
		if (!status)
			status = take_outside(cut, track, batch, &place, err);
	}
	return status;
}

/* A track may end before the piece with calls that never end: those are open in the piece. */
static enum sonde_status cut_track_end(struct sonde_sink *sink, uint32_t track,
				       struct sonde_error *err)
{
	struct cut *cut = (struct cut *)sink;
	enum sonde_status status = SONDE_OK;

	if (cut->end && !cut->is_over &&
	    !sonde_resume_point_keep(cut->end, cut->position, &cut->stack))
		return sonde_fail_nomem(err);
	if (!cut->is_open)
		status = open_calls(cut, track, err);
	return status ? status : cut->next->ops->track_end(cut->next, track, err);
}

static void cut_free(struct sonde_sink *sink)
{
	struct cut *cut = (struct cut *)sink;

	sonde_vec_release(&cut->stack);
	free(cut);
}

enum sonde_status sonde_cut_new(uint64_t from_ns, uint64_t to_ns, struct sonde_sink *next,
				struct sonde_sink **sink, struct sonde_error *err)
{
	static const struct sonde_sink_ops ops = {
		.events = cut_events,
		.track_end = cut_track_end,
		.free = cut_free,
	};
	struct cut *cut = calloc(1, sizeof(*cut));

	if (!cut)
		return sonde_fail_nomem(err);
	cut->base.ops = &ops;
	cut->next = next;
	cut->from_ns = from_ns;
	cut->last_ns = to_ns ? to_ns - 1 : UINT64_MAX;
	*sink = &cut->base;
	return SONDE_OK;
}

enum sonde_status sonde_cut_resume(struct sonde_sink *sink, const struct sonde_resume_point *start,
				   struct sonde_resume_point *end, _Atomic uint64_t *out_of_order,
				   struct sonde_error *err)
{
	struct cut *cut = (struct cut *)sink;

	cut->end = end;
	cut->out_of_order = out_of_order;
	cut->position = start->index;
	if (!sonde_vec_reserve(&cut->stack, start->open.count))
		return sonde_fail_nomem(err);
	for (size_t i = 0; i < start->open.count; i++) {
		cut->stack.items[i] = start->open.items[i];
		cut->stack.items[i].mark = CALL_OUTSIDE;
	}
	cut->stack.count = start->open.count;
	return SONDE_OK;
}

bool sonde_cut_is_over(const struct sonde_sink *sink)
{
	return ((const struct cut *)sink)->is_over;
}
