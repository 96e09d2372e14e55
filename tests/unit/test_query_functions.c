/* SPDX-License-Identifier: Apache-2.0 */
/* The functions that queries have beside SQLite's own: what they give, and what they refuse. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory_recording.h"
#include "query/query.h"
#include "query/query_functions.h"

#define DEEP 100000

/* The first value of a statement, or "error: " and why; `space` holds it. */
static const char *answer(sqlite3 *connection, const char *sql, char space[512])
{
	sqlite3_stmt *statement = NULL;
	int code = sqlite3_prepare_v2(connection, sql, -1, &statement, NULL);

	if (code == SQLITE_OK)
		code = sqlite3_step(statement);
	if (code != SQLITE_ROW)
		snprintf(space, 512, "error: %s", sqlite3_errmsg(connection));
	else if (sqlite3_column_type(statement, 0) == SQLITE_NULL)
		snprintf(space, 512, "NULL");
	else
		snprintf(space, 512, "%s", (const char *)sqlite3_column_text(statement, 0));
	sqlite3_finalize(statement);
	return space;
}

static void gives(void **state, const char *expression, const char *expected)
{
	char sql[512], space[512];

	snprintf(sql, sizeof(sql), "SELECT %s", expression);
	assert_string_equal(answer(*state, sql, space), expected);
}

static int set_up(void **state)
{
	sqlite3 *connection = NULL;

	assert_int_equal(sqlite3_open(":memory:", &connection), SQLITE_OK);
	assert_int_equal(query_add_functions(NULL, connection), SQLITE_OK);
	*state = connection;
	return 0;
}

static int tear_down(void **state)
{
	assert_int_equal(sqlite3_close(*state), SQLITE_OK);
	return 0;
}

static void test_human(void **state)
{
	gives(state, "human_time(0)", "0 ns");
	gives(state, "human_time(1234567)", "1.234 ms");
	gives(state, "human_time(-1500)", "-1.500 us");
	gives(state, "human_time(1500000000.4)", "1.500 s");
	gives(state, "human_time(-0.2)", "0 ns");
	gives(state, "human_time('2000')", "2.000 us");
	gives(state, "human_time(NULL)", "NULL");
	gives(state, "human_time('soon')", "soon");
	gives(state, "human_time(1e300)", "1.0e+300");
	gives(state, "human_time(-9223372036854775808)", "-2562047 h 47 m 16 s");
	gives(state, "human_size(1500000)", "1.5 MB");
	gives(state, "human_size(1)", "1 byte");
	gives(state, "human_count(12345678)", "12,345,678");
	gives(state, "human_count(-1000)", "-1,000");
}

static void test_demangle(void **state)
{
	gives(state, "demangle('_ZN3foo3barEi')", "foo::bar(int)");
	gives(state, "demangle('main')", "main");
	gives(state, "demangle(NULL)", "NULL");
	gives(state, "demangle('')", "");
}

static void test_regexp(void **state)
{
	gives(state, "'parse_line' REGEXP '^parse_(line|file)$'", "1");
	gives(state, "'reparse_line' REGEXP '^parse'", "0");
	gives(state, "'x' REGEXP NULL", "NULL");
	gives(state, "NULL REGEXP 'x'", "NULL");
	gives(state, "'' REGEXP ''", "1");
	gives(state, "'a' REGEXP '(a'", "error: REGEXP: Unmatched ( or \\(");
	gives(state, "'aa' REGEXP '(a)\\1'", "error: REGEXP: back references are not supported");
	gives(state, "'a\\1' REGEXP '\\\\1'", "1");
	gives(state, "'a' REGEXP 'a{9}{9}{9}{9}{9}'", "error: REGEXP: the pattern is too large");
	gives(state, "'a' REGEXP 'a{1,99999}'", "error: REGEXP: the pattern is too large");
	gives(state, "'a' REGEXP '(' || printf('%.100c', 'a') || '){400}'",
	      "error: REGEXP: the pattern is too large");
	gives(state, "printf('%.200c', 'a') REGEXP '^(aa){1,100}$'", "1");
	gives(state, "printf('%.2000000c', 'a') REGEXP 'b|(a|b)*a(a|b){9}c'",
	      "error: REGEXP: the text is too large for this pattern");
	gives(state, "printf('%.2000000c', 'a') REGEXP 'ab'", "0");
	gives(state, "'a' REGEXP printf('%.1001c', 'a')",
	      "error: REGEXP: the pattern is too large");
	/* Not the first pattern for all rows. */
	gives(state, "group_concat(column1 REGEXP column2) FROM (VALUES ('a', 'a'), ('a', 'b'))",
	      "1,0");
}

static void test_percentile(void **state)
{
	gives(state, "percentile(column1, 50) FROM (VALUES (4), (1), (3), (2))", "2.5");
	gives(state, "percentile(column1, 0) FROM (VALUES (4), (-1), (3), (2))", "-1.0");
	gives(state, "percentile(column1, 100) FROM (VALUES (4), (-1), (3), (2))", "4.0");
	gives(state, "percentile(column1, 25) FROM (VALUES (-2.5), (-1.5), (0), (8), (9))", "-1.5");
	gives(state, "percentile(column1, 50) FROM (VALUES (NULL), (7), (NULL))", "7.0");
	gives(state, "percentile(column1, 50) FROM (VALUES (NULL))", "NULL");
	gives(state, "percentile(1, 50) WHERE 0", "NULL");
	gives(state, "percentile(1, 101)", "error: percentile(value, p): p is from 0 to 100");
	gives(state, "percentile(1, NULL)", "error: percentile(value, p): p is from 0 to 100");
	gives(state, "percentile('many', 50)", "error: a percentile is of numbers, not of texts");
	gives(state, "median(column1) FROM (VALUES (1), (2), (9))", "2.0");
	gives(state, "p50(column1) = median(column1) FROM (VALUES (1), (2), (9))", "1");
}

static void test_shorthands(void **state)
{
	gives(state,
	      "printf('%g %g %g %g', p90(i), p95(i), p99(i), p999(i)) FROM "
	      "(WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n "
	      "WHERE i < 1000) SELECT i FROM n)",
	      "900 950 990 999");
}

/* More values than are kept: what is beyond is within half a percent. */
static void about(void **state, const char *expression, double expected)
{
	char sql[512], space[512];
	double value;

	snprintf(sql, sizeof(sql),
		 "SELECT %s FROM (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n "
		 "WHERE i < 1200000) SELECT i FROM n)",
		 expression);
	value = strtod(answer(*state, sql, space), NULL);
	assert_true(fabs(value - expected) <= fabs(expected) * 0.005);
	assert_true(value >= -999 && value <= 1199000);
}

static void test_many_values(void **state)
{
	about(state, "p99(i - 1000)", 1187000);
	about(state, "percentile(i - 1000, 0)", -999);
	about(state, "percentile(i - 1000, 100)", 1199000);
}

static void test_deviation(void **state)
{
	gives(state,
	      "round(stddev(column1), 9) FROM (VALUES (2), (4), (4), (4), (5), (5), (7), (9), (NULL))",
	      "2.138089935");
	gives(state, "stddev(column1) FROM (VALUES (2))", "NULL");
	gives(state, "stddev(1) WHERE 0", "NULL");
	/* Large numbers that are close together: squares of them would drown the difference. */
	gives(state, "stddev(column1) FROM (VALUES (1e15), (1e15 + 1), (1e15 + 2))", "1.0");
}

/* Paths of contexts: a tree of a profile, with all kinds of contexts. */
static struct sonde_recording *profile(void)
{
	struct sonde_recording *recording = memory_recording_new(2);
	uint32_t process = memory_add_process(recording, "p");
	uint32_t outer = memory_add_function(recording, process, "main");
	uint32_t inner = memory_add_function(recording, process, "in;ner");
	uint32_t track = memory_add_track(recording, process, "t");
	uint32_t metric = memory_add_metric(recording, "cycles", "point", "");
	uint32_t entry, at;

	entry = memory_add_context(recording, 0, SONDE_CONTEXT_ENTRY, SONDE_CONTEXT_CALLED,
				   SONDE_NONE);
	at = memory_add_context(recording, entry, SONDE_CONTEXT_FUNCTION, SONDE_CONTEXT_CALLED,
				outer);
	at = memory_add_context(recording, at, SONDE_CONTEXT_LINE, SONDE_CONTEXT_ENCLOSED,
				SONDE_NONE);
	at = memory_add_context(recording, at, SONDE_CONTEXT_FUNCTION, SONDE_CONTEXT_INLINED,
				inner);
	at = memory_add_context(recording, at, SONDE_CONTEXT_LINE, SONDE_CONTEXT_ENCLOSED,
				SONDE_NONE);
	memory_context(recording, at)->line = 7;
	memory_add_value(recording, track, at, metric, 1);
	/* Without names: an address that is called from another. */
	at = memory_add_context(recording, entry, SONDE_CONTEXT_INSTRUCTION, SONDE_CONTEXT_CALLED,
				SONDE_NONE);
	memory_add_context(recording, at, SONDE_CONTEXT_INSTRUCTION, SONDE_CONTEXT_CALLED,
			   SONDE_NONE);
	return recording;
}

static void path_is(struct query *query, const char *expression, const char *expected)
{
	char sql[512], space[512];

	snprintf(sql, sizeof(sql), "SELECT %s", expression);
	assert_string_equal(answer(query_connection(query), sql, space), expected);
}

static void test_stack(void **state)
{
	struct sonde_recording *recording = profile();
	struct query_source sources[] = { { .schema = "a", .recording = recording },
					  { .schema = "b", .recording = recording } };
	struct query_options options = { .no_cache = true, .threads = 1 };
	struct sonde_error err = { 0 };
	struct query *query = NULL;

	(void)state;
	assert_int_equal(query_open(sources, 2, &options, &query, &err), SONDE_OK);
	path_is(query, "stack(2)", "main");
	path_is(query, "stack(4)", "main;in;ner");
	path_is(query, "stack(4, ' > ')", "main > in;ner");
	path_is(query, "stack(4, ' > ', 'b')", "main > in;ner");
	path_is(query, "stack(4, NULL, 'b')", "main;in;ner");
	/* A line is where it ends, not on the way. */
	path_is(query, "stack(3) LIKE 'main;%'", "1");
	path_is(query, "stack(5) LIKE 'main;in;ner;%'", "1");
	path_is(query, "stack(7) = stack(6) || ';' || stack(6)", "1");
	path_is(query, "stack(8)", "NULL");
	path_is(query, "stack(-1)", "NULL");
	path_is(query, "stack(NULL)", "NULL");
	path_is(query, "stack(4, ';', 'c') IS NULL",
		"error: there is no recording c in this query");
	path_is(query, "stack()", "error: stack() takes a context, a separator and a recording");
	path_is(query, "stack((SELECT id FROM contexts WHERE line = 7)) LIKE 'main;%'", "1");
	query_close(query);
	sonde_recording_close(recording);
}

/* A hundred thousand calls within each other: no recursion, and no quadratic path. */
static void test_deep_stack(void **state)
{
	struct sonde_recording *recording = memory_recording_new(1000);
	uint32_t process = memory_add_process(recording, "p");
	uint32_t function = memory_add_function(recording, process, "f");
	uint32_t track = memory_add_track(recording, process, "t");
	struct query_source source = { .schema = "a", .recording = recording };
	struct query_options options = { .no_cache = true, .threads = 1 };
	struct sonde_error err = { 0 };
	struct query *query = NULL;
	unsigned int i;

	(void)state;
	for (i = 0; i < DEEP; i++)
		memory_add_event(recording, track,
				 memory_event(SONDE_EVENT_CALL, i, function, i + 1));
	assert_int_equal(query_open(&source, 1, &options, &query, &err), SONDE_OK);
	path_is(query, "max(length(stack(id))) FROM contexts WHERE id >= 100000", "199999");
	query_close(query);
	sonde_recording_close(recording);
}

/* What is listed is there, and the other way round. */
static void test_list(void **state)
{
	char sql[256], space[512];
	size_t i;

	for (i = 0; query_function_at(i); i++) {
		snprintf(sql, sizeof(sql),
			 "SELECT count(*) > 0 FROM pragma_function_list WHERE name = '%s'",
			 query_function_at(i)->name);
		assert_string_equal(answer(*state, sql, space), "1");
		assert_non_null(strstr(query_function_at(i)->usage,
				       i + 1 < 14 ? query_function_at(i)->name : "REGEXP"));
	}
	assert_int_equal(i, 14);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_human, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_demangle, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_regexp, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_percentile, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_shorthands, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_many_values, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_deviation, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_list, set_up, tear_down),
		cmocka_unit_test(test_stack),
		cmocka_unit_test(test_deep_stack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
