/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recorder of ATF sessions with much to write: large pieces, more busy threads than there is
 * memory for, killed in the middle, and on disks and with limits that do not take a piece.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recorder_fixture.h"

#define BATCH 1000
#define SMALL_STAGES                                                                               \
	{                                                                                          \
		.stage_size = 64 << 10, .stage_count = 8, .stage_after = 4096                      \
	}

static const struct atf_recorder_limits small_stages = SMALL_STAGES;

static void put_many(struct atf_recorder_thread *thread, uint64_t first, uint64_t end,
		     unsigned int every)
{
	for (uint64_t n = first; n < end; n += BATCH)
		put_events(thread, n, end - n < BATCH ? end - n : BATCH, every);
}

static size_t count_entries(const char *path)
{
	DIR *folder = opendir(path);
	size_t count = 0;

	assert_non_null(folder);
	while (readdir(folder))
		count++;
	closedir(folder);
	return count;
}

static uint64_t size_of(const char *path)
{
	struct stat status;

	assert_int_equal(stat(path, &status), 0);
	return (uint64_t)status.st_size;
}

/* A thread that has much among others that have little, with the sizes that are usual. */
static void test_big_thread(void **state)
{
	struct session session = begin("big");
	uint32_t process = add_process(&session, 5, "p");
	struct atf_recorder_thread *big = add_thread(&session, process);
	struct atf_recorder_thread *little = add_thread(&session, process);
	size_t threads = count_entries("/proc/self/task");
	struct sonde_recording *recording;

	(void)state;
	put_events(little, 0, 10, 3);
	put_events(big, 0, 8000, 0);
	assert_int_equal(count_entries("/proc/self/task"), threads); /* none is needed yet */
	put_many(big, 8000, 655001, 0);
	put_events(little, 10, 10, 3);
	assert_int_equal(atf_recorder_next_index(big), 655001);
	assert_true(atf_recorder_bytes(session.recorder) > (uint64_t)655021 * 32);
	assert_int_equal(finish(&session), 0);
	assert_clean(session.path);
	recording = open_path(session.path);
	assert_int_equal(assert_track(recording, 0, 0), 655001);
	assert_int_equal(assert_track(recording, 1, 3), 20);
	sonde_recording_close(recording);
}

/* Events and details are both more than a piece, in several threads and parts. */
static void test_big_details(void **state)
{
	struct atf_recorder_limits limits = SMALL_STAGES;
	struct session session;
	struct atf_recorder_thread *threads[3];
	struct sonde_recording *recording;
	uint32_t process;

	(void)state;
	limits.stage_count = 16;
	limits.events_per_file = 40000;
	session = begin_at(scratch_path("details"), limits);
	process = add_process(&session, 5, "p");
	for (size_t i = 0; i < 3; i++)
		threads[i] = add_thread(&session, process);
	for (uint64_t n = 0; n < 40000; n += BATCH)
		for (unsigned int i = 0; i < 3; i++)
			put_events(threads[i], n, BATCH, i * i + 1);
	assert_ok(atf_recorder_next_part(threads[1], &err));
	assert_ok(atf_recorder_end_thread(threads[2], &err));
	finish(&session);
	assert_clean(session.path);
	recording = open_path(session.path);
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(assert_track(recording, i, i * i + 1), 40000);
	sonde_recording_close(recording);
}

/* A thread that was ended goes on; details are there whose events never come. */
static void test_end_and_go_on(void **state)
{
	struct session session = begin_at(scratch_path("reopened"), small_stages);
	struct atf_recorder_thread *thread = add_thread(&session, add_process(&session, 5, "p"));
	struct atf_index_event event;
	struct sonde_recording *recording;

	(void)state;
	for (uint64_t n = 0; n < 30000; n += 10000) {
		put_many(thread, n, n + 10000, 2);
		assert_ok(atf_recorder_end_thread(thread, &err));
	}
	put_many(thread, 30000, 40000, 2);
	for (uint32_t n = 40000; n < 42000; n++) {
		event = event_number(thread, n);
		assert_ok(add_detail(thread, &event, n, n));
	}
	finish(&session);
	assert_clean(session.path);
	recording = open_path(session.path);
	assert_int_equal(assert_track(recording, 0, 2), 40000);
	sonde_recording_close(recording);
}

/* Some threads have no stage, and which ones have changes as others are settled. */
static void test_few_stages(void **state)
{
	struct sonde_recording *recording;
	char name[16];

	(void)state;
	for (size_t stages = 1; stages < 7; stages++) {
		struct atf_recorder_limits limits = SMALL_STAGES;
		struct atf_recorder_thread *threads[20];
		struct session session;
		uint32_t process;

		limits.stage_count = stages;
		limits.open_files = 3;
		snprintf(name, sizeof(name), "few%zu", stages);
		session = begin_at(scratch_path(name), limits);
		process = add_process(&session, 5, "p");
		for (size_t i = 0; i < 20; i++)
			threads[i] = add_thread(&session, process);
		for (uint64_t n = 0; n < 9000; n += BATCH) {
			for (unsigned int i = 0; i < 20; i++)
				put_events(threads[(i + n / 3000) % 20], n, BATCH,
					   (i + n / 3000) % 20 % 4);
			if (n % 3000 == 2000)
				for (int i = 0; i < 2; i++)
					assert_ok(atf_recorder_settle(session.recorder, &err));
		}
		finish(&session);
		assert_clean(session.path);
		recording = open_path(session.path);
		for (unsigned int i = 0; i < 20; i++)
			assert_int_equal(assert_track(recording, i, i % 4), 9000);
		sonde_recording_close(recording);
	}
}

/* What waits longer than from one call to the next but one is in the file then. */
static void test_settle(void **state)
{
	struct session session = begin("settled");
	struct atf_recorder_thread *thread = add_thread(&session, add_process(&session, 5, "p"));
	const char *index = scratch_path("settled/pid_5/thread_0/index.atf");
	struct sonde_recording *recording;
	size_t descriptors;

	(void)state;
	assert_ok(atf_recorder_settle(session.recorder, &err));
	put_many(thread, 0, 20000, 5);
	descriptors = count_entries("/proc/self/fd");
	assert_true(size_of(index) < 64 + 20000 * 32);
	assert_ok(atf_recorder_settle(session.recorder, &err));
	assert_ok(atf_recorder_settle(session.recorder, &err));
	assert_int_equal(size_of(index), 64 + 20000 * 32);
	assert_true(count_entries("/proc/self/fd") < descriptors);
	recording = open_path(session.path);
	assert_int_equal(assert_track(recording, 0, 5), 20000);
	sonde_recording_close(recording);
	put_many(thread, 20000, 20003, 5);
	put_many(thread, 20003, 150000, 5);
	assert_ok(atf_recorder_settle(session.recorder, &err));
	assert_ok(atf_recorder_settle(session.recorder, &err));
	assert_ok(atf_recorder_settle(session.recorder, &err));
	assert_int_equal(size_of(index), 64 + 150000 * 32);
	finish(&session);
	assert_clean(session.path);
	recording = open_path(session.path);
	assert_int_equal(assert_track(recording, 0, 5), 150000);
	sonde_recording_close(recording);
}

/* Tells through a pipe when it is at `told`, and goes on. */
static void record_for_good(const char *path, const struct atf_recorder_limits *limits,
			    uint64_t told, int pipe_end)
{
	struct session session = begin_at(path, *limits);
	uint32_t process = add_process(&session, 31, "p");
	struct atf_recorder_thread *threads[3];

	for (size_t i = 0; i < 3; i++)
		threads[i] = add_thread(&session, process);
	for (uint64_t n = 0;; n += 100) {
		for (unsigned int i = 0; i < 3; i++)
			put_events(threads[i], n, 100, i);
		if (n == told)
			assert_int_equal(write(pipe_end, "x", 1), 1);
	}
}

/* Whatever a killed recorder leaves is the beginning of what it was given. */
static void test_killed(void **state)
{
	struct atf_recorder_limits limits[2] = { { 0 }, SMALL_STAGES };

	(void)state;
	for (unsigned int i = 0; i < 12; i++) {
		struct sonde_diagnostics *diagnostics = sonde_diagnostics_new();
		struct sonde_recover_options options = { 0 };
		struct sonde_recover_result result;
		struct sonde_recording *recording;
		uint64_t total = 0;
		char path[256], recovered[300], byte;
		int ends[2];
		pid_t child;

		snprintf(path, sizeof(path), "%s%u", scratch_path("killed"), i);
		snprintf(recovered, sizeof(recovered), "%s-recovered", path);
		assert_int_equal(pipe(ends), 0);
		child = fork();
		if (child == 0)
			record_for_good(path, &limits[i % 2], 3700 * i, ends[1]);
		assert_int_equal(read(ends[0], &byte, 1), 1);
		kill(child, SIGKILL);
		close(ends[0]);
		close(ends[1]);
		assert_int_equal(waitpid(child, NULL, 0), child);
		recording = open_path(path);
		for (unsigned int k = 0; k < 3; k++)
			total += assert_track(recording, k, k);
		sonde_recording_close(recording);
		assert_true(total > 0);
		assert_ok(sonde_recover(path, recovered, &options, diagnostics, &result, &err));
		assert_int_equal(result.events_kept, total);
		assert_clean(recovered);
		sonde_diagnostics_free(diagnostics);
	}
}

/* Threads until all have failed, the last ones perhaps only when they are finished. */
static void fill_and_finish(const char *path, const struct atf_recorder_limits *limits,
			    size_t count, unsigned int every)
{
	struct session session = begin_at(path, *limits);
	uint32_t process = add_process(&session, 7, "p");
	struct atf_recorder_thread *threads[4];
	struct sonde_recording *recording;
	uint64_t written[4] = { 0 }, total = 0, lost;
	size_t failed = 0;

	for (size_t i = 0; i < count; i++)
		threads[i] = add_thread(&session, process);
	for (int round = 0; failed < count; round++) {
		failed = 0;
		for (size_t i = 0; i < count; i++) {
			enum sonde_status status = try_events(threads[i], written[i], BATCH, every);

			written[i] += status == SONDE_OK ? BATCH : 0;
			failed += status != SONDE_OK;
		}
		if (round % 7 == 0)
			atf_recorder_settle(session.recorder, &err);
	}
	lost = finish(&session);
	assert_clean(path);
	recording = open_path(path);
	for (uint32_t i = 0; i < count; i++) {
		total += assert_track(recording, i, every);
		written[0] += i ? written[i] : 0;
	}
	sonde_recording_close(recording);
	assert_true(total > 0);
	assert_int_equal(total, written[0] - lost);
}

/* False where this machine does not let us. */
static bool mount_disk(const char *image, const char *mounted, bool is_ext4)
{
	char command[1200];

	if (!is_ext4) {
		if (mount("none", mounted, "tmpfs", 0, "size=6m") == 0)
			return true;
		assert_true(errno == EPERM || errno == EACCES);
		return false;
	}
	snprintf(command, sizeof(command),
		 "{ truncate -s 12M %s && mkfs.ext4 -q -F -O ^has_journal %s && "
		 "mount -o loop %s %s; } >/dev/null 2>&1",
		 image, image, image, mounted);
	return system(command) == 0;
}

static void fill_disk(bool is_ext4)
{
	struct atf_recorder_limits limits[2] = { SMALL_STAGES, { .stage_size = 1 << 20 } };
	char mounted[256], image[256], path[300];

	snprintf(mounted, sizeof(mounted), "%s", scratch_path("disk"));
	snprintf(image, sizeof(image), "%s", scratch_path("image"));
	mkdir(mounted, 0777);
	for (unsigned int i = 0; i < 8; i++) {
		if (!mount_disk(image, mounted, is_ext4))
			return; /* this machine does not let us */
		snprintf(path, sizeof(path), "%s/session", mounted);
		fill_and_finish(path, &limits[i / 4], 1 + i % 2 * 3, i / 2 % 2);
		assert_int_equal(umount2(mounted, MNT_DETACH), 0);
	}
}

static void test_full_tmpfs(void **state)
{
	(void)state;
	fill_disk(false);
}

static void test_full_ext4(void **state)
{
	(void)state;
	fill_disk(true);
}

/* Limits in the middle of a piece, of a block and of a record. */
static void test_file_limit(void **state)
{
	static const uint64_t sizes[] = { 300 << 10, (300 << 10) + 32, (300 << 10) + 5, 200 << 10 };
	struct rlimit saved, limit;

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &saved), 0);
	limit = saved;
	for (unsigned int i = 0; i < 12; i++) {
		char path[256];

		snprintf(path, sizeof(path), "%s%u", scratch_path("limit"), i);
		limit.rlim_cur = sizes[i % 4];
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
		fill_and_finish(path, &small_stages, 2, i / 4);
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &saved), 0);
	}
	signal(SIGXFSZ, SIG_DFL);
}

/* Nothing is lost where a recorder is freed that was not finished. */
static void test_abandoned(void **state)
{
	struct session session = begin_at(scratch_path("abandoned"), small_stages);
	struct atf_recorder_thread *thread = add_thread(&session, add_process(&session, 5, "p"));
	struct sonde_recording *recording;

	(void)state;
	put_many(thread, 0, 12345, 3);
	abandon(&session);
	recording = open_path(session.path);
	assert_int_equal(assert_track(recording, 0, 3), 12345);
	sonde_recording_close(recording);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_big_thread),    cmocka_unit_test(test_big_details),
		cmocka_unit_test(test_end_and_go_on), cmocka_unit_test(test_few_stages),
		cmocka_unit_test(test_settle),	      cmocka_unit_test(test_killed),
		cmocka_unit_test(test_full_tmpfs),    cmocka_unit_test(test_full_ext4),
		cmocka_unit_test(test_file_limit),    cmocka_unit_test(test_abandoned),
	};

	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
