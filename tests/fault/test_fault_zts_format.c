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

static void test_recover(void **state)
{
	struct fault_world damaged = world_of("damaged");

	(void)state;
	try_writing(&damaged, run_recover, 50, 5, 5);
}

static void test_convert(void **state)
{
	struct fault_world whole = world_of("whole");

	(void)state;
	try_writing(&whole, run_convert, 50, 5, 5);
	whole.style = "zlib";
	try_writing(&whole, run_convert, 50, 5, 5);
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
