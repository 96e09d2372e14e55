/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening a wtf-trace file by what the cache has of it: the recording is the same to the last
 * detail, and whatever is in the cache, the file is what counts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buffer.h"
#include "base/bytes.h"
#include "base/crc.h"
#include "cff_reading.h"
#include "formats/cff/cff_read.h"
#include "model/recording.h"
#include "scratch.h"

#define INPUT "in.wtf-trace"

static int begin(void **state)
{
	setenv("SONDE_CACHE", "cache", 1);
	setenv("SONDE_CACHE_MINIMUM", "0", 1);
	return enter_folder(state);
}

static void write_input(const uint8_t *data, size_t size)
{
	struct timespec past[2] = { { .tv_sec = 1000000000 }, { .tv_sec = 1000000000 } };

	put_bytes(INPUT, data, size);
	assert_int_equal(utimensat(AT_FDCWD, INPUT, past, 0), 0);
}

static void write_fixture_past(struct fixture *fixture)
{
	write_input(fixture->file, fixture->size);
	fixture_release(fixture);
}

/* The pass counts events of chunks, the cache does not. */
static bool is_from_cache(struct sonde_recording *recording)
{
	const struct cff_recording *data = recording->data;

	for (size_t i = 0; i < data->scan.buffers.count; i++)
		if (data->scan.buffers.items[i].events)
			return false;
	return true;
}

static void put_definitions(struct sonde_buffer *out, const struct sonde_definitions *all)
{
	for (uint32_t i = 0; i < sonde_definitions_function_count(all); i++)
		sonde_buffer_put_format(
			out, "function %s\n",
			sonde_definitions_string(all, sonde_definitions_function(all, i)->name));
	for (uint32_t i = 0; i < sonde_definitions_event_type_count(all); i++) {
		const struct sonde_event_type *type = sonde_definitions_event_type(all, i);

		sonde_buffer_put_format(out, "type %u %s(%s) %u %d\n", type->name,
					sonde_definitions_string(all, type->name),
					sonde_definitions_string(all, type->arguments), type->flags,
					type->is_scope);
	}
	for (uint32_t i = 0; i < sonde_definitions_track_count(all); i++) {
		const struct sonde_track *track = sonde_definitions_track(all, i);

		sonde_buffer_put_format(out, "track %u %s %llu %llu %llu %llu\n", track->name,
					sonde_definitions_string(all, track->name),
					(unsigned long long)track->event_count,
					(unsigned long long)track->detail_count,
					(unsigned long long)track->time_first_ns,
					(unsigned long long)track->time_last_ns);
	}
	for (uint32_t i = 0; i < sonde_definitions_attribute_count(all); i++) {
		const struct sonde_attribute *attribute = sonde_definitions_attribute(all, i);

		sonde_buffer_put_format(out, "attribute %d %u %s %s\n", attribute->owner,
					attribute->owner_id,
					sonde_definitions_string(all, attribute->name),
					sonde_definitions_string(all, attribute->value));
	}
}

static void put_findings(struct sonde_buffer *out, const struct sonde_diagnostics *findings)
{
	const struct sonde_finding *finding;

	for (size_t i = 0; (finding = sonde_diagnostics_at(findings, i)); i++)
		sonde_buffer_put_format(out, "finding %s %llu %s %s\n", finding->type->id,
					(unsigned long long)finding->offset, finding->expected,
					finding->found);
}

static void put_events(struct sonde_buffer *out, struct sonde_recording *recording, uint32_t track)
{
	struct sonde_cursor *cursor = open_cursor(recording, track);
	struct sonde_detail detail;
	struct sonde_batch batch;

	while (sonde_cursor_next(cursor, &batch, &err) == SONDE_OK) {
		for (size_t i = 0; i < batch.count; i++) {
			const struct sonde_event *event = &batch.events[i];

			sonde_buffer_put_format(out, "%llu %u %u %u %u %u\n",
						(unsigned long long)event->time_ns, event->kind,
						event->function, event->depth, event->extra,
						event->detail);
			if (sonde_batch_detail(&batch, event, &detail, &err) != SONDE_OK)
				continue;
			sonde_buffer_put_u64(out, detail.event_type);
			for (size_t k = 0; k < detail.size; k++)
				sonde_buffer_put_hex(out, detail.bytes[k], 2);
		}
	}
	sonde_cursor_free(cursor);
}

/* All that a recording has, as text. */
static void put_recording(struct sonde_buffer *out, struct sonde_recording *recording)
{
	uint32_t tracks = sonde_definitions_track_count(recording->definitions);

	sonde_buffer_clear(out);
	put_definitions(out, recording->definitions);
	put_findings(out, recording->diagnostics);
	sonde_buffer_put_format(out, "lanes %u blobs %u\n", recording->lanes,
				recording->blob_count);
	for (uint32_t i = 0; i < tracks; i++)
		put_events(out, recording, i);
	assert_false(out->failed);
}

/* Opens the input and says whether the cache was used. */
static bool open_input(struct sonde_buffer *out)
{
	struct sonde_recording *recording = open_path(INPUT);
	bool is_cached = is_from_cache(recording);

	put_recording(out, recording);
	sonde_recording_close(recording);
	return is_cached;
}

static void assert_same(const struct sonde_buffer *one, const struct sonde_buffer *two)
{
	assert_int_equal(one->size, two->size);
	assert_memory_equal(one->data, two->data, one->size);
}

/* Opened by the pass and by the cache it is the same. */
static void assert_cached_alike(void)
{
	struct sonde_buffer scanned = { 0 }, cached = { 0 };

	assert_false(open_input(&scanned));
	assert_true(open_input(&cached));
	assert_same(&scanned, &cached);
	sonde_buffer_release(&scanned);
	sonde_buffer_release(&cached);
}

static void test_long(void **state)
{
	struct sonde_recording *recording;
	struct fixture fixture;

	(void)state;
	build_long(&fixture, 150000, 70000);
	write_fixture_past(&fixture);
	assert_cached_alike();
	recording = open_path(INPUT);
	assert_true(is_from_cache(recording));
	for (uint32_t i = 0; i < 3; i++)
		compare_seeks(recording, i, 4001);
	sonde_recording_close(recording);
}

static void test_many_chunks(void **state)
{
	struct fixture fixture;

	(void)state;
	build_long(&fixture, 20000, 300);
	write_fixture_past(&fixture);
	assert_cached_alike();
}

/* Events before any zone, leaves of nothing, resources, parts and definitions that are odd. */
static void test_oddities(void **state)
{
	struct fixture fixture;

	(void)state;
	fixture_begin(&fixture, "{\"timebase\":5,\"flags\":[]}");
	fixture_builtins(&fixture);
	fixture_event(&fixture, FIXTURE_LEAVE, 1, 0);
	fixture_event(&fixture, FIXTURE_ENTER, 2, 1, fixture_text(&fixture, "before"));
	fixture_end_chunk(&fixture);
	fixture_zone(&fixture, 1, "first");
	fixture_define(&fixture, 20, 0, "bad", "what is this");
	fixture_define(&fixture, 21, 1, "before", "");
	fixture_define(&fixture, 21, 0, "before", "uint8 other");
	fixture_define(&fixture, 22, 0, "sonde.counter#c", "float32 value");
	fixture_event(&fixture, 22, 3, 1, 0x3F800000u);
	fixture_event(&fixture, 21, UINT32_MAX, 0);
	fixture_event(&fixture, 21, 7, 0); /* the time wraps */
	fixture_zone(&fixture, 2, "second");
	fixture_event(&fixture, FIXTURE_LEAVE, 8, 0);
	fixture_event(&fixture, FIXTURE_ENTER, 9, 1, FIXTURE_NULL);
	fixture_resource(&fixture, 0x40000, "bytes", 5);
	fixture_resource(&fixture, 0x40001, "text", 4);
	fixture_resource(&fixture, 0x50000, "unknown", 7);
	fixture_end_chunk(&fixture);
	fixture_chunk(&fixture, 7, 0x20002, "abcd", 4);
	fixture_event(&fixture, FIXTURE_LEAVE, 10, 0);
	fixture_resource(&fixture, 0x40000, "sondeNS1\0\0\0\0\0\0\0\0\1\0", 18);
	fixture_end_chunk(&fixture);
	write_fixture_past(&fixture);
	assert_cached_alike();
}

static void test_nothing(void **state)
{
	struct sonde_buffer out = { 0 };
	struct fixture fixture;

	(void)state;
	fixture_begin(&fixture, NULL);
	write_fixture_past(&fixture);
	open_input(&out);
	open_input(&out);
	assert_int_equal(strncmp(out.data, "attribute", 9), 0);
	sonde_buffer_release(&out);
}

/* A file that is damaged is read every time, so that it is said every time. */
static void test_damaged_file(void **state)
{
	struct sonde_buffer first = { 0 }, second = { 0 };
	struct fixture fixture;

	(void)state;
	build_long(&fixture, 500, 200);
	fixture_event(&fixture, 77, 1, 0);
	fixture_end_chunk(&fixture);
	write_fixture_past(&fixture);
	assert_false(open_input(&first));
	assert_false(open_input(&second));
	assert_same(&first, &second);
	assert_non_null(strstr(second.data, "cff-event-undefined"));
	sonde_buffer_release(&first);
	sonde_buffer_release(&second);
}

/* The file was changed: what the cache has of the old one is of no use. */
static void test_changed_file(void **state)
{
	struct sonde_buffer out = { 0 };
	struct fixture fixture;
	char *timebase;

	(void)state;
	build_long(&fixture, 500, 200);
	write_fixture_past(&fixture);
	assert_cached_alike();
	build_long(&fixture, 501, 200);
	write_input(fixture.file, fixture.size);
	assert_cached_alike();
	/* as large as before, and no newer */
	timebase = memmem(fixture.file, fixture.size, "\"timebase\":0", 12);
	assert_non_null(timebase);
	timebase[11] = '9';
	write_fixture_past(&fixture);
	assert_false(open_input(&out));
	assert_true(open_input(&out));
	sonde_buffer_release(&out);
}

static void read_entry(char path[512], uint8_t *bytes, size_t room, size_t *size)
{
	DIR *names = opendir("cache");
	struct dirent *name;
	FILE *file;

	assert_non_null(names);
	do {
		name = readdir(names);
		assert_non_null(name);
	} while (name->d_name[0] == '.');
	snprintf(path, 512, "cache/%s", name->d_name);
	closedir(names);
	file = fopen(path, "rb");
	assert_non_null(file);
	*size = fread(bytes, 1, room, file);
	assert_true(*size < room);
	fclose(file);
}

/* An entry that is wrong though its checksums are right, word by word: never a fault of ours. */
static void test_wrong_entry(void **state)
{
	static const uint32_t words[] = { 0, 1, 0x7FFFFFFF, 0xFFFFFFFF };
	static uint8_t entry[16384];
	struct sonde_buffer right = { 0 }, out = { 0 };
	struct fixture fixture;
	unsigned int scanned = 0;
	char path[512];
	size_t size;

	(void)state;
	build_long(&fixture, 300, 100);
	write_fixture_past(&fixture);
	assert_false(open_input(&right));
	read_entry(path, entry, sizeof(entry), &size);
	for (size_t at = 88; at + 4 <= size; at += 4) {
		uint32_t before = sonde_load_u32le(entry + at);

		for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
			sonde_store_u32le(entry + at, words[i]);
			sonde_store_u32le(entry + 80, sonde_crc32(0, entry + 88, size - 88));
			sonde_store_u32le(entry + 84, sonde_crc32(0, entry, 84));
			put_bytes(path, entry, size);
			if (open_input(&out))
				continue;
			/* it was found out, and the file was read instead */
			assert_same(&right, &out);
			scanned++;
		}
		sonde_store_u32le(entry + at, before);
	}
	assert_true(scanned > 100);
	sonde_buffer_release(&right);
	sonde_buffer_release(&out);
}

static void test_damaged_entry(void **state)
{
	static uint8_t entry[16384];
	struct sonde_buffer right = { 0 }, out = { 0 };
	struct fixture fixture;
	char path[512];
	size_t size;

	(void)state;
	build_long(&fixture, 300, 100);
	write_fixture_past(&fixture);
	assert_false(open_input(&right));
	read_entry(path, entry, sizeof(entry), &size);
	for (size_t at = 0; at < size; at += 13) {
		entry[at] ^= 1;
		put_bytes(path, entry, size);
		assert_false(open_input(&out));
		assert_same(&right, &out);
		/* and it was made anew */
		assert_true(open_input(&out));
		assert_same(&right, &out);
		entry[at] ^= 1;
	}
	sonde_buffer_release(&right);
	sonde_buffer_release(&out);
}

/* Check and recover read the file itself. */
static void test_check(void **state)
{
	struct fixture fixture;
	DIR *cache;

	(void)state;
	build_long(&fixture, 500, 200);
	write_fixture_past(&fixture);
	check_errors(INPUT, -1);
	cache = opendir("cache");
	assert_null(cache);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_long, begin, leave_folder),
		cmocka_unit_test_setup_teardown(test_many_chunks, begin, leave_folder),
		cmocka_unit_test_setup_teardown(test_oddities, begin, leave_folder),
		cmocka_unit_test_setup_teardown(test_nothing, begin, leave_folder),
		cmocka_unit_test_setup_teardown(test_damaged_file, begin, leave_folder),
		cmocka_unit_test_setup_teardown(test_changed_file, begin, leave_folder),
		cmocka_unit_test_setup_teardown(test_wrong_entry, begin, leave_folder),
		cmocka_unit_test_setup_teardown(test_damaged_entry, begin, leave_folder),
		cmocka_unit_test_setup_teardown(test_check, begin, leave_folder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
