/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pass over all events of a file. Per event it looks up the size by the wire id, unwraps the
 * time and keeps the stack of the zone; everything else happens once a run of events of a zone,
 * once a segment or once a definition.
 */
#include "formats/cff/cff_scan.h"

#include <inttypes.h>
#include <string.h>

#include "base/bytes.h"
#include "formats/cff/cff_findings.h"
#include "formats/cff/cff_ours.h"
#include "formats/cff/cff_walk.h"

/* Where the pass is within a chunk. */
struct run {
	uint32_t chunk;
	const struct cff_buffer *buffer;
	uint32_t ordinal;
	uint32_t segment_events;
	struct cff_zone *zone;	 /* NULL: piece to be opened at the next event */
	struct cff_piece *piece; /* last of the zone's */
	struct cff_marker marker;
	bool is_marked;
	uint32_t mark_at, mark_ordinal; /* where the markers of the next event start */
	uint64_t back_count, leave_count;
};

static bool is_resource_of_ours(const struct cff_scan *scan, const struct cff_part *part)
{
	size_t magic = sizeof(CFF_OURS_INDEX) - 1, head = sizeof(CFF_OURS_DEFINITIONS) - 1;

	if (!scan->is_ours)
		return false;
	if (part->type == CFF_PART_BINARY_RESOURCE)
		return part->size >= magic && !memcmp(part->data, CFF_OURS_INDEX, magic);
	return part->size >= head && !memcmp(part->data, CFF_OURS_DEFINITIONS, head);
}

static bool is_times(const struct cff_part *part)
{
	return part->type == CFF_PART_BINARY_RESOURCE && part->size >= CFF_TIMES_BASE &&
	       !memcmp(part->data, CFF_TIMES_MAGIC, CFF_TIMES_BASE);
}

static void take_times(struct cff_scan *scan, uint32_t chunk, uint32_t number,
		       const struct cff_part *part, struct cff_buffer *buffer)
{
	uint32_t count = part->size < CFF_TIMES_ITEMS ? 0 : (part->size - CFF_TIMES_ITEMS) / 2;
	bool is_good = part->size >= CFF_TIMES_ITEMS && !(part->size % 2);

	for (uint32_t i = 0; scan->is_check && is_good && i < count; i++)
		is_good = sonde_load_u16le(part->data + CFF_TIMES_ITEMS + 2 * (size_t)i) < 1000;
	buffer->times_part = number;
	buffer->is_times_bad = !is_good;
	if (!is_good)
		CFF_FIND(scan->findings, TIMES_RESOURCE, scan->image->path,
			 cff_scan_offset(scan, part->data),
			 "chunk %" PRIu32 " part %" PRIu32 " to be a base and numbers below 1000\t"
			 "%" PRIu32 " bytes of another form",
			 chunk, number, part->size);
	if (part->size < CFF_TIMES_ITEMS)
		return;
	buffer->is_exact = true;
	buffer->base_ns = scan->origin_ns + sonde_load_u64le(part->data + CFF_TIMES_BASE);
	buffer->nanoseconds = part->data + CFF_TIMES_ITEMS;
	buffer->nanosecond_count = count;
}

static enum sonde_status take_resource(struct cff_scan *scan, uint32_t chunk, uint32_t number,
				       const struct cff_part *part, struct cff_buffer *buffer,
				       struct sonde_error *err)
{
	struct cff_blob *blob;

	if (!part->data)
		return SONDE_OK;
	if (is_times(part)) {
		/* others are ignored: looking at many that overlap would take forever */
		if (buffer->times_part == SONDE_NONE)
			take_times(scan, chunk, number, part, buffer);
		return SONDE_OK;
	}
	if (is_resource_of_ours(scan, part))
		return SONDE_OK;
	blob = sonde_vec_push(&scan->blobs);
	if (!blob)
		return sonde_fail_nomem(err);
	*blob = (struct cff_blob){ chunk, number };
	return SONDE_OK;
}

/* Where the header of a chunk has a part, for findings. */
static uint64_t part_place(const struct cff_scan *scan, uint32_t chunk, uint32_t number)
{
	return cff_image_offset(scan->image, scan->image->chunks.items[chunk].offset +
						     CFF_CHUNK_SIZE +
						     (uint64_t)number * CFF_PART_SIZE);
}

/* The bytes of an event buffer that are there, in whole words. */
static void take_events(struct cff_scan *scan, uint32_t chunk, uint32_t number,
			const struct cff_part *part, struct cff_buffer *buffer)
{
	struct cff_part events =
		cff_chunk_events(scan->image, &scan->image->chunks.items[chunk], part);

	if (buffer->part != SONDE_NONE)
		CFF_FIND(scan->findings, PART_SECOND, scan->image->path,
			 part_place(scan, chunk, number),
			 "chunk %" PRIu32 " to have one event buffer\tanother one in part %" PRIu32,
			 chunk, number);
	if (part->size % 4)
		CFF_FIND(scan->findings, EVENTS_LENGTH, scan->image->path,
			 part_place(scan, chunk, number),
			 "chunk %" PRIu32 " part %" PRIu32 " to be a multiple of 4 bytes\t%" PRIu32,
			 chunk, number, part->size);
	buffer->part = number;
	buffer->data = events.data;
	buffer->size = events.size & ~3u;
	buffer->is_faulty = !part->data || part->size % 4;
}

static enum sonde_status take_part(struct cff_scan *scan, uint32_t chunk, uint32_t number,
				   struct cff_buffer *buffer, struct sonde_error *err)
{
	const struct cff_chunk *place = &scan->image->chunks.items[chunk];
	struct cff_part part = cff_chunk_part(scan->image, place, number);
	uint64_t offset = part_place(scan, chunk, number);

	if (!part.data)
		CFF_FIND(scan->findings, PART_OUTSIDE, scan->image->path, offset,
			 "chunk %" PRIu32 " part %" PRIu32 " to end within the chunk\t%" PRIu32
			 " bytes",
			 chunk, number, part.size);
	switch (part.type) {
	case CFF_PART_EVENTS:
		take_events(scan, chunk, number, &part, buffer);
		return SONDE_OK;
	case CFF_PART_BINARY_RESOURCE:
	case CFF_PART_STRING_RESOURCE:
		return take_resource(scan, chunk, number, &part, buffer, err);
	case CFF_PART_STRINGS:
		if (scan->is_check && part.data && part.size && part.data[part.size - 1])
			CFF_FIND(scan->findings, STRINGS_END, scan->image->path, offset,
				 "chunk %" PRIu32 " part %" PRIu32 " to end with a NUL\t"
				 "another character",
				 chunk, number);
		return SONDE_OK;
	case CFF_PART_JSON_EVENTS:
	case CFF_PART_LEGACY_EVENTS:
		CFF_FIND(scan->findings, EVENTS_FORM, scan->image->path, offset,
			 "chunk %" PRIu32 " part %" PRIu32 " of type 0x20002\ttype %#" PRIx32,
			 chunk, number, part.type);
		return SONDE_OK;
	case CFF_PART_FILE_HEADER:
		return SONDE_OK;
	default:
		CFF_FIND(scan->findings, PART_TYPE, scan->image->path, offset,
			 "chunk %" PRIu32 " part %" PRIu32 " of a known type\ttype %#" PRIx32,
			 chunk, number, part.type);
		return SONDE_OK;
	}
}

enum sonde_status cff_scan_chunk_parts(struct cff_scan *scan, uint32_t number,
				       struct cff_buffer *buffer, struct sonde_error *err)
{
	const struct cff_chunk *chunk = &scan->image->chunks.items[number];
	uint32_t parts = cff_chunk_part_count(scan->image, chunk);
	uint32_t type = chunk->type;
	enum sonde_status status = SONDE_OK;

	*buffer = (struct cff_buffer){
		.part = SONDE_NONE,
		.times_part = SONDE_NONE,
		.is_exact = scan->is_ours,
		.base_ns = scan->origin_ns,
	};
	if (type != CFF_CHUNK_EVENT_DATA && type != CFF_CHUNK_FILE_HEADER)
		return SONDE_OK;
	for (uint32_t i = 0; i < parts && status == SONDE_OK; i++)
		status = take_part(scan, number, i, buffer, err);
	if (type == CFF_CHUNK_EVENT_DATA && buffer->part == SONDE_NONE)
		CFF_FIND(scan->findings, EVENTS_MISSING, scan->image->path,
			 cff_scan_offset(scan, scan->image->data + chunk->offset),
			 "an event buffer in chunk %" PRIu32 "\tnone", number);
	return status;
}

static enum sonde_status note_action(struct cff_scan *scan, enum cff_action_kind kind,
				     uint32_t value, struct sonde_error *err)
{
	struct cff_action *action;

	if (!scan->keeps_actions)
		return SONDE_OK;
	action = sonde_vec_push(&scan->actions);
	if (!action)
		return sonde_fail_nomem(err);
	*action = (struct cff_action){ kind, scan->chunk, value };
	return SONDE_OK;
}

/* Keeps what was entered since the last piece, so that pieces can start from it. */
static bool keep_stack(struct cff_scan *scan, struct cff_stack *stack)
{
	for (size_t i = 0; i < stack->frames.count; i++) {
		struct cff_node *node = sonde_vec_push(&scan->nodes);

		if (!node)
			return false;
		*node = (struct cff_node){
			.parent = stack->node,
			.function = stack->frames.items[i].function,
			.depth = stack->frames.items[i].depth,
		};
		stack->node = (uint32_t)(scan->nodes.count - 1);
	}
	stack->frames.count = 0;
	return true;
}

/* Whether the last piece of a zone goes on at `offset`. */
static bool goes_on(const struct cff_scan *scan, const struct cff_zone *zone, uint32_t offset)
{
	const struct cff_piece *last;

	if (zone->segment != scan->segment)
		return false;
	last = &zone->pieces.items[zone->pieces.count - 1];
	return last->count < CFF_PIECE_EVENTS || offset - last->end < CFF_PIECE_GAP;
}

static enum sonde_status open_piece(struct cff_scan *scan, struct run *run, const uint8_t *at,
				    struct sonde_error *err)
{
	struct cff_zone *zone;
	uint32_t offset = (uint32_t)(at - run->buffer->data);

	if (!scan->zones.count) {
		enum sonde_status status = note_action(scan, CFF_ACTION_ZONE, 0, err);

		if (status == SONDE_OK)
			status = cff_scan_add_zone(scan, err);
		if (status < 0)
			return status;
	}
	zone = scan->zones.items[scan->zone];
	if (!goes_on(scan, zone, offset)) {
		if (!keep_stack(scan, &zone->stack) || !sonde_vec_reserve(&zone->pieces, 1))
			return sonde_fail_nomem(err);
		zone->segment = scan->segment;
		zone->pieces.items[zone->pieces.count++] = (struct cff_piece){
			.first = zone->count,
			.last_us = zone->last_us,
			.chunk = run->chunk,
			.begin = run->is_marked ? run->mark_at : offset,
			.ordinal = run->is_marked ? run->mark_ordinal : run->ordinal,
			.sequence = scan->sequence,
			.stack = zone->stack.node,
		};
	}
	run->zone = zone;
	run->piece = &zone->pieces.items[zone->pieces.count - 1];
	return SONDE_OK;
}

/* The function of a name that an event has, or stands for. */
static enum sonde_status add_function(struct cff_scan *scan, enum cff_action_kind kind,
				      uint32_t value, const char *name, size_t length,
				      uint32_t *function, struct sonde_error *err)
{
	uint32_t before = sonde_definitions_function_count(scan->definitions);
	enum sonde_status status = cff_scan_add_function(scan, name, length, function, err);
	bool is_new = sonde_definitions_function_count(scan->definitions) != before;

	scan->has_unnamed |= is_new;
	if (status == SONDE_OK && (is_new || kind == CFF_ACTION_LEAVE))
		status = note_action(scan, kind, value, err);
	return status;
}

/* The function that a wtf.scope#enter names; looked up once for each text of a chunk. */
static enum sonde_status named_function(struct cff_scan *scan, const struct cff_plan *plan,
					const uint8_t *event, uint32_t *function,
					struct sonde_error *err)
{
	uint32_t ordinal = sonde_load_u32le(event + CFF_EVENT_SIZE);
	enum sonde_status status;
	const char *text;
	size_t length;

	*function = cff_named_find(&scan->named, ordinal);
	if (*function != SONDE_NONE)
		return SONDE_OK;
	*function = plan->function;
	status = cff_strings_get(&scan->strings, ordinal, &text, &length, err);
	if (status < 0 || !length)
		return status;
	status = add_function(scan, CFF_ACTION_FUNCTION, ordinal, text, length, function, err);
	if (status < 0)
		return status;
	return cff_named_keep(&scan->named, &scan->strings, ordinal, *function, err);
}

/* A leave without a scope belongs to a function of its own. */
static enum sonde_status note_leave(struct cff_scan *scan, struct run *run, struct sonde_error *err)
{
	struct cff_stack *stack = &run->zone->stack;

	if (stack->frames.count || stack->node != SONDE_NONE)
		return SONDE_OK;
	run->leave_count++;
	if (scan->leave_function != SONDE_NONE)
		return SONDE_OK;
	return add_function(scan, CFF_ACTION_LEAVE, 0, CFF_LEAVE_FUNCTION,
			    strlen(CFF_LEAVE_FUNCTION), &scan->leave_function, err);
}

/* An event of the model. */
static enum sonde_status take_event(struct cff_scan *scan, struct run *run,
				    const struct cff_plan *plan, const uint8_t *at, size_t size,
				    struct sonde_error *err)
{
	struct cff_zone *zone = run->zone;
	uint64_t last_us = zone->last_us, time_ns;
	uint32_t function = plan->function;
	bool has_detail = plan->has_detail;
	struct sonde_event event;
	enum sonde_status status = SONDE_OK;

	time_ns = cff_time_ns(run->buffer, run->ordinal, sonde_load_u32le(at + CFF_EVENT_TIME),
			      &zone->last_us);
	if (__builtin_expect(zone->last_us < last_us, 0))
		run->back_count++;
	if (!run->piece->count)
		run->piece->time_ns = time_ns;
	if (plan->step == CFF_STEP_CALL_NAMED)
		status = named_function(scan, plan, at, &function, err);
	else if (plan->step == CFF_STEP_CALL_NUMBERED)
		function = cff_walk_numbered(scan, plan, at);
	else if (plan->step == CFF_STEP_LEAVE)
		status = note_leave(scan, run, err);
	if (status < 0)
		return status;
	if (__builtin_expect(run->is_marked, 0)) {
		if (!cff_walk_marked(scan, &zone->stack, plan, function, at, &run->marker, &event))
			return sonde_fail_nomem(err);
		has_detail = cff_walk_has_detail(scan, plan, &event);
		run->marker = (struct cff_marker){ 0 };
		run->is_marked = false;
		/* what the marker names is not there, and the event is none that has a type */
		if (event.function == SONDE_NONE) {
			scan->has_unnamed = true;
			status = note_action(scan, CFF_ACTION_EVENT_TYPE, plan->type->number, err);
			if (status == SONDE_OK)
				status = cff_scan_add_event_type(scan, plan->type, err);
		}
		if (status < 0)
			return status;
	} else if (!cff_walk_event(scan, &zone->stack, plan, function, at, &event)) {
		return sonde_fail_nomem(err);
	}
	if (!zone->count)
		zone->first_ns = time_ns;
	zone->last_ns = time_ns;
	zone->count++;
	zone->details += has_detail;
	run->piece->count++;
	run->piece->end = (uint32_t)(at + size - run->buffer->data);
	return SONDE_OK;
}

static enum sonde_status take_structure(struct cff_scan *scan, struct run *run,
					const struct cff_plan *plan, const uint8_t *at,
					struct sonde_error *err)
{
	enum sonde_status status;
	uint32_t id;

	switch (plan->step) {
	case CFF_STEP_DEFINE:
	case CFF_STEP_ZONE_CREATE:
		status = note_action(scan, CFF_ACTION_STRUCTURE, (uint32_t)(at - run->buffer->data),
				     err);
		if (status < 0)
			return status;
		return plan->step == CFF_STEP_DEFINE ? cff_scan_define(scan, at, err) :
						       cff_scan_create_zone(scan, at, err);
	case CFF_STEP_ZONE_SET:
		id = sonde_load_u16le(at + CFF_EVENT_SIZE);
		scan->zone = cff_meanings_find(&scan->zone_ids, id, UINT32_MAX);
		if (scan->zone == SONDE_NONE && scan->is_check)
			CFF_FIND(scan->findings, ZONE_UNKNOWN, scan->image->path,
				 cff_scan_offset(scan, at),
				 "chunk %" PRIu32 ": a zone that was created\tzone %" PRIu32,
				 run->chunk, id);
		run->zone = NULL;
		return SONDE_OK;
	case CFF_STEP_EXCEPTION:
	case CFF_STEP_EXACT:
		if (!run->is_marked) {
			run->mark_at = (uint32_t)(at - run->buffer->data);
			run->mark_ordinal = run->ordinal;
		}
		run->is_marked = true;
		cff_marker_take(&run->marker, plan, at);
		return SONDE_OK;
	default:
		return SONDE_OK;
	}
}

/* The size of the event at `at`, 0 where it cannot be read; then it is a finding. */
static size_t event_size(struct cff_scan *scan, const struct run *run, const uint8_t *at,
			 size_t left, const struct cff_plan **plan)
{
	const struct cff_type *type;
	uint32_t wire;
	size_t size = 0;

	if (left >= CFF_EVENT_SIZE) {
		wire = sonde_load_u32le(at + CFF_EVENT_WIRE);
		type = cff_types_find(&scan->types, wire);
		if (!type) {
			CFF_FIND(scan->findings, EVENT_UNDEFINED, scan->image->path,
				 cff_scan_offset(scan, at),
				 "chunk %" PRIu32 " part %" PRIu32
				 ": a wire id that was defined\twire id %" PRIu32,
				 run->chunk, run->buffer->part, wire);
			return 0;
		}
		*plan = &scan->plans.items[type->number];
		size = cff_type_size(type, at, left);
	}
	if (!size)
		CFF_FIND(scan->findings, EVENT_PAST_END, scan->image->path,
			 cff_scan_offset(scan, at),
			 "chunk %" PRIu32 " part %" PRIu32
			 ": an event that ends within its buffer\t%zu bytes left",
			 run->chunk, run->buffer->part, left);
	return size;
}

static void note_unknown_zone(struct cff_scan *scan, const struct run *run, const uint8_t *at)
{
	CFF_FIND(scan->findings, EVENT_ZONE, scan->image->path, cff_scan_offset(scan, at),
		 "chunk %" PRIu32 " part %" PRIu32
		 ": an event in a zone that was created\tone that was not",
		 run->chunk, run->buffer->part);
}

/* Goes through a buffer; *stop is where the first fault is, or its end. */
static enum sonde_status take_buffer(struct cff_scan *scan, struct run *run, const uint8_t **stop,
				     struct sonde_error *err)
{
	const uint8_t *at = run->buffer->data, *end = at + run->buffer->size;
	enum sonde_status status = SONDE_OK;
	const struct cff_plan *plan = NULL;
	size_t size;

	for (; at < end; at += size, run->ordinal++) {
		size = event_size(scan, run, at, (size_t)(end - at), &plan);
		if (!size)
			break;
		if (plan->step < CFF_STEP_DEFINE && scan->is_indexed)
			continue;
		if (plan->step < CFF_STEP_DEFINE && scan->zone == SONDE_NONE) {
			note_unknown_zone(scan, run, at);
			break;
		}
		if (scan->visitor)
			status = scan->visitor->event(scan->visitor, scan, plan->type, at, size,
						      err);
		if (status < 0)
			return status;
		if (plan->step < CFF_STEP_DEFINE) {
			if (__builtin_expect(!run->zone, 0))
				status = open_piece(scan, run, at, err);
			if (status == SONDE_OK && run->zone)
				status = take_event(scan, run, plan, at, size, err);
		} else {
			status = take_structure(scan, run, plan, at, err);
		}
		if (status < 0)
			return status;
		if (++run->segment_events >= CFF_SEGMENT_EVENTS && !run->is_marked) {
			run->segment_events = 0;
			run->zone = NULL;
			scan->segment++;
		}
	}
	scan->has_bad_events |= at < end;
	*stop = at;
	return SONDE_OK;
}

static void note_oddities(struct cff_scan *scan, const struct run *run)
{
	uint64_t offset = cff_scan_offset(scan, run->buffer->data);

	if (run->back_count && scan->is_check)
		CFF_FIND(scan->findings, EVENT_TIME, scan->image->path, offset,
			 "chunk %" PRIu32 ": times that go forward\t%" PRIu64 " steps back",
			 run->chunk, run->back_count);
	if (run->leave_count && scan->is_check)
		CFF_FIND(scan->findings, SCOPE_LEAVE, scan->image->path, offset,
			 "chunk %" PRIu32 ": scopes that were entered\t%" PRIu64 " left without",
			 run->chunk, run->leave_count);
}

enum sonde_status cff_scan_add_buffer(struct cff_scan *scan, struct sonde_error *err)
{
	const uint32_t number = (uint32_t)scan->buffers.count;
	struct cff_buffer *buffer = sonde_vec_push(&scan->buffers);
	enum sonde_status status;

	if (!buffer)
		return sonde_fail_nomem(err);
	status = cff_scan_chunk_parts(scan, number, buffer, err);
	cff_image_leave(scan->image, &scan->trail, number);
	return status;
}

enum sonde_status cff_scan_read_chunk(struct cff_scan *scan, uint32_t number,
				      struct sonde_error *err)
{
	struct cff_buffer *buffer = &scan->buffers.items[number];
	struct run run = { .chunk = number, .buffer = buffer };
	const uint8_t *stop = NULL;
	uint32_t sequence = scan->sequence;
	enum sonde_status status = SONDE_OK;

	scan->chunk = number;
	cff_strings_set(&scan->strings, scan->image, &scan->image->chunks.items[number]);
	scan->named.functions.count = 0;
	scan->segment++;
	if (scan->visitor)
		status = scan->visitor->chunk(scan->visitor, scan, number, err);
	if (status < 0 || !buffer->data)
		return status;
	status = take_buffer(scan, &run, &stop, err);
	if (status < 0)
		return status;
	buffer->is_faulty = buffer->is_faulty || stop != buffer->data + buffer->size;
	buffer->size = (uint32_t)(stop - buffer->data);
	buffer->events = run.ordinal;
	buffer->definitions = scan->sequence - sequence;
	cff_image_leave(scan->image, &scan->trail, number);
	note_oddities(scan, &run);
	return SONDE_OK;
}

/* After the pass, when it is known what wire ids mean throughout the file. */
static enum sonde_status make_passes(struct cff_scan *scan, struct sonde_error *err)
{
	for (uint32_t wire = 0; wire < scan->wires.ids.count; wire++) {
		uint32_t number = scan->wires.ids.items[wire],
			 *pass = sonde_vec_push(&scan->passes);
		const struct cff_plan *plan;

		if (!pass)
			return sonde_fail_nomem(err);
		*pass = 0;
		if (number & CFF_MEANINGS_MANY)
			continue;
		plan = &scan->plans.items[number];
		if (plan->step < CFF_STEP_DEFINE)
			*pass = plan->size;
		else if (plan->step == CFF_STEP_ZONE_SET && plan->size)
			*pass = plan->size | CFF_PASS_ZONE;
	}
	return SONDE_OK;
}

enum sonde_status cff_scan_finish(struct cff_scan *scan, struct sonde_error *err)
{
	cff_strings_release(&scan->strings);
	for (size_t i = 0; i < scan->zones.count; i++)
		sonde_vec_release(&scan->zones.items[i]->stack.frames);
	return make_passes(scan, err);
}

enum sonde_status cff_scan_run(struct cff_scan *scan, struct sonde_error *err)
{
	enum sonde_status status = cff_scan_init(scan, err);

	for (size_t i = 0; i < scan->image->chunks.count && status == SONDE_OK; i++) {
		status = cff_scan_add_buffer(scan, err);
		if (status == SONDE_OK)
			status = cff_scan_read_chunk(scan, (uint32_t)i, err);
	}
	return status == SONDE_OK ? cff_scan_finish(scan, err) : status;
}
