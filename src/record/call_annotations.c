/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Annotations of a thread: scopes are calls among its calls, everything else an event inside of
 * them. Here the short form in which the runtime writes them becomes the arguments that their event
 * types have, and the pieces of long ones are put together.
 */
#include <sonde/annotate.h>
#include <sonde/event.h>
#include <stdlib.h>
#include <string.h>

#include "model/arguments.h"
#include "record/call_lane.h"

#define PIECES_AT_ONCE 8 /* signal handlers inside one another */
/* How far down the beginning of a scope is looked for that is on no stack. */
#define SEARCH_MAX 1024

/* The bytes so far of annotations that are too long for one record. */
struct call_pieces {
	struct {
		uint64_t number; /* 0: none */
		struct sonde_buffer bytes;
	} open[PIECES_AT_ONCE];
	size_t turn;
};

void calls_free_pieces(struct calls *calls)
{
	for (size_t i = 0; calls->pieces && i < PIECES_AT_ONCE; i++)
		sonde_buffer_release(&calls->pieces->open[i].bytes);
	free(calls->pieces);
	calls->pieces = NULL;
}

/* The bytes of a record's own detail. */
static void put_bytes(struct sonde_buffer *out, const struct shared_detail *detail)
{
	size_t size = detail->stack_size;
	size_t head = size < ANNOTATION_HEAD ? size : ANNOTATION_HEAD;

	sonde_buffer_put(out, detail, head);
	sonde_buffer_put(out, detail + 1, size - head);
}

static struct sonde_buffer *find_pieces(struct calls *calls, uint64_t number)
{
	for (size_t i = 0; calls->pieces && i < PIECES_AT_ONCE; i++)
		if (calls->pieces->open[i].number == number)
			return &calls->pieces->open[i].bytes;
	return NULL;
}

static enum sonde_status on_piece(struct calls *calls, const struct call_unit *unit,
				  struct sonde_error *err)
{
	uint64_t number = unit->unit->stack, before = unit->unit->place;
	struct sonde_buffer *bytes = number ? find_pieces(calls, number) : NULL;
	size_t turn;

	if (!unit->detail || !number || (before && !bytes))
		return SONDE_OK;
	if (!calls->pieces)
		calls->pieces = calloc(1, sizeof(*calls->pieces));
	if (!calls->pieces)
		return sonde_fail_nomem(err);
	if (!bytes) { /* in place of the oldest */
		turn = calls->pieces->turn++ % PIECES_AT_ONCE;
		calls->pieces->open[turn].number = number;
		bytes = &calls->pieces->open[turn].bytes;
		sonde_buffer_clear(bytes);
	}
	if (bytes->size == before && before <= RESOURCE_MAX)
		put_bytes(bytes, unit->detail);
	return bytes->failed ? sonde_fail_nomem(err) : SONDE_OK;
}

/* The bytes that come with an annotation; false where some of them are missing. */
static bool take_bytes(struct calls *calls, const struct call_unit *unit)
{
	const struct shared_detail *detail = unit->detail;
	struct sonde_buffer *bytes = &calls->bytes;

	sonde_buffer_clear(bytes);
	if (!detail)
		return true;
	if (!(detail->flags & SHARED_DETAIL_PIECES)) {
		put_bytes(bytes, detail);
		return true;
	}
	for (size_t i = 0; calls->pieces && i < PIECES_AT_ONCE; i++) {
		if (!detail->values[0] || calls->pieces->open[i].number != detail->values[0])
			continue;
		sonde_buffer_release(bytes);
		*bytes = calls->pieces->open[i].bytes;
		calls->pieces->open[i].bytes = (struct sonde_buffer){ 0 };
		calls->pieces->open[i].number = 0;
		return bytes->size == detail->values[1];
	}
	return false;
}

/* ---- scopes ---- */

/* A scope's object lies in its function's frame: calls above that are not looked at. */
static size_t find_scope(const struct call_lane *lane, const struct shared_unit *unit)
{
	size_t base = call_lane_base(lane), depth = lane->depth;
	bool on_stack = unit->place >= unit->stack;

	for (; depth > base; depth--) {
		const struct open_call *open = &lane->open[depth];

		if (open->flags & CALL_SCOPE && open->place == unit->place)
			return depth;
		if (on_stack ? open->stack > unit->place : lane->depth - depth > SEARCH_MAX)
			return 0;
	}
	return 0;
}

static enum sonde_status on_scope(struct calls *calls, const struct annotation_site *site,
				  const struct call_unit *from, struct sonde_error *err)
{
	struct call_arguments arguments = {
		.bytes = (const uint8_t *)calls->bytes.data,
		.size = calls->bytes.size,
	};
	struct call_unit unit = *from;
	struct call_lane *lane;
	enum sonde_status status = calls_locate(calls, unit.unit->stack, true, unit.ns, &lane, err);
	size_t alive, same;

	if (status < 0 || !lane)
		return status;
	unit.function_id = site->function_id;
	unit.arguments = site->has_arguments ? &arguments : NULL;
	alive = call_lane_alive(lane, unit.unit->stack);
	same = find_scope(lane, unit.unit); /* it was left in silence */
	if (same && same <= alive)
		alive = same - 1;
	status = call_lane_leave(calls, lane, alive, unit.ns, err);
	if (status >= 0)
		status = call_lane_push(calls, lane, &unit, CALL_SCOPE, err);
	calls->counts.annotations++;
	return status < 0 ? status : call_lane_write_held(calls, lane, unit.ns, false, err);
}

static enum sonde_status on_scope_end(struct calls *calls, const struct call_unit *from,
				      struct sonde_error *err)
{
	struct call_unit unit = *from;
	struct call_lane *lane;
	enum sonde_status status =
		calls_locate(calls, unit.unit->stack, false, unit.ns, &lane, err);
	size_t depth;

	if (status < 0)
		return status;
	depth = lane ? find_scope(lane, unit.unit) : 0;
	if (!depth) {
		calls->counts.returns_without_call++;
		return SONDE_OK;
	}
	unit.function_id = lane->open[depth].function_id;
	status = call_lane_leave(calls, lane, depth, unit.ns, err);
	if (status >= 0)
		status = call_lane_return(calls, lane, &unit, err);
	return status < 0 ? status : call_lane_write_held(calls, lane, unit.ns, false, err);
}

/* ---- events ---- */

static void put_number(struct sonde_buffer *out, uint32_t number)
{
	sonde_arguments_put_number(out, SONDE_ARGUMENT_UINT32,
				   (union sonde_argument_value){ .u64 = number });
}

static void put_text(struct sonde_buffer *out, const char *text)
{
	sonde_arguments_put_text(out, text, text ? strlen(text) : 0);
}

/* The kinds of events, and what their types have as arguments. */
static uint32_t pack(struct sonde_buffer *out, const struct annotation_site *site, uint64_t number,
		     const struct sonde_buffer *bytes)
{
	uint32_t id = (uint32_t)number;

	switch (site->kind) {
	case SONDE_ANNOTATE_MARK:
		put_text(out, site->name);
		if (site->has_arguments)
			sonde_buffer_put(out, bytes->data, bytes->size);
		else
			put_text(out, NULL);
		return SONDE_EVENT_MARK;
	case SONDE_ANNOTATE_FLOW_BEGIN:
		put_number(out, id);
		put_number(out, 0); /* of no other flow */
		put_text(out, site->name);
		put_text(out, NULL);
		return SONDE_EVENT_FLOW_BEGIN;
	case SONDE_ANNOTATE_FLOW_STEP:
	case SONDE_ANNOTATE_RANGE_BEGIN:
		put_number(out, id);
		put_text(out, site->name);
		put_text(out, NULL);
		return site->kind == SONDE_ANNOTATE_FLOW_STEP ? SONDE_EVENT_FLOW_STEP :
								SONDE_EVENT_RANGE_BEGIN;
	case SONDE_ANNOTATE_FLOW_END:
		put_number(out, id);
		put_text(out, NULL);
		return SONDE_EVENT_FLOW_END;
	case SONDE_ANNOTATE_FRAME_BEGIN:
		put_number(out, id);
		return SONDE_EVENT_RANGE_BEGIN;
	case SONDE_ANNOTATE_FRAME_END:
	case SONDE_ANNOTATE_RANGE_END:
		put_number(out, id);
		return SONDE_EVENT_RANGE_END;
	case SONDE_ANNOTATE_COUNTER:
		sonde_arguments_put_number(out, SONDE_ARGUMENT_UINT64, /* the bits as they are */
					   (union sonde_argument_value){ .u64 = number });
		return SONDE_EVENT_COUNTER;
	default:
		sonde_buffer_put(out, bytes->data, bytes->size);
		return SONDE_EVENT_INSTANT;
	}
}

/* A resource is kept first; its event then says which one it is. */
static enum sonde_status keep_resource(struct calls *calls, const struct annotation_site *site,
				       const struct sonde_buffer *bytes, struct sonde_error *err)
{
	const struct calls_output *output = &calls->output;
	uint32_t number = 0;
	enum sonde_status status = SONDE_OK;

	if (output->resource)
		status = output->resource(output->context, site->name, (const uint8_t *)bytes->data,
					  bytes->size, &number, err);
	put_number(&calls->packed, number);
	put_text(&calls->packed, site->name);
	return status;
}

static enum sonde_status add_packed(struct calls *calls, struct call_lane *lane, uint32_t kind,
				    const struct annotation_site *site, uint64_t number,
				    uint64_t ns, struct sonde_error *err)
{
	struct call_arguments arguments = {
		.extra = kind >= SONDE_EVENT_FLOW_BEGIN ? number : 0,
		.bytes = (const uint8_t *)calls->packed.data,
		.size = calls->packed.size,
	};

	if (calls->packed.failed)
		return sonde_fail_nomem(err);
	calls->counts.annotations++;
	return call_lane_event(calls, lane, kind, site->function_id, ns,
			       arguments.size ? &arguments : NULL, err);
}

static enum sonde_status on_event(struct calls *calls, const struct annotation_site *site,
				  const struct call_unit *unit, struct sonde_error *err)
{
	uint64_t stack = unit->unit->stack, number = unit->unit->place;
	uint32_t kind = SONDE_EVENT_INSTANT;
	struct call_lane *lane;
	enum sonde_status status = calls_locate(calls, stack, true, unit->ns, &lane, err);

	if (status < 0 || !lane)
		return status;
	status = call_lane_leave(calls, lane, call_lane_alive(lane, stack), unit->ns, err);
	if (status < 0)
		return status;
	sonde_buffer_clear(&calls->packed);
	if (site->kind == SONDE_ANNOTATE_RESOURCE)
		status = keep_resource(calls, site, &calls->bytes, err);
	else
		kind = pack(&calls->packed, site, number, &calls->bytes);
	return status < 0 ? status : add_packed(calls, lane, kind, site, number, unit->ns, err);
}

enum sonde_status calls_mark(struct calls *calls, const struct call_unit *unit, const char *text,
			     size_t size, struct sonde_error *err)
{
	const struct calls_output *output = &calls->output;
	const struct annotation_site *site =
		output->site ? output->site(output->context, 0, unit->unit->time) : NULL;

	if (!site)
		return SONDE_OK;
	sonde_buffer_clear(&calls->packed);
	sonde_arguments_put_text(&calls->packed, text, size);
	put_text(&calls->packed, NULL);
	return add_packed(calls, calls->current, SONDE_EVENT_MARK, site, 0, unit->ns, err);
}

enum sonde_status calls_annotate(struct calls *calls, enum unit_kind kind,
				 const struct call_unit *unit, struct sonde_error *err)
{
	const struct calls_output *output = &calls->output;
	const struct annotation_site *site = NULL;

	if (kind == UNIT_PIECE)
		return on_piece(calls, unit, err);
	if (kind == UNIT_SCOPE_END)
		return on_scope_end(calls, unit, err);
	if (kind == UNIT_ZONE_END)
		return calls_zone_end(calls, unit, err);
	if (output->site && unit->function)
		site = output->site(output->context, unit->function, unit->unit->time);
	if (!take_bytes(calls, unit) || !site) {
		calls->counts.annotations_lost++;
		return SONDE_OK;
	}
	if (calls->bytes.failed)
		return sonde_fail_nomem(err);
	if (kind == UNIT_ZONE)
		return calls_zone(calls, site, unit, err);
	if (kind == UNIT_SCOPE)
		return on_scope(calls, site, unit, err);
	return on_event(calls, site, unit, err);
}
