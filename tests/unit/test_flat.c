/* SPDX-License-Identifier: Apache-2.0 */
/* Flat lists: recursion counted once, what belongs to a function, a line, a loop, a module; sums. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "analyse/derive.h"
#include "analyse/flat.h"
#include "memory_recording.h"
#include "model/recording.h"

static struct cct *build(struct sonde_recording *recording)
{
	const struct cct_options options = { .no_cache = true, .threads = 1 };
	struct sonde_error err = { 0 };
	struct cct *cct = NULL;

	if (cct_build(recording, &options, &cct, &err))
		fail_msg("%s", err.message);
	return cct;
}

static struct flat list(const struct cct *cct, enum flat_key key, uint32_t metric)
{
	struct sonde_error err = { 0 };
	struct flat flat;

	if (flat_make(&flat, cct, key, metric, &err))
		fail_msg("%s", err.message);
	return flat;
}

static const struct flat_row *row_called(const struct cct *cct, const struct flat *flat,
					 enum flat_key key, const char *label)
{
	const struct flat_row *found = NULL;
	char space[100];

	for (size_t i = 0; i < flat->rows.count; i++) {
		const struct flat_row *row = &flat->rows.items[i];

		if (strcmp(flat_label(cct, key, row, space, sizeof(space)), label))
			continue;
		assert_null(found);
		found = row;
	}
	if (!found)
		fail_msg("no row '%s'", label);
	return found;
}

static void put(struct sonde_recording *recording, enum sonde_event_kind kind, uint64_t time,
		uint32_t function, uint32_t depth)
{
	memory_add_event(recording, 0, memory_event(kind, time, function, depth));
}

static uint64_t in_ns(double seconds)
{
	return (uint64_t)(seconds * 1e9 + 0.5);
}

/* main 0..100 { f 10..90 { g 20..80 { f 30..60 } } g 92..95 } */
static struct sonde_recording *recursive_calls(void)
{
	struct sonde_recording *recording = memory_recording_new(3);
	uint32_t process = memory_add_process(recording, "p");

	memory_add_function(recording, process, "main");
	memory_add_function(recording, process, "f");
	memory_add_function(recording, process, "g");
	memory_add_track(recording, process, "t");
	put(recording, SONDE_EVENT_CALL, 0, 0, 1);
	put(recording, SONDE_EVENT_CALL, 10, 1, 2);
	put(recording, SONDE_EVENT_CALL, 20, 2, 3);
	put(recording, SONDE_EVENT_CALL, 30, 1, 4);
	put(recording, SONDE_EVENT_RETURN, 60, 1, 4);
	put(recording, SONDE_EVENT_RETURN, 80, 2, 3);
	put(recording, SONDE_EVENT_RETURN, 90, 1, 2);
	put(recording, SONDE_EVENT_CALL, 92, 2, 2);
	put(recording, SONDE_EVENT_EXCEPTION, 95, 2, 2);
	put(recording, SONDE_EVENT_RETURN, 100, 0, 1);
	return recording;
}

static void test_recursion_counts_once(void **state)
{
	struct sonde_recording *recording = recursive_calls();
	struct cct *cct = build(recording);
	struct flat flat = list(cct, FLAT_FUNCTION, 0);
	const struct flat_row *row;

	(void)state;
	assert_int_equal(flat.rows.count, 3);
	row = row_called(cct, &flat, FLAT_FUNCTION, "f");
	assert_int_equal(in_ns(row->total), 80);
	assert_int_equal(in_ns(row->self), 20 + 30);
	assert_int_equal(row->calls.count, 2);
	assert_int_equal(row->calls.sum_ns, 110);
	assert_int_equal(row->calls.min_ns, 30);
	assert_int_equal(row->calls.max_ns, 80);
	row = row_called(cct, &flat, FLAT_FUNCTION, "g");
	assert_int_equal(in_ns(row->total), 60 + 3);
	assert_int_equal(in_ns(row->self), 30 + 3);
	assert_int_equal(row->calls.exceptions, 1);
	row = row_called(cct, &flat, FLAT_FUNCTION, "main");
	assert_int_equal(in_ns(row->total), 100);
	assert_int_equal(in_ns(row->self), 17);
	assert_ptr_equal(row, &flat.rows.items[0]);
	flat_release(&flat);
	cct_free(cct);
	sonde_recording_close(recording);
}

/* Every context is in the row of its function. */
static void test_places(void **state)
{
	struct sonde_recording *recording = recursive_calls();
	struct cct *cct = build(recording);
	struct flat flat = list(cct, FLAT_FUNCTION, 0);

	(void)state;
	for (uint32_t i = 0; i < cct->context_count; i++) {
		const struct sonde_context *context = &cct->contexts[i];
		uint32_t found = SONDE_NONE;

		for (size_t row = 0; row < flat.rows.count; row++)
			if (flat.rows.items[row].number == flat.places[i])
				found = flat.rows.items[row].key;
		if (context->kind == SONDE_CONTEXT_FUNCTION)
			assert_int_equal(found, context->function);
		else
			assert_int_equal(flat.places[i], SONDE_NONE);
	}
	flat_release(&flat);
	cct_free(cct);
	sonde_recording_close(recording);
}

struct profile {
	struct sonde_recording *recording;
	uint32_t main_function, work_function;
	uint32_t cycles, instructions;
};

static uint32_t add_line(struct profile *profile, uint32_t parent, enum sonde_context_kind kind,
			 const char *file, uint32_t line)
{
	uint32_t context = memory_add_context(profile->recording, parent, kind,
					      SONDE_CONTEXT_ENCLOSED, SONDE_NONE);
	struct sonde_context *about = memory_context(profile->recording, context);

	about->file = memory_add_string(profile->recording->definitions, file);
	about->line = line;
	return context;
}

static uint32_t add_function(struct profile *profile, uint32_t parent, uint32_t function)
{
	return memory_add_context(profile->recording, parent, SONDE_CONTEXT_FUNCTION,
				  SONDE_CONTEXT_CALLED, function);
}

static void measure(struct profile *profile, uint32_t context, double cycles, double instructions)
{
	memory_add_value(profile->recording, 0, context, profile->cycles, cycles);
	memory_add_value(profile->recording, 0, context, profile->instructions, instructions);
}

static uint32_t module_of(struct profile *profile, const char *path)
{
	struct sonde_module module = { .path = memory_add_string(profile->recording->definitions,
								 path) };
	uint32_t id;

	assert_int_equal(
		sonde_definitions_add_module(profile->recording->definitions, &module, &id, NULL),
		SONDE_OK);
	return id;
}

/*
 * main { a.c:1 100; loop a.c:2 { a.c:3 20; a.c:4 { work { b.c:7 3; loop b.c:8 { b.c:9 4 } } } } }
 * lib+0x10 5 { lib+0x20 6 { lib+0x10 7 } }; all instructions are twice the cycles, but for a.c:1
 */
static struct profile small_profile(void)
{
	struct profile profile = { .recording = memory_recording_new(2) };
	uint32_t process = memory_add_process(profile.recording, "p");
	uint32_t main, loop, work, inner, context, module, above = 0;

	profile.main_function = memory_add_function(profile.recording, process, "main");
	profile.work_function = memory_add_function(profile.recording, process, "work");
	memory_add_track(profile.recording, process, "t");
	module = module_of(&profile, "/lib/lib.so");
	profile.cycles = memory_add_metric(profile.recording, "cycles", "point", "");
	profile.instructions = memory_add_metric(profile.recording, "instructions", "point", "");
	main = add_function(&profile, 0, profile.main_function);
	context = add_line(&profile, main, SONDE_CONTEXT_LINE, "/src/a.c", 1);
	measure(&profile, context, 100, 50);
	loop = add_line(&profile, main, SONDE_CONTEXT_LOOP, "/src/a.c", 2);
	context = add_line(&profile, loop, SONDE_CONTEXT_LINE, "/src/a.c", 3);
	measure(&profile, context, 20, 40);
	context = add_line(&profile, loop, SONDE_CONTEXT_LINE, "/src/a.c", 4);
	work = add_function(&profile, context, profile.work_function);
	context = add_line(&profile, work, SONDE_CONTEXT_LINE, "/src/b.c", 7);
	measure(&profile, context, 3, 6);
	inner = add_line(&profile, work, SONDE_CONTEXT_LOOP, "/src/b.c", 8);
	context = add_line(&profile, inner, SONDE_CONTEXT_LINE, "/src/b.c", 9);
	measure(&profile, context, 4, 8);
	for (unsigned int i = 0; i < 3; i++) {
		above = memory_add_context(profile.recording, above, SONDE_CONTEXT_INSTRUCTION,
					   SONDE_CONTEXT_CALLED, SONDE_NONE);
		memory_context(profile.recording, above)->module = module;
		memory_context(profile.recording, above)->address = i == 1 ? 0x20 : 0x10;
		measure(&profile, above, 5 + i, 2 * (5 + i));
	}
	profile.recording->lanes = SONDE_LANE_CONTEXTS | SONDE_LANE_VALUES;
	return profile;
}

static void check(const struct cct *cct, const struct flat *flat, enum flat_key key,
		  const char *label, double self, double total)
{
	const struct flat_row *row = row_called(cct, flat, key, label);

	if (row->self != self || row->total != total)
		fail_msg("%s: self %g, total %g", label, row->self, row->total);
}

static double sum_of_selfs(const struct flat *flat)
{
	double sum = 0;

	for (size_t i = 0; i < flat->rows.count; i++)
		sum += flat->rows.items[i].self;
	return sum;
}

static void test_profile(void **state)
{
	struct profile profile = small_profile();
	struct cct *cct = build(profile.recording);
	uint32_t cycles = cct_find_metric(cct, "cycles");
	struct flat flat = list(cct, FLAT_FUNCTION, cycles);

	(void)state;
	assert_int_equal(flat.rows.count, 4);
	check(cct, &flat, FLAT_FUNCTION, "main", 120, 127);
	check(cct, &flat, FLAT_FUNCTION, "work", 7, 7);
	/* instructions of unknown functions are rows; one above itself counts once */
	check(cct, &flat, FLAT_FUNCTION, "lib.so+0x10", 12, 18);
	check(cct, &flat, FLAT_FUNCTION, "lib.so+0x20", 6, 13);
	assert_true(sum_of_selfs(&flat) == 145);
	flat_release(&flat);

	flat = list(cct, FLAT_LINE, cycles);
	check(cct, &flat, FLAT_LINE, "a.c:1", 100, 100);
	check(cct, &flat, FLAT_LINE, "a.c:3", 20, 20);
	check(cct, &flat, FLAT_LINE, "a.c:4", 0, 7);
	check(cct, &flat, FLAT_LINE, "b.c:9", 4, 4);
	check(cct, &flat, FLAT_LINE, "<unknown line>", 18, 18);
	assert_true(sum_of_selfs(&flat) == 145);
	flat_release(&flat);

	flat = list(cct, FLAT_LOOP, cycles);
	assert_int_equal(flat.rows.count, 2);
	check(cct, &flat, FLAT_LOOP, "loop at a.c:2", 20, 27);
	check(cct, &flat, FLAT_LOOP, "loop at b.c:8", 4, 4);
	flat_release(&flat);

	flat = list(cct, FLAT_FILE, cycles);
	check(cct, &flat, FLAT_FILE, "/src/a.c", 120, 127);
	check(cct, &flat, FLAT_FILE, "/src/b.c", 7, 7);
	flat_release(&flat);

	flat = list(cct, FLAT_MODULE, cycles);
	check(cct, &flat, FLAT_MODULE, "lib.so", 18, 18);
	check(cct, &flat, FLAT_MODULE, "<unknown module>", 127, 127);
	flat_release(&flat);
	cct_free(cct);
	sonde_recording_close(profile.recording);
}

/* A derived metric is worked out of sums: its own values do not add up. */
static void test_derived(void **state)
{
	struct profile profile = small_profile();
	struct cct *cct = build(profile.recording);
	struct sonde_error err = { 0 };
	const struct flat_row *row;
	uint32_t rate, cycles;
	struct flat flat;

	(void)state;
	assert_int_equal(cct_derive(cct, "rate = instructions / cycles", &err), SONDE_OK);
	rate = cct_find_metric(cct, "rate");
	cycles = cct_find_metric(cct, "cycles");
	flat = list(cct, FLAT_FUNCTION, rate);
	check(cct, &flat, FLAT_FUNCTION, "main", 90.0 / 120, 104.0 / 127);
	check(cct, &flat, FLAT_FUNCTION, "work", 2, 2);
	flat_release(&flat);
	assert_int_equal(flat_make_all(&flat, cct, FLAT_FUNCTION, cycles, &err), SONDE_OK);
	row = row_called(cct, &flat, FLAT_FUNCTION, "main");
	assert_true(row->self == 120);
	assert_true(flat_self(&flat, row, cycles) == 120 && flat_total(&flat, row, cycles) == 127);
	assert_true(flat_self(&flat, row, rate) == 90.0 / 120);
	assert_true(flat_total(&flat, row, rate) == 104.0 / 127);
	flat_release(&flat);
	cct_free(cct);
	sonde_recording_close(profile.recording);
}

static void test_order_and_labels(void **state)
{
	struct profile profile = small_profile();
	struct cct *cct = build(profile.recording);
	struct flat flat = list(cct, FLAT_FUNCTION, cct_find_metric(cct, "cycles"));
	char tiny[3];

	(void)state;
	for (size_t i = 1; i < flat.rows.count; i++)
		assert_true(flat.rows.items[i - 1].total >= flat.rows.items[i].total);
	assert_string_equal(flat_label(cct, FLAT_FUNCTION, &flat.rows.items[0], tiny, sizeof(tiny)),
			    "ma");
	assert_string_equal(flat_label(cct, FLAT_FUNCTION, &flat.rows.items[0], tiny, 0), "");
	flat_release(&flat);
	cct_free(cct);
	sonde_recording_close(profile.recording);
}

static void test_no_such_metric(void **state)
{
	struct sonde_recording *recording = recursive_calls();
	struct cct *cct = build(recording);
	struct sonde_error err = { 0 };
	struct flat flat;

	(void)state;
	assert_int_equal(flat_make(&flat, cct, FLAT_FUNCTION, cct->metric_count, &err),
			 SONDE_ARGUMENT);
	assert_int_equal(flat.rows.count, 0);
	flat_release(&flat);
	cct_free(cct);
	sonde_recording_close(recording);
}

/* A path of 100,000 calls of two functions in turn. */
static void test_deep(void **state)
{
	const uint32_t depth = 100000;
	struct sonde_recording *recording = memory_recording_new(1000);
	uint32_t process = memory_add_process(recording, "p");
	const struct flat_row *row;
	struct flat flat;
	struct cct *cct;
	uint32_t i;

	(void)state;
	memory_add_function(recording, process, "even");
	memory_add_function(recording, process, "odd");
	memory_add_track(recording, process, "t");
	for (i = 0; i < depth; i++)
		put(recording, SONDE_EVENT_CALL, i, i % 2, i + 1);
	for (i = depth; i-- > 0;)
		put(recording, SONDE_EVENT_RETURN, 2 * depth - i, i % 2, i + 1);
	cct = build(recording);
	flat = list(cct, FLAT_FUNCTION, 0);
	row = row_called(cct, &flat, FLAT_FUNCTION, "even");
	assert_int_equal(in_ns(row->total), 2 * depth);
	assert_int_equal(row->calls.count, depth / 2);
	row = row_called(cct, &flat, FLAT_FUNCTION, "odd");
	assert_int_equal(in_ns(row->total), 2 * depth - 2);
	flat_release(&flat);
	cct_free(cct);
	sonde_recording_close(recording);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_recursion_counts_once),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_profile),
		cmocka_unit_test(test_derived),
		cmocka_unit_test(test_order_and_labels),
		cmocka_unit_test(test_no_such_metric),
		cmocka_unit_test(test_deep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
