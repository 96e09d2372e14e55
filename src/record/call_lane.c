/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens and closes the calls of one lane and makes their events. Events are gathered and handed
 * out many at a time; nothing is allocated per event.
 */
#include "record/call_lane.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_CAPACITY 64
#define RUN_ROOM 1024 /* for so many calls at least where many units come at a time */

static uint64_t tail_at(size_t depth)
{
	return event_word((uint32_t)depth, ATF_NO_LINK);
}

/* Room for so many open calls, which know where they are. */
static bool set_capacity(struct call_lane *lane, size_t capacity)
{
	struct open_call *open = reallocarray(lane->open, capacity + 1, sizeof(*open));

	if (!open)
		return false;
	for (size_t i = lane->open ? lane->capacity + 1 : 0; i <= capacity; i++)
		open[i] = (struct open_call){ .tail = tail_at(i) };
	lane->open = open;
	lane->capacity = capacity;
	return true;
}

struct call_lane *call_lane_new(uint32_t number, const struct calls_options *options)
{
	struct call_lane *lane = calloc(1, sizeof(*lane));

	if (!lane)
		return NULL;
	lane->number = number;
	lane->events = options->events;
	lane->event_capacity = options->event_capacity;
	if (number || !options->events) {
		lane->event_capacity = number ? LANE_EVENTS_SMALL : LANE_EVENTS;
		lane->events = lane->own = calloc(lane->event_capacity, sizeof(*lane->own));
	}
	if (!lane->events || !set_capacity(lane, FIRST_CAPACITY)) {
		call_lane_free(lane);
		return NULL;
	}
	lane->open[0].stack = UINT64_MAX;
	lane->open[0].function = UINT64_MAX; /* no function of a unit is */
	return lane;
}

void call_lane_free(struct call_lane *lane)
{
	if (!lane)
		return;
	for (size_t i = 0; lane->held && i < LANE_HELD_DETAILS; i++)
		free(lane->held[i].bytes);
	sonde_vec_release(&lane->zones);
	sonde_vec_release(&lane->zoned);
	free(lane->zone);
	free(lane->own);
	free(lane->open);
	free(lane->held);
	free(lane);
}

enum sonde_status call_lane_flush(struct calls *calls, struct call_lane *lane,
				  struct sonde_error *err)
{
	size_t count = lane->event_count;

	if (!count)
		return SONDE_OK;
	lane->handed_ns = lane->events[count - 1].timestamp_ns;
	lane->event_count = 0;
	return calls->output.events(calls->output.context, lane->number, lane->events, count, err);
}

enum sonde_status call_lane_place(struct calls *calls, struct call_lane *lane,
				  struct sonde_error *err)
{
	const struct calls_output *output = &calls->output;
	enum sonde_status status = SONDE_OK;

	if (lane->event_count == lane->event_capacity)
		status = call_lane_flush(calls, lane, err);
	if (!lane->event_count && output->thread_id)
		lane->thread_id = output->thread_id(output->context, lane->number);
	return status;
}

void call_lane_make_room(struct call_lane *lane, size_t units)
{
	size_t room = lane->capacity - lane->depth;

	if (room < units && room < RUN_ROOM)
		set_capacity(lane, lane->capacity * 2); /* without, runs are short */
}

size_t call_lane_alive(const struct call_lane *lane, uint64_t stack)
{
	size_t depth = lane->depth, base = call_lane_base(lane);

	while (depth > base && lane->open[depth].stack < stack)
		depth--;
	return depth;
}

static uint64_t last_event_ns(const struct call_lane *lane)
{
	return lane->event_count ? lane->events[lane->event_count - 1].timestamp_ns :
				   lane->handed_ns;
}

/* Adds an event, with its detail where it has one. */
static enum sonde_status put_event(struct calls *calls, struct call_lane *lane,
				   const struct atf_index_event *from, struct call_detail detail,
				   struct sonde_error *err)
{
	const struct calls_output *output = &calls->output;
	enum sonde_status status = call_lane_place(calls, lane, err);
	struct atf_index_event *event;

	if (status < 0)
		return status;
	event = &lane->events[lane->event_count];
	*event = *from;
	event->thread_id = lane->thread_id;
	event->detail_seq = ATF_NO_LINK;
	if (detail.arguments && output->arguments)
		status = output->arguments(output->context, lane->number, event, detail.arguments,
					   lane->event_count, err);
	else if (detail.unit && output->details)
		status = output->details(output->context, lane->number, event, &detail.unit, 1,
					 lane->event_count, err);
	if (status < 0)
		return status;
	lane->event_count++;
	return SONDE_OK;
}

/* Adds an event of the call open[depth]. */
static enum sonde_status add_event(struct calls *calls, struct call_lane *lane, size_t depth,
				   uint32_t kind, uint64_t ns, struct call_detail detail,
				   struct sonde_error *err)
{
	struct atf_index_event event = {
		.timestamp_ns = ns,
		.function_id = lane->open[depth].function_id,
		.event_kind = kind,
		.call_depth = (uint32_t)depth,
	};
	enum sonde_status status = put_event(calls, lane, &event, detail, err);

	if (status < 0)
		return status;
	calls->counts.calls += kind == ATF_KIND_CALL;
	calls->counts.returns += kind == ATF_KIND_RETURN;
	calls->counts.exceptions += kind == ATF_KIND_EXCEPTION;
	return SONDE_OK;
}

static bool is_deep(const struct calls *calls, size_t depth)
{
	return calls->options.max_depth && depth > calls->options.max_depth;
}

/* Keeps a copy of arguments. */
static enum sonde_status hold_arguments(struct held_detail *held,
					const struct call_arguments *arguments,
					struct sonde_error *err)
{
	free(held->bytes);
	held->bytes = NULL;
	if (!arguments)
		return SONDE_OK;
	held->bytes = malloc(arguments->size + 1);
	if (!held->bytes)
		return sonde_fail_nomem(err);
	if (arguments->size)
		memcpy(held->bytes, arguments->bytes, arguments->size);
	held->arguments = *arguments;
	held->arguments.bytes = held->bytes;
	return SONDE_OK;
}

/* The detail of the innermost call, until it is known whether that is written. */
static enum sonde_status hold_detail(struct call_lane *lane, const struct call_unit *unit,
				     struct sonde_error *err)
{
	struct held_detail *held;
	enum sonde_status status;

	if (!lane->held && !unit->detail && !unit->arguments)
		return SONDE_OK;
	if (!lane->held)
		lane->held = calloc(LANE_HELD_DETAILS, sizeof(*lane->held));
	if (!lane->held)
		return sonde_fail_nomem(err);
	held = &lane->held[lane->depth % LANE_HELD_DETAILS];
	held->depth = 0;
	status = hold_arguments(held, unit->arguments, err);
	if (status < 0)
		return status;
	if (!unit->arguments && (!unit->detail || unit->detail->units > LANE_DETAIL_UNITS))
		return SONDE_OK;
	held->depth = lane->depth;
	if (!unit->arguments)
		memcpy(held->units, unit->unit, unit->detail->units * sizeof(*held->units));
	return SONDE_OK;
}

/* Writes the outermost call that is held back. */
static enum sonde_status write_next(struct calls *calls, struct call_lane *lane,
				    struct sonde_error *err)
{
	size_t depth = ++lane->written;
	const struct held_detail *held = lane->held ? &lane->held[depth % LANE_HELD_DETAILS] : NULL;
	struct call_detail detail = { 0 };

	if (held && held->depth == depth) {
		detail.arguments = held->bytes ? &held->arguments : NULL;
		detail.unit = held->bytes ? NULL : held->units;
	}
	return add_event(calls, lane, depth, ATF_KIND_CALL, lane->open[depth].time_ns, detail, err);
}

enum sonde_status call_lane_write_held(struct calls *calls, struct call_lane *lane, uint64_t ns,
				       bool all, struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	if (calls->plain)
		return SONDE_OK;
	while (status >= 0 && lane->written < lane->depth && !is_deep(calls, lane->written + 1)) {
		uint64_t start = lane->open[lane->written + 1].time_ns;

		if (!all && (ns < start || ns - start < calls->options.min_time_ns))
			break;
		status = write_next(calls, lane, err);
	}
	return status;
}

enum sonde_status call_lane_event(struct calls *calls, struct call_lane *lane, uint32_t kind,
				  uint64_t function_id, uint64_t ns,
				  const struct call_arguments *arguments, struct sonde_error *err)
{
	enum sonde_status status = call_lane_write_held(calls, lane, ns, true, err);
	struct atf_index_event event = {
		.timestamp_ns = ns,
		.function_id = function_id,
		.event_kind = kind,
		.call_depth = (uint32_t)(calls->plain ? lane->depth : lane->written),
	};
	struct call_detail detail = { .arguments = arguments };

	return status < 0 ? status : put_event(calls, lane, &event, detail, err);
}

static enum sonde_status push_open(struct call_lane *lane, const struct open_call *open,
				   struct sonde_error *err)
{
	if (lane->depth == lane->capacity && !set_capacity(lane, lane->capacity * 2))
		return sonde_fail_nomem(err);
	lane->open[++lane->depth] = *open;
	lane->open[lane->depth].tail = tail_at(lane->depth);
	return SONDE_OK;
}

/* The record of a unit, where its detail is that of a call. */
static const struct shared_unit *record_of(const struct call_unit *unit)
{
	return unit->detail && !unit->function_id ? unit->unit : NULL;
}

enum sonde_status call_lane_push(struct calls *calls, struct call_lane *lane,
				 const struct call_unit *unit, uint32_t flags,
				 struct sonde_error *err)
{
	struct open_call open = {
		.stack = unit->unit->stack,
		.place = unit->unit->place,
		.function = unit->function,
		.function_id = unit->function_id ? unit->function_id :
						   load_map_function(calls->map, unit->function,
								     unit->unit->time),
		.time_ns = unit->ns,
		.flags = flags | (calls->gaps & CALL_GAPS),
	};
	enum sonde_status status;

	if (!open.function_id)
		return sonde_fail_nomem(err);
	/* arguments are kept of so many calls only */
	if (unit->arguments && lane->depth - lane->written >= LANE_HELD_DETAILS)
		status = call_lane_write_held(calls, lane, unit->ns, true, err);
	else
		status = SONDE_OK;
	if (status >= 0)
		status = push_open(lane, &open, err);
	if (status < 0)
		return status;
	if (is_deep(calls, lane->depth)) {
		calls->counts.deep_calls++;
		return SONDE_OK;
	}
	if (calls->options.min_time_ns)
		return hold_detail(lane, unit, err);
	lane->written = lane->depth;
	return add_event(
		calls, lane, lane->depth, ATF_KIND_CALL, unit->ns,
		(struct call_detail){ .unit = record_of(unit), .arguments = unit->arguments }, err);
}

enum sonde_status call_lane_reopen(struct calls *calls, struct call_lane *lane,
				   const struct open_call *open, uint64_t ns,
				   struct sonde_error *err)
{
	struct open_call again = *open;
	enum sonde_status status;

	/* the child's own map is to know the functions that its events name */
	if (!(open->flags & CALL_SCOPE))
		again.function_id = load_map_function(calls->map, open->function, UINT64_MAX);
	again.time_ns = ns;
	again.flags = (open->flags & (CALL_PATCHED | CALL_SCOPE)) | (calls->gaps & CALL_GAPS);
	if (!again.function_id)
		return sonde_fail_nomem(err);
	status = push_open(lane, &again, err);
	if (status < 0 || is_deep(calls, lane->depth))
		return status;
	lane->written = lane->depth;
	return add_event(calls, lane, lane->depth, ATF_KIND_CALL, ns, (struct call_detail){ 0 },
			 err);
}

/* After calls were closed: what is opened from now on was not there when it was thrown. */
static void lower_marks(struct call_lane *lane)
{
	size_t mark;

	if (lane->mark <= lane->depth)
		return;
	if (lane->exit_mark > lane->depth)
		lane->exit_mark = lane->depth;
	mark = lane->exit_mark;
	for (uint32_t i = 0; i < lane->throw_count; i++) {
		if (lane->throws[i] > lane->depth)
			lane->throws[i] = lane->depth;
		if (lane->throws[i] > mark)
			mark = lane->throws[i];
	}
	lane->mark = mark;
}

/* Closes the innermost call, or drops it where it was short or deep. */
static enum sonde_status close_call(struct calls *calls, struct call_lane *lane, uint32_t kind,
				    uint64_t ns, const struct shared_unit *unit,
				    struct sonde_error *err)
{
	size_t depth = lane->depth;
	enum sonde_status status = SONDE_OK;

	if (!calls->plain) {
		bool written = depth <= lane->written;

		if (!written && !is_deep(calls, depth)) {
			status = call_lane_write_held(calls, lane, ns, false, err);
			written = depth <= lane->written;
			calls->counts.short_calls += !written;
		}
		if (!written) {
			lane->depth--;
			lower_marks(lane);
			return status;
		}
		lane->written = depth - 1;
	}
	if (status == SONDE_OK)
		status = add_event(calls, lane, depth, kind, ns,
				   (struct call_detail){ .unit = unit }, err);
	lane->depth--;
	lower_marks(lane);
	return status;
}

enum sonde_status call_lane_return(struct calls *calls, struct call_lane *lane,
				   const struct call_unit *unit, struct sonde_error *err)
{
	return close_call(calls, lane,
			  lane->depth <= lane->mark ? ATF_KIND_EXCEPTION : ATF_KIND_RETURN,
			  unit->ns, record_of(unit), err);
}

enum sonde_status call_lane_leave(struct calls *calls, struct call_lane *lane, size_t depth,
				  uint64_t ns, struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	while (lane->depth > depth && status >= 0) {
		const struct open_call *call = &lane->open[lane->depth];

		if ((call->flags & CALL_GAPS) == (calls->gaps & CALL_GAPS)) {
			status = close_call(calls, lane, ATF_KIND_EXCEPTION, ns, NULL, err);
		} else {
			uint64_t last = last_event_ns(lane);

			calls->counts.returns_unseen++;
			status = close_call(calls, lane, ATF_KIND_RETURN,
					    calls->gap_ns > last ? calls->gap_ns : last, NULL, err);
		}
	}
	return status;
}

void call_lane_throw(struct call_lane *lane)
{
	if (lane->throw_count < LANE_THROWS)
		lane->throw_count++;
	lane->throws[lane->throw_count - 1] = lane->depth;
	lane->mark = lane->depth;
}

void call_lane_catch(struct call_lane *lane)
{
	if (lane->throw_count)
		lane->throw_count--;
	lane->mark = lane->exit_mark;
	for (uint32_t i = 0; i < lane->throw_count; i++)
		if (lane->throws[i] > lane->mark)
			lane->mark = lane->throws[i];
}

void call_lane_exit(struct call_lane *lane)
{
	lane->exit_mark = lane->mark = lane->depth;
}
