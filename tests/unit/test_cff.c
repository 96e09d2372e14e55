/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wtf-trace files through the library, built byte by byte: types, zones, scopes, times, details and
 * seeking. Damage is in test_cff_damage.c; files of other programs are compared elsewhere.
 */
#include <pthread.h>
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

#include "cff_reading.h"
#include "formats/cff/cff_arguments.h"
#include "formats/cff/cff_read.h"
#include "scratch.h"

static void test_types(void **state)
{
	struct cff_types types;
	enum cff_defined defined;
	const struct cff_type *type;

	(void)state;
	assert_int_equal(cff_types_init(&types, &err), SONDE_OK);
	assert_int_equal(cff_types_find(&types, 1)->fixed_size, 28);
	assert_null(cff_types_find(&types, 0));
	assert_null(cff_types_find(&types, 70000));
	assert_int_equal(cff_types_define(&types, 9, 1, 2, "a", "uint8 x, any y", &defined, &err),
			 0);
	assert_int_equal(defined, CFF_DEFINED_NEW);
	type = cff_types_find(&types, 9);
	assert_int_equal(type->fixed_size, 16);
	assert_int_equal(type->class, CFF_CLASS_SCOPE);
	/* an alias, and the same name with other arguments */
	cff_types_define(&types, 10, 1, 0, "a", "uint8 x, any y", &defined, &err);
	assert_int_equal(defined, CFF_DEFINED_AGAIN);
	assert_ptr_equal(cff_types_find(&types, 10), type);
	cff_types_define(&types, 11, 1, 0, "a", "uint8 x", &defined, &err);
	assert_int_equal(defined, CFF_DEFINED_OTHERS);
	assert_ptr_equal(cff_types_find(&types, 11), type);
	/* a new meaning, and none */
	cff_types_define(&types, 9, 0, 0, "b", "uint16[] x, uint8 y", &defined, &err);
	assert_string_equal(cff_types_find(&types, 9)->name, "b");
	assert_int_equal(cff_types_find(&types, 9)->fixed_size, 0);
	assert_int_equal(cff_types_define(&types, 9, 0, 0, "c", "uint64 x", &defined, &err),
			 SONDE_CORRUPT);
	assert_null(cff_types_find(&types, 9));
	assert_int_equal(cff_types_define(&types, 9, 0, 0, "c", "bool[] x", &defined, &err),
			 SONDE_CORRUPT);
	assert_int_equal(cff_types_define(&types, 9, 0, 0, "c", "uint8", &defined, &err),
			 SONDE_CORRUPT);
	cff_types_release(&types);
}

static void test_sizes(void **state)
{
	static const uint8_t event[] = { 0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0,   0,	 1,   0,
					 2, 0, 3, 0, 0, 0, 9, 0, 0, 0, 255, 255, 255, 255 };
	struct cff_types types;
	enum cff_defined defined;
	const struct cff_type *type;

	(void)state;
	cff_types_init(&types, &err);
	cff_types_define(&types, 5, 0, 0, "a", "uint16[] x, uint8 y, float32[] z", &defined, &err);
	type = cff_types_find(&types, 5);
	assert_int_equal(cff_type_size(type, event, sizeof(event)), sizeof(event));
	for (size_t left = 8; left < sizeof(event); left++)
		assert_int_equal(cff_type_size(type, event, left), 0);
	cff_types_release(&types);
}

/* Numbers of 64 bits come together by their names, others stay as they are. */
static void test_wide_arguments(void **state)
{
	struct cff_types types;
	enum cff_defined defined;

	(void)state;
	cff_types_init(&types, &err);
	cff_types_define(&types, 5, 0, 0, "a",
			 "uint32 a, uint32 a_high_i64, uint32 b, uint32 b_high_u64, float32 c, "
			 "uint32 c_low_f64, uint32 c_high_f64, uint32[] d_pairs_f64, uint32 e, "
			 "uint32 f_high_u64, float32 g, uint32 g_low_f64",
			 &defined, &err);
	assert_string_equal(cff_types_find(&types, 5)->model_arguments,
			    "int64 a, uint64 b, float64 c, float64[] d, uint32 e, "
			    "uint32 f_high_u64, float32 g, uint32 g_low_f64");
	cff_types_define(&types, 6, 0, 0, "b", "unsigned long x", &defined, &err);
	assert_string_equal(cff_types_find(&types, 6)->model_arguments, "unsigned long x");
	cff_types_release(&types);
}

static void test_empty(void **state)
{
	struct fixture fixture;
	struct sonde_recording *recording;

	(void)state;
	fixture_begin(&fixture, "{\"timebase\":1700000000000,\"contextInfo\":{\"uri\":\"u\","
				"\"title\":\"T\"},\"metadata\":{\"a\":[1]},\"own\":true}");
	recording = open_fixture(&fixture);
	const struct sonde_definitions *definitions = sonde_recording_definitions(recording);

	assert_int_equal(sonde_definitions_track_count(definitions), 0);
	assert_int_equal(sonde_recording_event_count(recording), 0);
	assert_string_equal(sonde_definitions_string(
				    definitions, sonde_definitions_process(definitions, 0)->name),
			    "T");
	assert_true(sonde_definitions_anchor(definitions, 0)->realtime_ns == 1700000000000000000u);
	assert_string_equal(
		sonde_definitions_find_attribute(definitions, SONDE_OWNER_RECORDING, 0, "metadata"),
		"{\"a\":[1]}");
	assert_string_equal(
		sonde_definitions_find_attribute(definitions, SONDE_OWNER_RECORDING, 0, "own"),
		"true");
	assert_int_equal(
		sonde_diagnostics_count(sonde_recording_diagnostics(recording), SONDE_NOTE), 0);
	sonde_recording_close(recording);
}

/* Events before any zone, the zone that takes them over, and zones that are created again. */
static void test_zones(void **state)
{
	struct fixture fixture;
	struct sonde_recording *recording;
	struct track_events first, second;

	(void)state;
	fixture_begin(&fixture, NULL);
	fixture_builtins(&fixture);
	fixture_define(&fixture, 20, 0, "i", "");
	fixture_event(&fixture, 20, 1, 0);
	fixture_zone(&fixture, 1, "one");
	fixture_event(&fixture, 20, 2, 0);
	fixture_zone(&fixture, 2, "two");
	fixture_event(&fixture, FIXTURE_ZONE_SET, 0, 1, 2u);
	fixture_event(&fixture, 20, 3, 0);
	fixture_end_chunk(&fixture);
	/* the zone stays; ids mean something else from here on */
	fixture_event(&fixture, 20, 4, 0);
	fixture_zone(&fixture, 2, "one");
	fixture_event(&fixture, FIXTURE_ZONE_SET, 0, 1, 2u);
	fixture_event(&fixture, 20, 5, 0);
	fixture_zone(&fixture, 7, "two");
	fixture_event(&fixture, FIXTURE_ZONE_SET, 0, 1, 7u);
	fixture_event(&fixture, 20, 6, 0);
	fixture_end_chunk(&fixture);
	recording = open_fixture(&fixture);
	assert_int_equal(sonde_definitions_track_count(sonde_recording_definitions(recording)), 2);
	assert_string_equal(track_name(recording, 0), "one");
	assert_string_equal(track_name(recording, 1), "two");
	assert_string_equal(sonde_definitions_find_attribute(sonde_recording_definitions(recording),
							     SONDE_OWNER_TRACK, 1, "zone_type"),
			    "\"type\"");
	first = read_track(recording, 0);
	second = read_track(recording, 1);
	assert_int_equal(first.count, 3);
	assert_int_equal(second.count, 3);
	assert_int_equal(first.items[2].event.time_ns, 5000);
	assert_int_equal(second.items[1].event.time_ns, 4000);
	assert_int_equal(second.items[2].event.time_ns, 6000);
	assert_int_equal(first.items[0].event.kind, SONDE_EVENT_INSTANT);
	assert_string_equal(type_name(recording, first.items[0].event.function), "i");
	assert_true(first.items[0].detail_size == SIZE_MAX);
	free(first.items);
	free(second.items);
	sonde_recording_close(recording);
}

/* Scopes stay open from chunk to chunk, for each zone on its own. */
static void test_scopes(void **state)
{
	struct fixture fixture;
	struct sonde_recording *recording;
	struct track_events one, two;

	(void)state;
	fixture_begin(&fixture, NULL);
	fixture_builtins(&fixture);
	fixture_define(&fixture, 20, 1, "s", "");
	fixture_zone(&fixture, 1, "one");
	fixture_zone(&fixture, 2, "two");
	fixture_event(&fixture, 20, 1, 0);
	fixture_event(&fixture, FIXTURE_ENTER, 2, 1, fixture_text(&fixture, "named"));
	fixture_event(&fixture, FIXTURE_ZONE_SET, 0, 1, 2u);
	fixture_event(&fixture, 20, 3, 0);
	fixture_end_chunk(&fixture);
	fixture_event(&fixture, FIXTURE_LEAVE, 4, 0);
	fixture_event(&fixture, FIXTURE_LEAVE, 5, 0);
	fixture_event(&fixture, FIXTURE_ZONE_SET, 0, 1, 1u);
	fixture_event(&fixture, FIXTURE_LEAVE, 6, 0);
	fixture_event(&fixture, FIXTURE_ENTER, 7, 1, FIXTURE_NULL);
	fixture_end_chunk(&fixture);
	fixture_event(&fixture, FIXTURE_LEAVE, 8, 0);
	fixture_event(&fixture, FIXTURE_LEAVE, 9, 0);
	fixture_end_chunk(&fixture);
	recording = open_fixture(&fixture);
	one = read_track(recording, 0);
	two = read_track(recording, 1);
	static const struct {
		uint8_t kind;
		uint32_t depth;
		const char *name;
	} expected[] = {
		{ SONDE_EVENT_CALL, 1, "s" },
		{ SONDE_EVENT_CALL, 2, "named" },
		{ SONDE_EVENT_RETURN, 2, "named" },
		{ SONDE_EVENT_CALL, 2, "wtf.scope#enter" },
		{ SONDE_EVENT_RETURN, 2, "wtf.scope#enter" },
		{ SONDE_EVENT_RETURN, 1, "s" },
	};

	assert_int_equal(one.count, 6);
	for (size_t i = 0; i < one.count; i++) {
		assert_int_equal(one.items[i].event.kind, expected[i].kind);
		assert_int_equal(one.items[i].event.depth, expected[i].depth);
		assert_string_equal(function_name(recording, one.items[i].event.function),
				    expected[i].name);
	}
	/* packed: length, bytes, padding */
	assert_int_equal(one.items[1].detail_size, 12);
	assert_memory_equal(one.items[1].detail, "\5\0\0\0named\0\0\0", 12);
	assert_int_equal(one.items[3].detail_size, 4);
	assert_int_equal(two.count, 3);
	assert_int_equal(two.items[2].event.kind, SONDE_EVENT_RETURN);
	assert_int_equal(two.items[2].event.depth, 0);
	assert_string_equal(function_name(recording, two.items[2].event.function),
			    "wtf.scope#leave");
	free(one.items);
	free(two.items);
	sonde_recording_close(recording);
}

/* A file may give arguments to leaves; they are a detail of an event type that is there. */
static void test_leave_with_arguments(void **state)
{
	struct fixture fixture;
	struct sonde_recording *recording;
	struct sonde_cursor *cursor;
	struct sonde_batch batch;
	struct sonde_detail detail;

	(void)state;
	fixture_begin(&fixture, NULL);
	fixture_define(&fixture, 20, 1, "s", "");
	fixture_define(&fixture, 21, 0, "wtf.scope#leave", "uint32 why");
	fixture_event(&fixture, 20, 1, 0);
	fixture_event(&fixture, 21, 2, 1, 7u);
	fixture_end_chunk(&fixture);
	recording = open_fixture(&fixture);
	cursor = open_cursor(recording, 0);
	assert_int_equal(sonde_cursor_next(cursor, &batch, &err), SONDE_OK);
	assert_int_equal(batch.count, 2);
	assert_int_equal(batch.events[1].kind, SONDE_EVENT_RETURN);
	assert_string_equal(function_name(recording, batch.events[1].function), "s");
	assert_int_equal(sonde_batch_detail(&batch, &batch.events[1], &detail, &err), SONDE_OK);
	assert_int_equal(detail.kind, SONDE_DETAIL_ARGUMENTS);
	assert_string_equal(type_name(recording, detail.event_type), "wtf.scope#leave");
	assert_int_equal(detail.size, 4);
	assert_int_equal(detail.bytes[0], 7);
	sonde_cursor_free(cursor);
	sonde_recording_close(recording);
}

static void test_kinds(void **state)
{
	struct fixture fixture;
	struct sonde_recording *recording;
	struct track_events events;
	double value = 1e300;
	uint64_t bits;

	(void)state;
	memcpy(&bits, &value, sizeof(bits));
	fixture_begin(&fixture, NULL);
	fixture_builtins(&fixture);
	fixture_define(&fixture, 20, 0, "sonde.counter#c",
		       "float32 value, uint32 value_low_f64, uint32 value_high_f64");
	fixture_define(&fixture, 21, 0, "timing#frameEnd", "uint32 number");
	fixture_define(&fixture, 22, 0, "wide", "uint32 x, uint32 x_high_i64");
	fixture_define(&fixture, 23, 0, "small", "bool b, int8 i, wchar w, uint8[] a, uint8[] n");
	fixture_event(&fixture, FIXTURE_MARK, 1, 2, fixture_text(&fixture, "m"), FIXTURE_NULL);
	fixture_event(&fixture, FIXTURE_FLOW_BRANCH, 2, 4, 77u, 0u, FIXTURE_NULL, FIXTURE_EMPTY);
	fixture_event(&fixture, FIXTURE_RANGE_BEGIN, 3, 3, 5u, FIXTURE_NULL, FIXTURE_NULL);
	fixture_event(&fixture, 21, 4, 1, 6u);
	fixture_event(&fixture, 20, 5, 3, 0u, (uint32_t)bits, (uint32_t)(bits >> 32));
	fixture_event(&fixture, 22, 6, 2, 0xFFFFFFFEu, 0xFFFFFFFFu);
	fixture_event(&fixture, 23, 7, 6, 0xFFFFFF01u, 0xFFFFFF80u, 0xABCD1234u, 3u, 0x00030201u,
		      FIXTURE_NULL);
	fixture_end_chunk(&fixture);
	recording = open_fixture(&fixture);
	events = read_track(recording, 0);
	assert_int_equal(events.count, 7);
	assert_int_equal(events.items[0].event.kind, SONDE_EVENT_MARK);
	assert_int_equal(events.items[1].event.kind, SONDE_EVENT_FLOW_BEGIN);
	assert_int_equal(events.items[1].event.extra, 77);
	assert_int_equal(events.items[2].event.kind, SONDE_EVENT_RANGE_BEGIN);
	assert_int_equal(events.items[2].event.extra, 5);
	assert_int_equal(events.items[3].event.kind, SONDE_EVENT_RANGE_END);
	assert_int_equal(events.items[4].event.kind, SONDE_EVENT_COUNTER);
	assert_true(sonde_event_value(&events.items[4].event) == value);
	assert_int_equal(events.items[5].detail_size, 8);
	assert_memory_equal(events.items[5].detail, "\xFE\xFF\xFF\xFF\xFF\xFF\xFF\xFF", 8);
	assert_int_equal(events.items[6].detail_size, 24);
	assert_memory_equal(events.items[6].detail,
			    "\1\0\0\0\x80\0\0\0\x34\x12\0\0\3\0\0\0\1\2\3\0\xFF\xFF\xFF\xFF", 24);
	free(events.items);
	sonde_recording_close(recording);
}

static void test_times(void **state)
{
	uint8_t times[8 + 8 + 2 * 2] = "sondeNS1";
	struct fixture fixture;
	struct sonde_recording *recording;
	struct track_events events;
	uint64_t wrap = 4294967296000u;

	(void)state;
	fixture_begin(&fixture, NULL);
	fixture_define(&fixture, 20, 0, "i", "");
	fixture_event(&fixture, 20, 0xFFFFFFF0u, 0);
	fixture_event(&fixture, 20, 0xFFFFFFE0u, 0); /* a step back */
	fixture_event(&fixture, 20, 5, 0);	     /* a wrap */
	fixture_end_chunk(&fixture);
	fixture_event(&fixture, 20, 4, 0);
	fixture_end_chunk(&fixture);
	times[8 + 4] = 4; /* 2^34 ns */
	times[16] = 1;
	times[18] = 0xE7;
	times[19] = 3;
	fixture_event(&fixture, 20, 7, 0);
	fixture_event(&fixture, 20, 8, 0);
	fixture_event(&fixture, 20, 9, 0);
	fixture_resource(&fixture, 0x40000, times, sizeof(times));
	fixture_end_chunk(&fixture);
	recording = open_fixture(&fixture);
	assert_int_equal(sonde_recording_blob_count(recording), 0);
	events = read_track(recording, 0);
	assert_int_equal(events.count, 7);
	assert_true(events.items[0].event.time_ns == 0xFFFFFFF0u * (uint64_t)1000);
	assert_true(events.items[1].event.time_ns == 0xFFFFFFE0u * (uint64_t)1000);
	assert_true(events.items[2].event.time_ns == wrap + 5000);
	assert_true(events.items[3].event.time_ns == wrap + 4000);
	assert_true(events.items[4].event.time_ns == ((uint64_t)4 << 32) + 7001);
	assert_true(events.items[5].event.time_ns == ((uint64_t)4 << 32) + 8999);
	assert_true(events.items[6].event.time_ns == ((uint64_t)4 << 32) + 9000);
	free(events.items);
	sonde_recording_close(recording);
}

static void test_resources(void **state)
{
	struct fixture fixture;
	struct sonde_recording *recording;
	struct sonde_blob blob;

	(void)state;
	fixture_begin(&fixture, NULL);
	fixture_resource(&fixture, 0x40001, "text", 4);
	fixture_end_chunk(&fixture);
	fixture_resource(&fixture, 0x40000, "\1\2\3", 3);
	fixture_resource(&fixture, 0x40000, "", 0);
	fixture_end_chunk(&fixture);
	recording = open_fixture(&fixture);
	assert_int_equal(sonde_recording_blob_count(recording), 3);
	assert_int_equal(sonde_recording_blob(recording, 0, &blob, &err), SONDE_OK);
	assert_true(blob.is_text && blob.size == 4 && !memcmp(blob.bytes, "text", 4));
	assert_int_equal(sonde_recording_blob(recording, 1, &blob, &err), SONDE_OK);
	assert_true(!blob.is_text && blob.size == 3 && !memcmp(blob.bytes, "\1\2\3", 3));
	assert_int_equal(sonde_recording_blob(recording, 2, &blob, &err), SONDE_OK);
	assert_int_equal(blob.size, 0);
	sonde_recording_close(recording);
}

static void seek_everywhere(uint32_t events, uint32_t per_chunk, uint64_t step)
{
	struct fixture fixture;
	struct sonde_recording *recording;

	build_long(&fixture, events, per_chunk);
	recording = open_fixture(&fixture);
	assert_int_equal(
		sonde_diagnostics_count(sonde_recording_diagnostics(recording), SONDE_ERROR), 0);
	for (uint32_t track = 0; track < 3; track++)
		compare_seeks(recording, track, step);
	assert_int_equal(sonde_recording_event_count(recording), events);
	sonde_recording_close(recording);
}

static void test_seek_small(void **state)
{
	(void)state;
	seek_everywhere(5000, 300, 1);
}

static void test_seek_segments(void **state)
{
	(void)state;
	seek_everywhere(200000, 150000, 7919);
}

static void *read_in_thread(void *data)
{
	struct sonde_recording *recording = data;

	for (uint32_t track = 0; track < 3; track++) {
		struct sonde_cursor *cursor = NULL;
		struct sonde_batch batch;
		struct sonde_detail detail;
		uint64_t count = 0;

		if (sonde_cursor_open(recording, track, &cursor, NULL) < 0)
			return NULL;
		while (sonde_cursor_next(cursor, &batch, NULL) == SONDE_OK) {
			count += batch.count;
			sonde_batch_detail(&batch, &batch.events[0], &detail, NULL);
		}
		sonde_cursor_free(cursor);
		if (count != sonde_definitions_track(sonde_recording_definitions(recording), track)
				     ->event_count)
			return NULL;
	}
	return recording;
}

/* Cursors run side by side; the thread sanitizer looks at this. */
static void test_threads(void **state)
{
	struct fixture fixture;
	struct sonde_recording *recording;
	pthread_t threads[3];
	void *result;

	(void)state;
	build_long(&fixture, 20000, 1000);
	recording = open_fixture(&fixture);
	for (int i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, read_in_thread, recording), 0);
	for (int i = 0; i < 3; i++) {
		pthread_join(threads[i], &result);
		assert_ptr_equal(result, recording);
	}
	sonde_recording_close(recording);
}

/* Copies a recording by its events, through the writer of our own. */
static const char *copy_to_ours(struct sonde_recording *source, const char *name)
{
	struct sonde_create_options create = { .format = "cff", .replace = true };
	struct sonde_run_options run = { .selection = { .kinds = UINT32_MAX } };
	struct sonde_run_result result;
	const char *path = scratch_path(name);
	struct sonde_sink *sink;

	if (sonde_sink_create(path, &create, &sink, &err) < 0 ||
	    sonde_pipeline_run(&source, 1, sink, &run, &result, &err) < 0)
		fail_msg("%s", err.message);
	sonde_sink_free(sink);
	return path;
}

/* The same events by the index of our own files as by the pass, wherever reading starts. */
static void test_index(void **state)
{
	struct fixture fixture;
	struct sonde_recording *source, *copy;
	const struct cff_recording *data;

	(void)state;
	build_long(&fixture, 150000, 5000);
	source = open_fixture(&fixture);
	copy = open_path(copy_to_ours(source, "ours.wtf-trace"));
	data = copy->data;
	assert_true(data->scan.is_indexed);
	assert_false(((const struct cff_recording *)source->data)->scan.is_indexed);
	for (uint32_t track = 0; track < 3; track++) {
		struct track_events a = read_track(source, track), b = read_track(copy, track);

		assert_int_equal(a.count, b.count);
		for (size_t i = 0; i < a.count; i++) {
			assert_memory_equal(&a.items[i].event, &b.items[i].event,
					    sizeof(a.items[i].event));
			assert_int_equal(a.items[i].detail_size, b.items[i].detail_size);
			assert_memory_equal(a.items[i].detail, b.items[i].detail,
					    sizeof(a.items[i].detail));
		}
		free(a.items);
		free(b.items);
		compare_seeks(copy, track, 997);
	}
	assert_int_equal(check_errors(scratch_path("ours.wtf-trace"), -1), 0);
	sonde_recording_close(source);
	sonde_recording_close(copy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_types),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_wide_arguments),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_zones),
		cmocka_unit_test(test_scopes),
		cmocka_unit_test(test_leave_with_arguments),
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_resources),
		cmocka_unit_test(test_seek_small),
		cmocka_unit_test(test_seek_segments),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_index),
	};

	return cmocka_run_group_tests(tests, make_scratch_in_memory, remove_scratch);
}
