/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ATF through the library: navigation between events and details, equality after a round trip,
 * threads that go on in further parts, and what the writer makes of definitions without ids of
 * the format. What other programs make of our files is tested in tests/interop.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <sonde/sonde.h>

#include "formats/atf/atf_layout.h"
#include "formats/atf/atf_write.h"
#include "scratch.h"

static struct sonde_error err;

static struct sonde_recording *open_path(const char *path)
{
	struct sonde_recording *recording = NULL;

	if (sonde_recording_open(path, NULL, &recording, &err) < 0)
		fail_msg("%s: %s", path, err.message);
	return recording;
}

static struct sonde_recording *open_golden(const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/atf/%s", getenv("GOLDEN"), name);
	return open_path(path);
}

static struct sonde_cursor *open_cursor(struct sonde_recording *recording, uint32_t track)
{
	struct sonde_cursor *cursor = NULL;

	assert_int_equal(sonde_cursor_open(recording, track, &cursor, &err), SONDE_OK);
	return cursor;
}

/* Copies a recording through the writer, `events_per_file` events to a file. */
static void copy_to(struct sonde_recording *source, const char *path, uint64_t events_per_file)
{
	struct sonde_create_options create = { 0 };
	struct sonde_run_options run = { 0 };
	struct sonde_run_result result;
	struct sonde_sink *sink;

	assert_int_equal(atf_create_limited(path, &create, events_per_file, &sink, &err), SONDE_OK);
	if (sonde_pipeline_run(&source, 1, sink, &run, &result, &err) != SONDE_OK)
		fail_msg("%s", err.message);
	sonde_sink_free(sink);
}

static void assert_same_detail(const struct sonde_definitions *a_definitions,
			       const struct sonde_detail *a,
			       const struct sonde_definitions *b_definitions,
			       const struct sonde_detail *b)
{
	assert_int_equal(a->kind, b->kind);
	assert_int_equal(a->type, b->type);
	assert_int_equal(a->flags, b->flags);
	assert_int_equal(a->event, b->event);
	assert_int_equal(a->time_ns, b->time_ns);
	assert_int_equal(a->registers.arch, b->registers.arch);
	assert_int_equal(a->registers.flags, b->registers.flags);
	assert_memory_equal(a->registers.values, b->registers.values, sizeof(a->registers.values));
	assert_int_equal(sonde_definitions_function(a_definitions, a->function)->key,
			 sonde_definitions_function(b_definitions, b->function)->key);
	assert_int_equal(a->stack_size, b->stack_size);
	assert_memory_equal(a->stack, b->stack, a->stack_size);
	assert_int_equal(a->size, b->size);
	assert_memory_equal(a->bytes, b->bytes, a->size);
}

/* Events by event, whatever the sizes of the batches; details as well. */
static void assert_same_track(struct sonde_recording *a, struct sonde_recording *b, uint32_t track)
{
	const struct sonde_definitions *a_definitions = sonde_recording_definitions(a);
	const struct sonde_definitions *b_definitions = sonde_recording_definitions(b);
	struct sonde_cursor *a_cursor = open_cursor(a, track), *b_cursor = open_cursor(b, track);
	struct sonde_batch batch, other = { 0 };
	struct sonde_detail detail, other_detail;
	size_t used = 0;

	while (sonde_cursor_next(a_cursor, &batch, &err) == SONDE_OK) {
		for (size_t i = 0; i < batch.count; i++) {
			const struct sonde_event *event = &batch.events[i], *same;

			if (used == other.count) {
				assert_int_equal(sonde_cursor_next(b_cursor, &other, &err),
						 SONDE_OK);
				used = 0;
			}
			same = &other.events[used++];
			assert_int_equal(event->time_ns, same->time_ns);
			assert_int_equal(event->kind, same->kind);
			assert_int_equal(event->depth, same->depth);
			assert_int_equal(event->extra, same->extra);
			assert_int_equal(event->detail, same->detail);
			assert_int_equal(event->flags, same->flags);
			assert_string_equal(
				sonde_definitions_function_label(a_definitions, event->function,
								 (char[SONDE_LABEL_SIZE]){ 0 }),
				sonde_definitions_function_label(b_definitions, same->function,
								 (char[SONDE_LABEL_SIZE]){ 0 }));
			if (event->detail == SONDE_NONE)
				continue;
			assert_int_equal(sonde_batch_detail(&batch, event, &detail, &err),
					 SONDE_OK);
			assert_int_equal(sonde_batch_detail(&other, same, &other_detail, &err),
					 SONDE_OK);
			assert_same_detail(a_definitions, &detail, b_definitions, &other_detail);
		}
	}
	assert_int_equal(sonde_cursor_next(b_cursor, &other, &err), SONDE_END);
	sonde_cursor_free(a_cursor);
	sonde_cursor_free(b_cursor);
}

static void assert_same_recording(struct sonde_recording *a, struct sonde_recording *b)
{
	uint32_t tracks = sonde_definitions_track_count(sonde_recording_definitions(a));

	assert_int_equal(tracks, sonde_definitions_track_count(sonde_recording_definitions(b)));
	for (uint32_t track = 0; track < tracks; track++)
		assert_same_track(a, b, track);
}

static void test_links_both_ways(void **state)
{
	struct sonde_recording *recording = open_golden("normal");
	struct sonde_cursor *cursor = open_cursor(recording, 2);
	struct sonde_detail detail;
	struct sonde_batch batch;

	(void)state;
	/* from a detail to its event and back, in an order that no hint helps with */
	for (uint32_t step = 0; step < 350; step++) {
		uint32_t number = step * 201 % 350;

		assert_int_equal(sonde_cursor_detail(cursor, number, &detail, &err), SONDE_OK);
		sonde_cursor_seek_index(cursor, detail.event);
		assert_int_equal(sonde_cursor_position(cursor), detail.event);
		assert_int_equal(sonde_cursor_next(cursor, &batch, &err), SONDE_OK);
		assert_int_equal(batch.first_index, detail.event);
		assert_int_equal(batch.events[0].detail, number);
		assert_int_equal(batch.events[0].time_ns, detail.time_ns);
		assert_int_equal(batch.events[0].function, detail.function);
	}
	assert_int_equal(sonde_cursor_detail(cursor, 350, &detail, &err), SONDE_ARGUMENT);
	sonde_cursor_free(cursor);
	sonde_recording_close(recording);
}

/* Seeks to every time, and to the times in between, against a scan. */
static void assert_seeks(struct sonde_recording *recording, uint32_t track)
{
	uint64_t count =
		sonde_definitions_track(sonde_recording_definitions(recording), track)->event_count;
	struct sonde_cursor *cursor = open_cursor(recording, track);
	uint64_t *times = test_calloc(count, sizeof(*times)), number = 0;
	struct sonde_batch batch;

	while (sonde_cursor_next(cursor, &batch, &err) == SONDE_OK)
		for (size_t i = 0; i < batch.count; i++)
			times[number++] = batch.events[i].time_ns;
	assert_int_equal(number, count);
	for (uint64_t i = 0; i < count; i++) {
		sonde_cursor_seek_time(cursor, times[i]);
		assert_true(sonde_cursor_position(cursor) <= i);
		assert_int_equal(times[sonde_cursor_position(cursor)], times[i]);
		sonde_cursor_seek_time(cursor, times[i] + 1);
		number = sonde_cursor_position(cursor);
		assert_true(number > i && (number == count || times[number] > times[i]));
	}
	sonde_cursor_seek_time(cursor, 0);
	assert_int_equal(sonde_cursor_position(cursor), 0);
	sonde_cursor_seek_time(cursor, UINT64_MAX);
	assert_int_equal(sonde_cursor_next(cursor, &batch, &err), SONDE_END);
	test_free(times);
	sonde_cursor_free(cursor);
}

static void test_seek_time(void **state)
{
	struct sonde_recording *recording = open_golden("normal");

	(void)state;
	for (uint32_t track = 0; track < 4; track++)
		assert_seeks(recording, track);
	sonde_recording_close(recording);
}

static void test_round_trip(void **state)
{
	static const char *const names[] = { "normal", "nodetail" };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct sonde_recording *golden = open_golden(names[i]), *copy;

		copy_to(golden, scratch_path(names[i]), ATF_EVENTS_MAX);
		assert_clean(scratch_path(names[i]));
		copy = open_path(scratch_path(names[i]));
		assert_same_recording(golden, copy);
		sonde_recording_close(copy);
		sonde_recording_close(golden);
	}
}

/* 1000 events a thread, 7 a file: 143 parts, read as one. */
static void test_parts(void **state)
{
	struct sonde_recording *golden = open_golden("normal"), *copy;
	char path[128];

	(void)state;
	copy_to(golden, scratch_path("parts"), 7);
	snprintf(path, sizeof(path), "%s/parts/part_143/thread_0/index.atf", scratch);
	assert_int_equal(access(path, R_OK), 0);
	snprintf(path, sizeof(path), "%s/parts/part_144", scratch);
	assert_int_not_equal(access(path, F_OK), 0);
	assert_clean(scratch_path("parts"));
	copy = open_path(scratch_path("parts"));
	assert_same_recording(golden, copy);
	assert_seeks(copy, 3);
	/* a part by itself is a session that other readers open */
	sonde_recording_close(copy);
	copy = open_path(scratch_path("parts/part_2"));
	assert_int_equal(sonde_recording_event_count(copy), 28);
	sonde_recording_close(copy);
	sonde_recording_close(golden);
}

static uint32_t add_text(struct sonde_definitions *definitions, const char *text)
{
	uint32_t id = 0;

	assert_int_equal(sonde_definitions_add_string(definitions, text, strlen(text), &id, &err),
			 SONDE_OK);
	return id;
}

/* Two processes with one pid, tracks with one slot, functions without ids, all there is to say. */
static void define_everything(struct sonde_definitions *definitions)
{
	struct sonde_clock clock = { .kind = SONDE_CLOCK_BOOTTIME };
	struct sonde_anchor anchor = { .clock_ns = 5, .realtime_ns = 1700000000000000000 };
	struct sonde_module module = {
		.path = add_text(definitions, "/usr/bin/Tool"),
		.uuid = add_text(definitions, "u-u-i-d"),
		.base_address = 0x400000,
		.size = 4096,
	};
	uint32_t id;

	assert_int_equal(sonde_definitions_add_clock(definitions, &clock, &id, &err), SONDE_OK);
	assert_int_equal(sonde_definitions_add_anchor(definitions, &anchor, &id, &err), SONDE_OK);
	for (uint32_t i = 0; i < 2; i++) {
		struct sonde_process process = {
			.name = add_text(definitions, i ? "second" : "first"),
			.os_id = 77,
			.arch = SONDE_ARCH_ARM64,
			.os = SONDE_OS_LINUX,
		};
		struct sonde_attribute attribute = {
			.owner = SONDE_OWNER_PROCESS,
			.owner_id = i,
			.name = add_text(definitions, "command_line"),
			.value = add_text(definitions, "[\"tool\",\"-x\"]"),
		};

		module.process = i;
		assert_int_equal(sonde_definitions_add_process(definitions, &process, &id, &err),
				 0);
		assert_int_equal(sonde_definitions_add_module(definitions, &module, &id, &err), 0);
		assert_int_equal(
			sonde_definitions_add_attribute(definitions, &attribute, &id, &err), 0);
	}
	for (uint32_t i = 0; i < 4; i++) {
		struct sonde_track track = {
			.process = i / 2,
			.name = add_text(definitions, i == 3 ? "w\xc3\xb6rker \"3\"" : ""),
			.os_id = i == 3 ? 4711 : UINT64_MAX,
			.dropped_events = i == 3 ? 9 : 0,
		};
		struct sonde_function function = {
			.process = i / 2,
			.module = i / 2,
			.name = add_text(definitions, i % 2 ? "odd()" : "even()"),
			.raw_name = add_text(definitions, i % 2 ? "_Z3oddv" : ""),
			.file = add_text(definitions, "a.cc"),
			.line = 10 + i,
		};
		struct sonde_event_type type = { .name = add_text(definitions, "level") };

		assert_int_equal(sonde_definitions_add_track(definitions, &track, &id, &err), 0);
		assert_int_equal(sonde_definitions_add_function(definitions, &function, &id, &err),
				 0);
		assert_int_equal(sonde_definitions_add_event_type(definitions, &type, &id, &err),
				 0);
	}
}

/* One call in each track, re-opened and closed by a cut, of a kind of its own in between. */
static void feed_everything(struct sonde_sink *sink, const struct sonde_definitions *definitions)
{
	assert_int_equal(sink->ops->begin(sink, definitions, &err), SONDE_OK);
	for (uint32_t track = 0; track < 4; track++) {
		struct sonde_event events[] = {
			{ .time_ns = 10, .kind = SONDE_EVENT_CALL, .depth = 1, .flags = 1 },
			{ .time_ns = 11, .kind = SONDE_EVENT_OTHER, .depth = 1, .extra = 99 },
			{ .time_ns = 12, .kind = SONDE_EVENT_COUNTER },
			{ .time_ns = 13, .kind = SONDE_EVENT_EXCEPTION, .depth = 1, .flags = 1 },
		};
		struct sonde_batch batch = { .events = events, .count = 4 };

		for (size_t i = 0; i < 4; i++) {
			events[i].track = track;
			events[i].function = track;
			if (events[i].kind == SONDE_EVENT_COUNTER)
				sonde_event_set_value(&events[i], 1.5);
			else
				events[i].detail = SONDE_NONE;
		}
		assert_int_equal(sink->ops->events(sink, track, &batch, &err), SONDE_OK);
		assert_int_equal(sink->ops->track_end(sink, track, &err), SONDE_OK);
	}
	assert_int_equal(sink->ops->finish(sink, &err), SONDE_OK);
}

static void assert_everything(struct sonde_recording *recording)
{
	const struct sonde_definitions *definitions = sonde_recording_definitions(recording);
	const struct sonde_track *track = sonde_definitions_track(definitions, 3);
	struct sonde_cursor *cursor = open_cursor(recording, 3);
	const struct sonde_function *function;
	struct sonde_batch batch;

	assert_int_equal(sonde_definitions_process_count(definitions), 2);
	assert_int_equal(sonde_definitions_process(definitions, 1)->os_id, 77);
	assert_int_equal(sonde_definitions_process(definitions, 1)->arch, SONDE_ARCH_ARM64);
	assert_string_equal(sonde_definitions_string(
				    definitions, sonde_definitions_process(definitions, 1)->name),
			    "second");
	assert_string_equal(sonde_definitions_find_attribute(definitions, SONDE_OWNER_PROCESS, 1,
							     "command_line"),
			    "[\"tool\",\"-x\"]");
	assert_int_equal(sonde_definitions_anchor_count(definitions), 2);
	assert_int_equal(sonde_definitions_anchor(definitions, 0)->realtime_ns,
			 1700000000000000000);
	assert_int_equal(track->process, 1);
	assert_int_equal(track->os_id, 4711);
	assert_int_equal(track->dropped_events, 9);
	assert_string_equal(sonde_definitions_string(definitions, track->name),
			    "w\xc3\xb6rker \"3\"");
	assert_int_equal(sonde_cursor_next(cursor, &batch, &err), SONDE_OK);
	assert_int_equal(batch.count, 4);
	assert_int_equal(batch.events[0].flags, SONDE_EVENT_SYNTHETIC);
	assert_int_equal(batch.events[1].flags, 0);
	assert_int_equal(batch.events[1].kind, SONDE_EVENT_OTHER);
	assert_int_equal(batch.events[1].extra, 99);
	assert_int_equal(batch.events[2].kind, SONDE_EVENT_COUNTER);
	assert_true(sonde_event_value(&batch.events[2]) == 1.5);
	assert_int_equal(batch.events[3].kind, SONDE_EVENT_EXCEPTION);
	assert_int_equal(batch.events[3].flags, SONDE_EVENT_SYNTHETIC);
	function = sonde_definitions_function(definitions, batch.events[0].function);
	assert_string_equal(sonde_definitions_string(definitions, function->name), "odd()");
	assert_string_equal(sonde_definitions_string(definitions, function->raw_name), "_Z3oddv");
	assert_int_equal(function->line, 13);
	/* module_id is the FNV-1a of "/usr/bin/tool", in lower case */
	assert_int_equal(function->key >> 32, 0x40C4A411);
	sonde_cursor_free(cursor);
}

static void test_written_from_scratch(void **state)
{
	struct sonde_definitions *definitions = sonde_definitions_new();
	struct sonde_loss *loss = sonde_loss_new();
	struct sonde_create_options create = { .format = "atf", .loss = loss };
	struct sonde_recording *recording;
	struct sonde_sink *sink;

	(void)state;
	define_everything(definitions);
	assert_int_equal(sonde_sink_create(scratch_path("made"), &create, &sink, &err), SONDE_OK);
	feed_everything(sink, definitions);
	sonde_sink_free(sink);
	sonde_definitions_free(definitions);
	assert_null(sonde_loss_at(loss, 0));
	recording = open_path(scratch_path("made"));
	assert_everything(recording);
	sonde_recording_close(recording);
	sonde_loss_free(loss);
}

/* Until the finish there is nothing under the name, and without one nothing stays. */
static void test_nothing_before_finish(void **state)
{
	struct sonde_definitions *definitions = sonde_definitions_new();
	struct sonde_create_options create = { .format = "atf" };
	struct sonde_sink *sink;
	char command[128];

	(void)state;
	define_everything(definitions);
	assert_int_equal(sonde_sink_create(scratch_path("half"), &create, &sink, &err), SONDE_OK);
	assert_int_equal(sink->ops->begin(sink, definitions, &err), SONDE_OK);
	assert_int_equal(sink->ops->track_end(sink, 0, &err), SONDE_OK);
	assert_int_not_equal(access(scratch_path("half"), F_OK), 0);
	sonde_sink_free(sink);
	sonde_definitions_free(definitions);
	snprintf(command, sizeof(command), "test -z \"$(ls -d %s/half* 2>/dev/null)\"", scratch);
	assert_int_equal(system(command), 0);
}

/* Gives the 100th record of a detail file a length that cannot be. */
static void damage_record(const char *path)
{
	FILE *file = fopen(path, "r+b");
	uint8_t length[4];
	long offset = ATF_HEADER_SIZE;

	assert_non_null(file);
	for (int i = 0; i < 100; i++) {
		assert_int_equal(fseek(file, offset, SEEK_SET), 0);
		assert_int_equal(fread(length, 1, 4, file), 4);
		offset += (long)sonde_load_u32le(length);
	}
	sonde_store_u32le(length, 7);
	assert_int_equal(fseek(file, offset, SEEK_SET), 0);
	assert_int_equal(fwrite(length, 1, 4, file), 4);
	assert_int_equal(fclose(file), 0);
}

/* One damaged record costs one detail; those behind it find back to their events. */
static void test_recover_behind_damage(void **state)
{
	struct sonde_recover_options options = { 0 };
	struct sonde_recover_result result;
	struct sonde_diagnostics *diagnostics = sonde_diagnostics_new();
	struct sonde_recording *recording, *golden = open_golden("normal");
	struct sonde_detail detail, original;
	struct sonde_cursor *cursor, *golden_cursor;
	char command[256], damaged[128];

	(void)state;
	snprintf(command, sizeof(command), "cp -r %s/atf/normal %s/damaged", getenv("GOLDEN"),
		 scratch);
	assert_int_equal(system(command), 0);
	damage_record(scratch_path("damaged/thread_1/detail.atf"));
	snprintf(damaged, sizeof(damaged), "%s", scratch_path("damaged"));
	assert_int_equal(sonde_recover(damaged, scratch_path("salvaged"), &options, diagnostics,
				       &result, &err),
			 SONDE_OK);
	assert_int_equal(result.events_kept, 4000);
	assert_int_equal(result.details_kept, 1399);
	assert_int_equal(result.details_unlinked, 0);
	assert_clean(scratch_path("salvaged"));
	recording = open_path(scratch_path("salvaged"));
	cursor = open_cursor(recording, 1);
	golden_cursor = open_cursor(golden, 1);
	assert_int_equal(sonde_cursor_detail(cursor, 348, &detail, &err), SONDE_OK);
	assert_int_equal(sonde_cursor_detail(golden_cursor, 349, &original, &err), SONDE_OK);
	assert_same_detail(sonde_recording_definitions(recording), &detail,
			   sonde_recording_definitions(golden), &original);
	sonde_cursor_free(golden_cursor);
	sonde_cursor_free(cursor);
	sonde_recording_close(recording);
	sonde_recording_close(golden);
	sonde_diagnostics_free(diagnostics);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_links_both_ways),
		cmocka_unit_test(test_seek_time),
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_recover_behind_damage),
		cmocka_unit_test(test_written_from_scratch),
		cmocka_unit_test(test_nothing_before_finish),
	};

	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
