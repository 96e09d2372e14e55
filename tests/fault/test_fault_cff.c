/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wtf-trace files with each allocation and each call to the system failing in turn: opening and
 * walking, checking, recovering and converting, from and to binary and JSON. What cannot be done
 * fails cleanly, and an output is there whole or not at all. The files are the seeds of the
 * fuzzer.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include <sonde/sonde.h>

#include "../unit/scratch.h"
#include "fault.h"
#include "recording.h"

static struct fault_world world_of(const char *seed)
{
	struct fault_world world = { .format = "cff", .none_of = SONDE_ERROR };

	snprintf(world.input, sizeof(world.input), "%s/tests/fuzz/corpus/cff_binary/%s",
		 getenv("SOURCE_ROOT"), seed);
	snprintf(world.output, sizeof(world.output), "%s/out", scratch);
	return world;
}

/* As run_convert(), of one kind of event, so that the file is made anew from events. */
static enum sonde_status run_select(void *user, struct sonde_error *err)
{
	const struct fault_world *world = user;
	struct sonde_create_options create = { .format = world->format, .style = world->style };
	struct sonde_run_options options = { .threads = 1, .selection = { .max_depth = 50 } };
	struct sonde_recording *recording;
	struct sonde_run_result result;
	struct sonde_sink *sink = NULL;
	enum sonde_status status = sonde_recording_open(world->input, NULL, &recording, err);

	if (status < 0)
		return status;
	status = sonde_sink_create(world->output, &create, &sink, err);
	if (status == SONDE_OK)
		status = sonde_pipeline_run(&recording, 1, sink, &options, &result, err);
	sonde_sink_free(sink);
	sonde_recording_close(recording);
	return status;
}

static void test_walk(void **state)
{
	static const char *const seeds[] = { "whole", "several_chunks", "wide", "exact_times",
					     "legacy" };

	(void)state;
	for (size_t i = 0; i < sizeof(seeds) / sizeof(seeds[0]); i++) {
		struct fault_world world = world_of(seeds[i]);
		struct fault_case walk_case = { .run = run_walk, .user = &world };

		assert_true(fault_run_all(FAULT_ALLOCATION, &walk_case) > 20);
		assert_true(fault_run_all(FAULT_INPUT, &walk_case) > 1);
	}
}

static void remove_cache(void *user)
{
	(void)user;
	remove_tree(scratch_path("cache"));
}

static void expect_success(void *user, enum sonde_status status, const struct sonde_error *err)
{
	(void)user;
	(void)err;
	assert_int_equal(status, SONDE_OK);
}

/* With a cache that is to be filled, and one that is: what goes wrong there is never said. */
static void test_walk_cached(void **state)
{
	static const char *const seeds[] = { "whole", "several_chunks", "redefined" };

	(void)state;
	setenv("SONDE_CACHE", scratch_path("cache"), 1);
	setenv("SONDE_CACHE_MINIMUM", "0", 1);
	for (size_t i = 0; i < sizeof(seeds) / sizeof(seeds[0]); i++) {
		struct fault_world world = world_of(seeds[i]);
		struct fault_case fill = { .run = run_walk,
					   .before = remove_cache,
					   .user = &world };
		struct fault_case use = { .run = run_walk, .user = &world };
		struct sonde_error err;

		assert_true(fault_run_all(FAULT_ALLOCATION, &fill) > 20);
		assert_true(fault_run_all(FAULT_INPUT, &fill) > 1);
		fill.after = expect_success;
		assert_true(fault_run_all(FAULT_OUTPUT, &fill) > 2);
		assert_int_equal(run_walk(&world, &err), SONDE_OK);
		assert_true(fault_run_all(FAULT_ALLOCATION, &use) > 20);
		assert_true(fault_run_all(FAULT_INPUT, &use) > 1);
	}
	setenv("SONDE_CACHE", "off", 1);
}

static void test_check(void **state)
{
	static const char *const seeds[] = { "whole", "several_chunks", "cut_in_events",
					     "parts_twice" };

	(void)state;
	for (size_t i = 0; i < sizeof(seeds) / sizeof(seeds[0]); i++) {
		struct fault_world world = world_of(seeds[i]);
		struct fault_case check = { .run = run_check, .user = &world };

		assert_true(fault_run_all(FAULT_ALLOCATION, &check) > 10);
		assert_true(fault_run_all(FAULT_INPUT, &check) > 1);
	}
}

static void test_recover(void **state)
{
	struct fault_world cut = world_of("cut_in_events"), wire = world_of("undefined_wire");

	(void)state;
	try_writing(&cut, run_recover, 10, 1, 2);
	try_writing(&wire, run_recover, 10, 1, 2);
}

static void test_convert(void **state)
{
	struct fault_world world = world_of("whole"), several = world_of("several_chunks");

	(void)state;
	try_writing(&world, run_convert, 10, 1, 2);
	try_writing(&several, run_convert, 10, 1, 2);
	try_writing(&several, run_select, 10, 1, 2);
}

static void test_convert_json(void **state)
{
	static const char *const styles[] = { NULL, "events", "partial,spec" };

	(void)state;
	for (size_t i = 0; i < sizeof(styles) / sizeof(styles[0]); i++) {
		struct fault_world world = world_of("whole");

		world.format = "cff-json";
		world.style = styles[i];
		try_writing(&world, run_convert, 10, 1, 2);
	}
}

static void test_convert_atf(void **state)
{
	struct fault_world world = world_of("several_chunks");

	(void)state;
	world.format = "atf";
	try_writing(&world, run_convert, 10, 1, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_walk),	    cmocka_unit_test(test_walk_cached),
		cmocka_unit_test(test_check),	    cmocka_unit_test(test_recover),
		cmocka_unit_test(test_convert),	    cmocka_unit_test(test_convert_json),
		cmocka_unit_test(test_convert_atf),
	};

	return cmocka_run_group_tests(tests, make_scratch_in_memory, remove_scratch);
}
