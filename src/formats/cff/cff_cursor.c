/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cursors over the events of a zone. A reader goes through the pieces of its zone; a cursor has one
 * for its batches, and a second one for details and times elsewhere, so that next() is not
 * disturbed. Nothing of the recording is changed, so cursors may run side by side.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/cff/cff_arguments.h"
#include "formats/cff/cff_read.h"
#include "formats/cff/cff_walk.h"

/* Events a batch, at most, and after a seek, since who seeks often wants a few events only. */
#define BATCH_EVENTS 512
#define BATCH_EVENTS_FIRST 64

/* A place in a zone, and the last events that were read there. */
struct reader {
	const struct cff_scan *scan;
	const struct cff_zone *zone;
	uint32_t track;
	uint64_t index;		       /* of the event that comes next */
	const struct cff_piece *piece; /* NULL: nowhere yet */
	const struct cff_buffer *buffer;
	const uint8_t *at, *end;
	uint32_t ordinal, sequence;
	uint64_t last_us;
	bool is_mine; /* the zone is current */
	struct cff_marker marker;
	bool is_marked;
	struct cff_stack stack;
	uint32_t chunk; /* of the strings; SONDE_NONE: none */
	struct cff_strings strings;
	struct cff_named named;
	struct sonde_trail trail;
	/* the batch */
	size_t limit;
	struct sonde_event *events;
	uint32_t *offsets, *types; /* of each event: in the buffer, and its type */
	uint64_t first;
	size_t count;
};

struct cff_cursor {
	struct sonde_cursor base;
	uint64_t position;
	size_t batch_events;
	struct reader main, other;
	struct sonde_buffer packed; /* of the last detail */
};

static struct cff_cursor *cff_cursor_of(struct sonde_cursor *cursor)
{
	return (struct cff_cursor *)cursor;
}

static enum sonde_status reader_prepare(struct reader *reader, struct sonde_error *err)
{
	if (reader->types)
		return SONDE_OK;
	if (!reader->events)
		reader->events = malloc(reader->limit * sizeof(*reader->events));
	if (!reader->offsets)
		reader->offsets = malloc(reader->limit * sizeof(*reader->offsets));
	reader->types = malloc(reader->limit * sizeof(*reader->types));
	if (reader->events && reader->offsets && reader->types)
		return SONDE_OK;
	free(reader->types);
	reader->types = NULL;
	return sonde_fail_nomem(err);
}

static void reader_release(struct reader *reader)
{
	sonde_mapped_file_leave_all(cff_image_mapping(reader->scan->image), &reader->trail);
	free(reader->events);
	free(reader->offsets);
	free(reader->types);
	sonde_vec_release(&reader->named.functions);
	sonde_vec_release(&reader->stack.frames);
	cff_strings_release(&reader->strings);
}

static void load_piece(struct reader *reader, const struct cff_piece *piece)
{
	const struct cff_buffer *buffer = &reader->scan->buffers.items[piece->chunk];
	/* an index may name a chunk that has no events */
	const uint8_t *data = buffer->data ? buffer->data : (const uint8_t *)"";

	reader->piece = piece;
	reader->buffer = buffer;
	reader->index = piece->first;
	reader->at = data + piece->begin;
	reader->end = data + piece->end;
	reader->ordinal = piece->ordinal;
	reader->sequence = piece->sequence;
	reader->last_us = piece->last_us;
	reader->is_mine = true; /* with an index too: then a chunk has one zone only */
	reader->is_marked = false;
	reader->marker = (struct cff_marker){ 0 };
	reader->stack.node = piece->stack;
	reader->stack.frames.count = 0;
	if (reader->chunk == piece->chunk)
		return;
	if (reader->chunk != SONDE_NONE)
		cff_image_leave(reader->scan->image, &reader->trail, reader->chunk);
	reader->chunk = piece->chunk;
	reader->named.functions.count = 0;
	cff_strings_set(&reader->strings, reader->scan->image,
			&reader->scan->image->chunks.items[piece->chunk]);
}

/* The last piece whose first event is not behind `index`. */
static const struct cff_piece *find_piece(const struct cff_zone *zone, uint64_t index)
{
	size_t low = 0, high = zone->pieces.count;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (zone->pieces.items[middle].first <= index)
			low = middle;
		else
			high = middle;
	}
	return &zone->pieces.items[low];
}

/* The function that a wtf.scope#enter names: the pass has found them all. */
static enum sonde_status named_function(struct reader *reader, const struct cff_plan *plan,
					const uint8_t *event, uint32_t *function,
					struct sonde_error *err)
{
	uint32_t ordinal = sonde_load_u32le(event + CFF_EVENT_SIZE);
	enum sonde_status status;
	const char *text;
	size_t length;

	*function = cff_named_find(&reader->named, ordinal);
	if (*function != SONDE_NONE)
		return SONDE_OK;
	*function = plan->function;
	status = cff_strings_get(&reader->strings, ordinal, &text, &length, err);
	if (status < 0 || !length)
		return status;
	*function = sonde_text_map_find(&reader->scan->functions, text, length);
	if (*function == SONDE_NONE)
		*function = plan->function;
	return cff_named_keep(&reader->named, &reader->strings, ordinal, *function, err);
}

static void take_structure(struct reader *reader, const struct cff_plan *plan)
{
	uint32_t id;

	switch (plan->step) {
	case CFF_STEP_DEFINE:
	case CFF_STEP_ZONE_CREATE:
		reader->sequence++;
		break;
	case CFF_STEP_ZONE_SET:
		id = sonde_load_u16le(reader->at + CFF_EVENT_SIZE);
		reader->is_mine = cff_meanings_find(&reader->scan->zone_ids, id,
						    reader->sequence) == reader->track;
		break;
	case CFF_STEP_EXCEPTION:
	case CFF_STEP_EXACT:
		reader->is_marked = true;
		cff_marker_take(&reader->marker, plan, reader->at);
		break;
	default:
		break;
	}
}

/* What few events need, kept out of the way of the others. */
static enum sonde_status take_special(struct reader *reader, const struct cff_plan *plan,
				      struct sonde_event *event, bool *has_detail,
				      struct sonde_error *err)
{
	uint32_t function = plan->function;
	enum sonde_status status = SONDE_OK;
	bool is_done;

	if (plan->step == CFF_STEP_CALL_NAMED)
		status = named_function(reader, plan, reader->at, &function, err);
	else if (plan->step == CFF_STEP_CALL_NUMBERED)
		function = cff_walk_numbered(reader->scan, plan, reader->at);
	if (status < 0)
		return status;
	if (reader->is_marked) {
		is_done = cff_walk_marked(reader->scan, &reader->stack, plan, function, reader->at,
					  &reader->marker, event);
		*has_detail = cff_walk_has_detail(reader->scan, plan, event);
		reader->is_marked = false;
		reader->marker = (struct cff_marker){ 0 };
	} else {
		is_done = cff_walk_event(reader->scan, &reader->stack, plan, function, reader->at,
					 event);
	}
	return is_done ? SONDE_OK : sonde_fail_nomem(err);
}

static enum sonde_status fail_index(const struct reader *reader, struct sonde_error *err)
{
	sonde_fail(err, SONDE_CORRUPT, cff_scan_offset(reader->scan, reader->at),
		   "the events here are not as the index of the file says; sonde recover writes a "
		   "copy without it");
	sonde_error_set_file(err, reader->scan->image->path);
	return SONDE_CORRUPT;
}

static enum sonde_status take_event(struct reader *reader, const struct cff_plan *plan,
				    struct sonde_error *err)
{
	struct sonde_event *event = &reader->events[reader->count];
	bool has_detail = plan->has_detail;
	enum sonde_status status = SONDE_OK;

	event->time_ns = cff_time_ns(reader->buffer, reader->ordinal,
				     sonde_load_u32le(reader->at + CFF_EVENT_TIME),
				     &reader->last_us);
	event->track = reader->track;
	event->flags = 0;
	event->reserved = 0;
	if (__builtin_expect(plan->step == CFF_STEP_CALL_NAMED ||
				     plan->step == CFF_STEP_CALL_NUMBERED || reader->is_marked,
			     0))
		status = take_special(reader, plan, event, &has_detail, err);
	else if (!cff_walk_event(reader->scan, &reader->stack, plan, plan->function, reader->at,
				 event))
		status = sonde_fail_nomem(err);
	if (status < 0)
		return status;
	if (__builtin_expect(event->function == SONDE_NONE, 0))
		return fail_index(reader, err);
	event->detail = has_detail && reader->index < SONDE_NONE ? (uint32_t)reader->index :
								   SONDE_NONE;
	if (event->kind == SONDE_EVENT_COUNTER)
		sonde_event_set_value(event, plan->step == CFF_STEP_COUNTER ?
						     cff_arguments_value(plan->type, reader->at) :
						     0);
	reader->offsets[reader->count] = (uint32_t)(reader->at - reader->buffer->data);
	reader->types[reader->count++] = plan->type->number;
	reader->index++;
	return SONDE_OK;
}

/* Goes over events of other zones, up to one that has to be looked at. */
static void pass_over(struct reader *reader)
{
	const struct cff_scan *scan = reader->scan;
	const uint8_t *at = reader->at;
	uint32_t ordinal = reader->ordinal;

	while ((size_t)(reader->end - at) >= CFF_EVENT_SIZE) {
		uint32_t wire = sonde_load_u32le(at);
		uint32_t pass = wire < scan->passes.count ? scan->passes.items[wire] : 0;
		uint32_t size = pass & ~CFF_PASS_ZONE;

		if (!size || size > (size_t)(reader->end - at))
			break;
		if (pass & CFF_PASS_ZONE &&
		    cff_meanings_find(&scan->zone_ids, sonde_load_u16le(at + CFF_EVENT_SIZE),
				      reader->sequence) == reader->track)
			break;
		at += size;
		ordinal++;
	}
	reader->at = at;
	reader->ordinal = ordinal;
}

/* Reads up to `limit` events of the present piece as a new batch. */
static enum sonde_status reader_fill(struct reader *reader, size_t limit, struct sonde_error *err)
{
	const struct cff_scan *scan = reader->scan;
	uint64_t left = reader->piece->first + reader->piece->count - reader->index;
	enum sonde_status status = SONDE_OK;

	reader->first = reader->index;
	reader->count = 0;
	if (limit > left)
		limit = (size_t)left;
	while (reader->count < limit) {
		const struct cff_plan *plan = NULL;
		size_t room, size = 0;
		uint32_t type;

		if (!reader->is_mine && !reader->is_marked)
			pass_over(reader);
		room = (size_t)(reader->end - reader->at);
		if (room >= CFF_EVENT_SIZE) {
			type = cff_meanings_find(&scan->wires, sonde_load_u32le(reader->at),
						 reader->sequence);
			plan = type == SONDE_NONE ? NULL : &scan->plans.items[type];
		}
		if (plan)
			size = cff_type_size(plan->type, reader->at, room);
		if (__builtin_expect(!size, 0))
			return fail_index(reader, err);
		if (plan->step >= CFF_STEP_DEFINE)
			take_structure(reader, plan);
		else if (reader->is_mine)
			status = take_event(reader, plan, err);
		else
			reader->is_marked = false;
		if (status < 0)
			return status;
		reader->at += size;
		reader->ordinal++;
	}
	return SONDE_OK;
}

/* Goes to an event that the zone has. */
static enum sonde_status reader_seek(struct reader *reader, uint64_t index, struct sonde_error *err)
{
	enum sonde_status status = reader_prepare(reader, err);
	const struct cff_piece *piece;

	if (status < 0)
		return status;
	piece = reader->piece;
	if (!piece || index < reader->index || index - piece->first >= piece->count) {
		piece = find_piece(reader->zone, index);
		if (index - piece->first >= piece->count)
			return fail_index(reader, err);
		load_piece(reader, piece);
	}
	while (status == SONDE_OK && reader->index < index) {
		uint64_t left = index - reader->index;

		status = reader_fill(reader, left < reader->limit ? (size_t)left : reader->limit,
				     err);
	}
	if (status < 0)
		reader->piece = NULL;
	return status;
}

static void mark_synthetic(struct reader *reader)
{
	const struct cff_zone *zone = reader->zone;
	uint64_t tail = zone->count - zone->synthetic_tail;

	if (reader->first >= zone->synthetic_head && reader->index <= tail)
		return;
	for (size_t i = 0; i < reader->count; i++) {
		uint64_t index = reader->first + i;

		if (index < zone->synthetic_head || index >= tail)
			reader->events[i].flags = SONDE_EVENT_SYNTHETIC;
	}
}

static enum sonde_status cff_cursor_next(struct sonde_cursor *base, struct sonde_batch *batch,
					 struct sonde_error *err)
{
	struct cff_cursor *cursor = cff_cursor_of(base);
	struct reader *reader = &cursor->main;
	enum sonde_status status;

	if (cursor->position >= reader->zone->count)
		return SONDE_END;
	status = reader_seek(reader, cursor->position, err);
	if (status == SONDE_OK)
		status = reader_fill(reader, cursor->batch_events, err);
	if (status < 0) {
		reader->piece = NULL;
		return status;
	}
	mark_synthetic(reader);
	*batch = (struct sonde_batch){
		.events = reader->events,
		.count = reader->count,
		.first_index = reader->first,
		.details = base,
	};
	cursor->position = reader->index;
	cursor->batch_events *= 2;
	if (cursor->batch_events > reader->limit)
		cursor->batch_events = reader->limit;
	return SONDE_OK;
}

static void cff_cursor_seek_index(struct sonde_cursor *base, uint64_t index)
{
	struct cff_cursor *cursor = cff_cursor_of(base);

	cursor->position = index;
	if (cursor->batch_events > BATCH_EVENTS_FIRST)
		cursor->batch_events = BATCH_EVENTS_FIRST;
}

/* The last piece that starts before a time; the first where none does. */
static const struct cff_piece *find_piece_by_time(const struct cff_zone *zone, uint64_t time_ns)
{
	size_t low = 0, high = zone->pieces.count;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (zone->pieces.items[middle].time_ns < time_ns)
			low = middle;
		else
			high = middle;
	}
	return &zone->pieces.items[low];
}

static void cff_cursor_seek_time(struct sonde_cursor *base, uint64_t time_ns)
{
	struct cff_cursor *cursor = cff_cursor_of(base);
	struct reader *reader = &cursor->other;
	const struct cff_piece *piece;
	uint64_t end;

	if (!reader->zone->count || reader_prepare(reader, NULL) < 0) {
		cff_cursor_seek_index(base, 0);
		return;
	}
	piece = find_piece_by_time(reader->zone, time_ns);
	end = piece->first + piece->count;
	load_piece(reader, piece);
	while (reader->index < end) {
		if (reader_fill(reader, reader->limit, NULL) < 0)
			break;
		for (size_t i = 0; i < reader->count; i++) {
			if (reader->events[i].time_ns >= time_ns) {
				cff_cursor_seek_index(base, reader->first + i);
				return;
			}
		}
	}
	cff_cursor_seek_index(base, end);
}

static uint64_t cff_cursor_position(const struct sonde_cursor *base)
{
	const struct cff_cursor *cursor = (const struct cff_cursor *)base;
	uint64_t count = cursor->main.zone->count;

	return cursor->position < count ? cursor->position : count;
}

/* The reader that has an event in its last batch. */
static enum sonde_status find_reader(struct cff_cursor *cursor, uint64_t index,
				     struct reader **found, struct sonde_error *err)
{
	struct reader *reader = &cursor->main;
	enum sonde_status status;

	*found = reader;
	if (reader->piece && index - reader->first < reader->count)
		return SONDE_OK;
	*found = reader = &cursor->other;
	if (reader->piece && index - reader->first < reader->count)
		return SONDE_OK;
	status = reader_seek(reader, index, err);
	if (status == SONDE_OK)
		status = reader_fill(reader, BATCH_EVENTS_FIRST, err);
	if (status < 0)
		reader->piece = NULL;
	return status;
}

static enum sonde_status cff_cursor_detail(struct sonde_cursor *base, uint64_t number,
					   struct sonde_detail *detail, struct sonde_error *err)
{
	struct cff_cursor *cursor = cff_cursor_of(base);
	const struct sonde_event *event = NULL;
	const struct cff_plan *plan;
	struct reader *reader;
	enum sonde_status status;
	size_t place;

	if (number < cursor->main.zone->count) {
		status = find_reader(cursor, number, &reader, err);
		if (status < 0)
			return status;
		place = (size_t)(number - reader->first);
		event = &reader->events[place];
	}
	if (!event || !reader->types || !sonde_event_has_detail(event))
		return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
				  "there is no detail %llu in this zone",
				  (unsigned long long)number);
	plan = &reader->scan->plans.items[reader->types[place]];
	sonde_buffer_clear(&cursor->packed);
	status = cff_arguments_pack(plan->type, reader->buffer->data + reader->offsets[place],
				    &reader->strings, &cursor->packed, err);
	*detail = (struct sonde_detail){
		.kind = SONDE_DETAIL_ARGUMENTS,
		.function = SONDE_NONE,
		.event_type = sonde_event_has_function(event) ? plan->event_type : event->function,
		.event = number,
		.time_ns = event->time_ns,
		.bytes = (const uint8_t *)cursor->packed.data,
		.size = cursor->packed.size,
	};
	return status;
}

static void cff_cursor_limit_batch(struct sonde_cursor *base, size_t events)
{
	struct cff_cursor *cursor = cff_cursor_of(base);

	if (events < cursor->main.limit)
		cursor->main.limit = events;
	if (cursor->batch_events > cursor->main.limit)
		cursor->batch_events = cursor->main.limit;
}

static void cff_cursor_free(struct sonde_cursor *base)
{
	struct cff_cursor *cursor = cff_cursor_of(base);

	reader_release(&cursor->main);
	reader_release(&cursor->other);
	sonde_buffer_release(&cursor->packed);
	free(cursor);
}

static const struct sonde_cursor_ops cff_cursor_ops = {
	.next = cff_cursor_next,
	.seek_index = cff_cursor_seek_index,
	.seek_time = cff_cursor_seek_time,
	.position = cff_cursor_position,
	.detail = cff_cursor_detail,
	.limit_batch = cff_cursor_limit_batch,
	.free = cff_cursor_free,
};

enum sonde_status cff_cursor_open(struct sonde_recording *recording, uint32_t track,
				  struct sonde_cursor **cursor, struct sonde_error *err)
{
	static const struct cff_zone empty;
	const struct cff_recording *data = recording->data;
	struct cff_cursor *made = calloc(1, sizeof(*made));

	if (!made)
		return sonde_fail_nomem(err);
	made->base.ops = &cff_cursor_ops;
	made->batch_events = BATCH_EVENTS;
	made->main.scan = &data->scan;
	/* our definitions may name tracks that have no zone in the file */
	made->main.zone = track < data->scan.zones.count ? data->scan.zones.items[track] : &empty;
	made->main.track = track;
	made->main.chunk = SONDE_NONE;
	made->main.limit = BATCH_EVENTS;
	made->other = made->main;
	*cursor = &made->base;
	return SONDE_OK;
}
