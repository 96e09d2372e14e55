/* SPDX-License-Identifier: Apache-2.0 */
/* The recording in memory of memory_recording.h. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"
#include "formats/format.h"
#include "memory_recording.h"
#include "model/recording.h"

static void need(bool happened)
{
	if (!happened)
		abort();
}

struct memory_track {
	SONDE_VEC(struct sonde_event) events;
	SONDE_VEC(struct sonde_detail) details;
	SONDE_VEC(struct sonde_value) values;
	SONDE_VEC(struct sonde_sample) samples;
	uint64_t fail_at;
};

struct memory {
	size_t batch_size;
	SONDE_VEC(struct memory_track) tracks;
	struct memory_track statistics; /* only its values */
	SONDE_VEC(struct sonde_context) contexts;
	pthread_mutex_t lock;	   /* of what follows */
	struct sonde_key_map lazy; /* key of an undefined function -> id */
	SONDE_VEC(struct sonde_blob) blobs;
	SONDE_VEC(uint32_t) numbers; /* with details_by_event: of one track, by event */
	struct sonde_arena bytes;    /* of arguments */
};

struct memory_cursor {
	struct sonde_cursor base;
	uint64_t position;
	struct sonde_event *events; /* batch_size of them */
	uint8_t byte;		    /* what details point at */
};

static struct memory_track *track_of(const struct sonde_recording *recording, uint32_t track)
{
	return &((struct memory *)recording->data)->tracks.items[track];
}

/* As readers do: a function that nobody defined is defined when it is met. */
static enum sonde_status resolve(struct sonde_recording *recording, uint32_t process,
				 uint32_t *function, struct sonde_error *err)
{
	struct memory *memory = recording->data;
	struct sonde_function made = {
		.process = process,
		.module = SONDE_NONE,
		.has_key = true,
		.key = *function,
	};
	enum sonde_status status = SONDE_OK;
	uint32_t id;

	if (*function < MEMORY_UNDEFINED || *function == SONDE_NONE)
		return SONDE_OK;
	pthread_mutex_lock(&memory->lock);
	id = sonde_key_map_find(&memory->lazy, *function);
	if (id == SONDE_NONE) {
		status = sonde_definitions_add_function(recording->definitions, &made, &id, err);
		if (!status && !sonde_key_map_add(&memory->lazy, *function, id))
			status = sonde_fail_nomem(err);
	}
	pthread_mutex_unlock(&memory->lock);
	*function = id;
	return status;
}

static uint32_t cursor_process(const struct sonde_cursor *cursor)
{
	return sonde_definitions_track(cursor->recording->definitions, cursor->track)->process;
}

static enum sonde_status memory_next(struct sonde_cursor *base, struct sonde_batch *batch,
				     struct sonde_error *err)
{
	struct memory_cursor *cursor = (struct memory_cursor *)base;
	struct memory *memory = base->recording->data;
	struct memory_track *track = track_of(base->recording, base->track);
	size_t count = 0;

	while (count < memory->batch_size && cursor->position + count < track->events.count) {
		struct sonde_event *event = &cursor->events[count];
		enum sonde_status status;

		if (cursor->position + count == track->fail_at)
			break;
		*event = track->events.items[cursor->position + count];
		status = resolve(base->recording, cursor_process(base), &event->function, err);
		if (status)
			return status;
		count++;
	}
	if (!count && cursor->position == track->fail_at)
		return sonde_fail(err, SONDE_CORRUPT, track->fail_at, "made to fail");
	if (!count)
		return SONDE_END;
	batch->events = cursor->events;
	batch->count = count;
	batch->first_index = cursor->position;
	cursor->position += count;
	return SONDE_OK;
}

static void memory_seek_index(struct sonde_cursor *base, uint64_t index)
{
	((struct memory_cursor *)base)->position = index;
}

static void memory_seek_time(struct sonde_cursor *base, uint64_t time_ns)
{
	const struct memory_track *track = track_of(base->recording, base->track);
	uint64_t position = 0;

	while (position < track->events.count && track->events.items[position].time_ns < time_ns)
		position++;
	((struct memory_cursor *)base)->position = position;
}

static uint64_t memory_position(const struct sonde_cursor *base)
{
	return ((const struct memory_cursor *)base)->position;
}

static enum sonde_status memory_detail(struct sonde_cursor *base, uint64_t number,
				       struct sonde_detail *detail, struct sonde_error *err)
{
	struct memory_cursor *cursor = (struct memory_cursor *)base;
	const struct memory_track *track = track_of(base->recording, base->track);

	if (base->recording->details_by_event && number < track->events.count)
		number = ((struct memory *)base->recording->data)->numbers.items[number];
	if (number >= track->details.count)
		return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET, "no such detail");
	*detail = track->details.items[number];
	if (detail->kind == SONDE_DETAIL_ARGUMENTS)
		return SONDE_OK;
	cursor->byte = (uint8_t)number;
	detail->stack = &cursor->byte;
	detail->stack_size = 1;
	return resolve(base->recording, cursor_process(base), &detail->function, err);
}

static void memory_free(struct sonde_cursor *base)
{
	free(((struct memory_cursor *)base)->events);
	free(base);
}

static enum sonde_status memory_cursor_open(struct sonde_recording *recording, uint32_t track,
					    struct sonde_cursor **cursor, struct sonde_error *err)
{
	static const struct sonde_cursor_ops ops = {
		.next = memory_next,
		.seek_index = memory_seek_index,
		.seek_time = memory_seek_time,
		.position = memory_position,
		.detail = memory_detail,
		.free = memory_free,
	};
	struct memory *memory = recording->data;
	struct memory_cursor *made = calloc(1, sizeof(*made));

	(void)track;
	if (made)
		made->events = calloc(memory->batch_size, sizeof(*made->events));
	if (!made || !made->events) {
		free(made);
		return sonde_fail_nomem(err);
	}
	made->base.ops = &ops;
	*cursor = &made->base;
	return SONDE_OK;
}

static enum sonde_status memory_blob(struct sonde_recording *recording, uint32_t number,
				     struct sonde_blob *blob, struct sonde_error *err)
{
	struct memory *memory = recording->data;

	*blob = memory->blobs.items[number];
	if (!blob->bytes)
		return sonde_fail(err, SONDE_CORRUPT, number, "made to fail");
	return SONDE_OK;
}

static enum sonde_status memory_contexts(struct sonde_recording *recording,
					 const struct sonde_context **contexts, uint32_t *count,
					 struct sonde_error *err)
{
	struct memory *memory = recording->data;

	(void)err;
	/* parents come before their children */
	for (size_t i = memory->contexts.count; i-- > 1;) {
		const struct sonde_context *context = &memory->contexts.items[i];
		struct sonde_context *parent = &memory->contexts.items[context->parent];

		if (parent->end < context->end)
			parent->end = context->end;
	}
	*contexts = memory->contexts.items;
	*count = (uint32_t)memory->contexts.count;
	return SONDE_OK;
}

/* Over values and over samples: what is left, in small batches. */
struct value_cursor {
	struct sonde_value_cursor base;
	const struct sonde_value *next;
	size_t left, batch_size;
};

static enum sonde_status value_next(struct sonde_value_cursor *base,
				    const struct sonde_value **values, size_t *count,
				    struct sonde_error *err)
{
	struct value_cursor *cursor = (struct value_cursor *)base;

	(void)err;
	*values = cursor->next;
	*count = cursor->left < cursor->batch_size ? cursor->left : cursor->batch_size;
	if (!*count)
		return SONDE_END;
	cursor->next += *count;
	cursor->left -= *count;
	return SONDE_OK;
}

static void value_free(struct sonde_value_cursor *base)
{
	free(base);
}

static enum sonde_status memory_values_open(struct sonde_recording *recording, uint32_t track,
					    struct sonde_value_cursor **cursor,
					    struct sonde_error *err)
{
	static const struct sonde_value_cursor_ops ops = { .next = value_next, .free = value_free };
	struct memory *memory = recording->data;
	const struct memory_track *source = track == SONDE_NONE ? &memory->statistics :
								  track_of(recording, track);
	struct value_cursor *made;

	if (track == SONDE_NONE && !source->values.count)
		return SONDE_END;
	made = calloc(1, sizeof(*made));
	if (!made)
		return sonde_fail_nomem(err);
	*made = (struct value_cursor){
		.base.ops = &ops,
		.next = source->values.items,
		.left = source->values.count,
		.batch_size = memory->batch_size,
	};
	*cursor = &made->base;
	return SONDE_OK;
}

struct sample_cursor {
	struct sonde_sample_cursor base;
	const struct memory_track *track;
	size_t position, batch_size;
};

static enum sonde_status sample_next(struct sonde_sample_cursor *base,
				     const struct sonde_sample **samples, size_t *count,
				     struct sonde_error *err)
{
	struct sample_cursor *cursor = (struct sample_cursor *)base;
	size_t left = cursor->track->samples.count - cursor->position;

	*samples = left ? cursor->track->samples.items + cursor->position : NULL;
	*count = left < cursor->batch_size ? left : cursor->batch_size;
	if (cursor->position + *count > cursor->track->fail_at)
		return sonde_fail(err, SONDE_CORRUPT, cursor->track->fail_at, "made to fail");
	cursor->position += *count;
	return *count ? SONDE_OK : SONDE_END;
}

static void sample_seek(struct sonde_sample_cursor *base, uint64_t time_ns)
{
	struct sample_cursor *cursor = (struct sample_cursor *)base;

	cursor->position = 0;
	while (cursor->position < cursor->track->samples.count &&
	       cursor->track->samples.items[cursor->position].time_ns < time_ns)
		cursor->position++;
}

static void sample_free(struct sonde_sample_cursor *base)
{
	free(base);
}

static enum sonde_status memory_samples_open(struct sonde_recording *recording, uint32_t track,
					     struct sonde_sample_cursor **cursor,
					     struct sonde_error *err)
{
	static const struct sonde_sample_cursor_ops ops = {
		.next = sample_next,
		.seek_time = sample_seek,
		.free = sample_free,
	};
	struct sample_cursor *made = calloc(1, sizeof(*made));

	if (!made)
		return sonde_fail_nomem(err);
	made->base.ops = &ops;
	made->track = track_of(recording, track);
	made->batch_size = ((struct memory *)recording->data)->batch_size;
	*cursor = &made->base;
	return SONDE_OK;
}

static void memory_close(struct sonde_recording *recording)
{
	struct memory *memory = recording->data;

	for (size_t i = 0; i < memory->tracks.count; i++) {
		sonde_vec_release(&memory->tracks.items[i].events);
		sonde_vec_release(&memory->tracks.items[i].details);
		sonde_vec_release(&memory->tracks.items[i].values);
		sonde_vec_release(&memory->tracks.items[i].samples);
	}
	sonde_vec_release(&memory->statistics.values);
	sonde_vec_release(&memory->contexts);
	sonde_vec_release(&memory->tracks);
	sonde_vec_release(&memory->blobs);
	sonde_vec_release(&memory->numbers);
	sonde_arena_release(&memory->bytes);
	sonde_key_map_release(&memory->lazy);
	pthread_mutex_destroy(&memory->lock);
	free(memory);
}

struct sonde_recording *memory_recording_new(size_t batch_size)
{
	static const struct sonde_format format = { .info.name = "memory" };
	static const struct sonde_recording_ops ops = {
		.cursor_open = memory_cursor_open,
		.blob = memory_blob,
		.contexts = memory_contexts,
		.values_open = memory_values_open,
		.samples_open = memory_samples_open,
		.close = memory_close,
	};
	struct sonde_recording *recording = sonde_recording_new(&format, "memory");
	struct memory *memory = calloc(1, sizeof(*memory));

	need(recording && memory && !pthread_mutex_init(&memory->lock, NULL));
	memory->batch_size = batch_size;
	recording->ops = &ops;
	recording->data = memory;
	recording->lanes = SONDE_LANE_EVENTS;
	return recording;
}

uint32_t memory_add_string(struct sonde_definitions *definitions, const char *text)
{
	uint32_t id;

	need(!sonde_definitions_add_string(definitions, text, strlen(text), &id, NULL));
	return id;
}

uint32_t memory_add_process(struct sonde_recording *recording, const char *name)
{
	struct sonde_process process = {
		.name = memory_add_string(recording->definitions, name),
		.os_id = SONDE_NONE,
		.clock = SONDE_NONE,
	};
	uint32_t id;

	need(!sonde_definitions_add_process(recording->definitions, &process, &id, NULL));
	return id;
}

uint32_t memory_add_function(struct sonde_recording *recording, uint32_t process, const char *name)
{
	struct sonde_function function = {
		.process = process,
		.module = SONDE_NONE,
		.name = memory_add_string(recording->definitions, name),
		.has_key = true,
		.key = sonde_definitions_function_count(recording->definitions),
	};
	uint32_t id;

	need(!sonde_definitions_add_function(recording->definitions, &function, &id, NULL));
	return id;
}

uint32_t memory_add_track(struct sonde_recording *recording, uint32_t process, const char *name)
{
	struct memory *memory = recording->data;
	struct sonde_track track = {
		.process = process,
		.name = memory_add_string(recording->definitions, name),
		.slot = sonde_definitions_track_count(recording->definitions),
		.os_id = UINT64_MAX,
	};
	struct memory_track *added = sonde_vec_push(&memory->tracks);
	uint32_t id = SONDE_NONE;

	need(added && !sonde_definitions_add_track(recording->definitions, &track, &id, NULL));
	*added = (struct memory_track){ .fail_at = UINT64_MAX };
	return id;
}

static struct sonde_track *definition_of(struct sonde_recording *recording, uint32_t track)
{
	return (struct sonde_track *)sonde_definitions_track(recording->definitions, track);
}

void memory_add_event(struct sonde_recording *recording, uint32_t track, struct sonde_event event)
{
	struct sonde_event *added = sonde_vec_push(&track_of(recording, track)->events);
	struct sonde_track *definition = definition_of(recording, track);

	need(added);
	event.track = track;
	*added = event;
	recording->lanes |= SONDE_LANE_EVENTS;
	if (!definition->event_count++)
		definition->time_first_ns = event.time_ns;
	definition->time_last_ns = event.time_ns;
}

uint32_t memory_add_detail(struct sonde_recording *recording, uint32_t track, uint32_t function)
{
	struct memory_track *memory = track_of(recording, track);
	struct sonde_detail *added = sonde_vec_push(&memory->details);

	need(added);
	*added = (struct sonde_detail){ .kind = SONDE_DETAIL_REGISTERS, .function = function };
	definition_of(recording, track)->detail_count++;
	recording->lanes |= SONDE_LANE_DETAILS;
	return (uint32_t)(memory->details.count - 1);
}

uint32_t memory_add_event_type(struct sonde_recording *recording, const char *name,
			       const char *arguments)
{
	struct sonde_event_type type = {
		.name = memory_add_string(recording->definitions, name),
		.arguments = memory_add_string(recording->definitions, arguments),
	};
	uint32_t id;

	need(!sonde_definitions_add_event_type(recording->definitions, &type, &id, NULL));
	return id;
}

uint32_t memory_add_arguments(struct sonde_recording *recording, uint32_t track,
			      uint32_t event_type, const void *bytes, size_t size)
{
	struct memory *memory = recording->data;
	uint32_t number = memory_add_detail(recording, track, SONDE_NONE);
	struct sonde_detail *detail = &track_of(recording, track)->details.items[number];

	detail->kind = SONDE_DETAIL_ARGUMENTS;
	detail->event_type = event_type;
	detail->bytes = (const uint8_t *)sonde_arena_copy_text(&memory->bytes, bytes, size);
	detail->size = size;
	need(detail->bytes);
	return number;
}

void memory_number_by_event(struct sonde_recording *recording)
{
	struct memory *memory = recording->data;
	struct memory_track *track = track_of(recording, 0);

	need(memory->tracks.count == 1);
	recording->details_by_event = true;
	for (uint32_t i = 0; i < track->events.count; i++) {
		uint32_t *number = sonde_vec_push(&memory->numbers);

		need(number);
		*number = track->events.items[i].detail;
		if (*number != SONDE_NONE)
			track->events.items[i].detail = i;
	}
}

void memory_add_blob(struct sonde_recording *recording, const char *name, bool is_text,
		     const char *bytes, size_t size)
{
	struct memory *memory = recording->data;
	struct sonde_blob *added = sonde_vec_push(&memory->blobs);

	need(added);
	*added = (struct sonde_blob){
		.name = memory_add_string(recording->definitions, name),
		.is_text = is_text,
		.bytes = (const uint8_t *)bytes,
		.size = size,
	};
	recording->lanes |= SONDE_LANE_BLOBS;
	recording->blob_count++;
}

struct sonde_context *memory_context(struct sonde_recording *recording, uint32_t context)
{
	return &((struct memory *)recording->data)->contexts.items[context];
}

uint32_t memory_add_context(struct sonde_recording *recording, uint32_t parent,
			    enum sonde_context_kind kind, enum sonde_context_relation relation,
			    uint32_t function)
{
	struct memory *memory = recording->data;
	struct sonde_context *added;
	uint32_t number;

	if (!memory->contexts.count && kind != SONDE_CONTEXT_ROOT)
		memory_add_context(recording, SONDE_NONE, SONDE_CONTEXT_ROOT,
				   SONDE_CONTEXT_ENCLOSED, SONDE_NONE);
	added = sonde_vec_push(&memory->contexts);
	need(added);
	number = (uint32_t)(memory->contexts.count - 1);
	*added = (struct sonde_context){
		.parent = parent,
		.function = function,
		.module = SONDE_NONE,
		.kind = (uint8_t)kind,
		.relation = (uint8_t)relation,
		.end = number + 1,
	};
	recording->lanes |= SONDE_LANE_CONTEXTS;
	return number;
}

uint32_t memory_add_metric(struct sonde_recording *recording, const char *name, const char *scope,
			   const char *statistic)
{
	struct sonde_metric metric = {
		.name = memory_add_string(recording->definitions, name),
		.scope = memory_add_string(recording->definitions, scope),
		.statistic = memory_add_string(recording->definitions, statistic),
	};
	uint32_t id;

	need(!sonde_definitions_add_metric(recording->definitions, &metric, &id, NULL));
	return id;
}

void memory_add_value(struct sonde_recording *recording, uint32_t track, uint32_t context,
		      uint32_t metric, double value)
{
	struct memory *memory = recording->data;
	struct memory_track *target = track == SONDE_NONE ? &memory->statistics :
							    track_of(recording, track);
	struct sonde_value *added = sonde_vec_push(&target->values);

	need(added);
	*added = (struct sonde_value){ track, context, metric, value };
	recording->lanes |= SONDE_LANE_VALUES;
}

void memory_add_sample(struct sonde_recording *recording, uint32_t track, uint64_t time_ns,
		       uint32_t context)
{
	struct sonde_sample *added = sonde_vec_push(&track_of(recording, track)->samples);
	struct sonde_track *definition = definition_of(recording, track);

	need(added);
	*added = (struct sonde_sample){ time_ns, track, context };
	if (!definition->sample_count++ && !definition->event_count)
		definition->time_first_ns = time_ns;
	definition->time_last_ns = time_ns;
	recording->lanes |= SONDE_LANE_SAMPLES;
	/* such a recording has events only where one is added after it */
	if (!definition->event_count)
		recording->lanes &= ~(unsigned int)SONDE_LANE_EVENTS;
}

void memory_fail_at(struct sonde_recording *recording, uint32_t track, uint64_t index)
{
	track_of(recording, track)->fail_at = index;
}

struct sonde_event memory_event(enum sonde_event_kind kind, uint64_t time_ns, uint32_t function,
				uint32_t depth)
{
	return (struct sonde_event){
		.time_ns = time_ns,
		.function = function,
		.depth = depth,
		.kind = (uint8_t)kind,
		.detail = SONDE_NONE,
	};
}

uint64_t memory_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

void memory_add_calls(struct sonde_recording *recording, uint32_t track, size_t count,
		      uint32_t first_function, uint32_t functions, bool closed, uint64_t *random)
{
	SONDE_VEC(uint32_t) open = { 0 };
	uint64_t time_ns = 10;

	for (size_t i = 0; i < count || (closed && open.count); i++) {
		bool leaves = i >= count || (open.count && memory_random(random) % 2);
		enum sonde_event_kind kind = SONDE_EVENT_CALL;
		uint32_t function = first_function + (uint32_t)(memory_random(random) % functions);

		time_ns += memory_random(random) % 3;
		if (leaves) {
			kind = memory_random(random) % 8 ? SONDE_EVENT_RETURN :
							   SONDE_EVENT_EXCEPTION;
			function = open.items[open.count - 1];
		} else {
			uint32_t *pushed = sonde_vec_push(&open);

			need(pushed);
			*pushed = function;
		}
		memory_add_event(recording, track,
				 memory_event(kind, time_ns, function, (uint32_t)open.count));
		open.count -= leaves;
	}
	sonde_vec_release(&open);
}

const struct sonde_event *memory_events(const struct sonde_recording *recording, uint32_t track,
					size_t *count)
{
	const struct memory_track *memory = track_of(recording, track);

	*count = memory->events.count;
	return memory->events.items;
}
