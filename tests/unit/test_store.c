/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine of a store: one writer at a time, group commit, new parts, retention, archiving, a full
 * disk. That nothing acknowledged is lost by SIGKILL is in test_store_kill.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "scratch.h"
#include "store/store.h"
#include "store_fixture.h"

static struct sonde_store *store;

static void init(const struct sonde_store_settings *settings)
{
	struct sonde_error err;

	if (sonde_store_init("base", settings, &err) != SONDE_OK)
		fail_msg("%s", err.message);
}

static void open_store(void)
{
	struct sonde_error err;

	if (sonde_store_open("base", &store, NULL, &err) != SONDE_OK)
		fail_msg("%s %s", err.message, err.cause);
}

static void close_store(void)
{
	struct sonde_error err;

	if (sonde_store_close(store, &err) != SONDE_OK)
		fail_msg("%s", err.message);
	store = NULL;
}

static void put(uint64_t first, uint64_t count, const struct script_options *options)
{
	struct sonde_error err;

	for (uint64_t i = first; i < first + count; i++)
		if (store_put(store, i, options, &err) != SONDE_OK)
			fail_msg("%s %s", err.message, err.cause);
}

static struct sonde_store_settings small_settings(void)
{
	struct sonde_store_settings settings;

	sonde_store_settings_init(&settings);
	settings.part_size = (uint64_t)1 << 20;
	settings.archive = false;
	return settings;
}

static const struct script_options plain;
static const struct script_options large = { .calls = 40, .large = true };

static void assert_stored(uint64_t count, const struct script_options *options)
{
	const char *difference = store_compare("base", count, options);

	if (difference)
		fail_msg("%s", difference);
}

static void test_settings(void **state)
{
	struct sonde_store_settings settings, read;
	struct sonde_error err;

	(void)state;
	sonde_store_settings_init(&settings);
	settings.codec = SONDE_CODEC_DEFLATE;
	settings.part_size = (uint64_t)7 << 20;
	settings.part_age_s = 11;
	settings.keep_parts = 12;
	settings.keep_bytes = 13;
	settings.keep_age_s = 14;
	settings.memory = 15;
	settings.min_duration_ns = 16000000;
	settings.archive = false;
	init(&settings);
	assert_int_equal(sonde_store_settings_read("base", &read, &err), SONDE_OK);
	assert_int_equal(read.codec, SONDE_CODEC_DEFLATE);
	assert_int_equal(read.part_size, settings.part_size);
	assert_int_equal(read.part_age_s, 11);
	assert_int_equal(read.keep_parts, 12);
	assert_int_equal(read.keep_bytes, 13);
	assert_int_equal(read.keep_age_s, 14);
	assert_int_equal(read.memory, 15);
	assert_int_equal(read.min_duration_ns, 16000000);
	assert_false(read.archive);
	/* there is something already */
	assert_int_equal(sonde_store_init("base", &settings, &err), SONDE_ARGUMENT);
	put_file("base/store.props", "sonde.codec=brotli\n");
	assert_int_equal(sonde_store_settings_read("base", &read, &err), SONDE_ARGUMENT);
	assert_int_equal(sonde_store_open("base", &store, NULL, &err), SONDE_ARGUMENT);
	/* without a setting nothing is ever removed */
	put_file("base/store.props", "");
	assert_int_equal(sonde_store_settings_read("base", &read, &err), SONDE_OK);
	assert_int_equal(read.keep_parts, 0);
	assert_int_equal(read.codec, SONDE_CODEC_LZ4);
	assert_int_equal(sonde_store_open("nothing", &store, NULL, &err), SONDE_ARGUMENT);
}

static void test_one_writer(void **state)
{
	struct sonde_store_settings settings = small_settings();
	struct sonde_store *second;
	struct sonde_error err;
	char pid[16];

	(void)state;
	init(&settings);
	open_store();
	snprintf(pid, sizeof(pid), "(%ld)", (long)getpid());
	assert_int_equal(sonde_store_open("base", &second, NULL, &err), SONDE_LIMIT);
	assert_null(second);
	assert_non_null(strstr(err.message, pid));
	close_store();
	open_store();
	close_store();
	/* nothing was put in: there is no part */
	assert_int_equal(sonde_path_kind("base/000000"), SONDE_PATH_ABSENT);
}

struct sender {
	pthread_t thread;
	uint64_t first;
	bool failed;
};

static void *send(void *context)
{
	struct sender *sender = context;
	struct sonde_error err;

	for (uint64_t i = 0; i < 50; i++)
		if (store_put(store, sender->first + i, &plain, &err) != SONDE_OK)
			sender->failed = true;
	return NULL;
}

static void test_threads(void **state)
{
	struct sonde_store_settings settings = small_settings();
	struct sonde_store_counters counters;
	struct sender senders[6] = { 0 };

	(void)state;
	init(&settings);
	open_store();
	for (size_t i = 0; i < 6; i++) {
		senders[i].first = i * 50;
		assert_int_equal(pthread_create(&senders[i].thread, NULL, send, &senders[i]), 0);
	}
	for (size_t i = 0; i < 6; i++) {
		pthread_join(senders[i].thread, NULL);
		assert_false(senders[i].failed);
	}
	/* on the disk before the store is closed */
	assert_stored(300, &plain);
	sonde_store_counters(store, &counters);
	assert_int_equal(counters.traces, 300);
	assert_true(counters.records >= 300);
	assert_true(counters.syncs >= 1 && counters.syncs <= 300);
	assert_int_equal(counters.failures, 0);
	close_store();
	assert_stored(300, &plain);
}

static void test_rotation(void **state)
{
	struct sonde_store_settings settings = small_settings();
	struct sonde_store_counters counters;
	struct sonde_error err;
	uint32_t packed;

	(void)state;
	init(&settings);
	open_store();
	put(0, 60, &large);
	sonde_store_counters(store, &counters);
	assert_true(counters.parts_begun >= 3);
	assert_stored(60, &large);
	/* all but the current one */
	assert_int_equal(sonde_store_archive(store, &packed, &err), SONDE_OK);
	assert_int_equal(packed, counters.parts_begun - 1);
	assert_stored(60, &large);
	assert_int_equal(sonde_store_archive(store, &packed, &err), SONDE_OK);
	assert_int_equal(packed, 0);
	put(60, 1, &large);
	assert_int_equal(sonde_store_rotate(store, &err), SONDE_OK);
	assert_int_equal(sonde_store_rotate(store, &err), SONDE_OK);
	assert_int_equal(sonde_store_archive(store, &packed, &err), SONDE_OK);
	assert_int_equal(packed, 1);
	put(61, 1, &large);
	close_store();
	assert_stored(62, &large);
	/* gone on with, not begun anew */
	open_store();
	put(62, 1, &large);
	sonde_store_counters(store, &counters);
	assert_int_equal(counters.parts_begun, 0);
	close_store();
	assert_stored(63, &large);
}

/* In the background, while traces come in; what is left is done by the time of closing or later. */
static void test_background(void **state)
{
	struct sonde_store_settings settings = small_settings();
	struct sonde_store_counters counters;
	struct sonde_error err;
	uint32_t packed;

	(void)state;
	settings.archive = true;
	init(&settings);
	open_store();
	put(0, 60, &large);
	sonde_store_counters(store, &counters);
	assert_int_equal(counters.failures, 0);
	assert_int_equal(sonde_store_archive(store, &packed, &err), SONDE_OK);
	sonde_store_counters(store, &counters);
	assert_int_equal(counters.parts_packed, counters.parts_begun - 1);
	close_store();
	assert_stored(60, &large);
}

static void test_memory(void **state)
{
	struct sonde_store_settings settings = small_settings();
	struct sonde_store_counters counters;

	(void)state;
	settings.memory = 20000; /* one trace's texts are more */
	init(&settings);
	open_store();
	put(0, 3, &plain);
	sonde_store_counters(store, &counters);
	assert_int_equal(counters.parts_begun, 3);
	close_store();
	assert_stored(3, &plain);
}

static void test_age(void **state)
{
	const struct timespec old[2] = { { .tv_sec = 1000000000 }, { .tv_sec = 1000000000 } };
	struct sonde_store_settings settings = small_settings();
	struct sonde_store_counters counters;

	(void)state;
	settings.part_age_s = 100000;
	init(&settings);
	open_store();
	put(0, 3, &plain);
	close_store();
	open_store();
	put(3, 1, &plain);
	sonde_store_counters(store, &counters);
	assert_int_equal(counters.parts_begun, 0);
	close_store();
	assert_int_equal(utimensat(AT_FDCWD, "base/000000/store.props", old, 0), 0);
	open_store();
	put(4, 2, &plain);
	sonde_store_counters(store, &counters);
	assert_int_equal(counters.parts_begun, 1);
	close_store();
	assert_stored(6, &plain);
}

static void test_retention(void **state)
{
	const struct timespec old[2] = { { .tv_sec = 1000000000 }, { .tv_sec = 1000000000 } };
	struct sonde_store_settings settings = small_settings();
	struct sonde_error err;
	uint32_t removed;

	(void)state;
	settings.keep_parts = 3;
	settings.keep_age_s = 1000;
	init(&settings);
	open_store();
	for (uint64_t i = 0; i < 6; i++) {
		put(i, 1, &plain);
		assert_int_equal(sonde_store_rotate(store, &err), SONDE_OK);
	}
	put(6, 1, &plain);
	/* the background may have removed some */
	assert_int_equal(sonde_store_retain(store, &removed, &err), SONDE_OK);
	assert_int_equal(sonde_path_kind("base/000003"), SONDE_PATH_ABSENT);
	assert_int_equal(sonde_path_kind("base/000004"), SONDE_PATH_FOLDER);
	assert_int_equal(sonde_path_kind("base/000006"), SONDE_PATH_FOLDER);
	/* by age; the newest stays however old it is */
	assert_int_equal(utimensat(AT_FDCWD, "base/000004/traces.dat", old, 0), 0);
	assert_int_equal(utimensat(AT_FDCWD, "base/000006/traces.dat", old, 0), 0);
	assert_int_equal(sonde_store_retain(store, &removed, &err), SONDE_OK);
	assert_int_equal(removed, 1);
	assert_int_equal(sonde_path_kind("base/000004"), SONDE_PATH_ABSENT);
	assert_int_equal(sonde_path_kind("base/000005"), SONDE_PATH_FOLDER);
	assert_int_equal(sonde_path_kind("base/000006"), SONDE_PATH_FOLDER);
	close_store();
	/* by size */
	put_file("base/store.props", "sonde.retain.max-size=1\n");
	open_store();
	assert_int_equal(sonde_store_retain(store, &removed, &err), SONDE_OK);
	assert_int_equal(removed, 1);
	assert_int_equal(sonde_path_kind("base/000006"), SONDE_PATH_FOLDER);
	close_store();
}

static void test_short_traces(void **state)
{
	struct sonde_store_settings settings = small_settings();
	struct sonde_store_counters counters;

	(void)state;
	settings.min_duration_ns = (uint64_t)1000000000000;
	init(&settings);
	open_store();
	put(0, 5, &plain);
	sonde_store_counters(store, &counters);
	assert_int_equal(counters.short_traces, 5);
	assert_int_equal(counters.traces, 0);
	close_store();
	/* also in a part that is gone on with */
	open_store();
	put(5, 5, &plain);
	sonde_store_counters(store, &counters);
	assert_int_equal(counters.short_traces, 5);
	close_store();
	assert_stored(0, &plain);
}

/* A part that is full in one respect or another: end, begin again, and the trace goes into the next one. */
static void test_full_part(void **state)
{
	struct sonde_store_settings settings = small_settings();
	struct sonde_store_counters counters;
	struct zts_writer *writer;
	struct sonde_error err;
	uint64_t ticket;
	char text[16];

	(void)state;
	settings.part_size = (uint64_t)64 << 20;
	init(&settings);
	open_store();
	assert_int_equal(sonde_store_begin(store, &writer, &err), SONDE_OK);
	for (int i = 0; i < 70000; i++) {
		snprintf(text, sizeof(text), "%d", i);
		zts_writer_text(writer, ZTS_TEXT_STRING, text, strlen(text));
	}
	assert_int_equal(script_write(writer, 0, &plain, &err), SONDE_LIMIT);
	sonde_store_end(store, &ticket);
	assert_int_equal(sonde_store_wait(store, ticket, &err), SONDE_OK);
	put(0, 1, &plain);
	sonde_store_counters(store, &counters);
	assert_int_equal(counters.parts_begun, 2);
	close_store();
	assert_stored(1, &plain);
}

/* What is left of parts being made or removed goes; other things stay. */
static void test_leftovers(void **state)
{
	struct sonde_store_settings settings = small_settings();

	(void)state;
	init(&settings);
	assert_int_equal(system("mkdir base/.000003.partial base/.removed-000001 base/.mine; "
				"touch base/.000003.partial/x"),
			 0);
	open_store();
	put(0, 1, &plain);
	close_store();
	assert_int_equal(sonde_path_kind("base/.000003.partial"), SONDE_PATH_ABSENT);
	assert_int_equal(sonde_path_kind("base/.removed-000001"), SONDE_PATH_ABSENT);
	assert_int_equal(sonde_path_kind("base/.mine"), SONDE_PATH_FOLDER);
	/* a part of another program is not written on */
	assert_int_equal(system("cp -r base/000000 base/000007; rm base/000007/store.props"), 0);
	open_store();
	put(1, 1, &plain);
	close_store();
	assert_int_equal(sonde_path_kind("base/000008"), SONDE_PATH_FOLDER);
}

static void limit_files(rlim_t size)
{
	struct rlimit limit;

	getrlimit(RLIMIT_FSIZE, &limit);
	limit.rlim_cur = size;
	setrlimit(RLIMIT_FSIZE, &limit);
}

/* Ingests until the disk is full, then goes on when there is room again. Exit status 0: all as it should be. */
static int run_full_disk(void)
{
	struct sonde_store *mine;
	struct sonde_error err;
	unsigned int failures = 0;
	uint64_t next = 0;

	signal(SIGXFSZ, SIG_IGN);
	if (sonde_store_open("base", &mine, NULL, &err) != SONDE_OK)
		return 2;
	limit_files(3000 * 1024);
	while (failures < 10 && next < 2000) {
		enum sonde_status status = store_put(mine, next, &large, &err);

		if (status == SONDE_OK)
			next++;
		else if (status != SONDE_IO || !err.message[0])
			return 3;
		else
			failures++;
	}
	if (failures != 10 || next < 10)
		return 4;
	/* acknowledged and nothing else, as readers see it now */
	if (store_compare("base", next, &large))
		return 5;
	limit_files(RLIM_INFINITY);
	for (int i = 0; i < 5; i++, next++)
		if (store_put(mine, next, &large, &err) != SONDE_OK)
			return 6;
	if (sonde_store_close(mine, &err) != SONDE_OK)
		return 7;
	if (store_compare("base", next, &large))
		return 8;
	return sonde_path_kind("base/000001") == SONDE_PATH_ABSENT ? 0 : 9;
}

static void test_full_disk(void **state)
{
	struct sonde_store_settings settings = small_settings();
	int status;
	pid_t child;

	(void)state;
	settings.part_size = (uint64_t)64 << 20;
	init(&settings);
	child = fork();
	if (!child)
		_exit(run_full_disk());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, enter_folder, leave_folder)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_settings),  TEST(test_one_writer), TEST(test_threads),
		TEST(test_rotation),  TEST(test_background), TEST(test_memory),
		TEST(test_age),	      TEST(test_retention),  TEST(test_short_traces),
		TEST(test_full_part), TEST(test_leftovers),  TEST(test_full_disk),
	};

	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
