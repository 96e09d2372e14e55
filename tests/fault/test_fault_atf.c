/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ATF with each allocation and each call to the system failing in turn: opening and walking,
 * checking, converting and recovering. What cannot be done fails cleanly, and an output is there
 * whole or not at all.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include <sonde/sonde.h>

#include "../unit/annotations_fixture.h"
#include "../unit/scratch.h"
#include "fault.h"
#include "recording.h"

static struct fault_world world_of(const char *golden)
{
	struct fault_world world = { .format = "atf", .none_of = SONDE_WARNING };

	snprintf(world.input, sizeof(world.input), "%s/atf/%s", getenv("GOLDEN"), golden);
	snprintf(world.output, sizeof(world.output), "%s/out", scratch);
	return world;
}

/* Every event and every detail of a track. */
static enum sonde_status walk_track(struct sonde_recording *recording, uint32_t track,
				    struct sonde_error *err)
{
	struct sonde_cursor *cursor;
	struct sonde_detail detail;
	struct sonde_batch batch;
	enum sonde_status status = sonde_cursor_open(recording, track, &cursor, err);

	if (status < 0)
		return status;
	while ((status = sonde_cursor_next(cursor, &batch, err)) == SONDE_OK)
		;
	/* from the last to the first, so that the table of offsets is built */
	for (uint64_t number = 300; status == SONDE_END && number-- > 290;)
		if (sonde_cursor_detail(cursor, number, &detail, err) == SONDE_NOMEM)
			status = SONDE_NOMEM;
	sonde_cursor_free(cursor);
	return status == SONDE_END ? SONDE_OK : status;
}

static enum sonde_status run_detail_walk(void *user, struct sonde_error *err)
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
	struct fault_world world = world_of("normal"), crashed = world_of("crashed");
	struct fault_case walk = { .run = run_detail_walk, .user = &world };

	(void)state;
	assert_true(fault_run_all(FAULT_ALLOCATION, &walk) > 50);
	assert_true(fault_run_all(FAULT_INPUT, &walk) > 20);
	walk.user = &crashed;
	assert_true(fault_run_all(FAULT_ALLOCATION, &walk) > 30);
}

static void test_check(void **state)
{
	struct fault_world world = world_of("bad_link"), crashed = world_of("crashed");
	struct fault_case check = { .run = run_check, .user = &world };

	(void)state;
	assert_true(fault_run_all(FAULT_ALLOCATION, &check) > 50);
	assert_true(fault_run_all(FAULT_INPUT, &check) > 20);
	check.user = &crashed;
	assert_true(fault_run_all(FAULT_ALLOCATION, &check) > 30);
}

static void test_convert(void **state)
{
	struct fault_world world = world_of("normal");

	(void)state;
	try_writing(&world, run_convert, 100, 20, 30);
}

static void test_recover(void **state)
{
	struct fault_world world = world_of("crashed");

	(void)state;
	try_writing(&world, run_recover, 50, 20, 30);
}

/* The same with annotations: event types, arguments and resources. */
static void test_annotations(void **state)
{
	struct fault_world world = world_of("");
	struct fault_case run = { .run = run_detail_walk, .user = &world };

	(void)state;
	snprintf(world.input, sizeof(world.input), "%s/annotated", scratch);
	write_annotated(world.input, 2, UINT32_MAX);
	assert_true(fault_run_all(FAULT_ALLOCATION, &run) > 50);
	run.run = run_check;
	assert_true(fault_run_all(FAULT_ALLOCATION, &run) > 50);
	run.before = remove_output;
	run.after = expect_whole_or_nothing;
	run.run = run_convert;
	assert_true(fault_run_all(FAULT_ALLOCATION, &run) > 100);
	run.run = run_recover;
	assert_true(fault_run_all(FAULT_ALLOCATION, &run) > 100);
	assert_true(fault_run_all(FAULT_INPUT, &run) > 20);
	assert_true(fault_run_all(FAULT_OUTPUT, &run) > 30);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_walk),	    cmocka_unit_test(test_check),
		cmocka_unit_test(test_convert),	    cmocka_unit_test(test_recover),
		cmocka_unit_test(test_annotations),
	};

	return cmocka_run_group_tests(tests, make_scratch_in_memory, remove_scratch);
}
