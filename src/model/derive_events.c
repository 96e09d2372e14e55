/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples as calls and returns: from one sample to the next the calls that are not on the new path are
 * left, and those that are new there are made. Which contexts are calls is worked out once.
 */
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/vec.h"
#include "model/derive.h"
#include "model/recording.h"

#define EVENT_BATCH 1024
#define LABEL_LONGEST 512

/* A call on a path, by its context. */
struct frame {
	uint32_t innermost; /* the innermost call at this context or above; SONDE_NONE: none */
	uint32_t above;	    /* of a call: the one that made it; SONDE_NONE: the outermost */
	uint32_t depth;	    /* of a call, from 1 */
};

struct sonde_derived_events {
	struct sonde_recording *recording;
	const struct sonde_context *contexts;
	uint32_t context_count;
	struct frame *frames; /* by context */
	uint32_t folded, too_deep;
	/* From (process, x) to a function or module of that process; added to under the lock. */
	pthread_mutex_t lock;
	struct sonde_key_map by_context;
	struct sonde_key_map by_function;
	struct sonde_key_map by_name; /* functions that are made up */
	struct sonde_key_map by_module;
};

static uint64_t key_in(uint32_t process, uint32_t id)
{
	return (uint64_t)process << 32 | id;
}

/* An instruction that is called, or that nothing is around, is a function that nobody knows. */
static bool is_call(const struct sonde_context *context, const struct frame *above)
{
	switch (context->kind) {
	case SONDE_CONTEXT_ROOT:
	case SONDE_CONTEXT_ENTRY:
		return false;
	case SONDE_CONTEXT_FUNCTION:
		return true;
	default:
		return context->relation != SONDE_CONTEXT_ENCLOSED ||
		       above->innermost == SONDE_NONE;
	}
}

static void find_frames(struct sonde_derived_events *derived)
{
	derived->frames[0] = (struct frame){ .innermost = SONDE_NONE };
	for (uint32_t i = 1; i < derived->context_count; i++) {
		const struct sonde_context *context = &derived->contexts[i];
		const struct frame *above = &derived->frames[context->parent];
		uint32_t depth = above->innermost == SONDE_NONE ?
					 0 :
					 derived->frames[above->innermost].depth;

		derived->frames[i] = (struct frame){ .innermost = above->innermost };
		if (!is_call(context, above)) {
			derived->folded += context->kind != SONDE_CONTEXT_ENTRY;
		} else if (depth >= SONDE_DERIVED_DEPTH) {
			derived->too_deep++;
		} else {
			derived->frames[i] = (struct frame){
				.innermost = i,
				.above = above->innermost,
				.depth = depth + 1,
			};
		}
	}
}

enum sonde_status sonde_derived_events_new(struct sonde_recording *recording,
					   struct sonde_derived_events **derived,
					   struct sonde_error *err)
{
	struct sonde_derived_events *made = calloc(1, sizeof(*made));
	enum sonde_status status;

	*derived = NULL;
	if (!made || pthread_mutex_init(&made->lock, NULL)) {
		free(made);
		return sonde_fail_nomem(err);
	}
	made->recording = recording;
	status = sonde_recording_contexts(recording, &made->contexts, &made->context_count, err);
	if (status) {
		sonde_derived_events_free(made);
		return status;
	}
	made->frames = calloc((size_t)made->context_count + 1, sizeof(*made->frames));
	if (!made->frames) {
		sonde_derived_events_free(made);
		return sonde_fail_nomem(err);
	}
	find_frames(made);
	*derived = made;
	return SONDE_OK;
}

void sonde_derived_events_free(struct sonde_derived_events *derived)
{
	if (!derived)
		return;
	free(derived->frames);
	sonde_key_map_release(&derived->by_context);
	sonde_key_map_release(&derived->by_function);
	sonde_key_map_release(&derived->by_name);
	sonde_key_map_release(&derived->by_module);
	pthread_mutex_destroy(&derived->lock);
	free(derived);
}

uint32_t sonde_derived_events_folded(const struct sonde_derived_events *derived)
{
	return derived->folded;
}

uint32_t sonde_derived_events_too_deep(const struct sonde_derived_events *derived)
{
	return derived->too_deep;
}

/* Makes a module one of this process; the lock is held. */
static enum sonde_status adopt_module(struct sonde_derived_events *derived, uint32_t process,
				      uint32_t *module, struct sonde_error *err)
{
	struct sonde_definitions *definitions = derived->recording->definitions;
	const struct sonde_module *own = sonde_definitions_module(definitions, *module);
	uint64_t key = key_in(process, *module);
	enum sonde_status status;
	struct sonde_module copy;

	if (!own || own->process == process)
		return SONDE_OK;
	copy = *own;
	*module = sonde_key_map_find(&derived->by_module, key);
	if (*module != SONDE_NONE)
		return SONDE_OK;
	copy.process = process;
	status = sonde_definitions_add_module(definitions, &copy, module, err);
	if (!status && !sonde_key_map_add(&derived->by_module, key, *module))
		status = sonde_fail_nomem(err);
	return status;
}

/* A function as one of this process; the lock is held. */
static enum sonde_status adopt_function(struct sonde_derived_events *derived, uint32_t process,
					uint32_t function, uint32_t *id, struct sonde_error *err)
{
	struct sonde_definitions *definitions = derived->recording->definitions;
	struct sonde_function copy = *sonde_definitions_function(definitions, function);
	enum sonde_status status;

	*id = function;
	if (copy.process == process)
		return SONDE_OK;
	*id = sonde_key_map_find(&derived->by_function, key_in(process, function));
	if (*id != SONDE_NONE)
		return SONDE_OK;
	copy.process = process;
	status = adopt_module(derived, process, &copy.module, err);
	if (!status)
		status = sonde_definitions_add_function(definitions, &copy, id, err);
	if (!status && !sonde_key_map_add(&derived->by_function, key_in(process, function), *id))
		status = sonde_fail_nomem(err);
	return status;
}

/* A function for a context that is none, or one that nobody knows; the lock is held. */
static enum sonde_status make_function(struct sonde_derived_events *derived, uint32_t process,
				       const struct sonde_context *context, uint32_t *id,
				       struct sonde_error *err)
{
	struct sonde_definitions *definitions = derived->recording->definitions;
	struct sonde_function function = {
		.process = process,
		.module = context->module,
		.file = context->file,
		.line = context->line,
		.address = context->address,
	};
	char space[LABEL_LONGEST];
	const char *label = sonde_context_label(definitions, context, space, sizeof(space));
	enum sonde_status status;

	status = sonde_definitions_add_string(definitions, label, strlen(label), &function.name,
					      err);
	if (status)
		return status;
	*id = sonde_key_map_find(&derived->by_name, key_in(process, function.name));
	if (*id != SONDE_NONE)
		return SONDE_OK;
	status = adopt_module(derived, process, &function.module, err);
	if (!status)
		status = sonde_definitions_add_function(definitions, &function, id, err);
	if (!status && !sonde_key_map_add(&derived->by_name, key_in(process, function.name), *id))
		status = sonde_fail_nomem(err);
	return status;
}

static enum sonde_status find_function(struct sonde_derived_events *derived, uint32_t process,
				       uint32_t number, uint32_t *id, struct sonde_error *err)
{
	const struct sonde_context *context = &derived->contexts[number];
	uint32_t functions = sonde_definitions_function_count(derived->recording->definitions);
	enum sonde_status status = SONDE_OK;

	pthread_mutex_lock(&derived->lock);
	*id = sonde_key_map_find(&derived->by_context, key_in(process, number));
	if (*id == SONDE_NONE) {
		if (context->kind == SONDE_CONTEXT_FUNCTION && context->function < functions)
			status = adopt_function(derived, process, context->function, id, err);
		else
			status = make_function(derived, process, context, id, err);
		if (!status &&
		    !sonde_key_map_add(&derived->by_context, key_in(process, number), *id))
			status = sonde_fail_nomem(err);
	}
	pthread_mutex_unlock(&derived->lock);
	return status;
}

struct derived_cursor {
	struct sonde_cursor base;
	struct sonde_derived_events *derived;
	struct sonde_sample_cursor *samples;
	uint32_t process;
	/* samples at hand */
	const struct sonde_sample *batch;
	size_t batch_count;
	uint64_t samples_read;
	bool is_over;
	/* on the way from one path to the next; calls by their contexts */
	uint32_t current;	  /* innermost call that is open; SONDE_NONE: none */
	uint32_t common;	  /* up to here calls are left */
	SONDE_VEC(uint32_t) path; /* then these are made, last first */
	uint64_t time_ns;
	/* events at hand */
	uint64_t position;
	size_t count;
	struct sonde_event events[EVENT_BATCH];
};

static uint32_t depth_of(const struct sonde_derived_events *derived, uint32_t call)
{
	return call == SONDE_NONE ? 0 : derived->frames[call].depth;
}

/* Plans the way to a sample's path. */
static enum sonde_status plan(struct derived_cursor *cursor, uint32_t call, struct sonde_error *err)
{
	const struct sonde_derived_events *derived = cursor->derived;
	uint32_t old = cursor->current;

	while (old != call) {
		uint32_t *made;

		if (depth_of(derived, old) > depth_of(derived, call)) {
			old = derived->frames[old].above;
			continue;
		}
		made = sonde_vec_push(&cursor->path);
		if (!made)
			return sonde_fail_nomem(err);
		*made = call;
		call = derived->frames[call].above;
	}
	cursor->common = old;
	return SONDE_OK;
}

static enum sonde_status take_sample(struct derived_cursor *cursor, struct sonde_error *err)
{
	const struct sonde_derived_events *derived = cursor->derived;
	const struct sonde_sample *sample;
	enum sonde_status status;
	uint32_t context;

	if (!cursor->batch_count) {
		status = sonde_sample_cursor_next(cursor->samples, &cursor->batch,
						  &cursor->batch_count, err);
		if (status)
			return status;
	}
	sample = cursor->batch++;
	cursor->batch_count--;
	cursor->samples_read++;
	if (sample->time_ns > cursor->time_ns)
		cursor->time_ns = sample->time_ns;
	context = sample->context < derived->context_count ? sample->context : 0;
	return plan(cursor, derived->frames[context].innermost, err);
}

static enum sonde_status put_event(struct derived_cursor *cursor, uint32_t call,
				   enum sonde_event_kind kind, struct sonde_error *err)
{
	struct sonde_derived_events *derived = cursor->derived;
	uint32_t function = sonde_key_map_find(&derived->by_context, key_in(cursor->process, call));
	enum sonde_status status = SONDE_OK;

	if (function == SONDE_NONE)
		status = find_function(derived, cursor->process, call, &function, err);
	cursor->events[cursor->count++] = (struct sonde_event){
		.time_ns = cursor->time_ns,
		.track = cursor->base.track,
		.function = function,
		.depth = derived->frames[call].depth,
		.kind = (uint8_t)kind,
		.detail = SONDE_NONE,
	};
	return status;
}

/* One step: a return, a call, or another sample. SONDE_END where nothing is left to do. */
static enum sonde_status step(struct derived_cursor *cursor, struct sonde_error *err)
{
	enum sonde_status status;

	if (cursor->current != cursor->common) {
		uint32_t left = cursor->current;

		cursor->current = cursor->derived->frames[left].above;
		return put_event(cursor, left, SONDE_EVENT_RETURN, err);
	}
	if (cursor->path.count) {
		cursor->current = cursor->path.items[--cursor->path.count];
		cursor->common = cursor->current;
		return put_event(cursor, cursor->current, SONDE_EVENT_CALL, err);
	}
	if (cursor->is_over)
		return SONDE_END;
	status = take_sample(cursor, err);
	if (status != SONDE_END)
		return status;
	cursor->is_over = true;
	cursor->common = SONDE_NONE;
	return SONDE_OK;
}

static enum sonde_status derived_next(struct sonde_cursor *base, struct sonde_batch *batch,
				      struct sonde_error *err)
{
	struct derived_cursor *cursor = (struct derived_cursor *)base;
	enum sonde_status status = SONDE_OK;

	cursor->count = 0;
	while (!status && cursor->count < EVENT_BATCH)
		status = step(cursor, err);
	if (status < 0)
		return status;
	if (!cursor->count)
		return SONDE_END;
	batch->events = cursor->events;
	batch->count = cursor->count;
	batch->first_index = cursor->position;
	cursor->position += cursor->count;
	return SONDE_OK;
}

static uint64_t derived_position(const struct sonde_cursor *base)
{
	return ((const struct derived_cursor *)base)->position;
}

static void derived_free(struct sonde_cursor *base)
{
	struct derived_cursor *cursor = (struct derived_cursor *)base;

	sonde_sample_cursor_free(cursor->samples);
	sonde_vec_release(&cursor->path);
	free(cursor);
}

enum sonde_status sonde_derived_cursor_open(struct sonde_derived_events *derived, uint32_t track,
					    struct sonde_cursor **cursor, struct sonde_error *err)
{
	static const struct sonde_cursor_ops ops = {
		.next = derived_next,
		.position = derived_position,
		.free = derived_free,
	};
	struct derived_cursor *made = calloc(1, sizeof(*made));
	enum sonde_status status;

	*cursor = NULL;
	if (!made)
		return sonde_fail_nomem(err);
	status = sonde_sample_cursor_open(derived->recording, track, &made->samples, err);
	if (status) {
		free(made);
		return status;
	}
	made->base = (struct sonde_cursor){
		.ops = &ops,
		.recording = derived->recording,
		.track = track,
	};
	made->derived = derived;
	made->process = sonde_definitions_track(derived->recording->definitions, track)->process;
	made->current = made->common = SONDE_NONE;
	*cursor = &made->base;
	return SONDE_OK;
}

uint64_t sonde_derived_cursor_samples(const struct sonde_cursor *cursor)
{
	return ((const struct derived_cursor *)cursor)->samples_read;
}
