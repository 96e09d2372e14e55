/* SPDX-License-Identifier: Apache-2.0 */
/* A source, the file that was written of it, and comparing the two: cff_world.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/utf8.h"
#include "cff_world.h"
#include "formats/cff/cff.h"
#include "memory_recording.h"
#include "model/arguments.h"
#include "scratch.h"

struct world *new_world(void)
{
	struct world *world = calloc(1, sizeof(*world));

	assert_non_null(world);
	world->source = memory_recording_new(7);
	world->process = memory_add_process(world->source, "program");
	world->loss = sonde_loss_new();
	assert_non_null(world->loss);
	world->path = scratch_path("out.wtf-trace");
	return world;
}

void world_free(struct world *world)
{
	if (world->decoded)
		decoded_free(world->decoded);
	sonde_loss_free(world->loss);
	sonde_recording_close(world->source);
	free(world);
}

void write_to(struct world *world, const char *path,
	      enum sonde_status (*create)(const char *path,
					  const struct sonde_create_options *options,
					  struct sonde_sink **sink, struct sonde_error *err),
	      const char *style)
{
	const struct sonde_create_options create_options = {
		.replace = true,
		.loss = world->loss,
		.style = style,
	};
	const struct sonde_run_options options = { .loss = world->loss };
	struct sonde_error err = { 0 };
	struct sonde_sink *sink;

	assert_int_equal(create(path, &create_options, &sink, &err), SONDE_OK);
	if (sonde_pipeline_run(&world->source, 1, sink, &options, NULL, &err) != SONDE_OK)
		fail_msg("%s", err.message);
	sonde_sink_free(sink);
}

/* Arguments as the source has them are those of the file. */
static void assert_same_arguments(const struct decoded *decoded, const struct decoded_event *event,
				  const struct sonde_detail *detail)
{
	assert_int_equal(event->event_type, detail->event_type);
	assert_int_equal(event->size, detail->size);
	assert_memory_equal(decoded->arguments.data + event->arguments, detail->bytes,
			    detail->size);
}

static void assert_same_event(const struct decoded *decoded, const struct decoded_event *read,
			      const struct sonde_batch *batch, const struct sonde_event *event)
{
	struct sonde_detail detail = { 0 };
	enum sonde_status status = sonde_batch_detail(batch, event, &detail, NULL);

	assert_int_equal(read->event.time_ns, event->time_ns);
	assert_int_equal(read->event.kind, event->kind);
	if (sonde_event_leaves(event) && !event->depth && read->event.function == SONDE_NONE)
		return; /* the function that every reader knows */
	assert_int_equal(read->event.function, event->function);
	if (sonde_event_has_function(event))
		assert_int_equal(read->event.depth, event->depth);
	if (event->kind >= SONDE_EVENT_FLOW_BEGIN)
		assert_int_equal(read->event.extra, event->extra);
	if (event->kind == SONDE_EVENT_COUNTER)
		assert_int_equal(read->event.detail, event->detail);
	if (status == SONDE_OK && detail.kind == SONDE_DETAIL_ARGUMENTS)
		assert_same_arguments(decoded, read, &detail);
	else
		assert_int_equal(read->event_type, SONDE_NONE);
}

/* Every event of the source is in the file, in its order. */
static void assert_same_events(const struct world *world)
{
	const struct decoded *decoded = world->decoded;
	uint32_t tracks = sonde_definitions_track_count(world->source->definitions);

	assert_int_equal(decoded->tracks.count, tracks);
	for (uint32_t track = 0; track < tracks; track++) {
		const struct decoded_track *read = &decoded->tracks.items[track];
		struct sonde_cursor *cursor;
		struct sonde_batch batch;
		size_t at = 0;

		assert_int_equal(sonde_cursor_open(world->source, track, &cursor, NULL), SONDE_OK);
		while (!sonde_cursor_next(cursor, &batch, NULL)) {
			for (size_t i = 0; i < batch.count; i++) {
				assert_true(at < read->events.count);
				assert_same_event(decoded, &read->events.items[at++], &batch,
						  &batch.events[i]);
			}
		}
		assert_int_equal(at, read->events.count);
		sonde_cursor_free(cursor);
	}
}

static const char *function_name(const struct sonde_definitions *definitions, uint32_t id)
{
	const struct sonde_function *function = sonde_definitions_function(definitions, id);

	assert_non_null(function);
	return function ? sonde_definitions_string(definitions, function->name) : "";
}

/* What is not UTF-8 is in the loss report. */
static void assert_same_name(const char *read, const char *name)
{
	if (sonde_utf8_valid(name, strlen(name)))
		assert_string_equal(read, name);
}

static void assert_same_detail(const struct sonde_batch *first, const struct sonde_event *a,
			       const struct sonde_batch *second, const struct sonde_event *b)
{
	struct sonde_detail one = { 0 }, two = { 0 };

	if (a->kind == SONDE_EVENT_COUNTER) {
		assert_int_equal(a->detail, b->detail);
		assert_int_equal(a->extra, b->extra);
		return;
	}
	if (a->kind >= SONDE_EVENT_FLOW_BEGIN)
		assert_int_equal(a->extra, b->extra);
	if (sonde_batch_detail(first, a, &one, NULL) != SONDE_OK) {
		assert_int_equal(sonde_batch_detail(second, b, &two, NULL), SONDE_END);
		return;
	}
	assert_int_equal(sonde_batch_detail(second, b, &two, NULL), SONDE_OK);
	assert_int_equal(two.event_type, one.event_type);
	assert_int_equal(two.size, one.size);
	assert_memory_equal(two.bytes, one.bytes, one.size);
}

/* The same through the library's reader: events, arguments, flags, names. */
static void assert_read_track(struct world *world, struct sonde_recording *read, uint32_t track)
{
	const struct sonde_definitions *ours = world->source->definitions;
	const struct sonde_definitions *theirs = sonde_recording_definitions(read);
	struct sonde_cursor *cursors[2];
	struct sonde_batch batches[2] = { 0 };
	size_t at[2] = { 0 };

	assert_int_equal(sonde_cursor_open(world->source, track, &cursors[0], NULL), SONDE_OK);
	assert_int_equal(sonde_cursor_open(read, track, &cursors[1], NULL), SONDE_OK);
	for (;;) {
		const struct sonde_event *event[2];
		enum sonde_status status[2] = { SONDE_OK, SONDE_OK };

		for (int i = 0; i < 2; i++) {
			if (at[i] < batches[i].count)
				continue;
			status[i] = sonde_cursor_next(cursors[i], &batches[i], NULL);
			at[i] = 0;
		}
		assert_int_equal(status[0], status[1]);
		if (status[0] == SONDE_END)
			break;
		for (int i = 0; i < 2; i++)
			event[i] = &batches[i].events[at[i]++];
		assert_int_equal(event[1]->time_ns, event[0]->time_ns);
		assert_int_equal(event[1]->kind, event[0]->kind);
		assert_int_equal(event[1]->flags, event[0]->flags);
		assert_int_equal(event[1]->function, event[0]->function);
		if (sonde_event_has_function(event[0])) {
			assert_int_equal(event[1]->depth, event[0]->depth);
			assert_same_name(function_name(theirs, event[1]->function),
					 function_name(ours, event[0]->function));
		}
		assert_same_detail(&batches[0], event[0], &batches[1], event[1]);
	}
	sonde_cursor_free(cursors[0]);
	sonde_cursor_free(cursors[1]);
}

void assert_read_back(struct world *world)
{
	struct sonde_recording *read;
	struct sonde_error err = { 0 };
	uint32_t tracks = sonde_definitions_track_count(world->source->definitions);

	if (sonde_recording_open(world->path, "cff", &read, &err) != SONDE_OK)
		fail_msg("%s", err.message);
	if (sonde_diagnostics_at(sonde_recording_diagnostics(read), 0))
		fail_msg("%s",
			 sonde_diagnostics_at(sonde_recording_diagnostics(read), 0)->type->id);
	assert_int_equal(sonde_definitions_track_count(sonde_recording_definitions(read)), tracks);
	for (uint32_t track = 0; track < tracks; track++)
		assert_read_track(world, read, track);
	sonde_recording_close(read);
}

/* Writes the source and reads it back; all events are there. */
void write_and_compare(struct world *world)
{
	write_to(world, world->path, cff_create, NULL);
	world->decoded = decode_file(world->path);
	assert_same_events(world);
	assert_read_back(world);
}

uint64_t lost(const struct world *world, const char *what, bool elsewhere)
{
	const struct sonde_loss_entry *entry;

	for (size_t i = 0; (entry = sonde_loss_at(world->loss, i)); i++) {
		if (!strcmp(entry->what, what)) {
			assert_int_equal(entry->only_elsewhere, elsewhere);
			return entry->count;
		}
	}
	return 0;
}

/* Nothing that our own reader would miss. */
void assert_nothing_lost(const struct world *world)
{
	const struct sonde_loss_entry *entry;

	for (size_t i = 0; (entry = sonde_loss_at(world->loss, i)); i++) {
		if (!entry->only_elsewhere)
			fail_msg("lost: %s", entry->what);
	}
}

uint32_t add_module(struct world *world, const char *path)
{
	const struct sonde_module module = {
		.process = world->process,
		.path = memory_add_string(world->source->definitions, path),
	};
	uint32_t id;

	assert_int_equal(
		sonde_definitions_add_module(world->source->definitions, &module, &id, NULL),
		SONDE_OK);
	return id;
}

uint32_t add_type(struct world *world, const char *name, const char *arguments, bool scope)
{
	uint32_t id = memory_add_event_type(world->source, name, arguments);

	((struct sonde_event_type *)sonde_definitions_event_type(world->source->definitions, id))
		->is_scope = scope;
	return id;
}

/* An event with arguments that are packed already. */
void add_with(struct world *world, struct sonde_event event, uint32_t type,
	      const struct sonde_buffer *values)
{
	assert_false(values->failed);
	event.detail = memory_add_arguments(world->source, 0, type, values->data, values->size);
	memory_add_event(world->source, 0, event);
}

void put_number(struct sonde_buffer *values, enum sonde_argument_type type, uint64_t bits)
{
	union sonde_argument_value value = { .u64 = bits };

	sonde_arguments_put_number(values, type, value);
}

static void assert_entry_agrees(struct sonde_bytes *bytes, const uint8_t *stacks,
				const struct decoded_chunk *chunk)
{
	uint32_t first;

	assert_int_equal(sonde_bytes_u64le(bytes), chunk->offset);
	assert_int_equal(sonde_bytes_u64le(bytes), chunk->first_index);
	assert_int_equal(sonde_bytes_u64le(bytes), chunk->first_ns);
	assert_int_equal(sonde_bytes_u64le(bytes), chunk->last_ns);
	assert_int_equal(sonde_bytes_u32le(bytes), chunk->track);
	assert_int_equal(sonde_bytes_u32le(bytes), chunk->events);
	first = sonde_bytes_u32le(bytes);
	assert_int_equal(sonde_bytes_u32le(bytes), chunk->open.count);
	for (size_t i = 0; i < chunk->open.count; i++) {
		const uint8_t *call = stacks + 8 * (first + i);

		assert_int_equal(sonde_load_u32le(call), chunk->open.items[i].function);
		assert_int_equal(sonde_load_u32le(call + 4), chunk->open.items[i].depth);
	}
}

void assert_index_agrees(const struct decoded *decoded)
{
	struct sonde_bytes bytes = sonde_bytes_of(decoded->index, decoded->index_size);
	uint32_t tracks, chunks, others, stacks;

	assert_non_null(decoded->index);
	sonde_bytes_take(&bytes, 8);
	assert_int_equal(sonde_bytes_u64le(&bytes), decoded->size);
	tracks = sonde_bytes_u32le(&bytes);
	chunks = sonde_bytes_u32le(&bytes);
	others = sonde_bytes_u32le(&bytes);
	stacks = sonde_bytes_u32le(&bytes);
	assert_int_equal(decoded->index_size,
			 32 + 8 * others + 32 * tracks + 48 * chunks + 8 * stacks);
	assert_int_equal(tracks, decoded->tracks.count);
	assert_int_equal(chunks, decoded->chunks.count);
	assert_int_equal(others, decoded->other_chunks.count);
	for (uint32_t i = 0; i < others; i++)
		assert_int_equal(sonde_bytes_u64le(&bytes), decoded->other_chunks.items[i]);
	for (uint32_t i = 0; i < tracks; i++) {
		const struct decoded_track *track = &decoded->tracks.items[i];
		size_t count = track->events.count, details = 0;

		for (size_t k = 0; k < count; k++)
			details += track->events.items[k].event_type != SONDE_NONE;
		assert_int_equal(sonde_bytes_u64le(&bytes), count);
		assert_int_equal(sonde_bytes_u64le(&bytes), details);
		assert_int_equal(sonde_bytes_u64le(&bytes),
				 count ? track->events.items[0].event.time_ns : 0);
		assert_int_equal(sonde_bytes_u64le(&bytes),
				 count ? track->events.items[count - 1].event.time_ns : 0);
	}
	for (uint32_t i = 0; i < chunks; i++)
		assert_entry_agrees(&bytes, decoded->index + decoded->index_size - 8 * stacks,
				    &decoded->chunks.items[i]);
	assert_int_equal(decoded->redefinitions, 0);
}
