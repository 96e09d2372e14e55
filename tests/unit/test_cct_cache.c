/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trees of contexts in the cache: the same as made anew, for a folder and a file, only as long as nothing
 * changed, and not where the entry is damaged, whatever the damage.
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
#include <sys/stat.h>
#include <unistd.h>

#include "analyse/cct_archive.h"
#include "memory_recording.h"
#include "scratch.h"

/* Times of files that are long past. */
static void set_time(const char *path, time_t seconds)
{
	struct timespec times[2] = { { .tv_sec = seconds }, { .tv_sec = seconds } };

	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void set_times_below(const char *path, time_t seconds)
{
	DIR *names = opendir(path);
	struct dirent *name;

	if (!names) {
		set_time(path, seconds);
		return;
	}
	while ((name = readdir(names))) {
		char below[1024];

		if (name->d_name[0] == '.')
			continue;
		snprintf(below, sizeof(below), "%s/%s", path, name->d_name);
		set_times_below(below, seconds);
	}
	closedir(names);
}

static unsigned int count_entries(char path[512])
{
	DIR *names = opendir("cache");
	struct dirent *name;
	unsigned int count = 0;

	while (names && (name = readdir(names))) {
		if (name->d_name[0] == '.')
			continue;
		count++;
		if (path)
			snprintf(path, 512, "cache/%s", name->d_name);
	}
	if (names)
		closedir(names);
	return count;
}

static int begin(void **state)
{
	setenv("SONDE_CACHE", "cache", 1);
	setenv("SONDE_CACHE_MINIMUM", "100", 1);
	return enter_folder(state);
}

/* Three processes' worth of random calls, in which some functions are met only when they are read. */
static struct sonde_recording *random_calls(void)
{
	struct sonde_recording *recording = memory_recording_new(64);
	uint64_t random = 5;

	for (uint32_t i = 0; i < 3; i++) {
		uint32_t process = memory_add_process(recording, "p");
		uint32_t first =
			sonde_definitions_function_count(sonde_recording_definitions(recording));

		for (uint32_t k = 0; k < 5; k++) {
			char name[16];

			snprintf(name, sizeof(name), "f%u", k);
			memory_add_function(recording, process, name);
		}
		for (uint32_t k = 0; k < 2; k++)
			memory_add_calls(recording, memory_add_track(recording, process, "t"), 400,
					 first, 5, k, &random);
	}
	return recording;
}

static void write_recording(struct sonde_recording *source, const char *path, const char *format)
{
	struct sonde_create_options options = { .format = format, .replace = true };
	struct sonde_sink *sink = NULL;
	struct sonde_error err = { 0 };

	if (sonde_sink_create(path, &options, &sink, &err) ||
	    sonde_pipeline_run(&source, 1, sink, NULL, NULL, &err))
		fail_msg("%s", err.message);
	sonde_sink_free(sink);
	set_times_below(path, 1000000000);
}

static struct cct *build(const char *path, const struct sonde_selection_spec *spec, bool no_cache)
{
	const struct cct_options options = { .selection = spec,
					     .spread = true,
					     .no_cache = no_cache };
	struct sonde_recording *recording = NULL;
	struct sonde_error err = { 0 };
	struct cct *cct = NULL;

	if (sonde_recording_open(path, NULL, &recording, &err) ||
	    cct_build(recording, &options, &cct, &err))
		fail_msg("%s", err.message);
	/* it does not need the recording any more */
	sonde_recording_close(recording);
	return cct;
}

/* Two trees are the same when their bytes are: these have everything. */
static void assert_same(const struct cct *one, const struct cct *two)
{
	struct sonde_buffer bytes[2] = { { 0 }, { 0 } };

	assert_true(cct_archive_write((const struct cct_body *)one, "", &bytes[0]));
	assert_true(cct_archive_write((const struct cct_body *)two, "", &bytes[1]));
	assert_int_equal(bytes[0].size, bytes[1].size);
	assert_memory_equal(bytes[0].data, bytes[1].data, bytes[0].size);
	assert_int_equal(one->first_ns, two->first_ns);
	assert_int_equal(one->last_ns, two->last_ns);
	assert_memory_equal(one->recursive, two->recursive, one->context_count);
	for (uint32_t i = 0; i < one->context_count; i++)
		assert_int_equal(one->contexts[i].end, two->contexts[i].end);
	for (uint32_t i = 0; i < sonde_definitions_function_count(one->definitions); i++) {
		if (one->calls)
			assert_memory_equal(&one->function_calls[i], &two->function_calls[i],
					    sizeof(*one->function_calls));
		assert_int_equal(cct_duration_quantile(one, i, 0.5),
				 cct_duration_quantile(two, i, 0.5));
	}
	sonde_buffer_release(&bytes[0]);
	sonde_buffer_release(&bytes[1]);
}

static void same_from_the_cache(const char *path)
{
	struct cct *made = build(path, NULL, true);
	struct cct *kept, *found;

	assert_int_equal(count_entries(NULL), 0);
	kept = build(path, NULL, false);
	assert_false(kept->cached);
	assert_int_equal(count_entries(NULL), 1);
	found = build(path, NULL, false);
	assert_true(found->cached);
	assert_same(made, kept);
	assert_same(made, found);
	cct_free(made);
	cct_free(kept);
	cct_free(found);
}

static void a_folder_comes_back(void **state)
{
	struct sonde_recording *source = random_calls();

	(void)state;
	write_recording(source, "calls.atf", "atf");
	same_from_the_cache("calls.atf");
	sonde_recording_close(source);
}

/* Events as they lie in a file make the same tree as events of the model, also damaged ones. */
static void raw_events_make_the_same(void **state)
{
	struct cct_options options = { .spread = true, .no_cache = true };
	struct sonde_recording *source = random_calls();
	uint32_t type = memory_add_event_type(source, "tick", "");
	struct cct *events = NULL, *raw;

	(void)state;
	for (uint64_t i = 0; i < 60; i++) {
		static const uint32_t depths[] = { 1, 2, 3, 2, 5, 1 };
		uint64_t time_ns = UINT64_C(1) << 40 | (i * 10 - (i % 7 == 3 ? 25 : 0));
		uint32_t depth = depths[i % 6];

		memory_add_event(source, 0,
				 memory_event(i % 11 == 10 ? SONDE_EVENT_INSTANT :
					      i % 5 == 4   ? SONDE_EVENT_EXCEPTION :
					      i % 4 == 3   ? SONDE_EVENT_RETURN :
							     SONDE_EVENT_CALL,
					      time_ns, i % 11 == 10 ? type : (uint32_t)(i % 3),
					      depth));
	}
	write_recording(source, "calls.atf", "atf");
	assert_int_equal(cct_build(source, &options, &events, NULL), SONDE_OK);
	raw = build("calls.atf", NULL, true);
	assert_int_equal(events->context_count, raw->context_count);
	assert_memory_equal(events->calls, raw->calls, raw->context_count * sizeof(*raw->calls));
	for (uint32_t i = 0; i < 6; i++) {
		assert_int_equal(events->tracks[i].event_count, raw->tracks[i].event_count);
		assert_int_equal(events->tracks[i].busy_ns, raw->tracks[i].busy_ns);
		assert_int_equal(events->tracks[i].last_ns, raw->tracks[i].last_ns);
	}
	assert_true(raw->function_calls[0].exceptions > 0);
	assert_true(raw->function_calls[0].unfinished > 0);
	cct_free(events);
	cct_free(raw);
	sonde_recording_close(source);
}

static void a_file_comes_back(void **state)
{
	struct sonde_recording *source = random_calls();

	(void)state;
	write_recording(source, "calls.wtf-trace", "cff");
	same_from_the_cache("calls.wtf-trace");
	sonde_recording_close(source);
}

static void a_database_comes_back(void **state)
{
	char path[512];

	(void)state;
	snprintf(path, sizeof(path), "%s/hpcdb/small", getenv("GOLDEN"));
	if (access(path, F_OK))
		fail_msg("%s is not there", path);
	same_from_the_cache(path);
}

static void selections_are_apart(void **state)
{
	static const uint32_t tracks[] = { 1 };
	struct sonde_selection_spec spec = { .tracks = tracks, .track_count = 1 };
	struct sonde_recording *source = random_calls();
	struct cct *all, *some, *again;

	(void)state;
	write_recording(source, "calls.atf", "atf");
	all = build("calls.atf", NULL, false);
	some = build("calls.atf", &spec, false);
	assert_false(some->cached);
	assert_int_equal(count_entries(NULL), 2);
	again = build("calls.atf", &spec, false);
	assert_true(again->cached);
	assert_same(some, again);
	assert_true(again->calls && again->metrics[1].total[0] < all->metrics[1].total[0]);
	cct_free(all);
	cct_free(some);
	cct_free(again);
	sonde_recording_close(source);
}

static bool is_cached(const char *path)
{
	struct cct *cct = build(path, NULL, false);
	bool cached = cct->cached;

	cct_free(cct);
	return cached;
}

static void changes_are_noticed(void **state)
{
	struct sonde_recording *source = random_calls();

	(void)state;
	write_recording(source, "calls.atf", "atf");
	assert_false(is_cached("calls.atf"));
	assert_true(is_cached("calls.atf"));
	/* one file is older, and nothing else is different */
	put_file("calls.atf/beside", "x");
	set_time("calls.atf/beside", 900000000);
	assert_false(is_cached("calls.atf"));
	set_time("calls.atf/beside", 900000001);
	assert_false(is_cached("calls.atf"));
	assert_true(is_cached("calls.atf"));
	/* all are newer, a file is new, one less */
	set_times_below("calls.atf", 1000000007);
	assert_false(is_cached("calls.atf"));
	assert_true(is_cached("calls.atf"));
	put_file("calls.atf/more", "x");
	set_time("calls.atf/more", 1000000000);
	assert_false(is_cached("calls.atf"));
	assert_true(is_cached("calls.atf"));
	assert_int_equal(unlink("calls.atf/more"), 0);
	assert_false(is_cached("calls.atf"));
	/* what was just changed is not kept */
	put_file("calls.atf/more", "x");
	assert_false(is_cached("calls.atf"));
	assert_false(is_cached("calls.atf"));
	sonde_recording_close(source);
}

static void small_ones_and_none(void **state)
{
	struct sonde_recording *source = random_calls();
	struct cct *cct;

	(void)state;
	write_recording(source, "calls.atf", "atf");
	cct_free(build("calls.atf", NULL, true));
	assert_int_equal(count_entries(NULL), 0);
	setenv("SONDE_CACHE_MINIMUM", "100000000", 1);
	assert_false(is_cached("calls.atf"));
	assert_int_equal(count_entries(NULL), 0);
	setenv("SONDE_CACHE_MINIMUM", "100", 1);
	setenv("SONDE_CACHE", "off", 1);
	assert_false(is_cached("calls.atf"));
	assert_false(is_cached("calls.atf"));
	setenv("SONDE_CACHE", "cache", 1);
	assert_false(is_cached("calls.atf"));
	/* an entry that is not looked at */
	cct = build("calls.atf", NULL, true);
	assert_false(cct->cached);
	cct_free(cct);
	sonde_recording_close(source);
}

static void a_damaged_entry_is_none(void **state)
{
	struct sonde_recording *source = random_calls();
	char path[512];
	int fd;

	(void)state;
	write_recording(source, "calls.atf", "atf");
	assert_false(is_cached("calls.atf"));
	assert_int_equal(count_entries(path), 1);
	fd = open(path, O_RDWR);
	assert_int_equal(pwrite(fd, "?", 1, 400), 1);
	close(fd);
	assert_false(is_cached("calls.atf"));
	assert_true(is_cached("calls.atf"));
	sonde_recording_close(source);
}

/* Bytes with any damage are refused, or are some other tree that is sound. */
static void look_at(struct cct_body *body)
{
	const struct cct *cct = &body->cct;
	double sum = 0;

	for (uint32_t i = 0; i < cct->context_count; i++) {
		char space[64];

		assert_true(i ? cct->contexts[i].parent < i :
				cct->contexts[i].parent == SONDE_NONE);
		assert_true(cct->contexts[i].end > i && cct->contexts[i].end <= cct->context_count);
		sonde_context_label(cct->definitions, &cct->contexts[i], space, sizeof(space));
		for (uint32_t k = 0; k < cct->metric_count; k++)
			sum += cct->metrics[k].total[i];
	}
	for (uint32_t i = 0; i < sonde_definitions_function_count(cct->definitions); i++)
		cct_duration_quantile(cct, i, 0.9);
	(void)sum;
	cct_free(&body->cct);
}

static void hostile_bytes_are_survived(void **state)
{
	struct sonde_recording *source = random_calls();
	struct cct_options options = { .no_cache = true };
	struct sonde_buffer bytes = { 0 };
	struct cct *cct = NULL;
	unsigned int refused = 0;

	(void)state;
	assert_int_equal(cct_build(source, &options, &cct, NULL), SONDE_OK);
	assert_true(cct_archive_write((struct cct_body *)cct, "subject", &bytes));
	assert_null(cct_archive_read(bytes.data, bytes.size, "another"));
	for (size_t size = 0; size < bytes.size; size += 1 + size / 20)
		assert_null(cct_archive_read(bytes.data, size, "subject"));
	for (size_t i = 11; i < bytes.size; i += 1 + i / 150) {
		static const uint8_t values[] = { 0, 1, 0x7f, 0xff };

		for (size_t k = 0; k < sizeof(values); k++) {
			char before = bytes.data[i];
			struct cct_body *body;

			bytes.data[i] = (char)values[k];
			body = cct_archive_read(bytes.data, bytes.size, "subject");
			if (body)
				look_at(body);
			else
				refused++;
			bytes.data[i] = before;
		}
	}
	assert_true(refused > 100);
	sonde_buffer_release(&bytes);
	cct_free(cct);
	sonde_recording_close(source);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, leave_folder)
	const struct CMUnitTest tests[] = {
		TEST(raw_events_make_the_same),	  TEST(a_folder_comes_back),
		TEST(a_file_comes_back),	  TEST(a_database_comes_back),
		TEST(selections_are_apart),	  TEST(changes_are_noticed),
		TEST(small_ones_and_none),	  TEST(a_damaged_entry_is_none),
		TEST(hostile_bytes_are_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
