/* SPDX-License-Identifier: Apache-2.0 */
/* The golden database as a recording, what default.yaml shows of it, and YAML that is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "formats/format.h"
#include "formats/hpcdb/hpcdb_taxonomy.h"

static struct sonde_recording *recording;
static const struct sonde_definitions *definitions;

static int open_golden(void **state)
{
	char path[512];

	(void)state;
	snprintf(path, sizeof(path), "%s/hpcdb/small", getenv("GOLDEN"));
	if (sonde_recording_open(path, NULL, &recording, NULL) != SONDE_OK)
		return -1;
	definitions = sonde_recording_definitions(recording);
	return 0;
}

static int close_golden(void **state)
{
	(void)state;
	sonde_recording_close(recording);
	return 0;
}

static uint32_t metric_of(const char *scope, const char *statistic)
{
	for (uint32_t i = 0; i < sonde_definitions_metric_count(definitions); i++) {
		const struct sonde_metric *metric = sonde_definitions_metric(definitions, i);

		if (!strcmp(sonde_definitions_string(definitions, metric->scope), scope) &&
		    !strcmp(sonde_definitions_string(definitions, metric->statistic), statistic))
			return i;
	}
	fail_msg("no metric in scope %s, statistic \"%s\"", scope, statistic);
	return SONDE_NONE;
}

/* Places of contexts in the model, in the order of the tree. */
enum { ROOT, MAIN_THREAD, MAIN, LINE_3, WORK, LOOP_10, LOOP_11, LINE_12, OTHER_THREAD, OTHER_WORK };

static void test_definitions(void **state)
{
	const struct sonde_track *track;

	(void)state;
	assert_string_equal(sonde_format_info(sonde_recording_format(recording))->name, "hpcdb");
	assert_int_equal(sonde_definitions_track_count(definitions), 2);
	assert_int_equal(sonde_definitions_process_count(definitions), 1);
	assert_int_equal(sonde_definitions_function_count(definitions), 2);
	assert_int_equal(sonde_definitions_metric_count(definitions), 20);
	track = sonde_definitions_track(definitions, 0);
	assert_int_equal(track->sample_count, 4);
	assert_int_equal(track->time_first_ns, 1000);
	assert_int_equal(track->time_last_ns, 1300);
	assert_int_equal(sonde_recording_lanes(recording), SONDE_LANE_CONTEXTS | SONDE_LANE_VALUES |
								   SONDE_LANE_SAMPLES |
								   SONDE_LANE_BLOBS);
	assert_int_equal(
		sonde_diagnostics_count(sonde_recording_diagnostics(recording), SONDE_NOTE), 0);
}

static void test_contexts(void **state)
{
	const struct sonde_context *contexts;
	char text[64];
	uint32_t count;

	(void)state;
	assert_int_equal(sonde_recording_contexts(recording, &contexts, &count, NULL), SONDE_OK);
	assert_int_equal(count, 10);
	assert_int_equal(contexts[ROOT].kind, SONDE_CONTEXT_ROOT);
	assert_int_equal(contexts[MAIN_THREAD].kind, SONDE_CONTEXT_ENTRY);
	assert_int_equal(contexts[MAIN_THREAD].entry, SONDE_ENTRY_MAIN_THREAD);
	assert_int_equal(contexts[WORK].relation, SONDE_CONTEXT_CALLED);
	assert_int_equal(contexts[WORK].function, 1);
	assert_int_equal(contexts[LOOP_11].kind, SONDE_CONTEXT_LOOP);
	assert_int_equal(contexts[LOOP_11].relation, SONDE_CONTEXT_ENCLOSED);
	assert_int_equal(contexts[LOOP_11].line, 11);
	assert_int_equal(contexts[LOOP_11].end, OTHER_THREAD);
	assert_non_null(strstr(
		sonde_context_label(definitions, &contexts[LINE_12], text, sizeof(text)), "12"));
}

/* All values of a cursor, checked for their order. */
static struct sonde_value values[200];
static size_t value_count;

static void take_all(struct sonde_value_cursor *cursor)
{
	const struct sonde_value *batch;
	size_t count;

	for (value_count = 0; sonde_value_cursor_next(cursor, &batch, &count, NULL) == SONDE_OK;) {
		assert_true(value_count + count <= sizeof(values) / sizeof(values[0]));
		memcpy(values + value_count, batch, count * sizeof(*batch));
		value_count += count;
	}
	sonde_value_cursor_free(cursor);
}

static double value_in(uint32_t track, uint32_t context, uint32_t metric)
{
	for (size_t i = 0; i < value_count; i++) {
		if (values[i].track == track && values[i].context == context &&
		    values[i].metric == metric)
			return values[i].value;
	}
	return 0;
}

/* What the unlisted instruction has is its line's. */
static void test_track_values(void **state)
{
	static const double own[2][10] = {
		{ [LINE_3] = 1.5, [LOOP_10] = 0.5, [LINE_12] = 2.25 },
		{ [LINE_12] = 0.25, [OTHER_WORK] = 4.0 },
	};
	uint32_t point = metric_of("point", "");
	struct sonde_value_cursor *cursor;

	(void)state;
	for (uint32_t track = 0; track < 2; track++) {
		assert_int_equal(sonde_value_cursor_open(recording, track, &cursor, NULL),
				 SONDE_OK);
		take_all(cursor);
		assert_true(value_count > 10);
		for (size_t i = 1; i < value_count; i++)
			assert_true(values[i - 1].context < values[i].context ||
				    (values[i - 1].context == values[i].context &&
				     values[i - 1].metric < values[i].metric));
		for (uint32_t i = 0; i < 10; i++)
			assert_true(value_in(track, i, point) == own[track][i]);
		assert_true(value_in(track, ROOT, metric_of("execution", "")) == 4.25);
	}
	assert_true(value_in(1, LOOP_10, metric_of("lex_aware", "")) == 0);
	assert_true(value_in(1, LOOP_10, metric_of("function", "")) == 0.25);
}

/* The same values, whichever way they are asked for. */
static void test_same(void **state)
{
	struct sonde_value_cursor *cursor;
	size_t by_context = 0, by_track = 0;
	double value;

	(void)state;
	for (uint32_t context = 0; context < 10; context++) {
		assert_int_equal(sonde_value_cursor_open_context(recording, context, &cursor, NULL),
				 SONDE_OK);
		take_all(cursor);
		by_context += value_count;
		for (size_t i = 0; i < value_count; i++) {
			assert_int_equal(values[i].context, context);
			assert_int_equal(sonde_recording_value(recording, values[i].track, context,
							       values[i].metric, &value, NULL),
					 SONDE_OK);
			assert_true(value == values[i].value);
		}
	}
	for (uint32_t track = 0; track < 2; track++) {
		assert_int_equal(sonde_value_cursor_open(recording, track, &cursor, NULL),
				 SONDE_OK);
		take_all(cursor);
		by_track += value_count;
	}
	assert_int_equal(by_track, by_context);
	assert_int_equal(sonde_recording_value(recording, 0, OTHER_WORK, 0, &value, NULL),
			 SONDE_END);
}

static void test_statistics(void **state)
{
	struct sonde_value_cursor *cursor;
	double value;

	(void)state;
	assert_int_equal(sonde_value_cursor_open(recording, SONDE_NONE, &cursor, NULL), SONDE_OK);
	take_all(cursor);
	assert_true(value_in(SONDE_NONE, ROOT, metric_of("execution", "sum")) == 8.5);
	assert_true(value_in(SONDE_NONE, ROOT, metric_of("execution", "count")) == 2);
	assert_true(value_in(SONDE_NONE, ROOT, metric_of("execution", "sum of squares")) == 36.125);
	assert_true(value_in(SONDE_NONE, WORK, metric_of("execution", "min")) == 0.25);
	assert_true(value_in(SONDE_NONE, WORK, metric_of("execution", "max")) == 2.75);
	assert_int_equal(sonde_recording_value(recording, SONDE_NONE, WORK,
					       metric_of("execution", "max"), &value, NULL),
			 SONDE_OK);
	assert_true(value == 2.75);
	assert_int_equal(sonde_recording_value(recording, 0, WORK, metric_of("execution", "max"),
					       &value, NULL),
			 SONDE_END);
}

/* What contexts measured themselves adds up, whatever is not listed. */
static void test_point_sums(void **state)
{
	uint32_t point = metric_of("point", ""), sum = metric_of("point", "sum");
	uint32_t count = sonde_definitions_metric_count(recording->definitions), contexts;
	const struct sonde_context *items;
	struct sonde_value_cursor *cursor;
	double value;

	(void)state;
	assert_int_equal(sonde_recording_contexts(recording, &items, &contexts, NULL), SONDE_OK);
	for (uint32_t i = 0; i < contexts; i++) {
		double tracks = 0, single = 0;

		for (uint32_t track = 0; track < 2; track++) {
			sonde_recording_value(recording, track, i, point, &value, NULL);
			tracks += value;
		}
		sonde_recording_value(recording, SONDE_NONE, i, sum, &single, NULL);
		assert_true(single == tracks);
		assert_int_equal(sonde_value_cursor_open(recording, SONDE_NONE, &cursor, NULL),
				 SONDE_OK);
		take_all(cursor);
		assert_true(value_in(SONDE_NONE, i, sum) == tracks);
	}
	/* others do not follow from what is stored */
	for (uint32_t i = 0; i < count; i++) {
		const struct sonde_metric *metric =
			sonde_definitions_metric(recording->definitions, i);

		assert_true(i == sum || !metric->statistic ||
			    strcmp(sonde_definitions_string(recording->definitions, metric->scope),
				   "point"));
	}
}

static void test_value_count(void **state)
{
	uint64_t count = 0;

	(void)state;
	assert_int_equal(sonde_recording_value_count(recording, &count, NULL), SONDE_OK);
	assert_int_equal(count, 50);
}

static void test_samples(void **state)
{
	struct sonde_sample_cursor *cursor;
	const struct sonde_sample *samples;
	size_t count;

	(void)state;
	assert_int_equal(sonde_sample_cursor_open(recording, 0, &cursor, NULL), SONDE_OK);
	assert_int_equal(sonde_sample_cursor_next(cursor, &samples, &count, NULL), SONDE_OK);
	assert_int_equal(count, 4);
	assert_int_equal(samples[1].context, LINE_12);
	assert_int_equal(samples[2].context, ROOT);
	assert_int_equal(sonde_sample_cursor_next(cursor, &samples, &count, NULL), SONDE_END);
	sonde_sample_cursor_seek_time(cursor, 1250);
	assert_int_equal(sonde_sample_cursor_next(cursor, &samples, &count, NULL), SONDE_OK);
	assert_int_equal(count, 1);
	assert_int_equal(samples[0].context, LOOP_10);
	sonde_sample_cursor_free(cursor);
}

static void test_blob(void **state)
{
	struct sonde_blob blob;

	(void)state;
	assert_int_equal(sonde_recording_blob_count(recording), 1);
	assert_int_equal(sonde_recording_blob(recording, 0, &blob, NULL), SONDE_OK);
	assert_string_equal(sonde_definitions_string(definitions, blob.name), "src/main.c");
	assert_memory_equal(blob.bytes, "int main", 8);
}

static void test_taxonomy(void **state)
{
	struct hpcdb_taxonomy_binding binding;
	struct hpcdb_taxonomy taxonomy;
	double value;

	(void)state;
	assert_int_equal(hpcdb_taxonomy_open(&taxonomy, sonde_recording_path(recording), NULL),
			 SONDE_OK);
	assert_int_equal(taxonomy.inputs.count, 4);
	assert_string_equal(taxonomy.inputs.items[1].metric, "CPUTIME (sec)");
	assert_string_equal(taxonomy.inputs.items[1].scope, "function");
	assert_int_equal(taxonomy.metrics.count, 2);
	assert_int_equal(taxonomy.metrics.items[0].variant_count, 3);
	assert_int_equal(taxonomy.metrics.items[1].parent, 0);
	assert_true(taxonomy.metrics.items[1].is_hidden);
	assert_int_equal(taxonomy.variants.items[0].render,
			 HPCDB_RENDER_NUMBER | HPCDB_RENDER_PERCENT);
	assert_string_equal(taxonomy.variants.items[1].format, "%.3f");
	assert_int_equal(hpcdb_taxonomy_bind(&binding, &taxonomy, recording, NULL), SONDE_OK);
	assert_true(hpcdb_taxonomy_value(&binding, 0, 0, HPCDB_INCLUSIVE, WORK, &value));
	assert_true(value == 3.0);
	assert_true(hpcdb_taxonomy_value(&binding, 0, 0, HPCDB_EXCLUSIVE, MAIN, &value));
	assert_true(value == 1.5);
	assert_true(hpcdb_taxonomy_value(&binding, 0, 1, HPCDB_INCLUSIVE, WORK, &value));
	assert_true(value == 1.5);
	assert_true(hpcdb_taxonomy_value(&binding, 0, 2, HPCDB_INCLUSIVE, WORK, &value));
	assert_true(fabs(value - 1.25) < 1e-12);
	assert_true(hpcdb_taxonomy_value(&binding, 1, 0, HPCDB_INCLUSIVE, WORK, &value));
	assert_true(value == 6.0);
	assert_false(hpcdb_taxonomy_value(&binding, 0, 0, HPCDB_EXCLUSIVE, MAIN_THREAD, &value));
	assert_false(hpcdb_taxonomy_value(&binding, 0, 9, HPCDB_EXCLUSIVE, MAIN, &value));
	hpcdb_taxonomy_unbind(&binding);
	hpcdb_taxonomy_release(&taxonomy);
}

static enum sonde_status read_yaml(const char *text)
{
	struct hpcdb_taxonomy taxonomy;
	enum sonde_status status = hpcdb_taxonomy_read(&taxonomy, text, strlen(text), NULL);

	if (status == SONDE_OK)
		hpcdb_taxonomy_release(&taxonomy);
	return status;
}

#define WITH_FORMULA(text) "roots: [{name: a, variants: {S: {formula: {inclusive: " text "}}}}]"

static void test_yaml(void **state)
{
	struct sonde_buffer text = { 0 };

	(void)state;
	assert_int_equal(read_yaml("{}"), SONDE_OK);
	assert_int_equal(read_yaml(""), SONDE_CORRUPT);
	assert_int_equal(read_yaml("[1"), SONDE_CORRUPT);
	assert_int_equal(read_yaml("version: 7"), SONDE_UNSUPPORTED);
	assert_int_equal(read_yaml(WITH_FORMULA("[1, +, {sqrt: [4]}]")), SONDE_OK);
	assert_int_equal(read_yaml(WITH_FORMULA("{foo: [4]}")), SONDE_CORRUPT);
	assert_int_equal(read_yaml(WITH_FORMULA("[1, 2]")), SONDE_CORRUPT);
	assert_int_equal(read_yaml(WITH_FORMULA("[]")), SONDE_CORRUPT);
	assert_int_equal(read_yaml("inputs: [{metric: a, combine: product}]"), SONDE_CORRUPT);
	/* each name stands for ten of the one before */
	sonde_buffer_put_text(&text, "x0: &a0 [1, +, 1]\n");
	for (int i = 1; i < 20; i++) {
		sonde_buffer_put_format(&text, "x%d: &a%d [*a%d", i, i, i - 1);
		for (int j = 0; j < 9; j++)
			sonde_buffer_put_format(&text, ", +, *a%d", i - 1);
		sonde_buffer_put_text(&text, "]\n");
	}
	sonde_buffer_put_text(&text, WITH_FORMULA("*a19"));
	assert_int_equal(read_yaml(sonde_buffer_text(&text)), SONDE_LIMIT);
	/* deeper than any formula */
	sonde_buffer_clear(&text);
	sonde_buffer_put_text(&text, "roots: [{variants: {S: {formula: {inclusive: ");
	for (int i = 0; i < 200; i++)
		sonde_buffer_put_char(&text, '[');
	sonde_buffer_put_char(&text, '1');
	for (int i = 0; i < 200; i++)
		sonde_buffer_put_char(&text, ']');
	sonde_buffer_put_text(&text, "}}}}]");
	assert_int_equal(read_yaml(sonde_buffer_text(&text)), SONDE_LIMIT);
	/* a long text that is there very often */
	sonde_buffer_clear(&text);
	sonde_buffer_put_text(&text, "roots: [&a {name: ");
	for (int i = 0; i < 40000; i++)
		sonde_buffer_put_char(&text, 'x');
	sonde_buffer_put_char(&text, '}');
	for (int i = 0; i < 2000; i++)
		sonde_buffer_put_text(&text, ", *a");
	sonde_buffer_put_char(&text, ']');
	assert_int_equal(read_yaml(sonde_buffer_text(&text)), SONDE_LIMIT);
	/* what takes long to load is refused before: lists within lists, very many names */
	sonde_buffer_clear(&text);
	for (int i = 0; i < 100000; i++)
		sonde_buffer_put_char(&text, '[');
	assert_int_equal(read_yaml(sonde_buffer_text(&text)), SONDE_LIMIT);
	sonde_buffer_clear(&text);
	for (int i = 0; i < 100000; i++)
		sonde_buffer_put_format(&text, "- &n%d 1\n", i);
	assert_int_equal(read_yaml(sonde_buffer_text(&text)), SONDE_LIMIT);
	sonde_buffer_release(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_definitions),  cmocka_unit_test(test_contexts),
		cmocka_unit_test(test_track_values), cmocka_unit_test(test_same),
		cmocka_unit_test(test_statistics),   cmocka_unit_test(test_point_sums),
		cmocka_unit_test(test_value_count),  cmocka_unit_test(test_samples),
		cmocka_unit_test(test_blob),	     cmocka_unit_test(test_taxonomy),
		cmocka_unit_test(test_yaml),
	};

	return cmocka_run_group_tests(tests, open_golden, close_golden);
}
