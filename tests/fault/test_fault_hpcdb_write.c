/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing databases with each allocation and each call to the system failing in turn. The folder is
 * there whole and the same as ever, or there is nothing at all.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../unit/hpcdb_world.h"
#include "../unit/scratch.h"
#include "fault.h"

/* Out of order and with repeats, so that what puts that right is tried too. */
static const struct sonde_sample samples[] = {
	{ 10, 0, 0 }, { 40, 0, WORLD_MAIN }, { 20, 0, 0 }, { 30, 0, 0 }, { 50, 0, WORLD_CALL },
};

static void prepare(struct world *world)
{
	world_init(world);
	world->world.track_count = 3;
	world->data[1] = world->data[0];
	world->data[2] = world->data[0];
	world->data[1].samples = samples;
	world->data[1].sample_count = 5;
	world->tracks[1].sample_limit = 5;
	world->metrics[1] = (struct hpcdb_metric){ .name = "RATE", .formula = "#0/2" };
	world->world.metric_count = 2;
	world->options.statistics = HPCDB_STATISTIC_SUM | HPCDB_STATISTIC_DEVIATION;
	world->options.copy_sources = true;
	put_file(scratch_path("b.c"), "int b;\n");
	world->contexts[WORLD_CALLEE_LINE].file = world_string(world, scratch_path("b.c"));
}

static void before(void *user)
{
	(void)user;
	remove_tree(scratch_path("folder"));
	mkdir(scratch_path("folder"), 0777);
}

static enum sonde_status run(void *user, struct sonde_error *err)
{
	struct world *world = user;

	return hpcdb_write(scratch_path("folder/out.d"), &world->world, &world->source,
			   &world->options, &world->written, err);
}

/* There is nothing, or the same folder as without faults. */
static void after(void *user, enum sonde_status status, const struct sonde_error *err)
{
	struct world *world = user;
	struct sonde_folder folder;

	(void)err;
	assert_int_equal(sonde_folder_read(&folder, scratch_path("folder"), NULL), SONDE_OK);
	/* a failure after it got its name leaves it there */
	assert_true(folder.count <= 1);
	assert_true(status < 0 || folder.count == 1);
	if (folder.count) {
		assert_string_equal(folder.names[0], "out.d");
		/* a source that could not be read is not copied, and meta.db says so */
		if (world->written.sources_copied)
			assert_same_database("expected.d", "folder/out.d");
	}
	sonde_folder_release(&folder);
}

static void run_all(bool no_thread_values)
{
	struct world world;
	const struct fault_case fault_case = { run, before, after, &world, false };

	prepare(&world);
	world.options.no_thread_values = no_thread_values;
	remove_tree(scratch_path("expected.d"));
	world_write(&world, "expected.d");
	assert_int_equal(world.written.sources_copied, 1);
	assert_true(fault_run_all(FAULT_ALLOCATION, &fault_case) > 30);
	assert_true(fault_run_all(FAULT_INPUT, &fault_case) > 5);
	assert_true(fault_run_all(FAULT_OUTPUT, &fault_case) > 20);
	world_release(&world);
}

static void test_faults(void **state)
{
	(void)state;
	run_all(false);
}

static void test_faults_of_summary(void **state)
{
	(void)state;
	run_all(true);
}

static void test_faults_of_threads(void **state)
{
	struct world world;
	const struct fault_case fault_case = { run, before, after, &world, false };

	(void)state;
	prepare(&world);
	remove_tree(scratch_path("expected.d"));
	world_write(&world, "expected.d");
	world.options.threads = 3;
	assert_true(fault_run_all(FAULT_THREAD, &fault_case) > 0);
	world_release(&world);
}

static void test_short_writes(void **state)
{
	struct world world;

	(void)state;
	prepare(&world);
	remove_tree(scratch_path("expected.d"));
	world_write(&world, "expected.d");
	fault_short_writes = true;
	world_write(&world, "short.d");
	fault_short_writes = false;
	assert_same_database("expected.d", "short.d");
	world_release(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_faults_of_summary),
		cmocka_unit_test(test_faults_of_threads),
		cmocka_unit_test(test_short_writes),
	};

	return cmocka_run_group_tests(tests, make_scratch_in_memory, remove_scratch);
}
