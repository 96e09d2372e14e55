/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The writer of databases, value by value and byte by byte: scopes, statistics, numbers of metrics,
 * transposition, what is left out and what is refused. meta.db and the texts are in
 * test_hpcdb_write_meta.c, threads and teams in test_hpcdb_write_many.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>
#include <unistd.h>

#include "hpcdb_world.h"
#include "scratch.h"

/* point, function, lex_aware, execution of track 0 of the world */
static const double expected[WORLD_CONTEXTS][4] = {
	[WORLD_ROOT] = { 0, 0, 0, 31 },
	[WORLD_MAIN_ENTRY] = { 0, 0, 0, 15 },
	[WORLD_MAIN] = { 0, 9, 9, 15 },
	[WORLD_OUTER] = { 8, 9, 8, 15 }, /* lex_aware without the inner loop */
	[WORLD_INNER] = { 0, 1, 1, 7 },
	[WORLD_LINE] = { 0, 1, 1, 7 }, /* not what was inlined */
	[WORLD_INSTRUCTION] = { 1, 1, 1, 1 },
	[WORLD_INLINED] = { 0, 2, 2, 6 },
	[WORLD_INLINED_LINE] = { 0, 2, 2, 6 },
	[WORLD_CALL] = { 2, 2, 2, 6 }, /* two values that add up */
	[WORLD_CALLEE] = { 0, 4, 4, 4 },
	[WORLD_CALLEE_LINE] = { 4, 4, 4, 4 },
	[WORLD_THREAD_ENTRY] = { 0, 0, 0, 16 },
	[WORLD_UNKNOWN] = { 16, 16, 16, 16 },
};

static void test_scopes(void **state)
{
	struct world world;
	struct world_file profile, cct;
	uint64_t count = 0;

	(void)state;
	world_init(&world);
	world_write(&world, "scopes.d");
	profile = world_open("scopes.d", "profile.db");
	cct = world_open("scopes.d", "cct.db");
	for (uint32_t i = 0; i < WORLD_CONTEXTS; i++) {
		for (uint16_t id = 0; id < 4; id++) {
			double value = expected[i][id];

			count += value != 0;
			if (world_value(&profile, 1, i, id) != value ||
			    world_value(&profile, 0, i, id) != value ||
			    world_cct_value(&cct, 1, i, id) != value)
				fail_msg("context %u, metric %u: %g, %g, %g", i, id,
					 world_value(&profile, 1, i, id),
					 world_value(&profile, 0, i, id),
					 world_cct_value(&cct, 1, i, id));
		}
	}
	assert_int_equal(world_value_count(&profile, 1), count);
	assert_int_equal(world_value_count(&profile, 0), count);
	assert_int_equal(world.written.values, 2 * count);
	assert_int_not_equal(access(scratch_path("scopes.d/trace.db"), F_OK), 0);
	world_close(&profile);
	world_close(&cct);
	world_release(&world);
}

static void test_profile_layout(void **state)
{
	static const struct sonde_identity identities[] = {
		{ .kind = 1, .is_physical = true, .physical = 0x11ac0300, .logical = 3 },
		{ .kind = 3, .logical = 2, .physical = 99 },
	};
	struct world world;
	struct world_file file;
	uint64_t end;

	(void)state;
	world_init(&world);
	world.tracks[0] = (struct hpcdb_track){ identities, 2, 0 };
	world_write(&world, "layout.d");
	file = world_open("layout.d", "profile.db");
	assert_memory_equal(file.file.data, "HPCTOOLKITprof\4\0", 16);
	assert_int_equal(world_u64(&file, 0x10), 0x10 + 2 * 0x30);
	assert_int_equal(world_u64(&file, 0x18), 0x30);
	assert_int_equal(world_u64(&file, 0x20), 8 + 2 * 16);
	assert_int_equal(world_u64(&file, 0x28), 0xa0);
	assert_int_equal(world_u64(&file, 0x30), 0x40);
	assert_int_equal(world_u32(&file, 0x38), 2);
	assert_int_equal(world_u8(&file, 0x3c), 0x30);
	/* the summary has no tuple, and comes behind the others */
	assert_int_equal(world_u64(&file, 0x60), 0);
	assert_int_equal(world_u32(&file, 0x68), 1);
	assert_int_equal(world_u64(&file, 0x90), 0xa0);
	assert_int_equal(world_u32(&file, 0x98), 0);
	assert_int_equal(world_u64(&file, 0x78), 0xc8);
	end = world_u64(&file, 0x88) + 12 * world_u32(&file, 0x80);
	assert_int_equal(world_u64(&file, 0x48), end);
	/* 41 pairs of 10 bytes, two of padding */
	assert_int_equal(world_u64(&file, 0x70), 41);
	assert_int_equal(world_u64(&file, 0x88), 0xc8 + 412);
	assert_int_equal(world_u16(&file, 0xc8 + 410), 0);
	assert_int_equal(world_u16(&file, 0xa0), 2);
	assert_int_equal(world_u8(&file, 0xa8), 1);
	assert_int_equal(world_u16(&file, 0xaa), 1);
	assert_int_equal(world_u32(&file, 0xac), 3);
	assert_int_equal(world_u64(&file, 0xb0), 0x11ac0300);
	assert_int_equal(world_u16(&file, 0xba), 0);
	assert_int_equal(world_u32(&file, 0xbc), 2);
	assert_int_equal(world_u64(&file, 0xc0), 2);
	assert_memory_equal(file.file.data + file.file.size - 8, "_prof.db", 8);
	world_close(&file);
	file = world_open("layout.d", "cct.db");
	assert_memory_equal(file.file.data, "HPCTOOLKITctxt\4\0", 16);
	assert_int_equal(world_u64(&file, 0x10), 0x10 + WORLD_CONTEXTS * 0x20);
	assert_int_equal(world_u64(&file, 0x18), 0x30);
	assert_int_equal(world_u64(&file, 0x30), 0x40);
	assert_int_equal(world_u32(&file, 0x38), WORLD_CONTEXTS);
	assert_int_equal(world_u8(&file, 0x3c), 0x20);
	assert_int_equal(world_u64(&file, 0x48), 0x40 + WORLD_CONTEXTS * 0x20);
	assert_memory_equal(file.file.data + file.file.size - 8, "__ctx.db", 8);
	world_close(&file);
	world_release(&world);
}

/* Three tracks: 2, nothing, -5 in a context; the same cancelled out in another. */
static void test_statistics(void **state)
{
	static const struct hpcdb_point first[] = { { WORLD_UNKNOWN, 0, 2 },
						    { WORLD_MAIN, 0, 3 },
						    { WORLD_CALLEE, 0, 5 } };
	static const struct hpcdb_point third[] = { { WORLD_UNKNOWN, 0, -5 },
						    { WORLD_MAIN, 0, -3 },
						    { WORLD_CALLEE, 0, 4 } };
	struct world world;
	struct world_file file;

	(void)state;
	world_init(&world);
	world.world.track_count = 3;
	world.data[0] = (struct world_track){ .points = first, .point_count = 3 };
	world.data[2] = (struct world_track){ .points = third, .point_count = 3 };
	world.options.statistics = HPCDB_STATISTIC_SUM | HPCDB_STATISTIC_DEVIATION |
				   HPCDB_STATISTIC_EXTREMA | HPCDB_STATISTIC_COUNT;
	world_write(&world, "statistics.d");
	file = world_open("statistics.d", "profile.db");
	/* sum, count, squares, min, max, each in four scopes; the last of them is execution */
	assert_true(world_value(&file, 0, WORLD_UNKNOWN, 3) == -3);
	assert_true(world_value(&file, 0, WORLD_UNKNOWN, 7) == 2);
	assert_true(world_value(&file, 0, WORLD_UNKNOWN, 11) == 29);
	assert_true(world_value(&file, 0, WORLD_UNKNOWN, 15) == -5);
	assert_true(world_value(&file, 0, WORLD_UNKNOWN, 19) == 2);
	assert_true(world_value(&file, 0, WORLD_UNKNOWN, 16) == 2);
	assert_true(world_value(&file, 0, WORLD_MAIN, 2) == 0); /* adds up to nothing */
	assert_true(world_value(&file, 0, WORLD_MAIN, 6) == 2);
	assert_true(world_value(&file, 0, WORLD_MAIN, 10) == 18);
	assert_true(world_value(&file, 0, WORLD_CALLEE, 15) == 4);
	assert_true(world_value(&file, 0, WORLD_CALLEE, 19) == 5);
	assert_true(world_value(&file, 0, WORLD_ROOT, 3) == 6);
	assert_true(world_value(&file, 0, WORLD_ROOT, 15) == -4);
	/* five of everything, without the three sums that are 0 */
	assert_int_equal(world_value_count(&file, 0), 5 * (1 + 1 + 4 + 6 + 4 + 1 + 4) - 3);
	assert_int_equal(world_value_count(&file, 2), 0);
	world_close(&file);
	world_release(&world);
}

/* The second metric has a formula and no number, the third two scopes, the fourth all. */
static void test_metric_numbers(void **state)
{
	static const struct hpcdb_point points[] = { { WORLD_UNKNOWN, 3, 7 },
						     { WORLD_UNKNOWN, 2, 5 },
						     { WORLD_UNKNOWN, 0, 3 } };
	struct world world;
	struct world_file profile, cct;

	(void)state;
	world_init(&world);
	world.metrics[1] = (struct hpcdb_metric){ .name = "RATE", .formula = "#0/2" };
	world.metrics[2] =
		(struct hpcdb_metric){ .name = "INCLUSIVE",
				       .scopes = 1u << HPCDB_POINT | 1u << HPCDB_EXECUTION };
	world.metrics[3] = (struct hpcdb_metric){ .name = "LAST" };
	world.world.metric_count = 4;
	world.options.statistics = HPCDB_STATISTIC_EXTREMA;
	world.data[0] = (struct world_track){ .points = points, .point_count = 3 };
	world_write(&world, "numbers.d");
	profile = world_open("numbers.d", "profile.db");
	cct = world_open("numbers.d", "cct.db");
	/* 4 scopes twice, then 2 scopes twice */
	assert_int_equal(world_value_count(&profile, 1), 10 + 3 + 3);
	assert_true(world_value(&profile, 1, WORLD_UNKNOWN, 3) == 3);
	assert_true(world_value(&profile, 1, WORLD_UNKNOWN, 8) == 5);
	assert_true(world_value(&profile, 1, WORLD_UNKNOWN, 9) == 5);
	assert_true(world_value(&profile, 1, WORLD_ROOT, 8) == 0);
	assert_true(world_value(&profile, 1, WORLD_ROOT, 9) == 5);
	assert_true(world_value(&profile, 1, WORLD_UNKNOWN, 15) == 7);
	assert_true(world_cct_value(&cct, 1, WORLD_ROOT, 9) == 5);
	assert_true(world_cct_value(&cct, 1, WORLD_UNKNOWN, 12) == 7);
	/* max follows min */
	assert_true(world_value(&profile, 0, WORLD_UNKNOWN, 7) == 3);
	assert_true(world_value(&profile, 0, WORLD_UNKNOWN, 10) == 5);
	assert_true(world_value(&profile, 0, WORLD_ROOT, 11) == 5);
	assert_true(world_value(&profile, 0, WORLD_UNKNOWN, 19) == 7);
	world_close(&profile);
	world_close(&cct);
	world_release(&world);
}

static void test_no_statistics(void **state)
{
	struct world world;
	struct world_file file;

	(void)state;
	world_init(&world);
	world.options.statistics = 0;
	world_write(&world, "none.d");
	file = world_open("none.d", "profile.db");
	assert_int_equal(world_value_count(&file, 0), 0);
	assert_int_equal(world_value_count(&file, 1), 41);
	world_close(&file);
	file = world_open("none.d", "cct.db");
	assert_true(world_cct_value(&file, 1, WORLD_MAIN, 3) == 15);
	world_close(&file);
	world_release(&world);
}

static void test_no_thread_values(void **state)
{
	struct world world;
	struct world_file file;
	struct sonde_folder folder;

	(void)state;
	world_init(&world);
	world.options.no_thread_values = true;
	world_write(&world, "summary.d");
	assert_int_equal(world.written.values, 41);
	file = world_open("summary.d", "profile.db");
	assert_int_equal(world_value_count(&file, 0), 41);
	assert_true(world_value(&file, 0, WORLD_MAIN, 3) == 15);
	assert_int_equal(world_value_count(&file, 1), 0);
	assert_int_equal(world_u64(&file, 0x48), world_u64(&file, 0x78));
	world_close(&file);
	file = world_open("summary.d", "cct.db");
	for (uint32_t i = 0; i < WORLD_CONTEXTS; i++)
		assert_int_equal(world_u64(&file, 0x40 + i * 0x20), 0);
	assert_int_equal(file.file.size, 0x40 + WORLD_CONTEXTS * 0x20 + 8);
	world_close(&file);
	/* nothing is left of what was needed on the way */
	assert_int_equal(sonde_folder_read(&folder, scratch_path("summary.d"), NULL), SONDE_OK);
	assert_int_equal(folder.count, 5);
	sonde_folder_release(&folder);
	world_release(&world);
}

static void test_root_values(void **state)
{
	static const struct hpcdb_point points[] = { { WORLD_ROOT, 0, 5 }, { WORLD_MAIN, 0, 2 } };
	struct world world;
	struct world_file file;

	(void)state;
	world_init(&world);
	world.data[0] = (struct world_track){ .points = points, .point_count = 2 };
	world_write(&world, "root.d");
	file = world_open("root.d", "profile.db");
	assert_true(world_value(&file, 1, WORLD_ROOT, 0) == 5);
	assert_true(world_value(&file, 1, WORLD_ROOT, 1) == 5);
	assert_true(world_value(&file, 1, WORLD_ROOT, 3) == 7);
	world_close(&file);
	world_release(&world);
}

static void test_no_values_at_all(void **state)
{
	struct world world;
	struct world_file file;

	(void)state;
	world_init(&world);
	world.world.track_count = 0;
	world.world.metric_count = 0;
	world.world.context_count = 1;
	world_write(&world, "empty.d");
	file = world_open("empty.d", "profile.db");
	assert_int_equal(world_u32(&file, 0x38), 1);
	assert_int_equal(world_value_count(&file, 0), 0);
	world_close(&file);
	file = world_open("empty.d", "cct.db");
	assert_int_equal(file.file.size, 0x40 + 0x20 + 8);
	world_close(&file);
	world_release(&world);
}

static void test_refusals(void **state)
{
	static const struct hpcdb_point far[] = { { WORLD_CONTEXTS, 0, 1 } };
	static const struct hpcdb_point derived[] = { { WORLD_MAIN, 1, 1 } };
	static const struct sonde_sample samples[2] = { { .context = WORLD_MAIN } };
	struct world world;

	(void)state;
	world_init(&world);
	world.metrics[1] = (struct hpcdb_metric){ .name = "RATE", .formula = "#0/2" };
	world.world.metric_count = 2;
	world.data[0] = (struct world_track){ .points = far, .point_count = 1 };
	world_refuse(&world, SONDE_ARGUMENT, "does not exist");
	world.data[0].points = derived;
	world_refuse(&world, SONDE_ARGUMENT, "metric 1");
	world.data[0] = (struct world_track){ .samples = samples, .sample_count = 2 };
	world.tracks[0].sample_limit = 1;
	world_refuse(&world, SONDE_ARGUMENT, "more samples");
	world.tracks[0].sample_limit = UINT64_MAX;
	world_refuse(&world, SONDE_LIMIT, "do not fit");
	world.tracks[0].sample_limit = 0;
	world.contexts[WORLD_INNER].parent = WORLD_INNER;
	world_refuse(&world, SONDE_ARGUMENT, "before its parent");
	world.contexts[WORLD_INNER].parent = WORLD_ROOT;
	world_refuse(&world, SONDE_ARGUMENT, "must be an entry");
	world.contexts[WORLD_INNER].parent = WORLD_OUTER;
	world.contexts[WORLD_ROOT].kind = SONDE_CONTEXT_LINE;
	world_refuse(&world, SONDE_ARGUMENT, "must be the root");
	world.world.context_count = 0;
	world_refuse(&world, SONDE_ARGUMENT, "at least the root");
	world_release(&world);
}

static void test_too_many_metrics(void **state)
{
	static struct hpcdb_metric metrics[65536 / 4 + 1];
	struct world world;

	(void)state;
	world_init(&world);
	for (size_t i = 0; i < sizeof(metrics) / sizeof(*metrics); i++)
		metrics[i].name = "M";
	world.world.metrics = metrics;
	world.world.metric_count = sizeof(metrics) / sizeof(*metrics);
	world_refuse(&world, SONDE_LIMIT, "fewer statistics");
	world.world.metric_count--;
	world_write(&world, "many.d");
	world_release(&world);
}

static void test_existing_target(void **state)
{
	struct world world;

	(void)state;
	world_init(&world);
	world_write(&world, "there.d");
	assert_int_equal(hpcdb_write(scratch_path("there.d"), &world.world, &world.source,
				     &world.options, &world.written, &world.err),
			 SONDE_ARGUMENT);
	world.options.replace = true;
	world_write(&world, "there.d");
	world_release(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scopes),		cmocka_unit_test(test_profile_layout),
		cmocka_unit_test(test_statistics),	cmocka_unit_test(test_metric_numbers),
		cmocka_unit_test(test_no_statistics),	cmocka_unit_test(test_no_thread_values),
		cmocka_unit_test(test_root_values),	cmocka_unit_test(test_no_values_at_all),
		cmocka_unit_test(test_refusals),	cmocka_unit_test(test_too_many_metrics),
		cmocka_unit_test(test_existing_target),
	};

	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
