/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The writer of a part against the readers: trees, attributes, exceptions, slots and postings come
 * back as they were written, also after archiving, and after what a killed writer leaves behind.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "scratch.h"
#include "zts_script.h"

static struct zts_writer *writer;
static struct zts_part *part;

static void create(enum sonde_codec codec, size_t chunk_size)
{
	struct zts_writer_options options = { .codec = codec, .chunk_size = chunk_size };
	struct sonde_error err;

	if (zts_writer_create("000000", &options, &writer, &err) != SONDE_OK)
		fail_msg("%s %s", err.message, err.cause);
}

static void put(uint64_t number, const struct script_options *options)
{
	struct sonde_error err;

	if (script_write(writer, number, options, &err) != SONDE_OK)
		fail_msg("%s", err.message);
}

static void close_writer(void)
{
	struct sonde_error err;

	if (zts_writer_close(writer, &err) != SONDE_OK)
		fail_msg("%s", err.message);
	writer = NULL;
}

static void open_part(void)
{
	struct sonde_error err;

	if (zts_part_open("000000", NULL, &part, &err) != SONDE_OK)
		fail_msg("%s", err.message);
	assert_false(part->is_rebuilt);
	assert_true(part->has_names);
}

static void close_part(void)
{
	zts_part_free(part);
	part = NULL;
}

/* Traces 0 .. count-1 are all there, in this order, and the metadata is that of the data. */
static void assert_traces(uint64_t count, const struct script_options *options)
{
	uint64_t next = 0;

	for (uint32_t slot = 0; slot < part->slots.list.count; slot++) {
		uint64_t number;
		const char *difference;

		if (!zts_part_is_trace(part, slot) ||
		    !script_number(part->slots.list.items[slot].uuid, &number))
			continue;
		assert_int_equal(number, next++);
		difference = script_compare(part, slot, options);
		if (difference)
			fail_msg("trace %llu: %s", (unsigned long long)number, difference);
	}
	assert_int_equal(next, count);
}

static void assert_metadata(void)
{
	const char *difference = script_compare_metadata(part);

	if (difference)
		fail_msg("%s", difference);
}

static void round_trip(enum sonde_codec codec, const struct script_options *options)
{
	create(codec, 0);
	for (uint64_t i = 0; i < 300; i++)
		put(i, options);
	close_writer();
	open_part();
	assert_traces(300, options);
	assert_metadata();
	close_part();
}

static void test_ns(void **state)
{
	const struct script_options options = { 0 };

	(void)state;
	round_trip(SONDE_CODEC_LZ4, &options);
}

static void test_ticks(void **state)
{
	const struct script_options options = { .use_ticks = true };

	(void)state;
	round_trip(SONDE_CODEC_DEFLATE, &options);
}

static void test_uncompressed(void **state)
{
	const struct script_options options = { .no_inner_traces = true };

	(void)state;
	round_trip(SONDE_CODEC_NONE, &options);
}

/* A trace in many chunks is one trace; those within it are found too. */
static void test_chunked(void **state)
{
	const struct script_options options = { .calls = 60, .large = true };
	uint32_t chunked = 0, inner = 0;

	(void)state;
	create(SONDE_CODEC_LZ4, 3000);
	for (uint64_t i = 0; i < 40; i++)
		put(i, &options);
	close_writer();
	open_part();
	assert_traces(40, &options);
	assert_metadata();
	for (uint32_t slot = 0; slot < part->slots.list.count; slot++) {
		uint8_t flags = part->slots.list.items[slot].flags & 0x70;

		chunked += flags == (ZTS_RECORD_CHUNKED | ZTS_RECORD_FIRST);
		inner += flags == (ZTS_RECORD_CHUNKED | ZTS_RECORD_FIRST | ZTS_RECORD_LAST);
	}
	assert_true(chunked > 5);
	assert_true(inner > 5);
	close_part();
}

/* A trace that is given up leaves nothing, also when chunks of it were written out. */
static void test_abandoned(void **state)
{
	const struct script_options options = { 0 }, large = { .calls = 3000, .large = true };
	struct zts_trace_head head = { .uuid = { 1, 2 } };
	struct zts_record_head record = { .method = 0, .start = 1600000000000000000u };
	struct zts_writer_size before;
	struct sonde_error err;

	(void)state;
	create(SONDE_CODEC_LZ4, 100000);
	put(0, &options);
	before = zts_writer_size(writer);
	/* never ended, then ended with a record open */
	zts_writer_begin_trace(writer, &head);
	zts_writer_begin_record(writer, &record);
	zts_writer_begin_trace(writer, &head);
	zts_writer_begin_record(writer, &record);
	assert_int_equal(zts_writer_end_trace(writer, &err), SONDE_ARGUMENT);
	/* large: the chunks are in the file before it is too short to be kept */
	zts_writer_set_min_duration(writer, UINT64_MAX);
	assert_int_equal(script_write(writer, 5, &large, &err), SONDE_OK);
	zts_writer_set_min_duration(writer, 0);
	assert_int_equal(zts_writer_size(writer).data_bytes, before.data_bytes);
	assert_int_equal(zts_writer_size(writer).short_traces, 1);
	assert_int_equal(zts_writer_size(writer).slots, before.slots);
	put(1, &options);
	close_writer();
	open_part();
	assert_traces(2, &options);
	assert_metadata();
	close_part();
}

/* What a caller does wrong is refused, and the next trace is fine. */
static void test_misuse(void **state)
{
	const struct script_options options = { 0 };
	const struct zts_trace_head head = { .uuid = { 1, 2 } };
	struct zts_record_head record = { .start = 1600000000000000000u };
	struct zts_value value = { .kind = ZTS_VALUE_NULL };
	struct sonde_error err;

	(void)state;
	create(SONDE_CODEC_LZ4, 0);
	zts_writer_begin_record(writer, &record);
	assert_int_equal(zts_writer_end_trace(writer, &err), SONDE_ARGUMENT);
	zts_writer_begin_trace(writer, &head);
	zts_writer_attribute(writer, 1, &value);
	assert_int_equal(zts_writer_end_trace(writer, &err), SONDE_ARGUMENT);
	zts_writer_begin_trace(writer, &head);
	zts_writer_end_record(writer, 1, 0, 0, 0);
	assert_int_equal(zts_writer_end_trace(writer, &err), SONDE_ARGUMENT);
	zts_writer_begin_trace(writer, &head);
	zts_writer_begin_record(writer, &record);
	zts_writer_end_record(writer, record.start, 0, 0, 0);
	zts_writer_begin_record(writer, &record);
	assert_int_equal(zts_writer_end_trace(writer, &err), SONDE_ARGUMENT);
	zts_writer_begin_trace(writer, &head);
	zts_writer_begin_record(writer, &record);
	record.has_ticks = true;
	zts_writer_begin_record(writer, &record);
	zts_writer_end_record(writer, record.start, 0, 0, 0);
	assert_int_equal(zts_writer_end_trace(writer, &err), SONDE_ARGUMENT);
	put(0, &options);
	close_writer();
	open_part();
	assert_traces(1, &options);
	close_part();
}

/* A record before its trace's first one, as clocks of two machines have it. */
static void test_time_before(void **state)
{
	const struct zts_trace_head head = { .uuid = { 1, 2 } };
	struct zts_record_head record = { .start = 1600000000000000000u };
	struct zts_loaded loaded = { 0 };
	uint64_t start_ns, duration_ns;
	struct sonde_error err;

	(void)state;
	create(SONDE_CODEC_LZ4, 0);
	record.method = zts_writer_method(writer, 0,
					  zts_writer_text(writer, ZTS_TEXT_METHOD_NAME, "m", 1), 0);
	zts_writer_begin_trace(writer, &head);
	zts_writer_begin_record(writer, &record);
	record.start -= 123456789;
	zts_writer_begin_record(writer, &record);
	zts_writer_end_record(writer, record.start + 5, 0, 0, 0);
	zts_writer_end_record(writer, 1600000000000000777u, 0, 0, 0);
	assert_int_equal(zts_writer_end_trace(writer, &err), SONDE_OK);
	close_writer();
	open_part();
	assert_int_equal(zts_part_load(part, 0, &loaded, &err), SONDE_OK);
	zts_loaded_times(part, &loaded, 1, &start_ns, &duration_ns);
	assert_int_equal(start_ns, record.start);
	assert_int_equal(duration_ns, 5);
	zts_loaded_times(part, &loaded, 0, &start_ns, &duration_ns);
	assert_int_equal(start_ns, 1600000000000000000u);
	assert_int_equal(duration_ns, 777);
	zts_loaded_release(&loaded);
	close_part();
}

/* Every text once, and found again by what it is. */
static void test_interning(void **state)
{
	uint32_t a, b, frames[3] = { 5, 6, 7 };

	(void)state;
	create(SONDE_CODEC_LZ4, 0);
	assert_int_equal(zts_writer_text(writer, ZTS_TEXT_STRING, "", 0), 0);
	a = zts_writer_text(writer, ZTS_TEXT_STRING, "same", 4);
	b = zts_writer_text(writer, ZTS_TEXT_CLASS, "same", 4);
	assert_int_equal(a, 1);
	assert_int_equal(b, 2);
	assert_int_equal(zts_writer_text(writer, ZTS_TEXT_STRING, "same", 4), a);
	assert_int_equal(zts_writer_text(writer, ZTS_TEXT_CLASS, "same", 4), b);
	assert_int_equal(zts_writer_method(writer, 1, 2, 0), 3);
	assert_int_equal(zts_writer_method(writer, 1, 0, 2), 4);
	assert_int_equal(zts_writer_method(writer, 1, 2, 0), 3);
	assert_int_equal(zts_writer_stack(writer, frames, 3), 5);
	assert_int_equal(zts_writer_stack(writer, frames, 2), 6);
	assert_int_equal(zts_writer_stack(writer, frames, 3), 5);
	assert_int_equal(zts_writer_frame(writer, 1, 2, 3, 4), 7);
	assert_int_equal(zts_writer_exception(writer, 1, 2, 3, 4), 8);
	assert_int_equal(zts_writer_frame(writer, 1, 2, 3, 4), 7);
	close_writer();
}

/* The bytes of a file in the part. */
static size_t size_of(const char *name)
{
	char path[80];
	struct stat found;

	snprintf(path, sizeof(path), "000000/%s", name);
	return stat(path, &found) ? 0 : (size_t)found.st_size;
}

static unsigned int count_files(const char *ending)
{
	struct sonde_folder folder;
	struct sonde_error err;
	unsigned int count = 0;

	assert_int_equal(sonde_folder_read(&folder, "000000", &err), SONDE_OK);
	for (size_t i = 0; i < folder.count; i++) {
		const char *dot = strrchr(folder.names[i], '.');

		count += dot && !strcmp(dot, ending);
		if (dot && !strcmp(dot, ".wal"))
			assert_true(size_of(folder.names[i]) <= ZTS_WAL_MAX_SIZE);
	}
	sonde_folder_release(&folder);
	return count;
}

/* As existing programs tell. */
static bool is_archived(const struct zts_part *opened)
{
	uint64_t flags;

	return zts_props_number(&opened->props, ZTS_PROPS_FLAGS, &flags) &&
	       flags & ZTS_PROPS_ARCHIVED;
}

/* More texts and postings than one WAL takes; packed, the part says the same. */
static void test_many_wals(void **state)
{
	const struct script_options options = { .calls = 40, .large = true };
	struct sonde_error err;

	(void)state;
	create(SONDE_CODEC_LZ4, 0);
	for (uint64_t i = 0; i < 120; i++)
		put(i, &options);
	close_writer();
	assert_true(count_files(".wal") > 3);
	open_part();
	assert_traces(120, &options);
	assert_metadata();
	close_part();
	assert_int_equal(zts_archive("000000", &err), SONDE_OK);
	assert_int_equal(count_files(".wal"), 0);
	assert_true(count_files(".fmi") >= 2);
	open_part();
	assert_true(is_archived(part));
	assert_traces(120, &options);
	assert_metadata();
	close_part();
	assert_int_equal(zts_archive("000000", &err), SONDE_END);
	assert_int_equal(zts_writer_open("000000", &writer, NULL, &err), SONDE_UNSUPPORTED);
	assert_null(writer);
}

/* A WAL that an interrupted archiving left beside its FMI goes with the next one. */
static void test_archive_again(void **state)
{
	const struct script_options options = { 0 };
	struct sonde_error err;

	(void)state;
	create(SONDE_CODEC_LZ4, 0);
	for (uint64_t i = 0; i < 30; i++)
		put(i, &options);
	close_writer();
	assert_int_equal(system("cp -r 000000 copy"), 0);
	assert_int_equal(zts_archive("000000", &err), SONDE_OK);
	assert_int_equal(system("cp copy/text-00000001.wal copy/store.props copy/qmeta.idx 000000"),
			 0);
	open_part();
	assert_traces(30, &options);
	close_part();
	assert_int_equal(zts_archive("000000", &err), SONDE_OK);
	assert_int_equal(count_files(".wal"), 0);
	open_part();
	assert_true(is_archived(part));
	assert_traces(30, &options);
	assert_metadata();
	close_part();
}

static void reopen(void)
{
	struct sonde_error err;

	if (zts_writer_open("000000", &writer, NULL, &err) != SONDE_OK)
		fail_msg("%s %s", err.message, err.cause);
}

/*
 * Going on gives the same ids to the same texts, and the same part as if it had never been closed.
 */
static void test_going_on(void **state)
{
	const struct script_options options = { 0 };
	uint32_t texts;

	(void)state;
	create(SONDE_CODEC_DEFLATE, 0);
	for (uint64_t i = 0; i < 50; i++)
		put(i, &options);
	texts = zts_writer_size(writer).texts;
	close_writer();
	reopen();
	assert_int_equal(zts_writer_size(writer).texts, texts);
	/* all its texts are known */
	put(49, &options);
	zts_writer_abandon_trace(writer);
	assert_int_equal(zts_writer_size(writer).texts, texts);
	zts_writer_free(writer);
	reopen();
	for (uint64_t i = 50; i < 100; i++)
		put(i, &options);
	close_writer();
	open_part();
	assert_traces(100, &options);
	assert_metadata();
	close_part();
}

/* The same with many WALs, whose names do not sort as their ids do. */
static void test_going_on_with_many(void **state)
{
	const struct script_options options = { .calls = 40, .large = true };
	uint32_t texts;

	(void)state;
	create(SONDE_CODEC_LZ4, 0);
	put(0, &options);
	for (uint64_t i = 0; i < 8; i++) {
		/* ids such as 0000b000 and 00001900 */
		for (int j = 0; j < 12000; j++) {
			char text[64];

			snprintf(text, sizeof(text), "%040d.%d", j, (int)i);
			zts_writer_text(writer, ZTS_TEXT_STRING, text, strlen(text));
		}
		for (uint64_t j = 1; j <= 15; j++)
			put(i * 15 + j, &options);
		texts = zts_writer_size(writer).texts;
		close_writer();
		reopen();
		assert_int_equal(zts_writer_size(writer).texts, texts);
	}
	close_writer();
	assert_true(count_files(".wal") > 4);
	open_part();
	assert_traces(121, &options);
	assert_metadata();
	close_part();
}

static void append(const char *name, const char *bytes, size_t size)
{
	char path[80];
	int fd;

	snprintf(path, sizeof(path), "000000/%s", name);
	fd = open(path, O_WRONLY | O_APPEND);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), size);
	close(fd);
}

/* Everything that can lie behind the last published trace goes; what was synced stays. */
static void test_unfinished(void **state)
{
	const struct script_options options = { 0 };
	struct sonde_error err;

	(void)state;
	create(SONDE_CODEC_LZ4, 0);
	for (uint64_t i = 0; i < 20; i++)
		put(i, &options);
	assert_int_equal(zts_writer_sync(writer, &err), SONDE_OK);
	/* whole texts, chunks and postings, but no slot: as if killed before the sync */
	assert_int_equal(system("cp 000000/qmeta.idx saved"), 0);
	for (uint64_t i = 1000; i < 1020; i++)
		put(i, &options);
	close_writer();
	assert_int_equal(system("cp saved 000000/qmeta.idx"), 0);
	append("traces.dat", "ZCH0\0\0\1", 7);
	append("text-00000001.wal", "2\1cut", 5);
	append("meta-00000001.wal", "0", 1);
	append("qmeta.idx", "half a slot", 11);
	reopen();
	for (uint64_t i = 20; i < 40; i++)
		put(i, &options);
	close_writer();
	open_part();
	assert_traces(40, &options);
	assert_metadata();
	close_part();
}

/* Damage is not written over: such a part is left as it is. */
static void test_damaged(void **state)
{
	const struct script_options options = { 0 };
	struct sonde_error err;

	(void)state;
	create(SONDE_CODEC_LZ4, 0);
	for (uint64_t i = 0; i < 5; i++)
		put(i, &options);
	close_writer();
	assert_int_equal(system("cp -r 000000 good"), 0);
	assert_int_equal(truncate("000000/traces.dat", 100), 0);
	assert_int_equal(zts_writer_open("000000", &writer, NULL, &err), SONDE_UNSUPPORTED);
	assert_int_equal(
		system("rm -r 000000; cp -r good 000000; "
		       "printf x | dd of=000000/text-00000001.wal bs=1 seek=14 conv=notrunc 2>/dev/null"),
		0);
	assert_int_equal(zts_writer_open("000000", &writer, NULL, &err), SONDE_UNSUPPORTED);
	assert_int_equal(zts_archive("000000", &err), SONDE_CORRUPT);
	assert_int_equal(system("rm -r 000000; cp -r good 000000"), 0);
	assert_int_equal(truncate("000000/meta-00000001.wal", 60), 0);
	assert_int_equal(zts_writer_open("000000", &writer, NULL, &err), SONDE_UNSUPPORTED);
	assert_int_equal(system("rm -r 000000; cp -r good 000000; rm 000000/store.props"), 0);
	assert_int_equal(zts_writer_open("000000", &writer, NULL, &err), SONDE_UNSUPPORTED);
}

/* A name that comes after 65535 other texts asks for a new part; there it fits. */
static void test_high_names(void **state)
{
	const struct script_options options = { 0 };
	struct zts_writer_names *names;
	struct zts_writer_size before;
	struct sonde_error err;
	char text[16];

	(void)state;
	create(SONDE_CODEC_LZ4, 0);
	for (int i = 0; i < 70000; i++) {
		snprintf(text, sizeof(text), "%d", i);
		zts_writer_text(writer, ZTS_TEXT_STRING, text, strlen(text));
	}
	before = zts_writer_size(writer);
	assert_int_equal(script_write(writer, 0, &options, &err), SONDE_LIMIT);
	assert_true(zts_writer_size(writer).is_full);
	assert_int_equal(zts_writer_size(writer).data_bytes, before.data_bytes);
	assert_int_equal(zts_writer_failed(writer, &err), SONDE_OK);
	close_writer();
	remove_tree("000000");

	/* names of the part before are there from the start */
	create(SONDE_CODEC_LZ4, 0);
	put(0, &options);
	names = zts_writer_take_names(writer);
	assert_non_null(names);
	close_writer();
	remove_tree("000000");
	create(SONDE_CODEC_LZ4, 0);
	zts_writer_put_names(writer, names);
	zts_writer_names_free(names);
	for (int i = 0; i < 70000; i++) {
		snprintf(text, sizeof(text), "%d", i);
		zts_writer_text(writer, ZTS_TEXT_STRING, text, strlen(text));
	}
	put(0, &options);
	close_writer();
	open_part();
	assert_traces(1, &options);
	close_part();
}

/* A reader sees what was synced, and nothing that was not. */
static void test_sync(void **state)
{
	const struct script_options options = { 0 };
	struct sonde_error err;

	(void)state;
	create(SONDE_CODEC_LZ4, 0);
	for (uint64_t i = 0; i < 10; i++)
		put(i, &options);
	open_part();
	assert_traces(0, &options);
	close_part();
	assert_int_equal(zts_writer_sync(writer, &err), SONDE_OK);
	put(10, &options);
	open_part();
	assert_traces(10, &options);
	close_part();
	assert_int_equal(zts_writer_sync(writer, &err), SONDE_OK);
	open_part();
	assert_traces(11, &options);
	close_part();
	close_writer();
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, enter_folder, leave_folder)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_ns),		 TEST(test_ticks),
		TEST(test_uncompressed), TEST(test_chunked),
		TEST(test_abandoned),	 TEST(test_misuse),
		TEST(test_time_before),	 TEST(test_interning),
		TEST(test_many_wals),	 TEST(test_archive_again),
		TEST(test_going_on),	 TEST(test_unfinished),
		TEST(test_damaged),	 TEST(test_high_names),
		TEST(test_sync),	 TEST(test_going_on_with_many),
	};

	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
