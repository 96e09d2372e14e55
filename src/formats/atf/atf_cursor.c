/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cursors over the events of an ATF thread, and its details. An index event is turned into an
 * event of the model in one pass over the mapped file; the only work beyond copying is to look up
 * the function.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/atf/atf_annotations.h"

/*
 * Events a batch, at most: their 16 KiB leave room in the first-level cache for the map of
 * functions. After a seek batches start small and grow, since who seeks often wants a few events
 * only.
 */
#define BATCH_EVENTS 512
#define BATCH_EVENTS_FIRST 64

/* As they are there is nothing to hold, and only progress wants them in pieces. */
#define RAW_EVENTS 16384

/* How far ahead of the decoding the memory is fetched: the hardware stops at every page. */
#define FETCH_AHEAD 2048

/* So much of a file is kept behind a cursor before it no longer counts as memory. */
#define PASSED_EVENTS ((uint64_t)(4 << 20) / ATF_EVENT_SIZE)

struct atf_cursor {
	struct sonde_cursor base;
	struct atf_thread *thread;
	uint64_t position; /* number in the thread of the next event */
	uint64_t kept;	   /* what was read in order since this one is still mapped */
	struct atf_segment *segment;
	struct atf_segment *detail_segment;
	struct atf_detail_place detail_place;
	struct atf_segment *note_segment; /* likewise for what annotations take from details */
	struct atf_detail_place note_place;
	size_t batch_limit;
	size_t batch_events;	    /* of the next batch */
	struct sonde_event *events; /* batch_limit of them, made for the first batch */
};

static struct atf_cursor *atf_cursor_of(struct sonde_cursor *cursor)
{
	return (struct atf_cursor *)cursor;
}

/* The last segment whose first event (or first detail) is not behind `number`. */
static struct atf_segment *find_segment(struct atf_thread *thread, uint64_t number, bool details)
{
	size_t low = 0, high = thread->segments.count;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;
		const struct atf_segment *segment = &thread->segments.items[middle];

		if ((details ? segment->first_detail : segment->first_event) <= number)
			low = middle;
		else
			high = middle;
	}
	return &thread->segments.items[low];
}

struct atf_segment *atf_thread_segment(struct atf_thread *thread, uint64_t number)
{
	return find_segment(thread, number, false);
}

struct atf_segment *atf_thread_detail_segment(struct atf_thread *thread, uint64_t number)
{
	return find_segment(thread, number, true);
}

uint64_t atf_thread_time(struct atf_thread *thread, uint64_t number)
{
	struct atf_segment *segment = atf_thread_segment(thread, number);

	return sonde_load_u64le(atf_index_at(&segment->index, number - segment->first_event));
}

static enum sonde_status add_text(struct sonde_definitions *definitions, const char *text,
				  uint32_t *id, struct sonde_error *err)
{
	if (!text || !*text)
		return SONDE_OK;
	return sonde_definitions_add_string(definitions, text, strlen(text), id, err);
}

/*
 * Asks for the name of a function of a known module. Where modules are known, but not this one,
 * because it was loaded just before the recorder was killed, the function is called by its number:
 * either all functions of a process have names, or none.
 */
static enum sonde_status name_function(struct atf_naming *naming,
				       struct sonde_definitions *definitions,
				       struct sonde_function *function, struct sonde_error *err)
{
	const struct sonde_recover_options *options = naming->options;
	uint32_t id = sonde_key_map_find(&naming->modules, function->key >> 32);
	struct sonde_function_name name = { 0 };
	char number[64];
	enum sonde_status status;

	if (!naming->module_count)
		return SONDE_OK;
	function->module = id;
	if (id == SONDE_NONE) {
		snprintf(number, sizeof(number), "[unknown]+%#llx",
			 (unsigned long long)function->key);
		name.name = number;
	} else {
		const struct sonde_module *module = sonde_definitions_module(definitions, id);

		if (!options->name_function(options->name_context,
					    sonde_definitions_string(definitions, module->path),
					    sonde_definitions_string(definitions, module->uuid),
					    (uint32_t)function->key, &name))
			return SONDE_OK;
		naming->named++;
	}
	function->line = name.line;
	status = add_text(definitions, name.name, &function->name, err);
	if (status == SONDE_OK)
		status = add_text(definitions, name.raw_name, &function->raw_name, err);
	if (status == SONDE_OK)
		status = add_text(definitions, name.file, &function->file, err);
	return status;
}

/* Names of scopes are there before those of functions: in a session that was never finished. */
static void scope_name(const struct atf_process *process,
		       const struct sonde_definitions *definitions, struct sonde_function *function)
{
	uint32_t id = sonde_key_map_find(&process->event_types, function->key);
	const struct sonde_event_type *type = sonde_definitions_event_type(definitions, id);

	if (type && type->is_scope)
		function->name = type->name;
}

enum sonde_status atf_process_function(struct atf_process *process,
				       struct sonde_definitions *definitions, uint64_t key,
				       uint32_t *function, struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	*function = sonde_key_map_find(&process->functions, key);
	if (*function != SONDE_NONE)
		return SONDE_OK;
	pthread_mutex_lock(&process->lock);
	*function = sonde_key_map_find(&process->functions, key);
	if (*function == SONDE_NONE) {
		struct sonde_function unnamed = {
			.process = process->id,
			.module = SONDE_NONE,
			.has_key = true,
			.key = key,
		};

		scope_name(process, definitions, &unnamed);
		if (process->naming && !unnamed.name)
			status = name_function(process->naming, definitions, &unnamed, err);
		if (status == SONDE_OK)
			status = sonde_definitions_add_function(definitions, &unnamed, function,
								err);
		if (status == SONDE_OK && !sonde_key_map_add(&process->functions, key, *function))
			status = sonde_fail_nomem(err);
	}
	pthread_mutex_unlock(&process->lock);
	return status;
}

/*
 * The second half of an event: thread, kind, depth and detail of the file become depth, kind,
 * detail and extra of the model, where kind is followed by flags and a reserved member, all 0.
 */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
typedef uint32_t four_words __attribute__((vector_size(16)));

_Static_assert(offsetof(struct sonde_event, depth) == 16 &&
		       offsetof(struct sonde_event, kind) == 20 &&
		       offsetof(struct sonde_event, detail) == 24 &&
		       offsetof(struct sonde_event, extra) == 28,
	       "put_second_half() writes four words at once");

static inline void put_second_half(struct sonde_event *event, const uint8_t *bytes)
{
	four_words words;

	memcpy(&words, bytes + ATF_EVENT_THREAD, sizeof(words));
#ifdef __clang__
	words = __builtin_shufflevector(words, words, 2, 1, 3, 3);
#else
	words = __builtin_shuffle(words, (four_words){ 2, 1, 3, 3 });
#endif
	words &= (four_words){ UINT32_MAX, UINT32_MAX, UINT32_MAX, 0 };
	memcpy((uint8_t *)event + offsetof(struct sonde_event, depth), &words, sizeof(words));
}
#else
static inline void put_second_half(struct sonde_event *event, const uint8_t *bytes)
{
	event->depth = sonde_load_u32le(bytes + ATF_EVENT_DEPTH);
	event->kind = (uint8_t)sonde_load_u32le(bytes + ATF_EVENT_KIND);
	event->flags = 0;
	event->reserved = 0;
	event->detail = sonde_load_u32le(bytes + ATF_EVENT_DETAIL);
	event->extra = 0;
}
#endif

/* An event of a kind that is not known here keeps its number. */
static void set_other(struct sonde_event *event, uint32_t kind)
{
	event->kind = SONDE_EVENT_OTHER;
	event->flags = 0;
	event->reserved = 0;
	event->extra = kind;
}

/* An annotation: its event type, and the number or value that is in its detail. */
static enum sonde_status set_annotation(struct atf_cursor *cursor, struct sonde_event *event,
					uint64_t key, struct sonde_error *err)
{
	struct atf_arguments arguments;
	enum sonde_status status;

	status = atf_process_event_type(cursor->thread->process,
					cursor->base.recording->definitions, key, &event->function,
					err);
	if (status < 0)
		return status;
	if (cursor->note_segment != cursor->segment) {
		cursor->note_segment = cursor->segment;
		cursor->note_place = (struct atf_detail_place){ 0 };
	}
	status = atf_segment_arguments(cursor->segment, &cursor->note_place, event->detail,
				       &arguments, err);
	if (status < 0)
		return status;
	atf_annotation_take(event, status == SONDE_OK ? &arguments : NULL);
	return SONDE_OK;
}

/* What is no call, return or exception. */
__attribute__((noinline, cold)) static enum sonde_status decode_other(struct atf_cursor *cursor,
								      struct sonde_event *event,
								      const uint8_t *bytes,
								      struct sonde_error *err)
{
	uint32_t kind = sonde_load_u32le(bytes + ATF_EVENT_KIND);

	if (atf_kind_is_annotation(kind))
		return set_annotation(cursor, event, sonde_load_u64le(bytes + ATF_EVENT_FUNCTION),
				      err);
	set_other(event, kind);
	return SONDE_OK;
}

/*
 * Turns `count` index events into events of the model. It runs once an event: four loads, a
 * look-up and four stores.
 */
static enum sonde_status decode_events(struct atf_cursor *cursor, const uint8_t *bytes,
				       size_t count, struct sonde_error *err)
{
	struct atf_process *process = cursor->thread->process;
	struct sonde_key_view functions = sonde_key_map_view(&process->functions);
	uint32_t track = cursor->base.track;
	enum sonde_status status;

	for (struct sonde_event *event = cursor->events, *end = event + count; event < end;
	     event++, bytes += ATF_EVENT_SIZE) {
		uint64_t key = sonde_load_u64le(bytes + ATF_EVENT_FUNCTION);
		uint32_t kind = sonde_load_u32le(bytes + ATF_EVENT_KIND);
		uint32_t function = sonde_key_view_find(functions, key);

		__builtin_prefetch(bytes + FETCH_AHEAD);
		if (__builtin_expect(function == SONDE_NONE, 0) && !atf_kind_is_annotation(kind)) {
			/* another variable, so that `function` can stay in a register */
			uint32_t added;

			status = atf_process_function(process, cursor->base.recording->definitions,
						      key, &added, err);
			if (status < 0)
				return status;
			function = added;
			functions = sonde_key_map_view(&process->functions);
		}
		event->time_ns = sonde_load_u64le(bytes + ATF_EVENT_TIME);
		event->track = track;
		event->function = function;
		put_second_half(event, bytes);
		if (__builtin_expect(kind - ATF_KIND_CALL > ATF_KIND_EXCEPTION - ATF_KIND_CALL,
				     0)) {
			status = decode_other(cursor, event, bytes, err);
			if (status < 0)
				return status;
		}
	}
	return SONDE_OK;
}

/* Details are numbered through all segments, in the files from 0 in each. */
static void shift_details(struct atf_cursor *cursor, size_t count)
{
	uint32_t first_detail = (uint32_t)cursor->segment->first_detail;

	for (size_t i = 0; first_detail && i < count; i++)
		if (sonde_event_has_detail(&cursor->events[i]))
			cursor->events[i].detail += first_detail;
}

/* Marks those events of a batch that the manifest says are synthetic. */
static void mark_synthetic(struct atf_cursor *cursor, size_t count)
{
	const struct atf_thread *thread = cursor->thread;
	uint64_t tail_start = thread->event_count - thread->synthetic_tail;

	if (cursor->position >= thread->synthetic_head && cursor->position + count <= tail_start)
		return;
	for (size_t i = 0; i < count; i++) {
		uint64_t number = cursor->position + i;

		if (number < thread->synthetic_head || number >= tail_start)
			cursor->events[i].flags = SONDE_EVENT_SYNTHETIC;
	}
}

/* What lies behind the cursor is passed now and then, and at the end of a segment. */
static void pass_events(struct atf_cursor *cursor, bool is_segment_done)
{
	const struct atf_segment *segment = cursor->segment;
	const struct atf_index *index = &segment->index;

	if (cursor->kept < segment->first_event)
		cursor->kept = segment->first_event;
	if (cursor->position - cursor->kept < PASSED_EVENTS && !is_segment_done)
		return;
	sonde_mapped_file_pass(&index->file.map,
			       atf_index_offset(index, cursor->kept - segment->first_event),
			       atf_index_offset(index, cursor->position - segment->first_event));
	cursor->kept = cursor->position;
}

static enum sonde_status atf_cursor_next(struct sonde_cursor *base, struct sonde_batch *batch,
					 struct sonde_error *err)
{
	struct atf_cursor *cursor = atf_cursor_of(base);
	struct atf_thread *thread = cursor->thread;
	uint64_t number;
	size_t count;
	enum sonde_status status;

	if (cursor->position >= thread->event_count)
		return SONDE_END;
	if (!cursor->segment ||
	    cursor->position - cursor->segment->first_event >= cursor->segment->index.count)
		cursor->segment = atf_thread_segment(thread, cursor->position);
	if (!cursor->events) {
		cursor->events = malloc(cursor->batch_limit * sizeof(*cursor->events));
		if (!cursor->events)
			return sonde_fail_nomem(err);
	}
	number = cursor->position - cursor->segment->first_event;
	count = cursor->batch_events;
	if (count > cursor->segment->index.count - number)
		count = (size_t)(cursor->segment->index.count - number);
	status = decode_events(cursor, atf_index_at(&cursor->segment->index, number), count, err);
	if (status < 0)
		return status;
	shift_details(cursor, count);
	mark_synthetic(cursor, count);
	*batch = (struct sonde_batch){
		.events = cursor->events,
		.count = count,
		.first_index = cursor->position,
		.details = base,
	};
	cursor->position += count;
	pass_events(cursor, number + count == cursor->segment->index.count);
	if (cursor->batch_events < cursor->batch_limit)
		cursor->batch_events *= 2;
	if (cursor->batch_events > cursor->batch_limit)
		cursor->batch_events = cursor->batch_limit;
	return SONDE_OK;
}

_Static_assert(ATF_EVENT_SIZE == SONDE_RAW_EVENT_SIZE && ATF_EVENT_TIME == SONDE_RAW_EVENT_TIME &&
		       ATF_EVENT_FUNCTION == SONDE_RAW_EVENT_KEY &&
		       ATF_EVENT_KIND == SONDE_RAW_EVENT_KIND &&
		       ATF_EVENT_DEPTH == SONDE_RAW_EVENT_DEPTH,
	       "events are handed out as they are");

static enum sonde_status atf_cursor_next_raw(struct sonde_cursor *base,
					     struct sonde_raw_events *events,
					     struct sonde_error *err)
{
	struct atf_cursor *cursor = atf_cursor_of(base);
	uint64_t number, left;

	(void)err;
	/* what was handed out before is not in use any more */
	if (cursor->segment)
		pass_events(cursor, cursor->position - cursor->segment->first_event >=
					    cursor->segment->index.count);
	if (cursor->position >= cursor->thread->event_count)
		return SONDE_END;
	if (!cursor->segment ||
	    cursor->position - cursor->segment->first_event >= cursor->segment->index.count)
		cursor->segment = atf_thread_segment(cursor->thread, cursor->position);
	number = cursor->position - cursor->segment->first_event;
	left = cursor->segment->index.count - number;
	events->bytes = atf_index_at(&cursor->segment->index, number);
	events->count = left < RAW_EVENTS ? (size_t)left : RAW_EVENTS;
	cursor->position += events->count;
	return SONDE_OK;
}

static enum sonde_status atf_cursor_raw_function(struct sonde_cursor *base, uint64_t key,
						 uint32_t *function, struct sonde_error *err)
{
	return atf_process_function(atf_cursor_of(base)->thread->process,
				    base->recording->definitions, key, function, err);
}

static void atf_cursor_seek_index(struct sonde_cursor *base, uint64_t index)
{
	struct atf_cursor *cursor = atf_cursor_of(base);

	cursor->position = cursor->kept = index;
	cursor->segment = NULL;
	if (cursor->batch_events > BATCH_EVENTS_FIRST)
		cursor->batch_events = BATCH_EVENTS_FIRST;
}

static void atf_cursor_limit_batch(struct sonde_cursor *base, size_t events)
{
	struct atf_cursor *cursor = atf_cursor_of(base);

	if (events < cursor->batch_limit)
		cursor->batch_limit = events;
	if (cursor->batch_events > cursor->batch_limit)
		cursor->batch_events = cursor->batch_limit;
}

static void atf_cursor_seek_time(struct sonde_cursor *base, uint64_t time_ns)
{
	struct atf_thread *thread = atf_cursor_of(base)->thread;
	uint64_t low = 0, high = thread->event_count;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (atf_thread_time(thread, middle) < time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	atf_cursor_seek_index(base, low);
}

static uint64_t atf_cursor_position(const struct sonde_cursor *base)
{
	const struct atf_cursor *cursor = (const struct atf_cursor *)base;

	if (cursor->position > cursor->thread->event_count)
		return cursor->thread->event_count;
	return cursor->position;
}

/* Registers and stack of a function payload; false where the payload is too short for them. */
static bool decode_payload(const struct atf_segment *segment, const uint8_t *payload, size_t size,
			   struct sonde_detail *detail)
{
	size_t stack_size;

	if (size < ATF_PAYLOAD_SIZE)
		return false;
	stack_size = sonde_load_u16le(payload + ATF_PAYLOAD_STACK_SIZE);
	if (stack_size > size - ATF_PAYLOAD_SIZE)
		return false;
	detail->kind = SONDE_DETAIL_REGISTERS;
	detail->registers.arch = (enum sonde_arch)segment->detail.header.identity.arch;
	detail->registers.flags = sonde_load_u16le(payload + ATF_PAYLOAD_FLAGS);
	for (int i = 0; i < SONDE_REGISTER_COUNT; i++)
		detail->registers.values[i] =
			sonde_load_u64le(payload + ATF_PAYLOAD_REGISTERS + 8 * i);
	detail->stack = payload + ATF_PAYLOAD_SIZE;
	detail->stack_size = stack_size;
	detail->bytes = detail->stack + stack_size;
	detail->size = size - ATF_PAYLOAD_SIZE - stack_size;
	return true;
}

/* Typed arguments; too short a payload stays opaque. */
static enum sonde_status decode_arguments(struct atf_process *process,
					  struct sonde_definitions *definitions,
					  struct sonde_detail *detail, struct sonde_error *err)
{
	struct atf_arguments arguments;

	if (!atf_arguments_decode(&arguments, detail->bytes, detail->size))
		return SONDE_OK;
	detail->kind = SONDE_DETAIL_ARGUMENTS;
	detail->bytes = arguments.values;
	detail->size = arguments.size;
	return atf_process_event_type(process, definitions, arguments.type_key, &detail->event_type,
				      err);
}

enum sonde_status atf_detail_decode(const struct atf_segment *segment, uint64_t offset,
				    struct atf_process *process,
				    struct sonde_definitions *definitions,
				    struct sonde_detail *detail, struct sonde_error *err)
{
	const uint8_t *payload;
	struct atf_detail_record record;
	enum sonde_status status;
	size_t size;

	status = atf_detail_record_at(&segment->detail, offset, &record, err);
	if (status < 0)
		return status;
	payload = segment->detail.file.map.data + offset + ATF_DETAIL_RECORD_SIZE;
	size = record.total_length - ATF_DETAIL_RECORD_SIZE;
	*detail = (struct sonde_detail){
		.kind = SONDE_DETAIL_OPAQUE,
		.type = record.event_type,
		.flags = record.flags,
		.function = SONDE_NONE,
		.event_type = SONDE_NONE,
		.event = UINT64_MAX,
		.time_ns = record.timestamp,
		.bytes = payload,
		.size = size,
	};
	if (record.index_seq < segment->index.count)
		detail->event = segment->first_event + record.index_seq;
	if (record.event_type == ATF_DETAIL_TYPE_ARGUMENTS)
		return decode_arguments(process, definitions, detail, err);
	if (record.event_type != ATF_DETAIL_TYPE_CALL &&
	    record.event_type != ATF_DETAIL_TYPE_RETURN)
		return SONDE_OK;
	if (!decode_payload(segment, payload, size, detail))
		return SONDE_OK;
	return atf_process_function(process, definitions, sonde_load_u64le(payload),
				    &detail->function, err);
}

static enum sonde_status atf_cursor_detail(struct sonde_cursor *base, uint64_t number,
					   struct sonde_detail *detail, struct sonde_error *err)
{
	struct atf_cursor *cursor = atf_cursor_of(base);
	struct atf_thread *thread = cursor->thread;
	struct atf_segment *segment = find_segment(thread, number, true);
	enum sonde_status status;

	if (number >= thread->detail_count || !segment->has_detail)
		return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
				  "detail %llu does not exist: this thread has %llu",
				  (unsigned long long)number,
				  (unsigned long long)thread->detail_count);
	if (segment != cursor->detail_segment) {
		cursor->detail_segment = segment;
		cursor->detail_place = (struct atf_detail_place){ 0 };
	}
	status = atf_detail_seek(&segment->detail, &cursor->detail_place,
				 number - segment->first_detail, err);
	if (status < 0)
		return status;
	return atf_detail_decode(segment, cursor->detail_place.offset, thread->process,
				 base->recording->definitions, detail, err);
}

static void atf_cursor_free(struct sonde_cursor *base)
{
	free(atf_cursor_of(base)->events);
	free(base);
}

static const struct sonde_cursor_ops atf_cursor_ops = {
	.next = atf_cursor_next,
	.seek_index = atf_cursor_seek_index,
	.seek_time = atf_cursor_seek_time,
	.position = atf_cursor_position,
	.detail = atf_cursor_detail,
	.limit_batch = atf_cursor_limit_batch,
	.next_raw = atf_cursor_next_raw,
	.raw_function = atf_cursor_raw_function,
	.free = atf_cursor_free,
};

enum sonde_status atf_cursor_open(struct sonde_recording *recording, uint32_t track,
				  struct sonde_cursor **cursor, struct sonde_error *err)
{
	struct atf_session *session = recording->data;
	struct atf_cursor *made = calloc(1, sizeof(*made));

	if (!made)
		return sonde_fail_nomem(err);
	made->base.ops = &atf_cursor_ops;
	made->thread = &session->threads.items[track];
	made->batch_limit = BATCH_EVENTS;
	made->batch_events = BATCH_EVENTS_FIRST;
	*cursor = &made->base;
	return SONDE_OK;
}
