/* SPDX-License-Identifier: Apache-2.0 */
/* Comparing sets of runs: which rows are the same, what each spent, and what counts as a change. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/compare.h"
#include "memory_recording.h"
#include "model/recording.h"

#define MOST_RUNS 20

/* A function that main calls once or more; it spends its time in equal parts. */
struct work {
	const char *name, *module, *file;
	uint64_t spent_ns;
	unsigned int calls;
};

static uint32_t add_function(struct sonde_recording *recording, uint32_t process,
			     const struct work *work)
{
	struct sonde_definitions *definitions = recording->definitions;
	struct sonde_function function = { .process = process,
					   .module = SONDE_NONE,
					   .name = memory_add_string(definitions, work->name) };
	uint32_t id;

	if (work->module) {
		struct sonde_module module = {
			.process = process, .path = memory_add_string(definitions, work->module)
		};

		assert_int_equal(
			sonde_definitions_add_module(definitions, &module, &function.module, NULL),
			SONDE_OK);
	}
	if (work->file) {
		function.file = memory_add_string(definitions, work->file);
		function.line = 7;
	}
	assert_int_equal(sonde_definitions_add_function(definitions, &function, &id, NULL),
			 SONDE_OK);
	return id;
}

static struct cct *tree_of(struct sonde_recording *recording)
{
	struct cct_options options = { .no_cache = true, .threads = 1 };
	struct sonde_error err = { 0 };
	struct cct *cct;

	assert_int_equal(cct_build(recording, &options, &cct, &err), SONDE_OK);
	sonde_recording_close(recording);
	return cct;
}

/* main spends 10 ns before each call; `works` ends with one without a name. */
static struct cct *run_of(const char *program, const struct work *works)
{
	struct sonde_recording *recording = memory_recording_new(64);
	uint32_t process = memory_add_process(recording, "p");
	uint32_t track = memory_add_track(recording, process, "t");
	const struct work main_work = { .name = "main", .module = program };
	uint32_t main_id = add_function(recording, process, &main_work);
	uint64_t now = 1000;

	memory_add_event(recording, track, memory_event(SONDE_EVENT_CALL, now, main_id, 1));
	for (; works->name; works++) {
		uint32_t id = add_function(recording, process, works);
		unsigned int i;

		for (i = 0; i < works->calls; i++) {
			now += 10;
			memory_add_event(recording, track,
					 memory_event(SONDE_EVENT_CALL, now, id, 2));
			now += works->spent_ns / works->calls;
			memory_add_event(recording, track,
					 memory_event(SONDE_EVENT_RETURN, now, id, 2));
		}
	}
	memory_add_event(recording, track, memory_event(SONDE_EVENT_RETURN, now, main_id, 1));
	return tree_of(recording);
}

static const struct compare_options usual = { .level = 0.01,
					      .least_change = 0.01,
					      .least_share = 0.0001 };

static void compare(struct comparison *comparison, struct cct **trees, size_t count,
		    size_t before_count, const struct compare_options *options)
{
	struct sonde_error err = { 0 };
	size_t i;

	assert_int_equal(compare_make(comparison, (const struct cct *const *)trees, count,
				      before_count, options, &err),
			 SONDE_OK);
	for (i = 0; i < count; i++)
		cct_free(trees[i]);
}

/* The only row of that name, or NULL. */
static const struct compare_row *row_named(const struct comparison *comparison, const char *name)
{
	const struct compare_row *found = NULL;
	char space[100];
	size_t i;

	for (i = 0; i < comparison->rows.count; i++) {
		const struct compare_row *row = &comparison->rows.items[i];

		if (strcmp(compare_label(comparison, row, space, sizeof(space)), name) != 0)
			continue;
		assert_null(found);
		found = row;
	}
	return found;
}

static bool is_ns(double seconds, double ns)
{
	return fabs(seconds * 1e9 - ns) < 1e-3;
}

static void rows_of_two_runs(void **state)
{
	static const struct work before[] = { { "alpha", "app", "a.c", 100, 2 },
					      { "old", "app", "a.c", 50, 1 },
					      { 0 } };
	static const struct work after[] = { { "alpha", "app", "a.c", 150, 3 },
					     { "new", "app", "a.c", 70, 1 },
					     { 0 } };
	struct cct *trees[] = { run_of("app", before), run_of("app", after) };
	struct comparison comparison;
	const struct compare_row *row;

	(void)state;
	compare(&comparison, trees, 2, 1, &usual);
	assert_false(comparison.can_test);
	assert_false(comparison.speed.known);
	assert_int_equal(comparison.rows.count, 4);
	assert_true(is_ns(comparison.all.self.before, 180));
	assert_true(is_ns(comparison.all.self.after, 260));
	assert_true(comparison.all.calls.before == 4 && comparison.all.calls.after == 5);
	row = row_named(&comparison, "alpha");
	assert_true(is_ns(row->self.before, 100) && is_ns(row->self.after, 150));
	assert_true(row->calls.before == 2 && row->calls.after == 3);
	assert_true(fabs(compare_change(&row->self) - 0.5) < 1e-9);
	assert_int_equal(row->presence, COMPARE_BOTH);
	assert_false(row->significant);
	row = row_named(&comparison, "old");
	assert_int_equal(row->presence, COMPARE_VANISHED);
	assert_true(is_ns(row->self.before, 50) && row->self.after == 0);
	row = row_named(&comparison, "new");
	assert_int_equal(row->presence, COMPARE_APPEARED);
	assert_true(isinf(compare_change(&row->self)));
	row = row_named(&comparison, "main");
	assert_true(is_ns(row->self.before, 30) && is_ns(row->self.after, 40));
	assert_true(is_ns(row->total.before, 180) && is_ns(row->total.after, 260));
	assert_true(fabs(compare_likeness(&comparison, 0, 1) - 130. / 180) < 1e-9);
	compare_release(&comparison);
}

/* Rows of the comparison of one run each. */
static size_t rows_matched(const char *program_before, const struct work *before,
			   const char *program_after, const struct work *after)
{
	struct cct *trees[] = { run_of(program_before, before), run_of(program_after, after) };
	struct comparison comparison;
	size_t i, matched = 0;

	compare(&comparison, trees, 2, 1, &usual);
	for (i = 0; i < comparison.rows.count; i++)
		matched += comparison.rows.items[i].presence == COMPARE_BOTH;
	compare_release(&comparison);
	return matched;
}

static void other_builds_match(void **state)
{
	static const struct work before[] = { { "alpha", "/old/app-1", "/old/src/a.c", 100, 1 },
					      { "beta", "/lib/libx.so.1.2", "x.c", 100, 1 },
					      { 0 } };
	static const struct work after[] = { { "alpha", "/new/app-2", "/new/src/a.c", 100, 1 },
					     { "beta", "/lib/libx.so.1.3", "x.c", 100, 1 },
					     { 0 } };
	/* without debug information, without modules */
	static const struct work bare[] = { { "alpha", "/new/app-2", NULL, 100, 1 },
					    { "beta", "/lib/libx.so.1.3", NULL, 100, 1 },
					    { 0 } };
	static const struct work loose[] = { { "alpha", NULL, NULL, 100, 1 },
					     { "beta", NULL, NULL, 100, 1 },
					     { 0 } };
	/* what is in both by the same name is not paired with something else */
	static const struct work two[] = { { "alpha", "/lib/libx.so.1", "a.c", 100, 1 },
					   { "beta", "/lib/liby.so.1", "x.c", 100, 1 },
					   { 0 } };

	(void)state;
	assert_int_equal(rows_matched("/old/app-1", before, "/new/app-2", after), 3);
	assert_int_equal(rows_matched("/old/app-1", before, "/new/app-2", bare), 3);
	assert_int_equal(rows_matched("/old/app-1", before, NULL, loose), 3);
	assert_int_equal(rows_matched(NULL, loose, "/new/app-2", after), 3);
	assert_int_equal(rows_matched("/old/app-1", before, "/new/app-2", two), 1);
}

/* Static functions of one name in two files are two, and each finds its like. */
static void homonyms_are_told_apart(void **state)
{
	static const struct work before[] = { { "init", "app", "a.c", 100, 1 },
					      { "init", "app", "b.c", 200, 1 },
					      { 0 } };
	static const struct work after[] = { { "init", "app", "b.c", 200, 1 },
					     { "init", "app", "a.c", 150, 1 },
					     { 0 } };
	struct cct *trees[] = { run_of("app", before), run_of("app", after) };
	struct comparison comparison;
	size_t i, unchanged = 0;

	(void)state;
	compare(&comparison, trees, 2, 1, &usual);
	assert_int_equal(comparison.rows.count, 3);
	for (i = 0; i < 3; i++)
		unchanged += compare_change(&comparison.rows.items[i].self) == 0;
	assert_int_equal(unchanged, 2); /* main, and that of b.c */
	compare_release(&comparison);
}

#define FUNCTIONS 60

static double random_normal(uint64_t *random)
{
	double sum = 0;
	int i;

	for (i = 0; i < 12; i++)
		sum += (double)(memory_random(random) % 1000000) / 1e6;
	return sum - 6;
}

/* Runs with 1 % of noise a function and a speed of their own; function 30 is slower in those after. */
static void make_runs(struct cct **trees, size_t runs, double slower, double speed_after)
{
	static char names[FUNCTIONS][16];
	struct work works[FUNCTIONS + 1] = { 0 };
	uint64_t random = 5;
	size_t run, i;

	for (run = 0; run < 2 * runs; run++) {
		double speed = exp(0.03 * random_normal(&random)) * (run < runs ? 1 : speed_after);

		for (i = 0; i < FUNCTIONS; i++) {
			double spent =
				1e6 * (double)(i + 1) * speed * exp(0.01 * random_normal(&random));

			snprintf(names[i], sizeof(names[i]), "f%zu", i);
			if (i == 30 && run >= runs)
				spent *= 1 + slower;
			works[i] = (struct work){ names[i], "app", "a.c", (uint64_t)spent, 1 };
		}
		trees[run] = run_of("app", works);
	}
}

static void changes_of_runs_are_found(void **state)
{
	struct cct *trees[MOST_RUNS];
	struct comparison comparison;
	const struct compare_row *row;

	(void)state;
	make_runs(trees, 6, 0.05, 1);
	compare(&comparison, trees, 12, 6, &usual);
	assert_true(comparison.can_test);
	assert_true(comparison.speed.known);
	assert_int_equal(comparison.significant_count, 1);
	row = row_named(&comparison, "f30");
	assert_true(row->significant);
	assert_true(fabs(compare_change(&row->self) - 0.05) < 0.015);
	assert_true(row->p < row->adjusted_p && row->adjusted_p <= 0.01);
	assert_false(comparison.all.significant);
	compare_release(&comparison);
}

static void no_change_of_runs_is_none(void **state)
{
	struct cct *trees[MOST_RUNS];
	struct comparison comparison;

	(void)state;
	make_runs(trees, 6, 0, 1);
	compare(&comparison, trees, 12, 6, &usual);
	assert_int_equal(comparison.significant_count, 0);
	assert_false(comparison.all.significant);
	compare_release(&comparison);
}

/* A machine that is 30 % slower: that is told of the whole, and of no function. */
static void speed_is_taken_out(void **state)
{
	struct compare_options options = usual;
	struct cct *trees[MOST_RUNS];
	struct comparison comparison;
	const struct compare_row *row;

	(void)state;
	make_runs(trees, 5, 0, 1.3);
	compare(&comparison, trees, 10, 5, &options);
	assert_true(comparison.all.significant);
	assert_true(fabs(comparison.speed.change - 0.3) < 0.08);
	assert_true(comparison.speed.p < 0.001);
	assert_int_equal(comparison.significant_count, 0);
	row = row_named(&comparison, "f10");
	assert_true(fabs(compare_change(&row->self)) < 0.03);
	compare_release(&comparison);

	options.raw = true;
	make_runs(trees, 5, 0, 1.3);
	compare(&comparison, trees, 10, 5, &options);
	assert_false(comparison.speed.known);
	assert_true(comparison.significant_count > FUNCTIONS / 2);
	compare_release(&comparison);
}

/* However certain, a change of less than asked for counts for nothing; nor does a small row. */
static void trifles_do_not_count(void **state)
{
	struct compare_options options = usual;
	struct cct *trees[MOST_RUNS];
	struct comparison comparison;

	(void)state;
	options.least_change = 0.10;
	make_runs(trees, 6, 0.05, 1);
	compare(&comparison, trees, 12, 6, &options);
	assert_int_equal(comparison.significant_count, 0);
	compare_release(&comparison);

	options = usual;
	options.least_share = 0.05;
	make_runs(trees, 6, 0.05, 1);
	compare(&comparison, trees, 12, 6, &options);
	assert_int_equal(comparison.tested_count, 0);
	assert_int_equal(comparison.small_count, FUNCTIONS + 1);
	compare_release(&comparison);
}

/* main > (line) > leaf, with the call on another line each time. */
static struct cct *profile_of(uint32_t line, double seconds)
{
	struct sonde_recording *recording = memory_recording_new(64);
	struct sonde_definitions *definitions = recording->definitions;
	uint32_t process = memory_add_process(recording, "p");
	uint32_t track = memory_add_track(recording, process, "t");
	const struct work main_work = { .name = "main", .module = "app", .file = "a.c" };
	const struct work leaf_work = { .name = "leaf", .module = "app", .file = "a.c" };
	uint32_t main_id = add_function(recording, process, &main_work);
	uint32_t leaf_id = add_function(recording, process, &leaf_work);
	uint32_t file = memory_add_string(definitions, "a.c");
	uint32_t metric = memory_add_metric(recording, "CPUTIME (sec)", "point", "");
	uint32_t context = memory_add_context(recording, 0, SONDE_CONTEXT_FUNCTION,
					      SONDE_CONTEXT_CALLED, main_id);

	context = memory_add_context(recording, context, SONDE_CONTEXT_LINE, SONDE_CONTEXT_ENCLOSED,
				     SONDE_NONE);
	memory_context(recording, context)->file = file;
	memory_context(recording, context)->line = line;
	memory_add_value(recording, track, context, metric, 1);
	context = memory_add_context(recording, context, SONDE_CONTEXT_FUNCTION,
				     SONDE_CONTEXT_CALLED, leaf_id);
	memory_add_value(recording, track, context, metric, seconds);
	recording->lanes &= ~(unsigned int)SONDE_LANE_EVENTS;
	return tree_of(recording);
}

static void paths_do_not_depend_on_lines(void **state)
{
	struct compare_options options = usual;
	struct cct *trees[] = { profile_of(10, 2), profile_of(12, 3) };
	struct comparison comparison;
	const struct compare_row *row;
	uint32_t i;

	(void)state;
	options.by = COMPARE_CONTEXT;
	compare(&comparison, trees, 2, 1, &options);
	assert_false(comparison.has_calls);
	assert_int_equal(comparison.rows.count, 2);
	row = row_named(&comparison, "main");
	assert_true(row->self.before == 1 && row->self.after == 1);
	assert_true(row->total.before == 3 && row->total.after == 4);
	row = row_named(&comparison, "leaf");
	assert_true(row->self.before == 2 && row->self.after == 3);
	for (i = 1; i < comparison.whole->context_count; i++)
		assert_true(comparison.row_of_context[i] < 2);
	assert_int_equal(comparison.row_of_context[0], SONDE_NONE);
	compare_release(&comparison);
}

static void metrics_must_agree(void **state)
{
	static const struct work works[] = { { "alpha", "app", "a.c", 100, 2 }, { 0 } };
	struct cct *trees[] = { run_of("app", works), profile_of(10, 2) };
	struct compare_options options = usual;
	struct comparison comparison;
	struct sonde_error err = { 0 };

	(void)state;
	assert_int_equal(
		compare_make(&comparison, (const struct cct *const *)trees, 2, 1, &options, &err),
		SONDE_ARGUMENT);
	options.metric = "CALLS";
	assert_int_equal(
		compare_make(&comparison, (const struct cct *const *)trees, 2, 1, &options, &err),
		SONDE_ARGUMENT);
	cct_free(trees[1]);
	trees[1] = run_of("app", works);
	compare(&comparison, trees, 2, 1, &options);
	assert_string_equal(comparison.metric_name, "CALLS");
	assert_true(row_named(&comparison, "alpha")->self.before == 2);
	compare_release(&comparison);
}

/* How many differences there are, and the kind of the first. */
static uint64_t differences(const struct work *before, const struct work *after,
			    enum compare_difference_kind *kind)
{
	struct cct *trees[] = { run_of("app", before), run_of("app.2", after) };
	struct compare_exactly exactly;
	struct sonde_error err = { 0 };
	uint64_t count;

	assert_int_equal(compare_exactly(&exactly, (const struct cct *const *)trees, 2, &err),
			 SONDE_OK);
	count = exactly.count;
	assert_int_equal(exactly.first.count, count < 2 ? count : 2);
	if (count)
		*kind = exactly.first.items[0].kind;
	compare_exactly_release(&exactly);
	cct_free(trees[0]);
	cct_free(trees[1]);
	return count;
}

static void exactly(void **state)
{
	static const struct work one[] = { { "alpha", "app", "a.c", 100, 2 }, { 0 } };
	static const struct work same[] = { { "alpha", "app.2", NULL, 100, 2 }, { 0 } };
	static const struct work slower[] = { { "alpha", "app.2", NULL, 102, 2 }, { 0 } };
	static const struct work oftener[] = { { "alpha", "app.2", NULL, 100, 4 }, { 0 } };
	static const struct work more[] = { { "alpha", "app.2", NULL, 100, 2 },
					    { "beta", "app.2", NULL, 0, 1 },
					    { 0 } };
	enum compare_difference_kind kind = COMPARE_CONTEXT_MISSING;

	(void)state;
	assert_int_equal(differences(one, same, &kind), 0);
	assert_int_equal(differences(one, slower, &kind), 1);
	assert_int_equal(kind, COMPARE_SELF_DIFFERS);
	/* calls, the metric of calls, and the time of main between them */
	assert_int_equal(differences(one, oftener, &kind), 3);
	assert_int_equal(kind, COMPARE_CALLS_DIFFER);
	assert_int_equal(differences(one, more, &kind), 2);
	assert_int_equal(kind, COMPARE_CONTEXT_MISSING);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_of_two_runs),
		cmocka_unit_test(other_builds_match),
		cmocka_unit_test(homonyms_are_told_apart),
		cmocka_unit_test(changes_of_runs_are_found),
		cmocka_unit_test(no_change_of_runs_is_none),
		cmocka_unit_test(speed_is_taken_out),
		cmocka_unit_test(trifles_do_not_count),
		cmocka_unit_test(paths_do_not_depend_on_lines),
		cmocka_unit_test(metrics_must_agree),
		cmocka_unit_test(exactly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
