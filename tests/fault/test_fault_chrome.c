/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chrome trace JSON with each allocation and each call to the system failing in turn: opening and walking, and
 * writing anew, plain and packed. The files are the seeds of the fuzzer.
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
	struct fault_world world = { .format = "chrome", .none_of = SONDE_ERROR };

	snprintf(world.input, sizeof(world.input), "%s/tests/fuzz/corpus/chrome_json/%s",
		 getenv("SOURCE_ROOT"), seed);
	snprintf(world.output, sizeof(world.output), "%s/out", scratch);
	return world;
}

static void test_walk(void **state)
{
	static const char *const seeds[] = { "object.json", "ours.json", "packed.json.gz",
					     "broken.json" };

	(void)state;
	for (size_t i = 0; i < sizeof(seeds) / sizeof(seeds[0]); i++) {
		struct fault_world world = world_of(seeds[i]);
		struct fault_case walk = { .run = run_walk, .user = &world };

		assert_true(fault_run_all(FAULT_ALLOCATION, &walk) > 20);
		assert_true(fault_run_all(FAULT_INPUT, &walk) > 1);
		assert_true(fault_run_all(FAULT_OUTPUT, &walk) > 1);
	}
}

static void test_convert(void **state)
{
	static const char *const styles[] = { NULL, "gzip" };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct fault_world world = world_of("ours.json");

		world.style = styles[i];
		try_writing(&world, run_convert, 20, 1, 2);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_walk),
		cmocka_unit_test(test_convert),
	};

	return cmocka_run_group_tests(tests, make_scratch_in_memory, remove_scratch);
}
