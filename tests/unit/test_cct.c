/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tree of contexts of calls: against plain counting, what becomes of recursion, exceptions and damage, of
 * several processes, and of selections.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>

#include "cct_fixture.h"

static void calls_make_a_tree(void **state)
{
	struct sonde_recording *recording = cct_one_track();
	const struct cct_calls *calls;
	struct cct *cct;

	(void)state;
	PUT(recording, 0, C(10, 0, 1), C(12, 1, 2), R(15, 1, 2), C(20, 1, 2), X(30, 1, 2),
	    R(40, 0, 1), C(50, 2, 1), R(55, 2, 1));
	cct = cct_of(recording, NULL);
	assert_int_equal(cct->context_count, 5);
	assert_string_equal(cct->metrics[0].name, "REALTIME (sec)");
	assert_string_equal(cct->metrics[1].name, "CALLS");
	assert_near(cct->metrics[0].ns, 1e9);
	cct_check(cct, "a", 17, 30, 1, false);
	cct_check(cct, "ab", 13, 13, 2, false);
	cct_check(cct, "c", 5, 5, 1, false);
	cct_check(cct, "", 0, 35, 0, false);
	assert_near(cct->metrics[0].total[0] * 1e9, 35);
	assert_near(cct->metrics[1].total[0], 4);
	calls = &cct->calls[cct_path(cct, "ab")];
	assert_int_equal(calls->exceptions, 1);
	assert_int_equal(calls->unfinished, 0);
	assert_int_equal(calls->min_ns, 3);
	assert_int_equal(calls->max_ns, 10);
	assert_int_equal(calls->sum_ns, 13);
	assert_near(calls->squares, 109);
	assert_int_equal(cct->tracks[0].event_count, 8);
	assert_int_equal(cct->tracks[0].first_ns, 10);
	assert_int_equal(cct->tracks[0].last_ns, 55);
	assert_int_equal(cct->tracks[0].busy_ns, 35);
	assert_near(cct->tracks[0].totals[0] * 1e9, 35);
	assert_near(cct->tracks[0].totals[1], 4);
	assert_int_equal(cct->first_ns, 10);
	assert_int_equal(cct->last_ns, 55);
	assert_false(cct->cached);
	cct_free(cct);
	sonde_recording_close(recording);
}

static void recursion_counts_once(void **state)
{
	struct sonde_recording *recording = cct_one_track();
	struct cct *cct;
	uint32_t a;

	(void)state;
	PUT(recording, 0, C(0, 0, 1), C(1, 1, 2), C(2, 0, 3), R(6, 0, 3), R(7, 1, 2), C(8, 0, 2),
	    R(9, 0, 2), R(10, 0, 1));
	cct = cct_of(recording, NULL);
	cct_check(cct, "a", 3, 10, 1, false);
	cct_check(cct, "ab", 2, 6, 1, false);
	cct_check(cct, "aba", 4, 4, 1, true);
	cct_check(cct, "aa", 1, 1, 1, true);
	a = cct_function(cct, "a");
	assert_int_equal(cct->function_calls[a].count, 3);
	assert_int_equal(cct->function_calls[a].sum_ns, 15);
	assert_int_equal(cct->function_calls[a].min_ns, 1);
	/* but of the time only what passed */
	assert_near(cct->function_spread[a].sum * 1e9, 10);
	assert_int_equal(cct->function_spread[a].count, 1);
	assert_near(cct->context_spread[cct_path(cct, "aba")].sum * 1e9, 4);
	cct_free(cct);
	sonde_recording_close(recording);
}

static void damage_is_survived(void **state)
{
	struct sonde_recording *recording = cct_one_track();
	struct cct *cct;

	(void)state;
	/* the return of b is lost; d never returns; c has no call; time goes back */
	PUT(recording, 0, C(10, 0, 1), C(20, 1, 2), R(30, 0, 1), R(35, 2, 1), C(40, 3, 1),
	    C(30, 1, 2), R(50, 1, 2));
	cct = cct_of(recording, NULL);
	cct_check(cct, "a", 10, 20, 1, false);
	cct_check(cct, "ab", 10, 10, 1, false);
	assert_int_equal(cct->calls[cct_path(cct, "ab")].unfinished, 1);
	assert_int_equal(cct->calls[cct_path(cct, "a")].unfinished, 0);
	cct_check(cct, "d", 0, 10, 1, false);
	cct_check(cct, "db", 10, 10, 1, false);
	assert_int_equal(cct->calls[cct_path(cct, "d")].unfinished, 1);
	assert_int_equal(cct_function(cct, "c"), SONDE_NONE);
	cct_free(cct);
	sonde_recording_close(recording);
}

/* Two processes with the same functions and tracks of different length. */
static struct sonde_recording *two_processes(void)
{
	struct sonde_recording *recording = memory_recording_new(3);

	for (uint32_t i = 0; i < 2; i++) {
		uint32_t process = memory_add_process(recording, i ? "q" : "p");
		uint32_t a = memory_add_function(recording, process, "a");
		uint32_t b = memory_add_function(recording, process, "b");

		for (uint32_t k = 0; k < 2; k++) {
			uint32_t track = memory_add_track(recording, process, "t");
			uint64_t length = 100 * (i + 1) + 10 * k;

			PUT(recording, track, C(1000, a, 1), C(1010, b, 2), R(1020, b, 2),
			    R(1000 + length, a, 1));
		}
	}
	return recording;
}

static void equal_functions_are_one(void **state)
{
	struct sonde_recording *recording = two_processes();
	struct cct *cct = cct_of(recording, NULL);
	const struct cct_spread *spread;
	uint32_t a = cct_function(cct, "a");
	/* of the main thread, which only the first track is */
	uint32_t first = cct_path(cct, "a");

	(void)state;
	assert_int_equal(sonde_definitions_function_count(cct->definitions), 2);
	assert_int_equal(sonde_definitions_process_count(cct->definitions), 2);
	assert_int_equal(sonde_definitions_track_count(cct->definitions), 4);
	assert_int_equal(cct->context_count, 1 + 2 * 3);
	assert_int_equal(cct->function_calls[a].count, 4);
	assert_int_equal(cct->function_calls[a].sum_ns, 100 + 110 + 200 + 210);
	spread = &cct->function_spread[a];
	assert_int_equal(spread->count, 4);
	assert_int_equal(spread->max_place, 3);
	assert_near(spread->min * 1e9, 100);
	assert_near(spread->max * 1e9, 210);
	assert_near(spread->sum * 1e9, 620);
	assert_near(spread->squares * 1e18, 100 * 100 + 110 * 110 + 200 * 200 + 210 * 210);
	spread = &cct->function_process_spread[a];
	assert_int_equal(spread->count, 2);
	assert_int_equal(spread->max_place, 1);
	assert_near(spread->min * 1e9, 210);
	assert_near(spread->max * 1e9, 410);
	assert_int_equal(cct->context_spread[first].count, 1);
	assert_int_equal(cct->context_process_spread[0].count, 2);
	assert_near(cct->context_process_spread[0].sum * 1e9, 620);
	assert_int_equal(cct->context_spread[0].count, 4);
	cct_free(cct);
	sonde_recording_close(recording);
}

static void spread_of_calls(void **state)
{
	struct sonde_recording *recording = two_processes();
	struct cct_options options = { .metric = "calls", .spread = true, .no_cache = true };
	struct cct *cct = NULL;

	(void)state;
	assert_int_equal(cct_build(recording, &options, &cct, NULL), SONDE_OK);
	assert_int_equal(cct->spread_metric, 1);
	assert_near(cct->context_spread[0].sum, 8);
	assert_near(cct->context_spread[0].max, 2);
	assert_near(cct->function_spread[cct_function(cct, "b")].sum, 4);
	cct_free(cct);
	sonde_recording_close(recording);
}

/* Durations and sums of random calls, counted in the plainest way. */
struct plain {
	uint64_t durations[4][4096];
	size_t counts[4];
};

static int compare_numbers(const void *a, const void *b)
{
	const uint64_t *one = a, *two = b;

	return (*one > *two) - (*one < *two);
}

static void count_plainly(struct plain *plain, const struct sonde_recording *recording,
			  uint32_t track)
{
	struct {
		uint32_t function;
		uint64_t time_ns;
	} open[512] = { 0 };
	size_t depth = 0, count;
	const struct sonde_event *events = memory_events(recording, track, &count);

	for (size_t i = 0; i < count; i++) {
		if (events[i].kind == SONDE_EVENT_CALL) {
			open[depth].function = events[i].function;
			open[depth++].time_ns = events[i].time_ns;
		} else if (sonde_event_leaves(&events[i])) {
			uint32_t function;

			assert_true(depth > 0);
			function = open[--depth].function;
			plain->durations[function][plain->counts[function]++] =
				events[i].time_ns - open[depth].time_ns;
		}
	}
	assert_int_equal(depth, 0);
}

static void numbers_are_those_of_a_plain_count(void **state)
{
	static const double shares[] = { 0, 0.1, 0.5, 0.9, 0.99, 1 };
	struct sonde_recording *recording = cct_one_track();
	struct plain *plain = calloc(1, sizeof(*plain));
	uint64_t random = 42;
	struct cct *cct;

	(void)state;
	assert_non_null(plain);
	memory_add_track(recording, 0, "u");
	for (uint32_t i = 0; i < 2; i++) {
		memory_add_calls(recording, i, 3000, 0, 4, true, &random);
		count_plainly(plain, recording, i);
	}
	cct = cct_of(recording, NULL);
	for (uint32_t i = 0; i < 4; i++) {
		static const char *const names[] = { "a", "b", "c", "d" };
		uint32_t function = cct_function(cct, names[i]);
		const struct cct_calls *calls = &cct->function_calls[function];
		size_t count = plain->counts[i];
		uint64_t sum = 0;
		double squares = 0;

		qsort(plain->durations[i], count, sizeof(uint64_t), compare_numbers);
		for (size_t k = 0; k < count; k++) {
			sum += plain->durations[i][k];
			squares += (double)plain->durations[i][k] * (double)plain->durations[i][k];
		}
		assert_int_equal(calls->count, count);
		assert_int_equal(calls->sum_ns, sum);
		assert_int_equal(calls->min_ns, plain->durations[i][0]);
		assert_int_equal(calls->max_ns, plain->durations[i][count - 1]);
		assert_near(calls->squares, squares);
		for (size_t k = 0; k < 6; k++) {
			size_t place = (size_t)ceil(shares[k] * (double)count);
			double exact = (double)plain->durations[i][place ? place - 1 : 0];
			double found = (double)cct_duration_quantile(cct, function, shares[k]);

			assert_true(fabs(found - exact) <= exact * 0.01);
		}
	}
	assert_int_equal(cct_duration_quantile(cct, 4, 0.5), 0);
	cct_free(cct);
	free(plain);
	sonde_recording_close(recording);
}

static void assert_same(const struct cct *one, const struct cct *two)
{
	assert_int_equal(one->context_count, two->context_count);
	assert_memory_equal(one->contexts, two->contexts,
			    one->context_count * sizeof(*one->contexts));
	assert_memory_equal(one->calls, two->calls, one->context_count * sizeof(*one->calls));
	assert_memory_equal(one->context_spread, two->context_spread,
			    one->context_count * sizeof(*one->context_spread));
	assert_memory_equal(one->context_process_spread, two->context_process_spread,
			    one->context_count * sizeof(*one->context_spread));
	for (uint32_t i = 0; i < one->metric_count; i++) {
		assert_memory_equal(one->metrics[i].self, two->metrics[i].self,
				    one->context_count * sizeof(double));
		assert_memory_equal(one->metrics[i].total, two->metrics[i].total,
				    one->context_count * sizeof(double));
	}
}

static void threads_change_nothing(void **state)
{
	struct sonde_recording *recording = cct_one_track();
	struct cct_options options = { .spread = true, .no_cache = true, .threads = 1 };
	struct cct *one, *many;
	uint64_t random = 7;

	(void)state;
	for (uint32_t i = 1; i < 9; i++) {
		if (i % 3 == 0)
			memory_add_process(recording, "more");
		memory_add_track(recording, i / 3, "u");
	}
	for (uint32_t i = 0; i < 9; i++)
		memory_add_calls(recording, i, 500 + 100 * (size_t)i, 0, 4, i % 2, &random);
	assert_int_equal(cct_build(recording, &options, &one, NULL), SONDE_OK);
	for (unsigned int threads = 2; threads < 6; threads++) {
		options.threads = threads;
		assert_int_equal(cct_build(recording, &options, &many, NULL), SONDE_OK);
		assert_same(one, many);
		cct_free(many);
	}
	cct_free(one);
	sonde_recording_close(recording);
}

static void a_time_is_selected(void **state)
{
	struct sonde_selection_spec spec = { .from_ns = 15, .to_ns = 30 };
	struct sonde_recording *recording = cct_one_track();
	struct cct *cct;

	(void)state;
	PUT(recording, 0, C(10, 0, 1), C(12, 1, 2), R(18, 1, 2), C(25, 2, 2), R(35, 2, 2),
	    R(40, 0, 1));
	cct = cct_of(recording, &spec);
	cct_check(cct, "a", 7, 15, 1, false);
	cct_check(cct, "ab", 3, 3, 1, false);
	cct_check(cct, "ac", 5, 5, 1, false);
	assert_int_equal(cct->tracks[0].first_ns, 15);
	assert_int_equal(cct->tracks[0].last_ns, 30);
	cct_free(cct);
	sonde_recording_close(recording);
}

static void functions_and_tracks_are_selected(void **state)
{
	static const char *const names[] = { "a", "c" };
	static const uint32_t tracks[] = { 1 }, missing[] = { 2 };
	struct sonde_selection_spec spec = { .functions = names, .function_count = 2 };
	struct sonde_recording *recording = cct_one_track();
	struct cct_options options = { .selection = &spec };
	struct cct *cct;

	(void)state;
	memory_add_track(recording, 0, "u");
	PUT(recording, 0, C(10, 0, 1), C(12, 1, 2), C(14, 2, 3), R(18, 2, 3), R(20, 1, 2),
	    R(30, 0, 1));
	PUT(recording, 1, C(10, 3, 1), R(20, 3, 1));
	cct = cct_of(recording, &spec);
	cct_check(cct, "a", 16, 20, 1, false);
	cct_check(cct, "ac", 4, 4, 1, false);
	assert_int_equal(cct_function(cct, "b"), SONDE_NONE);
	cct_free(cct);
	spec = (struct sonde_selection_spec){ .tracks = tracks, .track_count = 1 };
	cct = cct_of(recording, &spec);
	cct_check(cct, "d", 10, 10, 1, false);
	assert_int_equal(cct->context_count, 3);
	assert_int_equal(cct->tracks[0].event_count, 0);
	assert_int_equal(cct->tracks[1].event_count, 2);
	cct_free(cct);
	spec.tracks = missing;
	assert_int_equal(cct_build(recording, &options, &cct, NULL), SONDE_ARGUMENT);
	assert_null(cct);
	spec = (struct sonde_selection_spec){ .kinds = 1u << SONDE_EVENT_EXCEPTION };
	assert_int_equal(cct_build(recording, &options, &cct, NULL), SONDE_ARGUMENT);
	sonde_recording_close(recording);
}

#define DEPTH 100000

static void deep_trees_are_fine(void **state)
{
	struct sonde_recording *recording = cct_one_track();
	const struct cct *parts[2];
	struct cct *cct, *whole = NULL;

	(void)state;
	for (uint32_t i = 0; i < DEPTH; i++)
		memory_add_event(recording, 0, C(i, i % 3, i + 1));
	for (uint32_t i = DEPTH; i-- > 0;)
		memory_add_event(recording, 0, R(2 * DEPTH - i, i % 3, i + 1));
	cct = cct_of(recording, NULL);
	assert_int_equal(cct->context_count, DEPTH + 2);
	assert_false(cct->recursive[4]);
	assert_true(cct->recursive[5]);
	assert_near(cct->metrics[0].total[0] * 1e9, 2 * DEPTH);
	assert_int_equal(cct_function_context(cct, DEPTH + 1), DEPTH + 1);
	parts[0] = parts[1] = cct;
	assert_int_equal(cct_merge(parts, 2, &whole, NULL, NULL), SONDE_OK);
	assert_int_equal(whole->context_count, DEPTH + 2);
	cct_free(whole);
	cct_free(cct);
	sonde_recording_close(recording);
}

static bool stop_at_once(void *user, uint64_t done, uint64_t total)
{
	(void)user;
	(void)done;
	(void)total;
	return false;
}

static void failures_leave_nothing(void **state)
{
	const struct sonde_progress progress = { .report = stop_at_once };
	struct cct_options options = { .no_cache = true, .threads = 2 };
	struct sonde_recording *recording = cct_one_track();
	struct cct *cct = NULL;
	uint64_t random = 1;

	(void)state;
	memory_add_calls(recording, 0, 2000, 0, 4, true, &random);
	options.progress = &progress;
	assert_int_equal(cct_build(recording, &options, &cct, NULL), SONDE_CANCELLED);
	assert_null(cct);
	options.progress = NULL;
	memory_fail_at(recording, 0, 1000);
	assert_int_equal(cct_build(recording, &options, &cct, NULL), SONDE_CORRUPT);
	assert_null(cct);
	cct_free(NULL);
	sonde_recording_close(recording);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_make_a_tree),
		cmocka_unit_test(recursion_counts_once),
		cmocka_unit_test(damage_is_survived),
		cmocka_unit_test(equal_functions_are_one),
		cmocka_unit_test(spread_of_calls),
		cmocka_unit_test(numbers_are_those_of_a_plain_count),
		cmocka_unit_test(threads_change_nothing),
		cmocka_unit_test(a_time_is_selected),
		cmocka_unit_test(functions_and_tracks_are_selected),
		cmocka_unit_test(deep_trees_are_fine),
		cmocka_unit_test(failures_leave_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
