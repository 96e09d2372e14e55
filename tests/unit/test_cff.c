/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wtf-trace files through the library, built byte by byte: types, zones, scopes, times, details,
 * seeking, damage of every kind, and recovery. Files of other programs are compared elsewhere.
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

#include "cff_fixture.h"
#include "formats/cff/cff_arguments.h"
#include "formats/cff/cff_findings.h"
#include "formats/cff/cff_strings.h"
#include "formats/cff/cff_types.h"
#include "scratch.h"

static struct sonde_error err;

/* Every event of a track, with its detail as text. */
struct seen {
	struct sonde_event event;
	uint64_t index;
	size_t detail_size; /* SIZE_MAX: none */
	uint8_t detail[64];
};

struct track_events {
	struct seen *items;
	size_t count;
};

static const char *write_fixture(struct fixture *fixture, const char *name)
{
	const char *path = scratch_path(name);

	put_bytes(path, fixture->file, fixture->size);
	return path;
}

static struct sonde_recording *open_path(const char *path)
{
	struct sonde_recording *recording = NULL;

	if (sonde_recording_open(path, NULL, &recording, &err) < 0)
		fail_msg("%s: %s", path, err.message);
	return recording;
}

static struct sonde_recording *open_fixture(struct fixture *fixture)
{
	struct sonde_recording *recording = open_path(write_fixture(fixture, "a.wtf-trace"));

	fixture_release(fixture);
	return recording;
}

static struct sonde_cursor *open_cursor(struct sonde_recording *recording, uint32_t track)
{
	struct sonde_cursor *cursor = NULL;

	assert_int_equal(sonde_cursor_open(recording, track, &cursor, &err), SONDE_OK);
	return cursor;
}

static void take_detail(struct seen *seen, const struct sonde_batch *batch)
{
	struct sonde_detail detail;
	enum sonde_status status = sonde_batch_detail(batch, &seen->event, &detail, &err);

	seen->detail_size = SIZE_MAX;
	if (status == SONDE_END)
		return;
	assert_int_equal(status, SONDE_OK);
	assert_int_equal(detail.kind, SONDE_DETAIL_ARGUMENTS);
	assert_int_equal(detail.event, seen->index);
	assert_true(detail.time_ns == seen->event.time_ns);
	seen->detail_size = detail.size;
	memset(seen->detail, 0, sizeof(seen->detail));
	memcpy(seen->detail, detail.bytes,
	       detail.size < sizeof(seen->detail) ? detail.size : sizeof(seen->detail));
}

static struct track_events read_track(struct sonde_recording *recording, uint32_t track)
{
	const struct sonde_track *about =
		sonde_definitions_track(sonde_recording_definitions(recording), track);
	struct track_events events = { calloc(about->event_count + 1, sizeof(struct seen)), 0 };
	struct sonde_cursor *cursor = open_cursor(recording, track);
	struct sonde_batch batch;
	enum sonde_status status;

	while ((status = sonde_cursor_next(cursor, &batch, &err)) == SONDE_OK) {
		assert_int_equal(batch.first_index, events.count);
		for (size_t i = 0; i < batch.count; i++) {
			struct seen *seen = &events.items[events.count];

			assert_true(events.count < about->event_count);
			seen->event = batch.events[i];
			seen->index = events.count++;
			take_detail(seen, &batch);
		}
	}
	assert_int_equal(status, SONDE_END);
	assert_int_equal(events.count, about->event_count);
	sonde_cursor_free(cursor);
	return events;
}

static const char *track_name(struct sonde_recording *recording, uint32_t track)
{
	const struct sonde_definitions *definitions = sonde_recording_definitions(recording);

	return sonde_definitions_string(definitions,
					sonde_definitions_track(definitions, track)->name);
}

static const char *function_name(struct sonde_recording *recording, uint32_t function)
{
	const struct sonde_definitions *definitions = sonde_recording_definitions(recording);

	return sonde_definitions_string(definitions,
					sonde_definitions_function(definitions, function)->name);
}

static const char *type_name(struct sonde_recording *recording, uint32_t type)
{
	const struct sonde_definitions *definitions = sonde_recording_definitions(recording);

	return sonde_definitions_string(definitions,
					sonde_definitions_event_type(definitions, type)->name);
}

static uint64_t count_findings(const struct sonde_diagnostics *diagnostics, enum cff_finding type)
{
	uint64_t count = 0;
	const struct sonde_finding *finding;

	for (size_t i = 0; (finding = sonde_diagnostics_at(diagnostics, i)); i++)
		count += finding->type == &cff_finding_types[type];
	return count;
}

/* Number of errors that a check finds; where `type` is one, it must be among them. */
static uint64_t check_errors(const char *path, int type)
{
	struct sonde_diagnostics *diagnostics = sonde_diagnostics_new();
	struct sonde_check_options options = { .format = "cff" };
	uint64_t errors;

	assert_int_equal(sonde_check(path, &options, diagnostics, &err), SONDE_OK);
	errors = sonde_diagnostics_count(diagnostics, SONDE_ERROR);
	if (type >= 0)
		assert_true(count_findings(diagnostics, (enum cff_finding)type) > 0);
	sonde_diagnostics_free(diagnostics);
	return errors;
}

/* A check finds no error; says which where it does. */
static void assert_no_errors(const char *path)
{
	struct sonde_diagnostics *diagnostics = sonde_diagnostics_new();
	struct sonde_check_options options = { .format = "cff" };
	const struct sonde_finding *finding;

	assert_int_equal(sonde_check(path, &options, diagnostics, &err), SONDE_OK);
	for (size_t i = 0; (finding = sonde_diagnostics_at(diagnostics, i)); i++) {
		if (finding->type->severity == SONDE_ERROR)
			fail_msg("%s: %s at %llu: expected %s, found %s", path, finding->type->id,
				 (unsigned long long)finding->offset, finding->expected,
				 finding->found);
	}
	sonde_diagnostics_free(diagnostics);
}

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

/* A file with three zones in turn, redefined wire ids, names, arrays, and more than one segment. */
static void build_long(struct fixture *fixture, uint32_t events, uint32_t per_chunk)
{
	uint32_t seed = 1, depth[3] = { 0 };

	fixture_begin(fixture, NULL);
	fixture_builtins(fixture);
	for (uint32_t i = 0; i < 3; i++)
		fixture_zone(fixture, i, (const char *[]){ "a", "b", "c" }[i]);
	fixture_define(fixture, 20, 0, "x", "uint32 n");
	fixture_define(fixture, 21, 1, "y", "");
	fixture_define(fixture, 22, 0, "z", "uint8[] n");
	for (uint32_t i = 0, zone = 0; i < events; i++) {
		seed = seed * 1664525 + 1013904223;
		if (i && i % per_chunk == 0)
			fixture_end_chunk(fixture);
		if (seed >> 28 < 4) {
			zone = (seed >> 20) % 3;
			fixture_event(fixture, FIXTURE_ZONE_SET, 0, 1, zone);
		}
		if (i % 997 == 0)
			fixture_define(fixture, 20, 0, i % 2 ? "x" : "x2",
				       i % 2 ? "uint32 n" : "uint32 n, uint32 m");
		switch ((seed >> 16) % 5) {
		case 0:
			if ((i / 997) % 2)
				fixture_event(fixture, 20, i, 1, i);
			else
				fixture_event(fixture, 20, i, 2, i, i + 1);
			break;
		case 1:
			fixture_event(fixture, 21, i, 0);
			depth[zone]++;
			break;
		case 2:
			fixture_event(fixture, FIXTURE_ENTER, i, 1,
				      fixture_text(fixture, i % 2 ? "odd" : "even"));
			depth[zone]++;
			break;
		case 3:
			fixture_event(fixture, 22, i, 2, i % 5 ? i % 5 : FIXTURE_NULL, 0x04030201u);
			if (i % 5 == 0)
				fixture->events_size -= 4;
			break;
		default:
			fixture_event(fixture, FIXTURE_LEAVE, i, 0);
			depth[zone] -= depth[zone] > 0;
		}
	}
	fixture_end_chunk(fixture);
}

static void assert_same(const struct seen *a, const struct sonde_event *event)
{
	assert_memory_equal(&a->event, event, sizeof(*event));
}

/* Seeks to `index` and compares what comes with a full read. */
static void compare_at(struct sonde_cursor *cursor, const struct track_events *all, uint64_t index)
{
	struct sonde_batch batch;
	struct sonde_detail detail;

	sonde_cursor_seek_index(cursor, index);
	assert_int_equal(sonde_cursor_position(cursor), index);
	if (index == all->count) {
		assert_int_equal(sonde_cursor_next(cursor, &batch, &err), SONDE_END);
		return;
	}
	assert_int_equal(sonde_cursor_next(cursor, &batch, &err), SONDE_OK);
	assert_int_equal(batch.first_index, index);
	for (size_t i = 0; i < batch.count && i < 3; i++)
		assert_same(&all->items[index + i], &batch.events[i]);
	assert_same(&all->items[index + batch.count - 1], &batch.events[batch.count - 1]);
	/* a detail elsewhere, which must not disturb what comes next */
	uint64_t other = (index * 7919) % all->count, next = sonde_cursor_position(cursor);
	bool has_detail = all->items[other].detail_size != SIZE_MAX;

	assert_int_equal(sonde_cursor_detail(cursor, other, &detail, &err),
			 has_detail ? SONDE_OK : SONDE_ARGUMENT);
	if (has_detail) {
		assert_int_equal(detail.size, all->items[other].detail_size);
		assert_memory_equal(detail.bytes, all->items[other].detail, detail.size);
	}
	if (next == all->count)
		return;
	assert_int_equal(sonde_cursor_next(cursor, &batch, &err), SONDE_OK);
	assert_same(&all->items[next], &batch.events[0]);
}

static void compare_time(struct sonde_cursor *cursor, const struct track_events *all,
			 uint64_t time_ns)
{
	uint64_t expected = 0;

	while (expected < all->count && all->items[expected].event.time_ns < time_ns)
		expected++;
	sonde_cursor_seek_time(cursor, time_ns);
	assert_int_equal(sonde_cursor_position(cursor), expected);
}

static void seek_everywhere(uint32_t events, uint32_t per_chunk, uint64_t step)
{
	struct fixture fixture;
	struct sonde_recording *recording;
	uint64_t total = 0;

	build_long(&fixture, events, per_chunk);
	recording = open_fixture(&fixture);
	assert_int_equal(
		sonde_diagnostics_count(sonde_recording_diagnostics(recording), SONDE_ERROR), 0);
	for (uint32_t track = 0; track < 3; track++) {
		struct track_events all = read_track(recording, track);
		struct sonde_cursor *cursor = open_cursor(recording, track);

		total += all.count;
		for (uint64_t i = 0; i <= all.count; i += step)
			compare_at(cursor, &all, i);
		for (uint64_t t = 0; t <= events; t += step * 3)
			compare_time(cursor, &all, t * 1000);
		compare_time(cursor, &all, UINT64_MAX);
		sonde_cursor_free(cursor);
		free(all.items);
	}
	assert_int_equal(total, events);
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

/* Faults in events: those before are kept, and the next chunk goes on. */
static void test_faults(void **state)
{
	static const struct {
		uint32_t wire, words;
		int finding;
	} faults[] = {
		{ 0, 0, CFF_FINDING_EVENT_UNDEFINED },
		{ 999, 3, CFF_FINDING_EVENT_UNDEFINED },
		{ 70000, 0, CFF_FINDING_EVENT_UNDEFINED },
		{ FIXTURE_MARK, 1, CFF_FINDING_EVENT_PAST_END },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		struct fixture fixture;
		struct sonde_recording *recording;
		struct track_events events;

		fixture_begin(&fixture, NULL);
		fixture_builtins(&fixture);
		fixture_define(&fixture, 20, 0, "i", "");
		fixture_event(&fixture, 20, 1, 0);
		fixture_event(&fixture, faults[i].wire, 2, faults[i].words, FIXTURE_NULL, 0u, 0u);
		fixture_end_chunk(&fixture);
		fixture_event(&fixture, 20, 3, 0);
		fixture_end_chunk(&fixture);
		recording = open_fixture(&fixture);
		assert_int_equal(count_findings(sonde_recording_diagnostics(recording),
						(enum cff_finding)faults[i].finding),
				 1);
		events = read_track(recording, 0);
		assert_int_equal(events.count, 2);
		assert_int_equal(events.items[1].event.time_ns, 3000);
		free(events.items);
		sonde_recording_close(recording);
		assert_true(check_errors(scratch_path("a.wtf-trace"), faults[i].finding) == 1);
	}
}

/* What a check has to say, and that recovery leaves nothing of it. */
static void expect_error(struct fixture *fixture, int finding)
{
	struct sonde_recover_options options = { .format = "cff", .replace = true };
	struct sonde_diagnostics *diagnostics = sonde_diagnostics_new();
	struct sonde_recover_result result;
	const char *path = write_fixture(fixture, "e.wtf-trace");
	const char *output = scratch_path("r.wtf-trace");

	fixture_release(fixture);
	assert_true(check_errors(path, finding) > 0);
	unlink(output);
	options.replace = false;
	if (sonde_recover(path, output, &options, diagnostics, &result, &err) < 0)
		fail_msg("%s", err.message);
	assert_no_errors(output);
	sonde_diagnostics_free(diagnostics);
}

static void begin_faulty(struct fixture *fixture)
{
	fixture_begin(fixture, NULL);
	fixture_builtins(fixture);
	fixture_define(fixture, 20, 0, "i", "");
	fixture_event(fixture, 20, 1, 0);
}

static void test_check(void **state)
{
	struct fixture fixture;

	(void)state;
	begin_faulty(&fixture); /* a value that is not JSON */
	fixture_event(&fixture, FIXTURE_MARK, 2, 2, FIXTURE_NULL, fixture_text(&fixture, "{x"));
	fixture_end_chunk(&fixture);
	expect_error(&fixture, CFF_FINDING_ANY_JSON);
	begin_faulty(&fixture);
	fixture_event(&fixture, FIXTURE_MARK, 2, 2, FIXTURE_NULL, FIXTURE_EMPTY);
	fixture_end_chunk(&fixture);
	expect_error(&fixture, CFF_FINDING_ANY_JSON);
	begin_faulty(&fixture); /* definitions */
	fixture_define(&fixture, 21, 0, "i", "uint32 x");
	fixture_event(&fixture, 21, 2, 0);
	fixture_end_chunk(&fixture);
	expect_error(&fixture, CFF_FINDING_DEFINE_OTHERS);
	begin_faulty(&fixture);
	fixture_define(&fixture, 21, 0, "k", "uint32 x");
	fixture_define(&fixture, 22, 1, "k", "");
	fixture_event(&fixture, 22, 2, 1, 5u);
	fixture_end_chunk(&fixture);
	expect_error(&fixture, CFF_FINDING_DEFINE_OTHERS);
	begin_faulty(&fixture);
	fixture_define(&fixture, 21, 0, "j", "float64 x");
	fixture_event(&fixture, 20, 2, 0);
	fixture_end_chunk(&fixture);
	expect_error(&fixture, CFF_FINDING_DEFINE);
	begin_faulty(&fixture); /* zones */
	fixture_event(&fixture, FIXTURE_ZONE_SET, 0, 1, 9u);
	fixture_event(&fixture, 20, 2, 0);
	fixture_end_chunk(&fixture);
	expect_error(&fixture, CFF_FINDING_EVENT_ZONE);
	begin_faulty(&fixture); /* exact times */
	fixture_resource(&fixture, 0x40000, "sondeNS1\0", 9);
	fixture_end_chunk(&fixture);
	expect_error(&fixture, CFF_FINDING_TIMES_RESOURCE);
	begin_faulty(&fixture);
	fixture_resource(&fixture, 0x40000, "sondeNS1\0\0\0\0\0\0\0\0\xE8\3", 18);
	fixture_end_chunk(&fixture);
	expect_error(&fixture, CFF_FINDING_TIMES_RESOURCE);
}

static void test_check_chunks(void **state)
{
	struct fixture fixture;
	size_t offset;

	(void)state;
	begin_faulty(&fixture);
	fixture_resource(&fixture, 0x40002, "abcd", 4);
	fixture_end_chunk(&fixture);
	expect_error(&fixture, CFF_FINDING_PART_TYPE);
	begin_faulty(&fixture);
	fixture_end_chunk(&fixture);
	fixture_chunk(&fixture, 77, 0x30000, "", 0);
	expect_error(&fixture, CFF_FINDING_CHUNK_TYPE);
	begin_faulty(&fixture);
	fixture_end_chunk(&fixture);
	fixture_chunk(&fixture, 2, 0x30000, "", 0);
	expect_error(&fixture, CFF_FINDING_EVENTS_MISSING);
	begin_faulty(&fixture);
	fixture_end_chunk(&fixture);
	fixture_bytes(&fixture, "12345678", 8);
	expect_error(&fixture, CFF_FINDING_TRAILING);
	begin_faulty(&fixture);
	offset = fixture_end_chunk(&fixture);
	memset(fixture.file + offset + 12, 0, 8); /* start 1, end 0 */
	fixture.file[offset + 12] = 1;
	expect_error(&fixture, CFF_FINDING_CHUNK_TIMES);
	begin_faulty(&fixture);
	offset = fixture_end_chunk(&fixture);
	fixture.file[offset + 24 + 12 + 10] = 1; /* the events are too long */
	expect_error(&fixture, CFF_FINDING_PART_OUTSIDE);
	fixture_begin(&fixture, "{\"timebase\":0,\"a\":}");
	expect_error(&fixture, CFF_FINDING_HEADER_JSON);
	fixture_begin(&fixture, "{\"flags\":[]}");
	expect_error(&fixture, CFF_FINDING_HEADER_TIMEBASE);
}

static void test_refused(void **state)
{
	struct sonde_recording *recording;
	struct fixture fixture;

	(void)state;
	fixture_begin(&fixture, NULL);
	fixture.file[8] = 9;
	assert_true(check_errors(write_fixture(&fixture, "v.wtf-trace"), CFF_FINDING_VERSION) == 1);
	assert_int_equal(sonde_recording_open(scratch_path("v.wtf-trace"), NULL, &recording, &err),
			 SONDE_UNSUPPORTED);
	fixture_release(&fixture);
	put_file(scratch_path("t.txt"), "{\"chunks\": 3}");
	assert_int_equal(sonde_recording_open(scratch_path("t.txt"), NULL, &recording, &err),
			 SONDE_FORMAT);
}

/* The events of a recording as one run of bytes, to compare what recovery keeps. */
static uint64_t count_events(const char *path)
{
	struct sonde_recording *recording = NULL;
	uint64_t count;

	if (sonde_recording_open(path, "cff", &recording, &err) < 0)
		return 0;
	count = sonde_recording_event_count(recording);
	for (uint32_t i = 0;
	     i < sonde_definitions_track_count(sonde_recording_definitions(recording)); i++) {
		struct track_events events = read_track(recording, i);

		free(events.items);
	}
	sonde_recording_close(recording);
	return count;
}

/* Opens, reads, checks and recovers: nothing may crash, and what is recovered is good. */
static void try_damaged(const uint8_t *data, size_t size)
{
	struct sonde_recover_options options = { .format = "cff" };
	struct sonde_diagnostics *diagnostics = sonde_diagnostics_new();
	struct sonde_recover_result result = { 0 };
	const char *path = scratch_path("d.wtf-trace"), *output = scratch_path("o.wtf-trace");
	uint64_t count, errors;

	put_bytes(path, data, size);
	count = count_events(path);
	errors = check_errors(path, -1);
	unlink(output);
	if (sonde_recover(path, output, &options, diagnostics, &result, &err) == SONDE_OK) {
		assert_no_errors(output);
		assert_int_equal(count_events(output), result.events_kept);
		if (!errors)
			assert_int_equal(result.events_kept, count);
	} else {
		assert_true(errors > 0);
	}
	sonde_diagnostics_free(diagnostics);
}

static void build_small(struct fixture *fixture)
{
	fixture_begin(fixture, NULL);
	fixture_builtins(fixture);
	fixture_zone(fixture, 1, "z");
	fixture_define(fixture, 20, 1, "s", "uint8[] a, any x");
	fixture_event(fixture, 20, 1, 3, 2u, 0x0201u, fixture_text(fixture, "[1]"));
	fixture_end_chunk(fixture);
	fixture_event(fixture, FIXTURE_ZONE_SET, 0, 1, 1u);
	fixture_event(fixture, FIXTURE_ENTER, 2, 1, fixture_text(fixture, "n"));
	fixture_event(fixture, FIXTURE_LEAVE, 3, 0);
	fixture_resource(fixture, 0x40000, "sondeNS1\0\0\0\0\0\0\0\0\1\0\2\0\3\0", 22);
	fixture_resource(fixture, 0x40001, "r", 1);
	fixture_end_chunk(fixture);
	fixture_event(fixture, FIXTURE_LEAVE, 4, 0);
	fixture_end_chunk(fixture);
}

static void test_truncated(void **state)
{
	struct fixture fixture;

	(void)state;
	build_small(&fixture);
	for (size_t size = 0; size <= fixture.size; size++)
		try_damaged(fixture.file, size);
	fixture_release(&fixture);
}

static void test_flipped(void **state)
{
	static const uint8_t flips[] = { 0xFF, 0x01, 0x80 };
	struct fixture fixture;

	(void)state;
	build_small(&fixture);
	for (size_t i = 0; i < fixture.size; i++) {
		for (size_t k = 0; k < sizeof(flips); k++) {
			fixture.file[i] ^= flips[k];
			try_damaged(fixture.file, fixture.size);
			fixture.file[i] ^= flips[k];
		}
	}
	fixture_release(&fixture);
}

/* A whole file is copied byte by byte; behind a damaged header the next chunk is found. */
static void test_recover(void **state)
{
	struct sonde_recover_options options = { .format = "cff" };
	struct sonde_diagnostics *diagnostics = sonde_diagnostics_new();
	struct sonde_recover_result result;
	struct sonde_recording *recording;
	const char *path, *output = scratch_path("o.wtf-trace");
	struct fixture fixture;
	uint8_t *copy;
	size_t second;
	FILE *file;

	(void)state;
	build_small(&fixture);
	path = write_fixture(&fixture, "d.wtf-trace");
	unlink(output);
	assert_int_equal(sonde_recover(path, output, &options, diagnostics, &result, &err), 0);
	assert_int_equal(result.events_kept, 4);
	assert_int_equal(result.details_kept, 2);
	assert_int_equal(result.bytes_dropped, 0);
	copy = calloc(1, fixture.size + 1);
	file = fopen(output, "rb");
	assert_int_equal(fread(copy, 1, fixture.size + 1, file), fixture.size);
	fclose(file);
	assert_memory_equal(copy, fixture.file, fixture.size);
	free(copy);
	fixture_release(&fixture);
	/* three chunks, the head of the second destroyed */
	fixture_begin(&fixture, NULL);
	fixture_define(&fixture, 20, 0, "i", "");
	fixture_event(&fixture, 20, 1, 0);
	fixture_end_chunk(&fixture);
	fixture_event(&fixture, 20, 2, 0);
	second = fixture_end_chunk(&fixture);
	fixture_event(&fixture, 20, 3, 0);
	fixture_end_chunk(&fixture);
	memset(fixture.file + second, 0xEE, 24);
	path = write_fixture(&fixture, "d.wtf-trace");
	fixture_release(&fixture);
	unlink(output);
	assert_int_equal(sonde_recover(path, output, &options, diagnostics, &result, &err), 0);
	assert_int_equal(result.events_kept, 2);
	assert_true(result.bytes_dropped >= 24);
	recording = open_path(output);
	struct track_events events = read_track(recording, 0);

	assert_int_equal(events.items[1].event.time_ns, 3000);
	free(events.items);
	sonde_recording_close(recording);
	sonde_diagnostics_free(diagnostics);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_types),	       cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_wide_arguments), cmocka_unit_test(test_empty),
		cmocka_unit_test(test_zones),	       cmocka_unit_test(test_scopes),
		cmocka_unit_test(test_kinds),	       cmocka_unit_test(test_times),
		cmocka_unit_test(test_resources),      cmocka_unit_test(test_seek_small),
		cmocka_unit_test(test_seek_segments),  cmocka_unit_test(test_faults),
		cmocka_unit_test(test_check),	       cmocka_unit_test(test_check_chunks),
		cmocka_unit_test(test_refused),	       cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_flipped),	       cmocka_unit_test(test_recover),
	};

	return cmocka_run_group_tests(tests, make_scratch_in_memory, remove_scratch);
}
