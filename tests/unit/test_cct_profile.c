/* SPDX-License-Identifier: Apache-2.0 */
/* The tree of contexts of values and samples, databases by their own values, and several trees as one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "cct_fixture.h"

/* Two tracks over main -> (line -> leaf), with values or samples to come. */
static struct sonde_recording *a_profile(void)
{
	struct sonde_recording *recording = cct_one_track();
	uint32_t main_function, line, leaf;

	memory_add_track(recording, 0, "u");
	main_function =
		memory_add_context(recording, 0, SONDE_CONTEXT_FUNCTION, SONDE_CONTEXT_CALLED, 0);
	line = memory_add_context(recording, main_function, SONDE_CONTEXT_LINE,
				  SONDE_CONTEXT_ENCLOSED, SONDE_NONE);
	memory_context(recording, line)->line = 12;
	leaf = memory_add_context(recording, line, SONDE_CONTEXT_FUNCTION, SONDE_CONTEXT_CALLED, 1);
	memory_add_context(recording, leaf, SONDE_CONTEXT_FUNCTION, SONDE_CONTEXT_CALLED, 0);
	return recording;
}

static void values_are_summed_up(void **state)
{
	struct sonde_recording *recording = a_profile();
	uint32_t cycles = memory_add_metric(recording, "cycles", "point", "");
	uint32_t total = memory_add_metric(recording, "cycles", "execution", "");
	uint32_t time = memory_add_metric(recording, "CPUTIME (sec)", "point", "");
	const struct cct_metric *metric;
	struct cct *cct;
	uint32_t a;

	(void)state;
	memory_add_value(recording, 0, 1, total, 1000);
	memory_add_value(recording, 0, 2, cycles, 5);
	memory_add_value(recording, 0, 3, time, 1.5);
	memory_add_value(recording, 0, 4, cycles, 7);
	memory_add_value(recording, 1, 4, cycles, 10);
	cct = cct_of(recording, NULL);
	assert_null(cct->calls);
	assert_int_equal(cct->metric_count, 2);
	assert_string_equal(cct->metrics[0].name, "CPUTIME (sec)");
	assert_near(cct->metrics[0].ns, 1e9);
	assert_int_equal(cct_find_metric(cct, "cputime"), 0);
	assert_int_equal(cct_find_metric(cct, "CYCLES"), 1);
	assert_int_equal(cct_find_metric(cct, "cyc"), SONDE_NONE);
	metric = &cct->metrics[1];
	assert_near(metric->total[0], 22);
	assert_near(metric->self[1], 0);
	assert_near(metric->total[1], 22);
	assert_near(metric->self[2], 5);
	assert_near(metric->total[3], 17);
	assert_true(cct->recursive[4]);
	assert_int_equal(cct_function_context(cct, 2), 1);
	assert_int_equal(cct_function_context(cct, 0), 0);
	assert_near(cct->tracks[0].totals[1], 12);
	assert_near(cct->tracks[1].totals[1], 10);
	a = cct_function(cct, "a");
	assert_int_equal(cct->spread_metric, 0);
	assert_int_equal(cct->function_spread[a].count, 1);
	assert_near(cct->function_spread[a].sum, 1.5);
	assert_int_equal(cct->context_spread[4].count, 0);
	cct_free(cct);
	sonde_recording_close(recording);
}

static void spread_of_values(void **state)
{
	struct sonde_recording *recording = a_profile();
	struct cct_options options = { .metric = "cycles", .spread = true, .no_cache = true };
	uint32_t cycles = memory_add_metric(recording, "cycles", "point", "");
	struct cct *cct = NULL;
	uint32_t a;

	(void)state;
	memory_add_value(recording, 0, 2, cycles, 5);
	memory_add_value(recording, 0, 4, cycles, 7);
	memory_add_value(recording, 1, 4, cycles, 10);
	assert_int_equal(cct_build(recording, &options, &cct, NULL), SONDE_OK);
	a = cct_function(cct, "a");
	assert_int_equal(cct->context_spread[1].count, 2);
	assert_near(cct->context_spread[1].max, 12);
	assert_int_equal(cct->context_spread[1].max_place, 0);
	assert_near(cct->context_spread[3].min, 7);
	assert_near(cct->function_spread[a].sum, 22);
	assert_near(cct->function_spread[a].squares, 244);
	assert_near(cct->function_process_spread[a].max, 22);
	assert_int_equal(cct->function_process_spread[a].count, 1);
	cct_free(cct);
	sonde_recording_close(recording);
}

static void samples_are_time(void **state)
{
	struct sonde_selection_spec spec = { .from_ns = 150, .to_ns = 350 };
	struct sonde_recording *recording = a_profile();
	uint32_t cycles = memory_add_metric(recording, "cycles", "point", "");
	struct cct *cct;

	(void)state;
	memory_add_value(recording, 0, 2, cycles, 5);
	memory_add_sample(recording, 0, 100, 2);
	memory_add_sample(recording, 0, 200, 4);
	memory_add_sample(recording, 0, 300, 0);
	memory_add_sample(recording, 0, 330, 2);
	memory_add_sample(recording, 0, 400, 0);
	/* values first, and what the samples say of the track */
	cct = cct_of(recording, NULL);
	assert_string_equal(cct->metrics[0].name, "cycles");
	assert_int_equal(cct->tracks[0].busy_ns, 270);
	assert_int_equal(cct->tracks[0].first_ns, 100);
	assert_int_equal(cct->tracks[0].last_ns, 400);
	assert_int_equal(cct->tracks[0].sample_count, 5);
	cct_free(cct);
	cct = cct_of(recording, &spec);
	assert_string_equal(cct->metrics[0].name, "REALTIME (sec)");
	assert_near(cct->metrics[0].self[2] * 1e9, 50 + 20);
	assert_near(cct->metrics[0].self[4] * 1e9, 100);
	assert_near(cct->metrics[0].total[0] * 1e9, 170);
	assert_int_equal(cct->tracks[0].busy_ns, 170);
	assert_int_equal(cct->tracks[0].first_ns, 150);
	assert_int_equal(cct->tracks[0].last_ns, 350);
	assert_near(cct->context_spread[0].sum * 1e9, 170);
	cct_free(cct);
	sonde_recording_close(recording);
}

static void a_profile_refuses_what_it_cannot(void **state)
{
	static const char *const names[] = { "a" };
	struct sonde_selection_spec spec = { .functions = names, .function_count = 1 };
	struct cct_options options = { .selection = &spec };
	struct sonde_recording *recording = a_profile();
	uint32_t cycles = memory_add_metric(recording, "cycles", "point", "");
	struct cct *cct = NULL;

	(void)state;
	memory_add_value(recording, 0, 2, cycles, 5);
	assert_int_equal(cct_build(recording, &options, &cct, NULL), SONDE_ARGUMENT);
	spec = (struct sonde_selection_spec){ .to_ns = 5 };
	assert_int_equal(cct_build(recording, &options, &cct, NULL), SONDE_ARGUMENT);
	assert_null(cct);
	sonde_recording_close(recording);
}

static void trees_are_merged(void **state)
{
	struct sonde_recording *first = cct_one_track(), *second = cct_one_track();
	struct cct *one, *two, *whole = NULL;
	const struct cct *parts[2];
	uint32_t *maps[2];
	const struct cct_calls *calls;

	(void)state;
	/* the second begins with another function, so that ids differ */
	PUT(first, 0, C(0, 0, 1), C(10, 1, 2), R(20, 1, 2), R(100, 0, 1));
	PUT(second, 0, C(0, 3, 1), R(5, 3, 1), C(10, 0, 1), C(11, 1, 2), R(51, 1, 2), R(60, 0, 1));
	parts[0] = one = cct_of(first, NULL);
	parts[1] = two = cct_of(second, NULL);
	assert_int_equal(cct_merge(parts, 2, &whole, maps, NULL), SONDE_OK);
	cct_check(whole, "a", 90 + 10, 150, 2, false);
	cct_check(whole, "ab", 50, 50, 2, false);
	cct_check(whole, "d", 5, 5, 1, false);
	assert_int_equal(maps[0][cct_path(one, "ab")], cct_path(whole, "ab"));
	assert_int_equal(maps[1][cct_path(two, "ab")], cct_path(whole, "ab"));
	assert_int_equal(maps[1][cct_path(two, "d")], cct_path(whole, "d"));
	assert_int_equal(maps[0][0], 0);
	calls = &whole->calls[cct_path(whole, "ab")];
	assert_int_equal(calls->min_ns, 10);
	assert_int_equal(calls->max_ns, 40);
	assert_near(calls->squares, 1700);
	assert_int_equal(sonde_definitions_track_count(whole->definitions), 2);
	assert_int_equal(sonde_definitions_process_count(whole->definitions), 2);
	assert_int_equal(sonde_definitions_track(whole->definitions, 1)->process, 1);
	assert_int_equal(whole->tracks[1].busy_ns, 55);
	assert_near(whole->tracks[1].totals[1], 3);
	assert_int_equal(whole->context_spread[cct_path(whole, "ab")].count, 2);
	assert_int_equal(whole->context_spread[cct_path(whole, "ab")].max_place, 1);
	assert_int_equal(cct_duration_quantile(whole, cct_function(whole, "b"), 1), 40);
	for (size_t i = 0; i < 2; i++)
		free(maps[i]);
	cct_free(one);
	cct_free(two);
	/* the whole needs no part any more */
	cct_check(whole, "ab", 50, 50, 2, false);
	cct_free(whole);
	sonde_recording_close(first);
	sonde_recording_close(second);
}

static void other_metrics_stay_apart(void **state)
{
	struct sonde_recording *first = cct_one_track(), *second = a_profile();
	uint32_t cycles = memory_add_metric(second, "cycles", "point", "");
	const struct cct *parts[2];
	struct cct *one, *two, *whole = NULL;

	(void)state;
	memory_add_value(second, 0, 2, cycles, 5);
	PUT(first, 0, C(0, 0, 1), R(100, 0, 1));
	parts[0] = one = cct_of(first, NULL);
	parts[1] = two = cct_of(second, NULL);
	assert_int_equal(cct_merge(parts, 2, &whole, NULL, NULL), SONDE_OK);
	assert_int_equal(whole->metric_count, 3);
	assert_near(whole->metrics[0].total[0] * 1e9, 100);
	assert_near(whole->metrics[2].total[0], 5);
	assert_near(whole->tracks[1].totals[2], 5);
	assert_null(whole->context_spread);
	assert_non_null(whole->calls);
	cct_free(one);
	cct_free(two);
	cct_free(whole);
	assert_int_equal(cct_merge(NULL, 0, &whole, NULL, NULL), SONDE_OK);
	assert_int_equal(whole->context_count, 1);
	cct_free(whole);
	sonde_recording_close(first);
	sonde_recording_close(second);
}

/* The sum over all tracks that a database has of a metric of scope "execution" in its root. */
static void compare_with_database(const char *path)
{
	struct sonde_recording *recording = NULL;
	const struct sonde_definitions *definitions;
	uint32_t compared = 0;
	struct cct *cct;

	assert_int_equal(sonde_recording_open(path, NULL, &recording, NULL), SONDE_OK);
	definitions = sonde_recording_definitions(recording);
	cct = cct_of(recording, NULL);
	for (uint32_t i = 0; i < sonde_definitions_metric_count(definitions); i++) {
		const struct sonde_metric *metric = sonde_definitions_metric(definitions, i);
		uint32_t own =
			cct_find_metric(cct, sonde_definitions_string(definitions, metric->name));
		double sum = 0;

		if (metric->statistic ||
		    strcmp(sonde_definitions_string(definitions, metric->scope), "execution") != 0)
			continue;
		assert_int_not_equal(own, SONDE_NONE);
		for (uint32_t k = 0; k < sonde_definitions_track_count(definitions); k++) {
			double value = 0;

			sonde_recording_value(recording, k, 0, i, &value, NULL);
			assert_near(cct->tracks[k].totals[own], value);
			sum += value;
		}
		assert_near(cct->metrics[own].total[0], sum);
		compared++;
	}
	assert_true(compared > 0);
	cct_free(cct);
	sonde_recording_close(recording);
}

/* Values of all contexts, against those of the database, where contexts are numbered alike. */
static void databases_say_the_same(void **state)
{
	static const char *const names[] = { "small.d", "small.nostruct.d", "loops-cputime-t.d",
					     "loops-cuda-nvidia-t.d" };
	const char *corpus = getenv("SONDE_CORPUS");
	char path[512];

	(void)state;
	snprintf(path, sizeof(path), "%s/hpcdb/small", getenv("GOLDEN"));
	compare_with_database(path);
	for (size_t i = 0; corpus && i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/hpcdb/%s", corpus, names[i]);
		compare_with_database(path);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_are_summed_up),
		cmocka_unit_test(spread_of_values),
		cmocka_unit_test(samples_are_time),
		cmocka_unit_test(a_profile_refuses_what_it_cannot),
		cmocka_unit_test(trees_are_merged),
		cmocka_unit_test(other_metrics_stay_apart),
		cmocka_unit_test(databases_say_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
