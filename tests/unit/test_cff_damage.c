/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Damaged wtf-trace files: what a check finds, that every truncation and every flipped byte is
 * survived, and that what is recovered is good. Files of our own, with an index, too.
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

#include "cff_reading.h"
#include "formats/cff/cff_index.h"
#include "formats/cff/cff_ours.h"
#include "scratch.h"

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

/*
 * Opens, reads, checks and recovers: nothing may crash, and what is recovered is good, and has all
 * that could be read. `is_cut`: nothing is wrong but the end, so there is no more to recover.
 */
static void try_damaged(const uint8_t *data, size_t size, bool is_cut)
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
		assert_true(result.events_kept >= count);
		if (!errors || is_cut)
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

/* Converts a file that is open to JSON, and says how many events that has. */
static uint64_t count_as_json(struct sonde_recording *recording, const char *style)
{
	const char *output = scratch_path("o.wtf-json");
	struct sonde_create_options create = { .format = "cff-json",
					       .style = style,
					       .replace = true };
	struct sonde_run_options options = { .threads = 1 };
	struct sonde_run_result result;
	struct sonde_sink *sink;
	uint64_t count;

	assert_int_equal(sonde_sink_create(output, &create, &sink, &err), SONDE_OK);
	assert_int_equal(sonde_pipeline_run(&recording, 1, sink, &options, &result, &err),
			 SONDE_OK);
	sonde_sink_free(sink);
	assert_int_equal(sonde_recording_open(output, "cff-json", &recording, &err), SONDE_OK);
	count = sonde_recording_event_count(recording);
	sonde_recording_close(recording);
	return count;
}

/* JSON has every event that can be read, also of a buffer that is not all there. */
static void test_truncated_as_json(void **state)
{
	struct fixture fixture;
	uint64_t most = 0;

	(void)state;
	build_small(&fixture);
	for (size_t size = 0; size <= fixture.size; size++) {
		const char *path = scratch_path("d.wtf-trace");
		struct sonde_recording *recording;
		uint64_t count;

		put_bytes(path, fixture.file, size);
		if (sonde_recording_open(path, "cff", &recording, &err) < 0)
			continue;
		count = sonde_recording_event_count(recording);
		assert_int_equal(count_as_json(recording, NULL), count);
		assert_int_equal(count_as_json(recording, "events"), count);
		sonde_recording_close(recording);
		most = count > most ? count : most;
	}
	assert_true(most > 0);
	fixture_release(&fixture);
}

static void test_truncated(void **state)
{
	struct fixture fixture;

	(void)state;
	build_small(&fixture);
	for (size_t size = 0; size <= fixture.size; size++)
		try_damaged(fixture.file, size, true);
	fixture_release(&fixture);
}

/* The place of a chunk; the header is number 0. */
static size_t chunk_place(const struct fixture *fixture, unsigned int number)
{
	size_t place = 12;

	for (; number; number--) {
		uint32_t length;

		memcpy(&length, fixture->file + place + 8, 4);
		place += length;
	}
	return place;
}

/* One chunk is damaged and the file is cut: neither the chunks between nor the last are lost. */
static void test_truncated_and_damaged(void **state)
{
	struct fixture fixture;
	size_t chunk;

	(void)state;
	build_small(&fixture);
	fixture.file[chunk_place(&fixture, 0) + 24 + 8 + 2] = 5; /* length of its part */
	for (size_t size = 0; size <= fixture.size; size++)
		try_damaged(fixture.file, size, false);
	fixture_release(&fixture);
	build_small(&fixture);
	fixture_event(&fixture, FIXTURE_LEAVE, 5, 0);
	fixture_event(&fixture, FIXTURE_LEAVE, 6, 0);
	fixture_resource(&fixture, 0x40001, "resource", 8);
	fixture_end_chunk(&fixture);
	chunk = chunk_place(&fixture, 3);
	fixture.file[chunk + 20 + 3] = 1; /* number of its parts */
	for (size_t size = chunk; size <= fixture.size; size++)
		try_damaged(fixture.file, size, false);
	fixture.file[chunk + 20 + 3] = 0; /* so many that the list goes into the next chunk */
	fixture.file[chunk + 20] = 7;
	for (size_t size = chunk; size <= fixture.size; size++)
		try_damaged(fixture.file, size, false);
	fixture_release(&fixture);
}

/* Of several event buffers only the last is read; the others must not spoil what is recovered. */
static void test_recover_other_events(void **state)
{
	struct fixture fixture;

	(void)state;
	fixture_begin(&fixture, NULL);
	fixture_builtins(&fixture);
	fixture_resource(&fixture, 0x20002, "12345", 5);
	fixture_resource(&fixture, 0x20002, "", 0);
	fixture_end_chunk(&fixture);
	try_damaged(fixture.file, fixture.size, false);
	fixture_release(&fixture);
}

/* The header is lost, and a chunk of definitions says that it is one: it is kept all the same. */
static void test_recover_lost_header(void **state)
{
	struct fixture fixture;

	(void)state;
	build_small(&fixture);
	fixture.file[chunk_place(&fixture, 0) + 24 + 12] = '?'; /* of the JSON */
	fixture.file[chunk_place(&fixture, 1) + 4] = 1;
	put_bytes(scratch_path("d.wtf-trace"), fixture.file, fixture.size);
	assert_int_equal(count_events(scratch_path("d.wtf-trace")), 4);
	try_damaged(fixture.file, fixture.size, true);
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
			try_damaged(fixture.file, fixture.size, false);
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

/* A file of our own writer, in memory. */
static uint8_t *build_ours(size_t *size)
{
	struct sonde_create_options create = { .format = "cff", .replace = true };
	struct sonde_run_options run = { .selection = { .kinds = UINT32_MAX } };
	struct sonde_run_result result;
	struct sonde_recording *source;
	struct fixture fixture;
	struct sonde_sink *sink;
	uint8_t *data = malloc(1 << 20);
	FILE *file;

	build_long(&fixture, 40, 10);
	source = open_fixture(&fixture);
	assert_int_equal(sonde_sink_create(scratch_path("u.wtf-trace"), &create, &sink, &err), 0);
	assert_int_equal(sonde_pipeline_run(&source, 1, sink, &run, &result, &err), 0);
	sonde_sink_free(sink);
	sonde_recording_close(source);
	file = fopen(scratch_path("u.wtf-trace"), "rb");
	*size = fread(data, 1, 1 << 20, file);
	fclose(file);
	return data;
}

/* An index may be wrong: reading then fails or gives other events, and never more than that. */
static void read_whatever(const char *path)
{
	struct sonde_recording *recording = NULL;
	struct sonde_batch batch;
	struct sonde_detail detail;

	if (sonde_recording_open(path, "cff", &recording, &err) < 0)
		return;
	for (uint32_t i = 0;
	     i < sonde_definitions_track_count(sonde_recording_definitions(recording)); i++) {
		struct sonde_cursor *cursor = open_cursor(recording, i);

		while (sonde_cursor_next(cursor, &batch, &err) == SONDE_OK)
			for (size_t k = 0; k < batch.count; k++)
				sonde_batch_detail(&batch, &batch.events[k], &detail, &err);
		sonde_cursor_seek_time(cursor, 20000);
		sonde_cursor_next(cursor, &batch, &err);
		sonde_cursor_detail(cursor, 1, &detail, &err);
		sonde_cursor_free(cursor);
	}
	sonde_recording_close(recording);
}

static void try_ours(const uint8_t *data, size_t size)
{
	struct sonde_recover_options options = { .format = "cff" };
	struct sonde_diagnostics *diagnostics = sonde_diagnostics_new();
	struct sonde_recover_result result;
	const char *path = scratch_path("d.wtf-trace"), *output = scratch_path("o.wtf-trace");

	put_bytes(path, data, size);
	read_whatever(path);
	check_errors(path, -1);
	unlink(output);
	if (sonde_recover(path, output, &options, diagnostics, &result, &err) == SONDE_OK) {
		assert_no_errors(output);
		assert_true(count_events(output) == result.events_kept);
	}
	sonde_diagnostics_free(diagnostics);
}

static void test_ours_damaged(void **state)
{
	size_t size;
	uint8_t *data = build_ours(&size);

	(void)state;
	for (size_t i = 0; i < size; i++) {
		data[i] ^= 0x01;
		try_ours(data, size);
		data[i] ^= 0x01 ^ 0xFF;
		try_ours(data, size);
		data[i] ^= 0xFF;
	}
	for (size_t i = 0; i < size; i += 7)
		try_ours(data, i);
	free(data);
}

/* An index that is sane in itself, and not true: found by a check, and gone after recovery. */
static void test_index_lies(void **state)
{
	size_t size;
	uint8_t *data = build_ours(&size), *index = memmem(data, size, CFF_OURS_INDEX, 8);
	uint32_t definitions, tracks;
	uint8_t *chunk;

	(void)state;
	assert_non_null(index);
	memcpy(&definitions, index + CFF_INDEX_DEFINITIONS, 4);
	memcpy(&tracks, index + CFF_INDEX_TRACKS, 4);
	chunk = index + CFF_INDEX_SIZE + 8 * (size_t)definitions +
		CFF_INDEX_TRACK_SIZE * (size_t)tracks;
	put_bytes(scratch_path("l.wtf-trace"), data, size);
	assert_no_errors(scratch_path("l.wtf-trace"));
	chunk[CFF_INDEX_CHUNK_FIRST]++;
	put_bytes(scratch_path("l.wtf-trace"), data, size);
	assert_true(check_errors(scratch_path("l.wtf-trace"), CFF_FINDING_INDEX_WRONG) == 1);
	chunk[CFF_INDEX_CHUNK_FIRST]--;
	/* one event more than there are, in the only chunk of the first track */
	index[CFF_INDEX_SIZE + 8 * (size_t)definitions]++;
	chunk[CFF_INDEX_CHUNK_EVENTS]++;
	put_bytes(scratch_path("l.wtf-trace"), data, size);
	assert_true(check_errors(scratch_path("l.wtf-trace"), CFF_FINDING_INDEX_WRONG) == 1);
	read_whatever(scratch_path("l.wtf-trace"));
	try_ours(data, size);
	free(data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_check),
		cmocka_unit_test(test_check_chunks),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_recover_lost_header),
		cmocka_unit_test(test_recover_other_events),
		cmocka_unit_test(test_truncated_and_damaged),
		cmocka_unit_test(test_truncated_as_json),
		cmocka_unit_test(test_flipped),
		cmocka_unit_test(test_recover),
		cmocka_unit_test(test_ours_damaged),
		cmocka_unit_test(test_index_lies),
	};

	return cmocka_run_group_tests(tests, make_scratch_in_memory, remove_scratch);
}
