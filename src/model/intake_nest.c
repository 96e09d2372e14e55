/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The events of one track from records in the order of time: spans become calls and returns, returns find
 * their calls, everything nests and has a depth.
 */
#include <stdlib.h>
#include <string.h>

#include "model/intake_private.h"

#define BATCH 1024 /* events written at once */
/* Records of one time that are held back to bring their spans into order. */
#define HELD_LIMIT 65536

struct open_call {
	/* The end of the innermost span that is this one or around it; UINT64_MAX: there is none. */
	uint64_t limit_ns;
	uint32_t function;
	uint32_t call; /* place + 1 of the innermost call (no span) that is this one or around it */
	uint32_t outer; /* of a call: place + 1 of the next one out of the same function */
	uint32_t extra; /* of a span: of its record */
	uint64_t detail;
	bool is_span;
};

struct intake_nest {
	struct sonde_intake *intake;
	struct sonde_output *events, *details;
	struct intake_further *further;
	uint32_t *innermost; /* by function: place + 1 of the innermost open call of it */
	size_t function_count;
	SONDE_VEC(struct open_call) stack;
	SONDE_VEC(struct intake_record) held; /* of one time, the first being a span */
	SONDE_VEC(struct sonde_sort_item) order;
	/* of the track */
	uint32_t track;
	uint64_t event_count, detail_count;
	uint64_t first_ns, last_ns;
	size_t used;
	struct sonde_event batch[BATCH];
	enum sonde_status status; /* the first failure, told in `err` */
	struct sonde_error *err;
};

struct intake_nest *intake_nest_new(struct sonde_intake *intake, struct sonde_output *events,
				    struct sonde_output *details)
{
	struct intake_nest *nest = calloc(1, sizeof(*nest));

	if (!nest)
		return NULL;
	nest->intake = intake;
	nest->events = events;
	nest->details = details;
	nest->function_count = sonde_definitions_function_count(intake->recording->definitions);
	nest->innermost = calloc(nest->function_count + 1, sizeof(*nest->innermost));
	nest->further = intake_further_new(intake);
	if (nest->innermost && nest->further)
		return nest;
	intake_nest_free(nest);
	return NULL;
}

void intake_nest_free(struct intake_nest *nest)
{
	if (!nest)
		return;
	intake_further_free(nest->further);
	sonde_vec_release(&nest->stack);
	sonde_vec_release(&nest->held);
	sonde_vec_release(&nest->order);
	free(nest->innermost);
	free(nest);
}

static void fail_nomem(struct intake_nest *nest)
{
	if (!nest->status)
		nest->status = sonde_fail_nomem(nest->err);
}

static void write_batch(struct intake_nest *nest)
{
	if (!nest->status && nest->used)
		nest->status = intake_open_once(nest->events, nest->err);
	if (!nest->status && nest->used)
		nest->status = sonde_output_write(nest->events, nest->batch,
						  nest->used * sizeof(nest->batch[0]), nest->err);
	nest->used = 0;
}

static struct sonde_event *emit(struct intake_nest *nest, uint64_t time_ns, uint8_t kind,
				uint32_t function, size_t depth)
{
	struct sonde_event *event;

	if (nest->used == BATCH)
		write_batch(nest);
	event = &nest->batch[nest->used++];
	if (!nest->event_count++)
		nest->first_ns = time_ns;
	nest->last_ns = time_ns;
	*event = (struct sonde_event){
		.time_ns = time_ns,
		.track = nest->track,
		.function = function,
		.depth = (uint32_t)depth,
		.kind = kind,
		.detail = SONDE_NONE,
	};
	return event;
}

/* Of the event that was emitted last. */
static void link_detail_at(struct intake_nest *nest, struct sonde_event *event, uint64_t unit)
{
	struct intake_detail detail = {
		.place = unit * INTAKE_DETAIL_UNIT,
		.event = nest->event_count - 1,
	};

	if (unit == INTAKE_NO_DETAIL || nest->status)
		return;
	if (nest->detail_count == SONDE_NONE) {
		nest->status = sonde_fail(nest->err, SONDE_LIMIT, SONDE_NO_OFFSET,
					  "a track has more events with arguments than can be "
					  "numbered");
		return;
	}
	event->detail = (uint32_t)nest->detail_count++;
	nest->status = intake_open_once(nest->details, nest->err);
	if (!nest->status)
		nest->status =
			sonde_output_write(nest->details, &detail, sizeof(detail), nest->err);
}

static void link_detail(struct intake_nest *nest, struct sonde_event *event,
			const struct intake_record *record)
{
	link_detail_at(nest, event, intake_detail_of(record));
}

static void emit_record(struct intake_nest *nest, const struct intake_record *record)
{
	struct sonde_event *event =
		emit(nest, record->time_ns, record->kind, record->function, nest->stack.count);

	if (record->kind == SONDE_EVENT_COUNTER) {
		event->detail = (uint32_t)record->end_ns;
		event->extra = (uint32_t)(record->end_ns >> 32);
		return;
	}
	event->extra = record->extra;
	link_detail(nest, event, record);
}

static uint64_t limit_of(const struct intake_nest *nest)
{
	return nest->stack.count ? nest->stack.items[nest->stack.count - 1].limit_ns : UINT64_MAX;
}

static void push(struct intake_nest *nest, const struct intake_record *record, bool is_span)
{
	uint64_t limit = limit_of(nest);
	size_t place = nest->stack.count;
	uint32_t outer_call = place ? nest->stack.items[place - 1].call : 0;
	struct open_call *call = place < UINT32_MAX - 1 ? sonde_vec_push(&nest->stack) : NULL;

	if (!call) {
		fail_nomem(nest);
		return;
	}
	*call = (struct open_call){
		.limit_ns = is_span ? record->end_ns : limit,
		.function = record->function,
		.extra = is_span ? record->extra : 0,
		.detail = intake_detail_of(record),
		.call = is_span ? outer_call : (uint32_t)place + 1,
		.is_span = is_span,
	};
	if (is_span)
		return;
	call->outer = nest->innermost[record->function];
	nest->innermost[record->function] = (uint32_t)place + 1;
}

/* Takes the innermost one off the stack, without an event. */
static void drop(struct intake_nest *nest)
{
	const struct open_call *top = &nest->stack.items[--nest->stack.count];

	if (!top->is_span)
		nest->innermost[top->function] = top->outer;
}

/* The end of a span that is the innermost one. */
static void end_span(struct intake_nest *nest)
{
	const struct open_call *span = &nest->stack.items[nest->stack.count - 1];
	uint8_t kind = span->extra & 1 ? SONDE_EVENT_EXCEPTION : SONDE_EVENT_RETURN;
	struct sonde_event *event =
		emit(nest, span->limit_ns, kind, span->function, nest->stack.count);

	if (span->extra >> 1)
		link_detail_at(nest, event, span->detail + (span->extra >> 1));
	drop(nest);
}

/* Ends the innermost one; counts where that is not its own end. */
static void end_top(struct intake_nest *nest, uint64_t time_ns)
{
	const struct open_call *top = &nest->stack.items[nest->stack.count - 1];

	if (top->is_span && top->limit_ns == time_ns) {
		end_span(nest);
		return;
	}
	nest->intake->counts.missing_returns++;
	emit(nest, time_ns, SONDE_EVENT_RETURN, top->function, nest->stack.count);
	drop(nest);
}

/* Ends what ended before this time. */
static void end_before(struct intake_nest *nest, uint64_t time_ns)
{
	while (limit_of(nest) < time_ns)
		end_top(nest, limit_of(nest));
}

/* Ends spans that end at this time and have nothing open inside. */
static void end_spans_at(struct intake_nest *nest, uint64_t time_ns)
{
	while (nest->stack.count && nest->stack.items[nest->stack.count - 1].is_span &&
	       limit_of(nest) == time_ns)
		end_top(nest, time_ns);
}

static void take_span(struct intake_nest *nest, struct intake_record span)
{
	struct sonde_event *event;
	enum sonde_status status;

	end_spans_at(nest, span.time_ns);
	/* calls inside of a span that is over now; one without length may lie among them */
	while (span.end_ns > span.time_ns && limit_of(nest) <= span.time_ns)
		end_top(nest, limit_of(nest));
	if (span.end_ns > limit_of(nest)) {
		status = intake_further_add(nest->further, &span, nest->err);
		if (status != SONDE_END) {
			nest->intake->counts.overlaps++;
			nest->status = nest->status ? nest->status : status;
			return;
		}
		nest->intake->counts.missing_returns++;
		span.end_ns = limit_of(nest);
	}
	event = emit(nest, span.time_ns, SONDE_EVENT_CALL, span.function, nest->stack.count + 1);
	link_detail(nest, event, &span);
	push(nest, &span, true);
	if (span.end_ns == span.time_ns && !nest->status)
		end_span(nest);
}

static void take_call(struct intake_nest *nest, const struct intake_record *record)
{
	struct sonde_event *event;

	end_spans_at(nest, record->time_ns);
	event = emit(nest, record->time_ns, SONDE_EVENT_CALL, record->function,
		     nest->stack.count + 1);
	event->extra = record->extra;
	link_detail(nest, event, record);
	push(nest, record, false);
}

/* A return or an exception. */
static void take_end(struct intake_nest *nest, struct intake_record record)
{
	uint32_t place;

	end_spans_at(nest, record.time_ns);
	if (record.function != SONDE_NONE)
		place = nest->innermost[record.function];
	else
		place = nest->stack.count ? nest->stack.items[nest->stack.count - 1].call : 0;
	if (!place) {
		nest->intake->counts.lone_returns++;
		return;
	}
	while (nest->stack.count > place)
		end_top(nest, record.time_ns);
	record.function = nest->stack.items[place - 1].function;
	emit_record(nest, &record);
	drop(nest);
}

static void take(struct intake_nest *nest, const struct intake_record *record)
{
	end_before(nest, record->time_ns);
	switch (record->kind) {
	case SONDE_EVENT_CALL:
		take_call(nest, record);
		break;
	case SONDE_EVENT_RETURN:
	case SONDE_EVENT_EXCEPTION:
		take_end(nest, *record);
		break;
	case SONDE_INTAKE_SPAN:
		take_span(nest, *record);
		break;
	default:
		emit_record(nest, record);
		break;
	}
}

/* Those held: where spans are among them, the longest comes first; all others stay at their places. */
static void take_held(struct intake_nest *nest)
{
	struct sonde_sort_item *item;
	size_t next = 0;

	nest->order.count = 0;
	for (size_t i = 0; i < nest->held.count; i++) {
		if (nest->held.items[i].kind != SONDE_INTAKE_SPAN)
			continue;
		item = sonde_vec_push(&nest->order);
		if (!item) {
			fail_nomem(nest);
			return;
		}
		*item = (struct sonde_sort_item){ ~nest->held.items[i].end_ns, i };
	}
	if (!sonde_sort(nest->order.items, nest->order.count)) {
		fail_nomem(nest);
		return;
	}
	for (size_t i = 0; !nest->status && i < nest->held.count; i++) {
		bool is_span = nest->held.items[i].kind == SONDE_INTAKE_SPAN;

		take(nest, &nest->held.items[is_span ? nest->order.items[next++].number : i]);
	}
	nest->held.count = 0;
}

static void hold(struct intake_nest *nest, const struct intake_record *record)
{
	struct intake_record *held = sonde_vec_push(&nest->held);

	if (held)
		*held = *record;
	else
		fail_nomem(nest);
}

static void take_all(struct intake_nest *nest, const struct intake_record *records, size_t count)
{
	for (size_t i = 0; i < count && !nest->status; i++) {
		const struct intake_record *record = &records[i];

		if (nest->held.count && (nest->held.items[0].time_ns != record->time_ns ||
					 nest->held.count == HELD_LIMIT))
			take_held(nest);
		if (nest->held.count || record->kind == SONDE_INTAKE_SPAN)
			hold(nest, record);
		else
			take(nest, record);
	}
}

/* Spans end, also those at the end of time; calls inside of them too. Others stay open. */
static void end_track(struct intake_nest *nest)
{
	take_held(nest);
	end_before(nest, UINT64_MAX);
	end_spans_at(nest, UINT64_MAX);
	nest->intake->counts.open_calls += nest->stack.count;
	while (nest->stack.count)
		drop(nest);
	write_batch(nest);
}

enum sonde_status intake_nest_track(struct intake_nest *nest, const struct sonde_output *spool,
				    uint32_t track, struct sonde_error *err)
{
	struct intake_track *nested = &nest->intake->tracks.items[track];
	const struct intake_record *records;
	struct intake_reader reader;
	size_t count = 0;

	nested->first_event = nest->events->written / sizeof(struct sonde_event);
	nested->first_detail = nest->details->written / sizeof(struct intake_detail);
	nest->status = intake_reader_open(&reader, spool, &nested->events, err);
	if (nest->status)
		return nest->status;
	nest->err = err;
	nest->track = track;
	nest->event_count = nest->detail_count = 0;
	nest->first_ns = nest->last_ns = 0;
	intake_further_begin(nest->further, track);
	while (!nest->status) {
		nest->status = intake_reader_next(&reader, &records, &count, err);
		if (!nest->status)
			take_all(nest, records, count);
	}
	intake_reader_release(&reader);
	if (nest->status != SONDE_END)
		return nest->status;
	nest->status = SONDE_OK;
	end_track(nest);
	/* further tracks may have moved it */
	nested = &nest->intake->tracks.items[track];
	nested->definition.event_count = nest->event_count;
	nested->definition.detail_count = nest->detail_count;
	nested->definition.time_first_ns = nest->first_ns;
	nested->definition.time_last_ns = nest->last_ns;
	return nest->status;
}
