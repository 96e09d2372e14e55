/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recorder of ATF sessions: what it wrote is read back field by field, finished, killed in
 * the middle, and on a disk that is full.
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

/* Two processes of one pid, one without threads in between, and all that manifests say. */
static void test_fields(void **state)
{
	struct session session = begin("fields");
	struct atf_recorder_thread *threads[4];
	const struct sonde_definitions *definitions;
	struct sonde_recording *recording;
	uint32_t first, nobody, second;

	(void)state;
	first = add_process(&session, 77, "first");
	threads[0] = add_thread(&session, first);
	nobody = add_process(&session, 78, "nobody");
	second = add_process(&session, 77, "second");
	threads[1] = add_thread(&session, second);
	threads[2] = add_thread(&session, first);
	threads[3] = add_thread(&session, second); /* has no events */
	assert_int_equal(nobody, 1);
	assert_int_equal(atf_recorder_thread_slot(threads[2]), 1);
	for (uint64_t n = 0; n < 400; n += 40) {
		put_events(threads[0], n, 40, 0);
		put_events(threads[1], n, 40, 1);
		put_events(threads[2], n, 40, 7);
	}
	put_events(threads[0], 400, 0, 0);
	atf_recorder_set_synthetic(threads[1], 2, 3);
	assert_int_equal(atf_recorder_next_index(threads[0]), 400);
	assert_true(atf_recorder_bytes(session.recorder) > 1200 * 32);
	assert_int_equal(finish(&session), 0);
	assert_clean(session.path);

	recording = open_path(session.path);
	definitions = sonde_recording_definitions(recording);
	assert_int_equal(sonde_definitions_process_count(definitions), 2);
	assert_int_equal(sonde_definitions_process(definitions, 1)->os_id, 77);
	assert_string_equal(sonde_definitions_string(
				    definitions, sonde_definitions_process(definitions, 1)->name),
			    "second");
	assert_int_equal(sonde_definitions_process(definitions, 0)->arch, SONDE_ARCH_X86_64);
	assert_int_equal(sonde_definitions_process(definitions, 0)->start_ns, 1000);
	assert_int_equal(sonde_definitions_process(definitions, 0)->end_ns, 1000 + 399 * 3);
	assert_int_equal(sonde_definitions_track_count(definitions), 4);
	assert_int_equal(sonde_definitions_track(definitions, 0)->os_id, 4711);
	assert_false(sonde_definitions_track(definitions, 0)->unfinished);
	/* in the order of folders: pid_77, then pid_77_2 */
	assert_int_equal(assert_track(recording, 0, 0), 400);
	assert_int_equal(assert_track(recording, 1, 7), 400);
	assert_int_equal(assert_track(recording, 2, 1), 400);
	assert_int_equal(assert_track(recording, 3, 0), 0);
	sonde_recording_close(recording);
	assert_int_equal(access(scratch_path("fields/pid_77_2/manifest.json"), R_OK), 0);
	assert_int_not_equal(access(scratch_path("fields/pid_78"), F_OK), 0);
	assert_int_not_equal(access(scratch_path("fields/.sonde-reserve"), F_OK), 0);
}

static void test_synthetic(void **state)
{
	struct session session = begin("synthetic");
	struct atf_recorder_thread *thread = add_thread(&session, add_process(&session, 1, "p"));
	struct sonde_recording *recording;
	struct sonde_cursor *cursor;
	struct sonde_batch batch;

	(void)state;
	put_events(thread, 0, 12, 0);
	atf_recorder_set_synthetic(thread, 2, 3);
	finish(&session);
	recording = open_path(session.path);
	assert_ok(sonde_cursor_open(recording, 0, &cursor, &err));
	assert_ok(sonde_cursor_next(cursor, &batch, &err));
	assert_int_equal(batch.count, 12);
	for (size_t i = 0; i < 12; i++)
		assert_int_equal(batch.events[i].flags & SONDE_EVENT_SYNTHETIC,
				 i < 2 || i >= 9 ? SONDE_EVENT_SYNTHETIC : 0);
	sonde_cursor_free(cursor);
	sonde_recording_close(recording);
}

static void test_parts(void **state)
{
	struct session session = begin_at(scratch_path("parts"),
					  (struct atf_recorder_limits){ .events_per_file = 8 });
	uint32_t process = add_process(&session, 5, "p");
	struct atf_recorder_thread *longer = add_thread(&session, process);
	struct atf_recorder_thread *shorter = add_thread(&session, process);
	struct sonde_recording *recording;
	struct atf_index_event event;

	(void)state;
	put_events(shorter, 0, 4, 2);
	for (uint64_t n = 0; n < 20; n += 4) {
		if (!atf_recorder_room(longer)) {
			assert_int_equal(try_events(longer, n, 1, 0), SONDE_ARGUMENT);
			assert_ok(atf_recorder_next_part(longer, &err));
			assert_int_equal(atf_recorder_next_index(longer), 0);
		}
		put_events(longer, n, 4, n < 8 ? 3 : 0);
	}
	assert_int_equal(atf_recorder_room(longer), 4);
	/* numbers of details begin anew with each part, too */
	event = event_number(longer, 20);
	assert_ok(add_detail(longer, &event, 20, 4));
	assert_int_equal(event.detail_seq, 0);
	assert_ok(atf_recorder_events(longer, &event, 1, &err));
	finish(&session);
	assert_clean(session.path);
	assert_int_equal(access(scratch_path("parts/pid_5/part_3/manifest.json"), R_OK), 0);
	assert_int_not_equal(access(scratch_path("parts/pid_5/part_2/thread_1"), F_OK), 0);
	recording = open_path(session.path);
	assert_int_equal(sonde_recording_event_count(recording), 25);
	assert_int_equal(assert_track(recording, 1, 2), 4);
	sonde_recording_close(recording);
}

static int open_descriptors(void)
{
	DIR *folder = opendir("/proc/self/fd");
	int count = 0;

	assert_non_null(folder);
	while (readdir(folder))
		count++;
	closedir(folder);
	return count;
}

/* More threads than files may be open, each with more details at a time than there are buffers. */
static void test_many_threads(void **state)
{
	struct session session =
		begin_at(scratch_path("many"), (struct atf_recorder_limits){ .open_files = 5 });
	int descriptors = open_descriptors();
	struct atf_recorder_thread *threads[300];
	struct sonde_recording *recording;
	uint32_t process = 0;

	(void)state;
	for (uint32_t i = 0; i < 300; i++) {
		if (i % 100 == 0)
			process = add_process(&session, 100 + i, "p");
		threads[i] = add_thread(&session, process);
	}
	for (uint64_t n = 0; n < 40; n += 8) {
		for (uint32_t i = 0; i < 300; i++)
			put_events(threads[i], n, 8, i % 2 ? 4 : 0);
		assert_true(open_descriptors() <= descriptors + 5);
	}
	finish(&session);
	assert_clean(session.path);
	recording = open_path(session.path);
	for (uint32_t i = 0; i < 300; i++)
		assert_int_equal(assert_track(recording, i, i % 2 ? 4 : 0), 40);
	sonde_recording_close(recording);
}

/* Details of many threads wait at the same time, and those of one are more than a buffer. */
static void test_waiting_details(void **state)
{
	struct session session = begin("waiting");
	uint32_t process = add_process(&session, 9, "p");
	struct atf_recorder_thread *threads[40];
	struct atf_index_event events[40][4];
	struct sonde_recording *recording;

	(void)state;
	for (uint32_t i = 0; i < 40; i++)
		threads[i] = add_thread(&session, process);
	for (uint32_t n = 0; n < 4; n++) {
		for (uint32_t i = 0; i < 40; i++) {
			events[i][n] = event_number(threads[i], n);
			assert_ok(add_detail(threads[i], &events[i][n], n, n));
		}
	}
	for (uint32_t i = 0; i < 40; i++)
		assert_ok(atf_recorder_events(threads[i], events[i], 4, &err));
	put_events(threads[0], 4, 4000, 1);
	finish(&session);
	assert_clean(session.path);
	recording = open_path(session.path);
	assert_int_equal(assert_track(recording, 0, 1), 4004);
	for (uint32_t i = 1; i < 40; i++)
		assert_int_equal(assert_track(recording, i, 1), 4);
	sonde_recording_close(recording);
}

static void test_end_and_go_on(void **state)
{
	struct session session = begin("reopened");
	uint32_t process = add_process(&session, 9, "p");
	struct atf_recorder_thread *thread = add_thread(&session, process);
	struct atf_recorder_thread *ended = add_thread(&session, process);
	struct sonde_recording *recording;
	uint64_t bytes;

	(void)state;
	put_events(ended, 0, 8, 1);
	assert_ok(atf_recorder_end_thread(ended, &err));
	assert_ok(atf_recorder_end_thread(ended, &err));
	put_events(thread, 0, 8, 2);
	bytes = atf_recorder_bytes(session.recorder);
	assert_ok(atf_recorder_end_thread(thread, &err));
	assert_int_equal(atf_recorder_bytes(session.recorder), bytes + 128);
	recording = open_path(session.path);
	assert_false(
		sonde_definitions_track(sonde_recording_definitions(recording), 0)->unfinished);
	sonde_recording_close(recording);
	put_events(thread, 8, 8, 2);
	recording = open_path(session.path);
	assert_true(sonde_definitions_track(sonde_recording_definitions(recording), 0)->unfinished);
	assert_int_equal(assert_track(recording, 0, 2), 16);
	sonde_recording_close(recording);
	finish(&session);
	assert_clean(session.path);
	recording = open_path(session.path);
	assert_int_equal(assert_track(recording, 0, 2), 16);
	assert_int_equal(assert_track(recording, 1, 1), 8);
	sonde_recording_close(recording);
}

/* Details whose events never came do not stay behind. */
static void test_details_without_events(void **state)
{
	struct session session = begin("orphans");
	struct atf_recorder_thread *thread = add_thread(&session, add_process(&session, 9, "p"));
	struct sonde_recording *recording;
	struct atf_index_event event;

	(void)state;
	put_events(thread, 0, 8, 2);
	for (uint32_t n = 8; n < 3000; n++) {
		event = event_number(thread, n);
		assert_ok(add_detail(thread, &event, n, n));
	}
	finish(&session);
	assert_clean(session.path);
	recording = open_path(session.path);
	assert_int_equal(assert_track(recording, 0, 2), 8);
	assert_int_equal(
		sonde_definitions_track(sonde_recording_definitions(recording), 0)->detail_count,
		4);
	sonde_recording_close(recording);
}

static void recover_and_check(const char *path, const char *output, uint64_t events)
{
	struct sonde_diagnostics *diagnostics = sonde_diagnostics_new();
	struct sonde_recover_options options = { 0 };
	struct sonde_recover_result result;
	struct sonde_recording *recording;

	assert_ok(sonde_recover(path, output, &options, diagnostics, &result, &err));
	sonde_diagnostics_free(diagnostics);
	assert_int_equal(result.events_kept, events);
	assert_clean(output);
	recording = open_path(output);
	assert_int_equal(assert_track(recording, 0, 3) + assert_track(recording, 1, 0), events);
	sonde_recording_close(recording);
}

/* A recorder that is killed leaves everything it was given, and `recover` makes it whole. */
static void test_killed(void **state)
{
	const struct sonde_definitions *definitions;
	struct sonde_recording *recording;
	char path[256];
	int status;
	pid_t child;

	(void)state;
	snprintf(path, sizeof(path), "%s", scratch_path("killed"));
	child = fork();
	if (child == 0) {
		struct session session = begin_at(path, (struct atf_recorder_limits){ 0 });
		struct atf_recorder_thread *threads[2];
		struct atf_index_event event;

		threads[0] = add_thread(&session, add_process(&session, 31, "p"));
		threads[1] = add_thread(&session, add_process(&session, 31, "q"));
		put_events(threads[0], 0, 4000, 3);
		put_events(threads[1], 0, 8, 0);
		assert_ok(atf_recorder_end_thread(threads[1], &err));
		put_events(threads[0], 4000, 4, 3);
		for (uint32_t n = 4004; n < 6000; n++) { /* some of these are in the file */
			event = event_number(threads[0], n);
			assert_ok(add_detail(threads[0], &event, n, n));
		}
		kill(getpid(), SIGKILL);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	recording = open_path(path);
	definitions = sonde_recording_definitions(recording);
	assert_true(sonde_definitions_track(definitions, 0)->unfinished);
	assert_false(sonde_definitions_track(definitions, 1)->unfinished);
	assert_int_equal(assert_track(recording, 0, 3), 4004);
	assert_int_equal(assert_track(recording, 1, 0), 8);
	sonde_recording_close(recording);
	recover_and_check(path, scratch_path("recovered"), 4012);
}

/* What a recorder knows before any function has a name. */
static void define_early(struct session *session)
{
	struct sonde_definitions *early = sonde_definitions_new();
	struct sonde_clock clock = { .kind = SONDE_CLOCK_BOOTTIME };
	struct sonde_process process = { .name = add_text(early, "early"), .os_id = 31 };
	struct sonde_track track = { .name = add_text(early, "worker"), .os_id = 4711 };
	struct sonde_module module = {
		.path = add_text(early, "/usr/bin/program"),
		.uuid = add_text(early, "c0ffee"),
		.has_key = true,
		.key = MODULE_KEY,
	};
	uint32_t id;

	assert_ok(sonde_definitions_add_clock(early, &clock, &id, &err));
	assert_ok(sonde_definitions_add_process(early, &process, &id, &err));
	assert_ok(sonde_definitions_add_track(early, &track, &id, &err));
	assert_ok(sonde_definitions_add_module(early, &module, &id, &err));
	assert_ok(atf_recorder_define(session->recorder, early, &err));
	sonde_definitions_free(early);
}

static bool name_function(void *context, const char *module, const char *build_id, uint64_t address,
			  struct sonde_function_name *name)
{
	assert_string_equal(module, "/usr/bin/program");
	assert_string_equal(build_id, "c0ffee");
	*name = (struct sonde_function_name){ .name = context, .file = "x.c", .line = 7 };
	if (address != 2)
		name->name = "other";
	return true;
}

/* One that is killed after it has defined what it knows: `recover` has that, and names functions. */
static void test_defined_and_killed(void **state)
{
	char two[] = "two";
	struct sonde_recover_options options = { .name_function = name_function,
						 .name_context = two };
	struct sonde_diagnostics *diagnostics = sonde_diagnostics_new();
	const struct sonde_definitions *definitions;
	const struct sonde_function *function;
	struct sonde_recover_result result;
	struct sonde_recording *recording;
	char path[256];
	int status;
	pid_t child;

	(void)state;
	snprintf(path, sizeof(path), "%s", scratch_path("defined"));
	child = fork();
	if (child == 0) {
		struct session session = begin_at(path, (struct atf_recorder_limits){ 0 });
		struct atf_recorder_thread *thread =
			add_thread(&session, add_process(&session, 31, "p"));

		put_events(thread, 0, 8, 2);
		define_early(&session);
		put_events(thread, 8, 8, 2);
		define_early(&session);
		put_events(thread, 16, 8, 2);
		kill(getpid(), SIGKILL);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	assert_ok(sonde_recover(path, scratch_path("named"), &options, diagnostics, &result, &err));
	sonde_diagnostics_free(diagnostics);
	assert_int_equal(result.events_kept, 24);
	assert_int_equal(result.manifests_made, 0);
	assert_int_equal(result.functions_named, 2);
	assert_clean(scratch_path("named"));
	recording = open_path(scratch_path("named"));
	definitions = sonde_recording_definitions(recording);
	assert_string_equal(sonde_definitions_string(definitions,
						     sonde_definitions_track(definitions, 0)->name),
			    "worker");
	assert_int_equal(sonde_definitions_function_count(definitions), 2);
	function = sonde_definitions_function(definitions, 1);
	assert_int_equal(function->key, MODULE_KEY << 32 | 2);
	assert_string_equal(sonde_definitions_string(definitions, function->name), "two");
	assert_string_equal(sonde_definitions_string(definitions, function->file), "x.c");
	assert_int_equal(function->line, 7);
	sonde_recording_close(recording);
}

/* Every thread until it fails; how many events went in. */
static uint64_t fill_up(struct atf_recorder_thread **threads, size_t count, unsigned int every)
{
	uint64_t written[8] = { 0 }, total = 0;
	size_t failed = 0;

	while (failed < count) {
		failed = 0;
		for (size_t i = 0; i < count; i++) {
			enum sonde_status status = try_events(threads[i], written[i], 64, every);

			if (status == SONDE_OK)
				written[i] += 64;
			else
				assert_int_equal(status, SONDE_IO);
			failed += status != SONDE_OK;
		}
	}
	for (size_t i = 0; i < count; i++)
		total += written[i];
	return total;
}

static uint64_t assert_tracks(const char *path, uint32_t count, unsigned int every)
{
	struct sonde_recording *recording = open_path(path);
	uint64_t total = 0;

	for (uint32_t i = 0; i < count; i++)
		total += assert_track(recording, i, every);
	sonde_recording_close(recording);
	return total;
}

static void run_on_full_disk(const char *path, size_t count, unsigned int every, size_t symbols,
			     bool must_lose)
{
	struct session session = begin_at(path, (struct atf_recorder_limits){ 0 });
	uint32_t process = add_process(&session, 7, "p"), id;
	struct atf_recorder_thread *threads[8], *late;
	uint64_t written, lost;

	for (size_t i = 0; i < count; i++)
		threads[i] = add_thread(&session, process);
	for (size_t i = 0; i < symbols; i++) {
		struct sonde_function function = { .process = process, .module = SONDE_NONE };

		function.name = add_text(session.definitions, "a function of some name");
		function.has_key = true;
		function.key = MODULE_KEY << 32 | (1000 + i);
		assert_ok(
			sonde_definitions_add_function(session.definitions, &function, &id, &err));
	}
	written = fill_up(threads, count, every);
	assert_true(written > 1000);
	assert_int_equal(try_events(threads[0], 0, 1, 0), SONDE_IO);
	assert_non_null(strstr(err.message, "write failed"));
	assert_int_equal(atf_recorder_add_thread(session.recorder, process, &late, &err), SONDE_IO);
	assert_null(late);
	lost = finish(&session);
	assert_true(must_lose ? lost > 0 : lost == 0);
	assert_clean(path);
	assert_int_equal(assert_tracks(path, (uint32_t)count, every), written - lost);
}

/* The space that was kept is enough for footers and manifests. */
static void test_full_disk(void **state)
{
	char mounted[256], path[300];

	(void)state;
	snprintf(mounted, sizeof(mounted), "%s", scratch_path("disk"));
	assert_int_equal(mkdir(mounted, 0777), 0);
	for (int round = 0; round < 3; round++) {
		if (mount("none", mounted, "tmpfs", 0, "size=1m")) {
			assert_true(errno == EPERM || errno == EACCES);
			return; /* this machine does not let us */
		}
		snprintf(path, sizeof(path), "%s/session", mounted);
		/* in the last round, manifests are larger than the space that is kept */
		run_on_full_disk(path, 8, round ? 2 : 0, round == 2 ? 2500 : 0, round == 2);
		assert_int_equal(umount2(mounted, MNT_DETACH), 0);
	}
}

/* No file may grow beyond a limit: the last events make room for footers. */
static void test_file_limit(void **state)
{
	struct rlimit saved, limit;

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &saved), 0);
	limit = saved;
	for (unsigned int every = 0; every < 3; every++) {
		char path[256];
		struct session session;
		struct atf_recorder_thread *threads[2];
		uint32_t process;
		uint64_t written, lost;

		snprintf(path, sizeof(path), "%s%u", scratch_path("limit"), every);
		session = begin_at(path, (struct atf_recorder_limits){ 0 });
		process = add_process(&session, 7, "p");
		for (int i = 0; i < 2; i++)
			threads[i] = add_thread(&session, process);
		/* the header and whole batches fit exactly, so that there is none for a footer */
		limit.rlim_cur = 64 + 64 * 32 * 20;
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
		written = fill_up(threads, 2, every);
		lost = finish(&session);
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &saved), 0);
		assert_clean(path);
		assert_int_equal(assert_tracks(path, 2, every), written - lost);
		if (!every) {
			assert_int_equal(written, 2 * 64 * 20);
			assert_int_equal(lost, 2 * 128);
		}
	}
	signal(SIGXFSZ, SIG_DFL);
}

static void test_places(void **state)
{
	struct atf_recorder *recorder;
	struct session session;
	char command[300];

	(void)state;
	session = begin("place");
	put_events(add_thread(&session, add_process(&session, 1, "p")), 0, 4, 0);
	finish(&session);
	/* a session is replaced when asked for */
	assert_int_equal(atf_recorder_create(session.path, false, &recorder, &err), SONDE_ARGUMENT);
	assert_non_null(strstr(err.message, "exists already"));
	assert_ok(atf_recorder_create(session.path, true, &recorder, &err));
	assert_int_not_equal(access(scratch_path("place/pid_1"), F_OK), 0);
	/* and nothing stays of one that has no threads */
	atf_recorder_free(recorder);
	assert_int_not_equal(access(session.path, F_OK), 0);
	/* other things are not */
	snprintf(command, sizeof(command), "mkdir -p %s/papers/letters %s/empty; : >%s/file",
		 scratch, scratch, scratch);
	assert_int_equal(system(command), 0);
	assert_int_equal(atf_recorder_create(scratch_path("papers"), true, &recorder, &err),
			 SONDE_ARGUMENT);
	assert_int_equal(access(scratch_path("papers/letters"), F_OK), 0);
	assert_int_equal(atf_recorder_create(scratch_path("file"), true, &recorder, &err),
			 SONDE_ARGUMENT);
	assert_int_equal(atf_recorder_create(scratch_path("no/such"), false, &recorder, &err),
			 SONDE_ARGUMENT);
	assert_null(recorder);
	/* an empty folder is used, and stays */
	assert_ok(atf_recorder_create(scratch_path("empty"), false, &recorder, &err));
	atf_recorder_free(recorder);
	assert_int_equal(access(scratch_path("empty"), F_OK), 0);
	/* also where a killed recorder got no further than that */
	snprintf(command, sizeof(command), "touch %s/empty/.sonde-reserve", scratch);
	assert_int_equal(system(command), 0);
	assert_ok(atf_recorder_create(scratch_path("empty"), false, &recorder, &err));
	atf_recorder_reserve(recorder, 1 << 20);
	atf_recorder_free(recorder);
	assert_int_not_equal(access(scratch_path("empty/.sonde-reserve"), F_OK), 0);
}

static void test_misuse(void **state)
{
	struct session session = begin("misuse");
	struct atf_recorder_thread *thread, *other;
	struct sonde_definitions *empty = sonde_definitions_new();
	uint32_t process;
	uint64_t lost;

	(void)state;
	assert_int_equal(atf_recorder_add_thread(session.recorder, 0, &thread, &err),
			 SONDE_ARGUMENT);
	process = add_process(&session, 1, "p");
	thread = add_thread(&session, process);
	put_events(thread, 0, 4, 0);
	assert_int_equal(atf_recorder_finish(session.recorder, empty, &lost, &err), SONDE_ARGUMENT);
	assert_ok(atf_recorder_finish(session.recorder, session.definitions, &lost, &err));
	assert_clean(session.path);
	/* what is finished stays as it is */
	assert_int_equal(atf_recorder_finish(session.recorder, session.definitions, &lost, &err),
			 SONDE_ARGUMENT);
	assert_int_equal(try_events(thread, 4, 4, 0), SONDE_ARGUMENT);
	assert_int_equal(try_events(thread, 4, 4, 1), SONDE_ARGUMENT);
	assert_int_equal(atf_recorder_next_part(thread, &err), SONDE_ARGUMENT);
	assert_int_equal(atf_recorder_add_process(session.recorder, 2, &process, &err),
			 SONDE_ARGUMENT);
	assert_int_equal(atf_recorder_add_thread(session.recorder, 0, &other, &err),
			 SONDE_ARGUMENT);
	assert_ok(atf_recorder_end_thread(thread, &err));
	assert_clean(session.path);
	sonde_definitions_free(empty);
	abandon(&session);
	atf_recorder_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fields),
		cmocka_unit_test(test_synthetic),
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_many_threads),
		cmocka_unit_test(test_waiting_details),
		cmocka_unit_test(test_end_and_go_on),
		cmocka_unit_test(test_details_without_events),
		cmocka_unit_test(test_killed),
		cmocka_unit_test(test_defined_and_killed),
		cmocka_unit_test(test_full_disk),
		cmocka_unit_test(test_file_limit),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_misuse),
	};

	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
