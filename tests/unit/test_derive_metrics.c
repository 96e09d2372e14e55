/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics by formulas over those of a tree: values, units, names, files, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/cct_private.h"
#include "analyse/derive.h"
#include "analyse/flat.h"
#include "memory_recording.h"
#include "model/recording.h"
#include "scratch.h"

/* A profile of two tracks: main calls work, and other, which calls work. */
struct world {
	struct sonde_recording *recording;
	struct cct *cct;
	uint32_t main, work, other, other_work;
};

static void add_values(struct world *world, uint32_t track, uint32_t context, double seconds,
		       double cycles, double instructions)
{
	double values[] = { seconds, cycles, instructions };

	for (uint32_t i = 0; i < 3; i++) {
		if (values[i] != 0)
			memory_add_value(world->recording, track, context, i, values[i]);
	}
}

static void make(struct world *world)
{
	struct sonde_recording *recording = memory_recording_new(3);
	uint32_t process = memory_add_process(recording, "p");
	uint32_t functions[3];
	struct sonde_error err;

	*world = (struct world){ .recording = recording };
	functions[0] = memory_add_function(recording, process, "main");
	functions[1] = memory_add_function(recording, process, "work");
	functions[2] = memory_add_function(recording, process, "other");
	memory_add_track(recording, process, "t0");
	memory_add_track(recording, process, "t1");
	memory_add_metric(recording, "CPUTIME (sec)", "point", "");
	memory_add_metric(recording, "cycles", "point", "");
	memory_add_metric(recording, "inst.retired:u", "point", "");
	world->main = memory_add_context(recording, 0, SONDE_CONTEXT_FUNCTION, SONDE_CONTEXT_CALLED,
					 functions[0]);
	world->work = memory_add_context(recording, world->main, SONDE_CONTEXT_FUNCTION,
					 SONDE_CONTEXT_CALLED, functions[1]);
	world->other = memory_add_context(recording, world->main, SONDE_CONTEXT_FUNCTION,
					  SONDE_CONTEXT_CALLED, functions[2]);
	world->other_work = memory_add_context(recording, world->other, SONDE_CONTEXT_FUNCTION,
					       SONDE_CONTEXT_CALLED, functions[1]);
	add_values(world, 0, world->main, 1, 100, 50);
	add_values(world, 0, world->work, 2, 200, 400);
	add_values(world, 1, world->other, 0, 0, 7);
	add_values(world, 1, world->other_work, 1, 800, 800);
	recording->lanes = SONDE_LANE_CONTEXTS | SONDE_LANE_VALUES;
	if (cct_build(recording, NULL, &world->cct, &err))
		fail_msg("%s", err.message);
}

static void release(struct world *world)
{
	cct_free(world->cct);
	sonde_recording_close(world->recording);
}

/* The context of the tree with this path from the root. */
static uint32_t find_context(const struct cct *cct, const char *const *path, size_t count)
{
	uint32_t at = 0;

	for (size_t i = 0; i < count; i++) {
		uint32_t child = at + 1;
		char space[100];

		while (child < cct->contexts[at].end &&
		       strcmp(sonde_context_label(cct->definitions, &cct->contexts[child], space,
						  sizeof(space)),
			      path[i]))
			child = cct->contexts[child].end;
		assert_true(child < cct->contexts[at].end);
		at = child;
	}
	return at;
}

static const struct cct_metric *derive(struct cct *cct, const char *formula)
{
	struct sonde_error err;

	if (cct_derive(cct, formula, &err))
		fail_msg("%s: %s", formula, err.message);
	return &cct->metrics[cct->metric_count - 1];
}

static void test_values(void **state)
{
	static const char *const path[] = { "main", "work" };
	struct world world;
	const struct cct_metric *metric;
	uint32_t main, work;

	(void)state;
	make(&world);
	main = find_context(world.cct, path, 1);
	work = find_context(world.cct, path, 2);
	metric = derive(world.cct, "ipc = \"inst.retired:u\" / cycles");
	assert_string_equal(metric->name, "ipc");
	assert_true(metric->self[main] == 0.5);
	assert_true(metric->self[work] == 2);
	assert_true(metric->total[work] == 2);
	assert_true(fabs(metric->total[main] - 1257.0 / 1100) < 1e-12);
	assert_true(fabs(metric->total[0] - 1257.0 / 1100) < 1e-12);
	assert_true(metric->self[0] == 0);
	/* over the tracks */
	assert_true(world.cct->tracks[0].totals[3] == 1.5);
	assert_true(fabs(world.cct->tracks[1].totals[3] - 807.0 / 800) < 1e-12);
	/* of what was derived, in any case, by its short name */
	metric = derive(world.cct, "  double.ipc=IPC*2 + 0 * CpuTime ");
	assert_string_equal(metric->name, "double.ipc");
	assert_true(metric->self[work] == 4);
	metric = derive(world.cct, "'the root' = sqrt(cycles*cycles) + min(1, 2) - max(0,1) + "
				   "floor(0.5) + log(1) + ceil(0)");
	assert_string_equal(metric->name, "the root");
	assert_true(metric->self[work] == 200);
	release(&world);
}

static void test_units(void **state)
{
	static const struct {
		const char *formula;
		double ns;
	} cases[] = {
		{ "a = cputime", 1e9 },
		{ "b = cputime / cycles", 1e9 },
		{ "c = 2 * cputime - cputime", 1e9 },
		{ "d = cputime / cputime", 0 },
		{ "e = cputime * cputime", 0 },
		{ "f = cputime + 1", 0 },
		{ "g = cycles / cputime", 0 },
		{ "h = -max(a, b)", 1e9 },
		{ "i = 1", 0 },
	};
	struct world world;

	(void)state;
	make(&world);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (derive(world.cct, cases[i].formula)->ns != cases[i].ns)
			fail_msg("%s", cases[i].formula);
	}
	release(&world);
}

static void test_refused(void **state)
{
	static const struct {
		const char *formula;
		uint64_t offset;
		const char *message;
	} cases[] = {
		{ "ipc", 3, "name" },
		{ "", 0, "name" },
		{ "= 1", 0, "name" },
		{ "a b = 1", 2, "name" },
		{ "\"open = 1", 9, "name" },
		{ "a = foo / cycles", 4, "\"foo\"; metrics are: \"CPUTIME (sec)\", cycles, " },
		{ "a = cycles / foo(1)", 13, "\"foo\"" },
		{ "a = cycles cycles", 11, "operator" },
		{ "a = cycles +", 12, "operand" },
		{ "a = (cycles", 11, "closed" },
		{ "a = cycles)", 10, "not begun" },
		{ "a = #1", 4, "'#'" },
		{ "a = $$", 4, "'$'" },
		{ "a = \"cycles", 4, "ends a name" },
		{ "a = \xff", 4, "expected" },
		{ "Cycles = 1", 0, "no metric has" },
		{ "a =", 3, "operand" },
	};
	struct sonde_error err;
	struct world world;

	(void)state;
	make(&world);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		err = (struct sonde_error){ 0 };
		if (cct_derive(world.cct, cases[i].formula, &err) != SONDE_ARGUMENT ||
		    err.status != SONDE_ARGUMENT || err.offset != cases[i].offset ||
		    !strstr(err.message, cases[i].message))
			fail_msg("%s: %d at %d: %s", cases[i].formula, (int)err.status,
				 (int)err.offset, err.message);
		assert_int_equal(world.cct->metric_count, 3);
		assert_true(cct_derive(world.cct, cases[i].formula, NULL) < 0);
	}
	release(&world);
}

/* The sum of ratios is no ratio: lists add up what was measured first. */
static void test_lists(void **state)
{
	struct world world;
	struct flat flat;
	bool found = false;
	char space[100];

	(void)state;
	make(&world);
	derive(world.cct, "ipc = \"inst.retired:u\" / cycles");
	derive(world.cct, "twice = ipc * 2");
	for (uint32_t metric = 3; metric < 5; metric++) {
		assert_int_equal(flat_make(&flat, world.cct, FLAT_FUNCTION, metric, NULL),
				 SONDE_OK);
		for (size_t i = 0; i < flat.rows.count; i++) {
			const struct flat_row *row = &flat.rows.items[i];
			const char *label =
				flat_label(world.cct, FLAT_FUNCTION, row, space, sizeof(space));

			if (strcmp(label, "work"))
				continue;
			found = true;
			assert_true(fabs(row->self - 1.2 * (metric - 2)) < 1e-12);
			assert_true(fabs(row->total - 1.2 * (metric - 2)) < 1e-12);
		}
		flat_release(&flat);
	}
	assert_true(found);
	release(&world);
}

static void test_merged(void **state)
{
	static const char *const path[] = { "main", "work" };
	const struct cct *parts[2];
	const struct cct_metric *metric;
	struct world a, b;
	struct cct *whole;
	uint32_t number;

	(void)state;
	make(&a);
	make(&b);
	derive(a.cct, "ipc = \"inst.retired:u\" / cycles");
	derive(a.cct, "twice = ipc * 2");
	parts[0] = b.cct;
	parts[1] = a.cct;
	assert_int_equal(cct_merge(parts, 2, &whole, NULL, NULL), SONDE_OK);
	number = cct_find_metric(whole, "twice");
	assert_int_not_equal(number, SONDE_NONE);
	metric = &whole->metrics[number];
	assert_true(metric->self[find_context(whole, path, 2)] == 4);
	assert_true(whole->tracks[0].totals[number] == 3);
	assert_true(whole->tracks[2].totals[number] == 3);
	cct_free(whole);
	release(&a);
	release(&b);
}

static const char yaml[] =
	"version: 0\n"
	"inputs:\n"
	"  - &cycles\n"
	"    metric: cycles\n"
	"    scope: execution\n"
	"    formula: $$\n"
	"    combine: sum\n"
	"  - &own {metric: cycles, scope: function, formula: $$, combine: sum}\n"
	"  - &time {metric: CPUTIME (sec), scope: execution, formula: $$, combine: sum}\n"
	"  - &own_time {metric: CPUTIME (sec), scope: lex_aware, formula: $$, combine: sum}\n"
	"  - &count {metric: cycles, scope: execution, formula: 1, combine: sum}\n"
	"  - &gone {metric: cows, scope: execution, formula: $$, combine: sum}\n"
	"roots:\n"
	"  - name: RATE\n"
	"    description: cycles by second\n"
	"    variants:\n"
	"      Sum:\n"
	"        render: number\n"
	"        formula:\n"
	"          inclusive: {/: [*cycles, *time]}\n"
	"          exclusive: {standard: [*own, /, *own_time]}\n"
	"      Mean:\n"
	"        formula: {inclusive: {/: [*cycles, *count]}}\n"
	"  - name: cows\n"
	"    variants: {Sum: {formula: {inclusive: *gone}}}\n"
	"  - name: cycles\n"
	"    variants: {Sum: {formula: {inclusive: *cycles, exclusive: *own}}}\n"
	"  - name: both\n"
	"    visible by default: false\n"
	"    variants: {Sum: {formula: sum}}\n"
	"    children:\n"
	"      - {name: one, variants: {Sum: {formula: {inclusive: *cycles}}}}\n"
	"      - {name: two, variants: {Sum: {formula: {inclusive: {sqrt: [{^: [*cycles, 2]}]}}}}}\n";

static void test_file(void **state)
{
	static const char *const path[] = { "main", "work" };
	char file[200];
	struct sonde_error err;
	struct world world;
	uint32_t work, number;

	(void)state;
	make(&world);
	work = find_context(world.cct, path, 2);
	put_file(scratch_path("m.yaml"), yaml);
	snprintf(file, sizeof(file), "@%s", scratch_path("m.yaml"));
	if (cct_derive(world.cct, file, &err))
		fail_msg("%s %s", err.message, err.cause);
	number = cct_find_metric(world.cct, "RATE");
	assert_int_not_equal(number, SONDE_NONE);
	assert_string_equal(world.cct->metrics[number].description, "cycles by second");
	assert_true(world.cct->metrics[number].self[work] == 100);
	assert_true(world.cct->metrics[number].total[0] == 1100.0 / 4);
	assert_int_equal(cct_find_metric(world.cct, "RATE:Mean"), SONDE_NONE);
	assert_int_equal(cct_find_metric(world.cct, "cows"), SONDE_NONE);
	number = cct_find_metric(world.cct, "both");
	assert_int_not_equal(number, SONDE_NONE);
	assert_true(world.cct->metrics[number].hidden);
	assert_true(world.cct->metrics[number].total[work] == 400);
	assert_int_equal(world.cct->metric_count, 7);
	/* once more adds nothing */
	assert_int_equal(cct_derive(world.cct, file, &err), SONDE_ARGUMENT);
	assert_int_equal(world.cct->metric_count, 7);
	put_file(scratch_path("m.yaml"), "roots: [");
	assert_int_equal(cct_derive(world.cct, file, &err), SONDE_CORRUPT);
	assert_true(strstr(err.file, "m.yaml"));
	file[strlen(file) - 1] = 'x';
	assert_int_equal(cct_derive(world.cct, file, &err), SONDE_IO);
	release(&world);
}

/* Of real databases: by context, as the recording says. */
static void test_recording(void **state)
{
	const char *corpus = getenv("SONDE_CORPUS");
	struct sonde_recording *recording;
	struct sonde_error err;
	struct cct *cct;
	char path[1000];
	struct flat flat = { 0 };
	uint32_t before, metric, compared = 0;

	(void)state;
	if (!corpus)
		return;
	snprintf(path, sizeof(path), "%s/hpcdb/loops-cuda-nvidia-t.d", corpus);
	assert_int_equal(sonde_recording_open(path, NULL, &recording, &err), SONDE_OK);
	assert_int_equal(
		cct_build(recording, &(struct cct_options){ .no_cache = true }, &cct, &err),
		SONDE_OK);
	before = cct->metric_count;
	assert_int_equal(cct_add_recording_formulas(cct, recording, "no such thing", true, &err),
			 SONDE_OK);
	assert_int_equal(cct->metric_count, before);
	assert_int_equal(cct_add_recording_formulas(cct, recording, "gker:lmem", false, &err),
			 SONDE_OK);
	assert_int_equal(cct->metric_count, before + 1);
	assert_int_equal(cct_add_recording_formulas(cct, recording, NULL, true, &err), SONDE_OK);
	assert_true(cct->metric_count > before + 1);
	/* the mean over all kernels, wherever they were started */
	metric = cct_find_metric(cct, "gker:lmem");
	assert_int_equal(flat_make(&flat, cct, FLAT_MODULE, metric, &err), SONDE_OK);
	for (size_t i = 0; i < flat.rows.count; i++)
		compared += fabs(flat.rows.items[i].self - 130941000) < 1000;
	assert_true(compared >= 1);
	flat_release(&flat);
	cct_free(cct);
	sonde_recording_close(recording);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),	  cmocka_unit_test(test_units),
		cmocka_unit_test(test_refused),	  cmocka_unit_test(test_lists),
		cmocka_unit_test(test_merged),	  cmocka_unit_test(test_file),
		cmocka_unit_test(test_recording),
	};

	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
