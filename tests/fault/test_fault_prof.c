/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Merging measurements with each allocation and each call to the system failing in turn: it fails
 * cleanly, or refuses what could not be read; a database is there whole or not at all.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <sonde/sonde.h>

#include "../unit/prof_fixture.h"
#include "../unit/scratch.h"
#include "analyse/prof.h"
#include "base/file.h"
#include "fault.h"
#include "formats/hpcdb/hpcdb_write.h"

struct world {
	char inputs[2][128];
	char output[128];
	bool dry_run;
	unsigned int threads;
	uint32_t profiles; /* merged at the last run */
	size_t refused;
};

static enum sonde_status run_prof(void *user, struct sonde_error *err)
{
	struct world *world = user;
	const char *const inputs[] = { world->inputs[0], world->inputs[1] };
	const struct sonde_prof_options options = { .threads = world->threads,
						    .statistics = HPCDB_STATISTIC_SUM,
						    .ignore_binaries = true,
						    .dry_run = world->dry_run };
	struct sonde_prof_report report = { 0 };
	enum sonde_status status = sonde_prof_run(inputs, 2, world->output, &options, &report, err);

	world->profiles = report.profiles;
	world->refused = report.refusals.count;
	sonde_prof_report_release(&report);
	return status;
}

static void remove_output(void *user)
{
	const struct world *world = user;

	remove_tree(world->output);
}

/* What is there is whole, also where the last step failed; what is missing was refused. */
static void check_output(void *user, enum sonde_status status, const struct sonde_error *err)
{
	const struct world *world = user;
	struct sonde_diagnostics *diagnostics = sonde_diagnostics_new();
	const struct sonde_check_options options = { .threads = 1 };
	struct sonde_error why = { 0 };

	(void)err;
	if (status == SONDE_OK)
		assert_true(world->profiles == 5 || world->refused);
	if (sonde_path_kind(world->output) == SONDE_PATH_ABSENT) {
		assert_true(status != SONDE_OK || world->dry_run);
	} else {
		assert_false(world->dry_run);
		assert_int_equal(sonde_check(world->output, &options, diagnostics, &why), SONDE_OK);
		assert_int_equal(sonde_diagnostics_count(diagnostics, SONDE_ERROR), 0);
	}
	sonde_diagnostics_free(diagnostics);
}

static struct world make_world(void)
{
	struct world world = { .threads = 1 };
	char path[160];
	struct sonde_error err;

	snprintf(world.inputs[0], sizeof(world.inputs[0]), "%s/a.m", scratch);
	snprintf(world.inputs[1], sizeof(world.inputs[1]), "%s/tests/golden/atf/headeronly",
		 getenv("SOURCE_ROOT"));
	snprintf(world.output, sizeof(world.output), "%s/out.d", scratch);
	remove_tree(world.inputs[0]);
	put_random_profiles(world.inputs[0], 4);
	snprintf(path, sizeof(path), "%s/structs", world.inputs[0]);
	assert_int_equal(sonde_folder_create(path, &err), SONDE_OK);
	snprintf(path, sizeof(path), "%s/structs/p.hpcstruct", world.inputs[0]);
	put_file(path, "<?xml version=\"1.0\"?>\n"
		       "<HPCToolkitStructure i=\"0\" version=\"4.9\" n=\"\">\n"
		       "<LM i=\"2\" n=\"/app/prog\" has-calls=\"0\" v=\"{}\">\n"
		       "<F i=\"3\" n=\"/src/a.c\">\n"
		       "<P i=\"4\" n=\"work\" l=\"10\" v=\"{[0x1000-0x1001)}\">\n"
		       "<S i=\"5\" l=\"11\" v=\"{[0x1000-0x1080)}\"/>\n</P>\n</F>\n</LM>\n"
		       "</HPCToolkitStructure>\n");
	return world;
}

static void test_merge(void **state)
{
	struct world world = make_world();
	struct fault_case merge = {
		.run = run_prof, .before = remove_output, .after = check_output, .user = &world
	};

	(void)state;
	world.dry_run = true;
	assert_true(fault_run_all(FAULT_ALLOCATION, &merge) > 100);
	assert_true(fault_run_all(FAULT_INPUT, &merge) > 20);
}

static void test_write(void **state)
{
	struct world world = make_world();
	struct fault_case merge = { .run = run_prof,
				    .before = remove_output,
				    .after = check_output,
				    .user = &world,
				    .output_must_fail = true };

	(void)state;
	assert_true(fault_run_all(FAULT_OUTPUT, &merge) > 10);
	merge.output_must_fail = false;
	assert_true(fault_run_all(FAULT_INPUT, &merge) > 20);
	world.threads = 3;
	assert_true(fault_run_all(FAULT_THREAD, &merge) > 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_merge),
		cmocka_unit_test(test_write),
	};

	return cmocka_run_group_tests(tests, make_scratch_in_memory, remove_scratch);
}
