/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trace store as a format with each allocation and each call to the system failing in turn:
 * opened and walked with details, checked, recovered, written. What cannot be done fails cleanly;
 * an output is whole or absent.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <sonde/sonde.h>

#include "../unit/scratch.h"
#include "../unit/zts_script.h"
#include "base/file.h"
#include "fault.h"
#include "recording.h"

#define TRACES 6

/* A store with a few traces, the second chunk of which may be damaged. */
static void make_store(const char *name, bool damaged)
{
	struct script_options options = { .calls = 6 };
	struct zts_writer_options settings = { .codec = SONDE_CODEC_LZ4, .chunk_size = 300 };
	struct zts_writer *writer;
	struct sonde_error err;
	char path[128];
	FILE *file;

	remove_tree(scratch_path(name));
	assert_int_equal(sonde_folder_create(scratch_path(name), &err), SONDE_OK);
	snprintf(path, sizeof(path), "%s/000000", scratch_path(name));
	assert_int_equal(zts_writer_create(path, &settings, &writer, &err), SONDE_OK);
	for (uint64_t i = 0; i < TRACES; i++)
		assert_int_equal(script_write(writer, i, &options, &err), SONDE_OK);
	assert_int_equal(zts_writer_close(writer, &err), SONDE_OK);
	if (!damaged)
		return;
	snprintf(path, sizeof(path), "%s/000000/traces.dat", scratch_path(name));
	file = fopen(path, "r+b");
	assert_non_null(file);
	assert_int_equal(fseek(file, 60, SEEK_SET), 0);
	assert_int_equal(fputc('x', file), 'x');
	assert_int_equal(fclose(file), 0);
}

static struct fault_world world_of(const char *name)
{
	struct fault_world world = { .format = "zts", .none_of = SONDE_ERROR };

	snprintf(world.input, sizeof(world.input), "%s", scratch_path(name));
	snprintf(world.output, sizeof(world.output), "%s/out", scratch);
	return world;
}

static enum sonde_status walk_track(struct sonde_recording *recording, uint32_t track,
				    struct sonde_error *err)
{
	struct sonde_cursor *cursor;
	struct sonde_detail detail;
	struct sonde_batch batch;
	enum sonde_status status = sonde_cursor_open(recording, track, &cursor, err);

	if (status < 0)
		return status;
	sonde_cursor_seek_time(cursor, 1);
	sonde_cursor_seek_index(cursor, 0);
	while ((status = sonde_cursor_next(cursor, &batch, err)) == SONDE_OK) {
		enum sonde_status taken = SONDE_OK;

		for (size_t i = 0; i < batch.count && taken >= 0; i++)
			taken = sonde_batch_detail(&batch, &batch.events[i], &detail, err);
		if (taken < 0) {
			status = taken;
			break;
		}
	}
	sonde_cursor_free(cursor);
	return status == SONDE_END ? SONDE_OK : status;
}

static enum sonde_status run_walk(void *user, struct sonde_error *err)
{
	const struct fault_world *world = user;
	struct sonde_recording *recording;
	enum sonde_status status = sonde_recording_open(world->input, NULL, &recording, err);
	uint32_t tracks;

	if (status < 0)
		return status;
	tracks = sonde_definitions_track_count(sonde_recording_definitions(recording));
	for (uint32_t track = 0; track < tracks && status == SONDE_OK; track++)
		status = walk_track(recording, track, err);
	sonde_recording_close(recording);
	return status;
}

static void test_walk(void **state)
{
	struct fault_world world = world_of("whole");
	struct fault_case walk = { .run = run_walk, .user = &world };

	(void)state;
	assert_true(fault_run_all(FAULT_ALLOCATION, &walk) > 50);
	assert_true(fault_run_all(FAULT_INPUT, &walk) > 5);
}

static void test_check(void **state)
{
	static const char *const names[] = { "whole", "damaged" };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct fault_world world = world_of(names[i]);
		struct fault_case check = { .run = run_check, .user = &world };

		assert_true(fault_run_all(FAULT_ALLOCATION, &check) > 50);
		assert_true(fault_run_all(FAULT_INPUT, &check) > 5);
	}
}

static void run_writing(struct fault_world *world,
			enum sonde_status (*run)(void *user, struct sonde_error *err))
{
	struct fault_case writing = {
		.run = run,
		.before = remove_output,
		.after = expect_whole_or_nothing,
		.user = world,
	};

	assert_true(fault_run_all(FAULT_ALLOCATION, &writing) > 50);
	assert_true(fault_run_all(FAULT_INPUT, &writing) > 5);
	assert_true(fault_run_all(FAULT_OUTPUT, &writing) > 5);
}

static void test_recover(void **state)
{
	struct fault_world damaged = world_of("damaged");

	(void)state;
	run_writing(&damaged, run_recover);
}

static void test_convert(void **state)
{
	struct fault_world whole = world_of("whole");

	(void)state;
	run_writing(&whole, run_convert);
	whole.style = "zlib";
	run_writing(&whole, run_convert);
}

static int make_world(void **state)
{
	int made = make_scratch_in_memory(state);

	make_store("whole", false);
	make_store("damaged", true);
	return made;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_walk),
		cmocka_unit_test(test_check),
		cmocka_unit_test(test_recover),
		cmocka_unit_test(test_convert),
	};

	return cmocka_run_group_tests(tests, make_world, remove_scratch);
}
