/* SPDX-License-Identifier: Apache-2.0 */
/* Files beside the profiles of a measurement folder: read as resources, and written where they belong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/file.h"
#include "memory_recording.h"
#include "scratch.h"

/* A recording with one call, so that there is a profile. */
static struct sonde_recording *make_recording(const char *name)
{
	struct sonde_recording *recording = memory_recording_new(5);
	uint32_t process = memory_add_process(recording, name);
	uint32_t function = memory_add_function(recording, process, "main");
	uint32_t track = memory_add_track(recording, process, "thread");
	struct sonde_event event = { .time_ns = 10,
				     .function = function,
				     .kind = SONDE_EVENT_CALL };

	memory_add_event(recording, track, event);
	event.time_ns = 20;
	event.kind = SONDE_EVENT_RETURN;
	memory_add_event(recording, track, event);
	return recording;
}

/* Gives how many resources were written. */
static uint64_t write_as_hpcrun(struct sonde_recording *const *sources, size_t count,
				const char *target, struct sonde_loss *loss)
{
	struct sonde_create_options create = { .format = "hpcrun", .loss = loss };
	struct sonde_run_options options = { .threads = 1, .loss = loss };
	struct sonde_run_result result = { 0 };
	struct sonde_sink *sink = NULL;
	struct sonde_error err = { 0 };

	remove_tree(scratch_path(target));
	assert_int_equal(sonde_sink_create(scratch_path(target), &create, &sink, &err), SONDE_OK);
	assert_int_equal(sonde_pipeline_run(sources, count, sink, &options, &result, &err),
			 SONDE_OK);
	sonde_sink_free(sink);
	return result.blobs_written;
}

static uint64_t lost(const struct sonde_loss *loss, const char *what)
{
	const struct sonde_loss_entry *entry;

	for (size_t i = 0; (entry = sonde_loss_at(loss, i)); i++)
		if (!strcmp(entry->what, what))
			return entry->count;
	return 0;
}

/* The resource of that name is there, with those bytes. */
static void assert_resource(struct sonde_recording *recording, const char *name, const char *bytes)
{
	const struct sonde_definitions *definitions = sonde_recording_definitions(recording);

	for (uint32_t i = 0; i < sonde_recording_blob_count(recording); i++) {
		struct sonde_blob blob = { 0 };

		assert_int_equal(sonde_recording_blob(recording, i, &blob, NULL), SONDE_OK);
		if (strcmp(sonde_definitions_string(definitions, blob.name), name) != 0)
			continue;
		assert_int_equal(blob.size, strlen(bytes));
		assert_true(!blob.size || !memcmp(blob.bytes, bytes, blob.size));
		assert_int_equal(blob.is_text, !strcmp(name, "structs/a.hpcstruct"));
		return;
	}
	fail_msg("no resource %s", name);
}

static struct sonde_recording *open_written(const char *name)
{
	struct sonde_recording *recording = NULL;

	assert_int_equal(sonde_recording_open(scratch_path(name), NULL, &recording, NULL),
			 SONDE_OK);
	return recording;
}

static void test_there_and_back(void **state)
{
	static const char *const names[] = { "structs/a.hpcstruct", "structs/empty", "vdso/x.vdso",
					     "gpubins/y.gpubin", "[vdso]" };
	static const char *const bytes[] = { "<xml>", "", "ELF", "CUDA", "old" };
	struct sonde_recording *recording = make_recording("p"), *first, *second;
	struct sonde_loss *loss = sonde_loss_new();

	(void)state;
	for (size_t i = 0; i < 5; i++)
		memory_add_blob(recording, names[i], false, bytes[i], strlen(bytes[i]));
	assert_int_equal(write_as_hpcrun(&recording, 1, "first.m", loss), 5);
	first = open_written("first.m");
	assert_true(sonde_recording_lanes(first) & SONDE_LANE_BLOBS);
	assert_int_equal(write_as_hpcrun(&first, 1, "second.m", loss), 5);
	assert_int_equal(lost(loss, "resources"), 0);
	second = open_written("second.m");
	assert_int_equal(sonde_recording_blob_count(second), 5);
	for (size_t i = 0; i < 5; i++)
		assert_resource(second, names[i], bytes[i]);
	assert_clean(scratch_path("second.m"));
	sonde_recording_close(recording);
	sonde_recording_close(first);
	sonde_recording_close(second);
	sonde_loss_free(loss);
}

static void assert_absent(const char *path)
{
	assert_int_equal(sonde_path_kind(path), SONDE_PATH_ABSENT);
}

static void test_names_that_lead_elsewhere(void **state)
{
	char too_long[300], long_folder[300];
	const char *const names[] = {
		"",
		".",
		"..",
		"../escaped",
		"/escaped",
		"structs",
		"structs/",
		"structs/../../escaped",
		"structs/..",
		"structs//x",
		"structs/deep/x",
		"other/x",
		"x.hpcrun",
		"x.hpctrace",
		"./x",
		"../../escaped",
		"vdso/.",
		"//escaped",
		"src/main.c",
		too_long,
		long_folder,
	};
	const size_t count = sizeof(names) / sizeof(names[0]);
	struct sonde_recording *recording = make_recording("p"), *written;
	struct sonde_loss *loss = sonde_loss_new();
	struct sonde_folder folder = { 0 };

	(void)state;
	memset(too_long, 'x', sizeof(too_long));
	too_long[sizeof(too_long) - 1] = '\0';
	memcpy(long_folder, too_long, sizeof(too_long));
	long_folder[280] = '/';
	for (size_t i = 0; i < count; i++)
		memory_add_blob(recording, names[i], false, "bytes", 5);
	mkdir(scratch_path("box"), 0777);
	assert_int_equal(write_as_hpcrun(&recording, 1, "box/out.m", loss), 0);
	assert_int_equal(lost(loss, "resources"), count);
	assert_absent(scratch_path("escaped"));
	assert_absent(scratch_path("box/escaped"));
	assert_absent("/escaped");
	assert_int_equal(sonde_folder_read(&folder, scratch_path("box/out.m"), NULL), SONDE_OK);
	assert_int_equal(folder.count, 2); /* a profile and its trace */
	sonde_folder_release(&folder);
	written = open_written("box/out.m");
	assert_int_equal(sonde_recording_blob_count(written), 0);
	assert_false(sonde_recording_lanes(written) & SONDE_LANE_BLOBS);
	sonde_recording_close(written);
	sonde_recording_close(recording);
	sonde_loss_free(loss);
}

/* Of several sources: what is the same is there once, of what differs the first stays. */
static void test_same_names(void **state)
{
	struct sonde_recording *sources[] = { make_recording("p"), make_recording("q") }, *written;
	struct sonde_loss *loss = sonde_loss_new();

	(void)state;
	memory_add_blob(sources[0], "vdso/same", false, "same", 4);
	memory_add_blob(sources[0], "structs/a.hpcstruct", false, "first", 5);
	memory_add_blob(sources[1], "vdso/same", false, "same", 4);
	memory_add_blob(sources[1], "structs/a.hpcstruct", false, "other", 5);
	assert_int_equal(write_as_hpcrun(sources, 2, "merged.m", loss), 3);
	assert_int_equal(lost(loss, "resources of the same name"), 1);
	written = open_written("merged.m");
	assert_int_equal(sonde_recording_blob_count(written), 2);
	assert_resource(written, "structs/a.hpcstruct", "first");
	assert_resource(written, "vdso/same", "same");
	sonde_recording_close(written);
	sonde_recording_close(sources[0]);
	sonde_recording_close(sources[1]);
	sonde_loss_free(loss);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_there_and_back),
		cmocka_unit_test(test_names_that_lead_elsewhere),
		cmocka_unit_test(test_same_names),
	};

	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
