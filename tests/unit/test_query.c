/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of queries: what is in them, and that conditions which go down into cursors give the rows that
 * SQLite itself would find. Limits are in test_query_limits.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "memory_recording.h"
#include "query/query_tables.h"
#include "query_fixture.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* A condition in two halves, so that the column can be hidden from the planner by a plus. */
struct condition {
	const char *column, *rest;
};

/* Each condition alone, and each with each other one. */
static void compare_conditions(struct query *query, const char *columns, const char *table,
			       const struct condition *conditions, size_t count)
{
	size_t rows = 0;

	for (size_t i = 0; i < count; i++) {
		for (size_t j = i; j < count; j++) {
			const struct condition *a = &conditions[i], *b = &conditions[j];
			char pushed[400], kept[400];

			snprintf(pushed, sizeof(pushed), "SELECT %s FROM %s WHERE %s %s AND %s %s",
				 columns, table, a->column, a->rest, b->column, b->rest);
			snprintf(kept, sizeof(kept), "SELECT %s FROM %s WHERE +%s %s AND +%s %s",
				 columns, table, a->column, a->rest, b->column, b->rest);
			rows += query_expect_same(query, pushed, kept);
		}
	}
	assert_true(rows > 0);
}

static const struct condition span_conditions[] = {
	{ "start_ns", ">= 100" },
	{ "start_ns", "< 150" },
	{ "start_ns", "> 99.5" },
	{ "start_ns", "<= 405.0" },
	{ "start_ns", "= 405" },
	{ "start_ns", "> 1e30" },
	{ "start_ns", "> -1e30" },
	{ "start_ns", "< -3" },
	{ "start_ns", "= 100.5" },
	{ "start_ns", "> NULL" },
	{ "start_ns", "< 'text'" },
	{ "start_ns", "BETWEEN 40 AND 90" },
	{ "track", "= 1" },
	{ "track", "IN (0, 2, 7, NULL, 'x')" },
	{ "track", "> 0" },
	{ "function", "= 2" },
	{ "function", "IN (1, 3, -4)" },
	{ "function", "IN (SELECT id FROM functions WHERE name = 'work')" },
	{ "function", "IN ()" },
	{ "depth", "= 2" },
	{ "depth", "> 3" },
	{ "dur_ns", ">= 5" },
	{ "parent", "= 1" },
	{ "parent", "< 30" },
	{ "parent", "= 1099511627776" },
	{ "id", "= 4" },
	{ "id", "> 1099511627800" },
	{ "id", "<= 1099511627800" },
	{ "rowid", "= 1099511627801" },
	{ "id", "= 9223372036854775807" },
};

static void test_span_conditions(void **state)
{
	struct sonde_recording *recording = query_calls_new();
	struct query *query = query_over(recording);

	(void)state;
	compare_conditions(query, "*", "spans", span_conditions, COUNT(span_conditions));
	/* what calls alone say, and what is around them, comes another way */
	compare_conditions(query, "id, track, function, start_ns", "spans", span_conditions, 20);
	compare_conditions(query, "id, depth, parent", "spans", span_conditions, 20);
	query_expect_same(query, "SELECT id, track, function, start_ns FROM spans",
			  "SELECT id, track, function, start_ns FROM "
			  "(SELECT * FROM spans WHERE self_ns >= 0)");
	query_expect_same(query, "SELECT id, track, depth, parent FROM spans",
			  "SELECT id, track, depth, parent FROM "
			  "(SELECT * FROM spans WHERE self_ns >= 0)");
	query_close(query);
	sonde_recording_close(recording);
}

static void test_event_conditions(void **state)
{
	static const struct condition conditions[] = {
		{ "time_ns", ">= 100" },
		{ "time_ns", "< 150.5" },
		{ "time_ns", "= 405" },
		{ "time_ns", "BETWEEN 40 AND 90" },
		{ "track", "= 1" },
		{ "track", "IN (2, 0)" },
		{ "function", "= 2" },
		{ "function", "IN (0, 3)" },
		{ "function", "< 2" },
		{ "kind", "= 'return'" },
		{ "kind", "IN ('call', 'instant', 'nonsense', 5, NULL)" },
		{ "kind", "= 'nonsense'" },
		{ "kind", "= x'63616c6c'" },
		{ "kind", "= 'CALL' COLLATE NOCASE" },
		{ "depth", "> 4" },
		{ "seq", "= 5" },
		{ "seq", ">= 140" },
		{ "id", "= 1099511627780" },
		{ "rowid", "< 20" },
	};
	struct sonde_recording *recording = query_calls_new();
	struct query *query = query_over(recording);

	(void)state;
	compare_conditions(query, "*", "events", conditions, COUNT(conditions));
	query_close(query);
	sonde_recording_close(recording);
}

/* Orders that a table keeps anyway are not sorted again, so they had better be kept. */
static void test_orders(void **state)
{
	static const char *const orders[] = {
		"events ORDER BY time_ns",
		"events WHERE time_ns > 60 ORDER BY time_ns",
		"events WHERE track = 1 ORDER BY time_ns",
		"events WHERE track IN (2, 1) ORDER BY time_ns",
		"events WHERE kind IN ('call', 'return') ORDER BY time_ns",
		"events ORDER BY id",
		"events ORDER BY track, seq",
		"events ORDER BY track, time_ns",
		"events WHERE track = 1 ORDER BY seq",
		"events ORDER BY time_ns DESC",
		"events ORDER BY seq",
		"spans ORDER BY track",
		"spans ORDER BY id",
		"spans ORDER BY function",
		"spans WHERE dur_ns > 3 AND depth > 2 ORDER BY function",
		"spans WHERE function IN (3, 1) ORDER BY function",
		"spans ORDER BY function DESC",
		"details ORDER BY id",
		"args ORDER BY detail, position",
		"functions ORDER BY id",
		"functions ORDER BY id DESC",
		"contexts ORDER BY id",
	};
	struct sonde_recording *recording = query_calls_new();
	struct query *query = query_over(recording);

	(void)state;
	for (size_t i = 0; i < COUNT(orders); i++) {
		const char *by = strstr(orders[i], "ORDER BY ") + strlen("ORDER BY ");
		struct sonde_buffer kept = { 0 }, sorted = { 0 };
		char first[300], second[300];

		/* of the columns that it is ordered by: equal ones may come in any order */
		snprintf(first, sizeof(first), "SELECT %.*s FROM %s",
			 (int)strcspn(by, "D") < (int)strlen(by) ? (int)strcspn(by, "D") :
								   (int)strlen(by),
			 by, orders[i]);
		snprintf(second, sizeof(second), "SELECT * FROM (%.*s LIMIT -1) ORDER BY 1%s%s",
			 (int)(strstr(first, "ORDER BY ") - first), first,
			 strstr(by, "DESC") ? " DESC" : "", strchr(by, ',') ? ", 2" : "");
		assert_int_equal(query_run(query, first, &kept), SQLITE_DONE);
		assert_int_equal(query_run(query, second, &sorted), SQLITE_DONE);
		if (strcmp(sonde_buffer_text(&kept), sonde_buffer_text(&sorted)) != 0)
			fail_msg("%s is not in order", first);
		assert_true(kept.size > 0);
		sonde_buffer_release(&kept);
		sonde_buffer_release(&sorted);
	}
	query_expect_same(query, "SELECT * FROM events ORDER BY time_ns", "SELECT * FROM events");
	query_expect_same(query, "SELECT * FROM spans ORDER BY function", "SELECT * FROM spans");
	query_expect_same(query,
			  "SELECT function, count(*), sum(self_ns), min(parent) FROM spans WHERE "
			  "start_ns > 20 GROUP BY function ORDER BY 3 DESC",
			  "SELECT function, count(*), sum(self_ns), min(parent) FROM spans WHERE "
			  "start_ns > 20 GROUP BY +function");
	query_expect_same(query, "SELECT DISTINCT function FROM spans ORDER BY 1 DESC",
			  "SELECT DISTINCT +function FROM spans");
	query_expect_same(query,
			  "SELECT track, max(dur_ns) FROM spans GROUP BY track ORDER BY 2 DESC",
			  "SELECT track, max(dur_ns) FROM spans GROUP BY +track");
	query_close(query);
	sonde_recording_close(recording);
}

/* In several passes, of which some have one function that is too much for one. */
static void test_groups(void **state)
{
	static const uint64_t sizes[] = { 1, 30, 70, 100, 1000 };
	struct sonde_recording *recording = query_calls_new();
	struct query *query = query_over(recording);

	(void)state;
	for (size_t i = 0; i < COUNT(sizes); i++) {
		query->spans_at_once = sizes[i];
		query_expect_same(query, "SELECT * FROM spans ORDER BY function",
				  "SELECT * FROM spans");
		query_expect_same(
			query,
			"SELECT function, count(*), sum(self_ns) FROM spans WHERE dur_ns "
			"> 2 AND depth > 1 GROUP BY function",
			"SELECT function, count(*), sum(self_ns) FROM spans WHERE +dur_ns "
			"> 2 AND +depth > 1 GROUP BY +function");
		query_expect(query,
			     "SELECT count(*) FROM (SELECT function, lag(function) OVER () AS "
			     "before FROM (SELECT function FROM spans ORDER BY function)) WHERE "
			     "function < before",
			     "0\n");
	}
	query_close(query);
	sonde_recording_close(recording);
}

static void test_spans(void **state)
{
	struct sonde_recording *recording = query_calls_new();
	struct query *query = query_over(recording);

	(void)state;
	query_expect(query,
		     "SELECT id - min(id) OVER (), function, start_ns, dur_ns, self_ns, depth, "
		     "parent - min(id) OVER (), ended_by, end_ns FROM spans "
		     "WHERE track = 2 AND start_ns >= 403 ORDER BY start_ns",
		     "0|1|403|7|3|1|NULL|return|410\n"
		     "1|2|404|1|1|2|0|lost|405\n"
		     "2|3|405|1|1|2|0|return|406\n"
		     "5|2|408|2|2|2|0|lost|410\n"
		     "7|0|420|10|5|1|NULL|end|430\n"
		     "8|1|425|5|5|2|7|end|430\n");
	query_expect(query, "SELECT DISTINCT ended_by FROM spans WHERE start_ns < 400 ORDER BY 1",
		     "exception\nreturn\n");
	/* what is in calls and what is outside of them is the time of the track */
	query_expect(
		query,
		"SELECT track, count(*) = (SELECT count(*) FROM events e WHERE e.track = "
		"s.track AND kind = 'call'), sum(self_ns) = sum(iif(parent IS NULL, dur_ns, 0)) "
		"FROM spans s GROUP BY track",
		"0|1|1\n1|1|1\n2|1|1\n");
	query_expect(query,
		     "SELECT count(*) FROM spans s JOIN events e ON e.id = s.id "
		     "WHERE e.kind <> 'call' OR e.function <> s.function",
		     "0\n");
	query_close(query);
	sonde_recording_close(recording);
}

static void test_events(void **state)
{
	struct sonde_recording *recording = query_calls_new();
	struct query *query = query_over(recording);

	(void)state;
	query_expect(query,
		     "SELECT time_ns, kind, function, depth, detail >> 40, event_type, value, "
		     "number, synthetic FROM events WHERE track = 1 AND time_ns >= 400 LIMIT 4",
		     "400|instant|NULL|0|1|0|NULL|NULL|0\n"
		     "401|counter|NULL|0|NULL|1|2.5|NULL|0\n"
		     "402|flow-begin|NULL|0|NULL|1|NULL|77|0\n"
		     "403|call|1|1|1|NULL|NULL|NULL|0\n");
	/* seq and id stay what they are when tracks are merged */
	query_expect(
		query,
		"SELECT count(*) FROM (SELECT * FROM events WHERE time_ns > 60 ORDER BY time_ns "
		"LIMIT -1) m JOIN events e ON e.id = m.id WHERE e.seq <> m.seq OR e.track <> "
		"m.track OR e.time_ns <> m.time_ns OR e.kind <> m.kind",
		"0\n");
	query_close(query);
	sonde_recording_close(recording);
}

static void test_definitions(void **state)
{
	struct sonde_recording *recording = query_calls_new();
	struct query *query = query_over(recording);

	(void)state;
	query_expect(query, "SELECT id, name, raw_name, module, file, line FROM functions",
		     "0|main|main|NULL|NULL|NULL\n1|work|work|NULL|NULL|NULL\n"
		     "2|work|work|NULL|NULL|NULL\n3|x\"'<;|x\"'<;|NULL|NULL|NULL\n");
	query_expect(query, "SELECT id FROM functions WHERE name = 'work'", "1\n2\n");
	query_expect(query, "SELECT id FROM functions WHERE name = 'work' AND id > 1", "2\n");
	query_expect(query, "SELECT id FROM functions WHERE id >= 2.5 AND id < 9", "3\n");
	query_expect(query, "SELECT id FROM functions WHERE id = -1 OR id = 77", "");
	query_expect(query, "SELECT name FROM functions WHERE name = 5 OR name = x'6d61696e'", "");
	query_expect(query, "SELECT id, process, name, kind, events FROM tracks",
		     "0|0|first|thread|164\n1|0|thread 1|thread|168\n2|0|thread 2|thread|165\n");
	query_expect(query, "SELECT id, name FROM processes", "0|program\n");
	query_expect(query, "SELECT name, arguments FROM event_types",
		     "typed|uint32 n, utf8 s\nplain|NULL\n");
	query_expect(query, "SELECT schema, format, events FROM recording", "a|memory|497\n");
	query_close(query);
	sonde_recording_close(recording);
}

static void test_details(void **state)
{
	struct sonde_recording *recording = query_calls_new();
	struct query *query = query_over(recording);

	(void)state;
	query_expect(query,
		     "SELECT d.track, d.kind, d.json, d.event_type, d.function, d.fault, e.time_ns "
		     "FROM details d JOIN events e ON e.detail = d.id WHERE d.track = 1",
		     "1|arguments|{\"n\":7,\"s\":\"hi\"}|0|NULL|NULL|400\n"
		     "1|registers|NULL|NULL|1|NULL|403\n");
	query_expect(query,
		     "SELECT position, name, type, value, typeof(value), event_type, fault "
		     "FROM args WHERE track = 2",
		     "0|n|uint32|7|integer|0|NULL\n1|s|utf8|hi|text|0|NULL\n");
	query_expect(query, "SELECT DISTINCT value FROM args WHERE name = 's'", "hi\n");
	query_expect_same(query, "SELECT * FROM args WHERE detail > 5 AND event_type = 0",
			  "SELECT * FROM args WHERE +detail > 5 AND +event_type = 0");
	query_expect_same(query, "SELECT * FROM details WHERE id <= 1099511627776",
			  "SELECT * FROM details WHERE +id <= 1099511627776");
	query_expect(query, "SELECT count(*) FROM details WHERE track IN (0, 2)", "4\n");
	query_close(query);
	sonde_recording_close(recording);
}

/* Contexts and values that calls make, and what spans say of the same. */
static void test_contexts_of_calls(void **state)
{
	struct sonde_recording *recording = query_calls_new();
	struct query *query = query_over(recording);

	(void)state;
	/* functions that say the same are one in a tree, so they are compared by name */
	query_expect_same(query,
			  "SELECT v.track, c.name, CAST(sum(v.value) AS INTEGER) FROM vals v "
			  "JOIN contexts c ON c.id = v.context WHERE v.metric = 'CALLS' AND "
			  "v.scope = 'point' AND c.function IS NOT NULL GROUP BY 1, 2",
			  "SELECT track, name, count(*) FROM spans s JOIN functions f ON "
			  "f.id = s.function GROUP BY 1, 2");
	query_expect_same(
		query,
		"SELECT v.track, c.name, CAST(round(sum(v.value) * 1e9) AS INTEGER) FROM vals v "
		"JOIN contexts c ON c.id = v.context WHERE v.metric = 'REALTIME (sec)' AND "
		"v.scope = 'point' AND c.function IS NOT NULL GROUP BY 1, 2",
		"SELECT track, name, sum(self_ns) FROM spans s JOIN functions f ON "
		"f.id = s.function GROUP BY 1, 2 HAVING sum(self_ns)");
	query_expect(query, "SELECT name FROM contexts WHERE parent = 0",
		     "application thread\nmain thread\n");
	query_expect(query, "SELECT count(*) FROM vals WHERE track IS NULL", "0\n");
	/* of the root: all of it */
	query_expect(query,
		     "SELECT sum(value) = (SELECT count(*) FROM spans) FROM vals "
		     "WHERE context = 0 AND metric = 'CALLS' AND scope = 'execution'",
		     "1\n");
	query_expect(query,
		     "SELECT stack(id) = (SELECT name FROM functions WHERE id = function) "
		     "FROM contexts WHERE parent = 1 LIMIT 1",
		     "1\n");
	query_close(query);
	sonde_recording_close(recording);
}

static const struct condition value_conditions[] = {
	{ "track", "= 1" },	      { "track", "IN (0, 5)" },	   { "context", "= 2" },
	{ "context", "= 99" },	      { "context", "> 3" },	   { "context", "IN (1, 2, 4)" },
	{ "metric", "= 'cycles'" },   { "metric", "= 'nothing'" }, { "scope", "= 'point'" },
	{ "scope", "= 'execution'" }, { "metric_id", "= 1" },	   { "metric_id", "IN (0, 2)" },
};

static void test_profile(void **state)
{
	static const struct condition contexts[] = {
		{ "id", "= 3" },     { "id", "> 2" },	    { "parent", "= 1" },
		{ "parent", "= 4" }, { "parent", "< 2" },   { "parent", "= 50" },
		{ "parent", "= 0" }, { "function", "= 1" }, { "function", "IN (0, 1)" },
	};
	static const struct condition samples[] = {
		{ "time_ns", ">= 110" },  { "time_ns", "< 120" }, { "track", "= 1" },
		{ "track", "IN (0, 1)" }, { "context", "= 3" },	  { "context", "IN (0, 2)" },
	};
	struct sonde_recording *recording = query_profile_new(false);
	struct query *query = query_over(recording);

	(void)state;
	compare_conditions(query, "*", "vals", value_conditions, COUNT(value_conditions));
	compare_conditions(query, "*", "contexts", contexts, COUNT(contexts));
	compare_conditions(query, "*", "samples", samples, COUNT(samples));
	query_expect(query,
		     "SELECT id, parent, function, kind, relation, subtree_end FROM contexts",
		     "0|NULL|NULL|root|NULL|6\n1|0|NULL|entry|called|6\n"
		     "2|1|0|function|called|4\n3|2|NULL|line|enclosed|4\n"
		     "4|1|1|function|called|6\n5|4|NULL|loop|enclosed|6\n");
	query_expect(query,
		     "SELECT track, metric, scope, value, statistic FROM vals WHERE context = 3",
		     "0|cycles|point|2.0|NULL\n1|cycles|point|20.0|NULL\n"
		     "0|cycles|execution|2.0|NULL\n1|cycles|execution|20.0|NULL\n"
		     "NULL|cycles|execution|103.0|sum\n");
	query_expect(query, "SELECT time_ns, context FROM samples WHERE track = 1 LIMIT 2",
		     "101|1\n103|3\n");
	query_close(query);
	sonde_recording_close(recording);
}

/* A name may be empty, and can be asked for. */
static void test_empty_name(void **state)
{
	struct sonde_recording *recording = query_profile_new(false);
	uint32_t nameless = memory_add_metric(recording, "", "point", "");
	struct query *query;

	(void)state;
	memory_add_value(recording, 1, 5, nameless, 9);
	query = query_over(recording);
	query_expect(query, "SELECT track, context, value FROM vals WHERE metric = ''",
		     "1|5|9.0\n");
	query_close(query);
	sonde_recording_close(recording);
}

/* What is below a context is added up where a recording has only what is in it. */
static void test_execution_is_made(void **state)
{
	struct sonde_recording *recording = query_profile_new(true);
	struct query *query = query_over(recording);

	(void)state;
	compare_conditions(query, "*", "vals", value_conditions, COUNT(value_conditions));
	query_expect(query,
		     "SELECT context, value FROM vals WHERE track = 1 AND scope = 'execution'",
		     "0|70.0\n1|70.0\n2|30.0\n3|20.0\n4|40.0\n5|40.0\n");
	query_close(query);
	/* a second query of the same recording finds no more than the first */
	query = query_over(recording);
	query_expect(query, "SELECT name, scope, statistic FROM metrics",
		     "cycles|point|NULL\ncycles|execution|NULL\n");
	query_expect(query, "SELECT sum(value) FROM vals WHERE context = 0", "77.0\n");
	query_close(query);
	sonde_recording_close(recording);
}

/* A recording of samples has events and spans as well. */
static void test_spans_of_samples(void **state)
{
	static const struct condition conditions[] = {
		{ "start_ns", ">= 110" }, { "start_ns", "< 120" }, { "track", "= 1" },
		{ "function", "= 1" },	  { "depth", "= 1" },	   { "id", "> 10" },
	};
	struct sonde_recording *recording = query_profile_new(false);
	struct query *query = query_over(recording);

	(void)state;
	compare_conditions(query, "*", "spans", conditions, COUNT(conditions));
	query_expect(query,
		     "SELECT f.name, start_ns, dur_ns, ended_by FROM spans s "
		     "JOIN functions f ON f.id = s.function WHERE track = 1 AND start_ns < 110",
		     "main|103|2|return\nleaf|105|2|return\nmain|109|2|return\n");
	query_expect_same(query, "SELECT * FROM events WHERE time_ns >= 110 AND track = 0",
			  "SELECT * FROM events WHERE +time_ns >= 110 AND +track = 0");
	query_expect_same(query, "SELECT * FROM events ORDER BY time_ns", "SELECT * FROM events");
	query_close(query);
	sonde_recording_close(recording);
}

/* The same spans by time, by id and by parent, with and without the planner's help. */
static void compare_at(struct query *query, uint64_t time_ns, uint64_t id)
{
	char pushed[300], kept[300];

	snprintf(pushed, sizeof(pushed),
		 "SELECT * FROM spans WHERE start_ns >= %" PRIu64 " AND start_ns < %" PRIu64,
		 time_ns, time_ns + 2000);
	snprintf(kept, sizeof(kept),
		 "SELECT * FROM spans WHERE +start_ns >= %" PRIu64 " AND +start_ns < %" PRIu64,
		 time_ns, time_ns + 2000);
	query_expect_same(query, pushed, kept);
	snprintf(pushed, sizeof(pushed),
		 "SELECT * FROM spans WHERE id = %" PRIu64 " OR parent = %" PRIu64, id, id);
	snprintf(kept, sizeof(kept),
		 "SELECT * FROM spans WHERE +id = %" PRIu64 " OR +parent = %" PRIu64, id, id);
	query_expect_same(query, pushed, kept);
}

/* Long tracks are entered in the middle, from marks that earlier statements left. */
static void test_marks(void **state)
{
	/* some of them where a mark is: at the first batch after 65536 events, and again */
	static const uint64_t places[] = { 0, 5, 66000, 132000, 200000, 299999 };
	struct sonde_recording *recording = memory_recording_new(1000);
	uint32_t process = memory_add_process(recording, "program");
	uint64_t random = 9;
	const struct sonde_event *events;
	struct query *query;
	size_t count;

	(void)state;
	for (unsigned int i = 0; i < 8; i++)
		memory_add_function(recording, process, "f");
	for (uint32_t track = 0; track < 2; track++) {
		memory_add_track(recording, process, "t");
		memory_add_calls(recording, track, 300000, 0, 8, false, &random);
	}
	events = memory_events(recording, 0, &count);
	query = query_over(recording);
	for (size_t i = 0; i < COUNT(places); i++) {
		uint64_t time_ns = events[places[i]].time_ns;

		compare_at(query, time_ns > 1000 ? time_ns - 1000 : 0, places[i]);
		compare_at(query, time_ns, places[i] + 1);
		compare_at(query, time_ns + 1, places[i] ? places[i] - 1 : 0);
	}
	query_close(query);
	sonde_recording_close(recording);
}

static void test_several_recordings(void **state)
{
	struct sonde_recording *calls = query_calls_new(), *profile = query_profile_new(false);
	struct query_source sources[11] = { { "a", calls }, { "b b", profile } };
	struct query_options options = { 0 };
	struct sonde_error err = { 0 };
	struct query *query;

	(void)state;
	assert_int_equal(query_open(sources, 2, &options, &query, &err), SONDE_OK);
	query_expect(query,
		     "SELECT (SELECT count(*) FROM tracks), (SELECT count(*) FROM a.tracks), "
		     "(SELECT count(*) FROM \"b b\".tracks)",
		     "3|3|2\n");
	query_expect(query,
		     "SELECT x.name FROM a.functions x JOIN \"b b\".functions y USING (name)",
		     "main\n");
	query_expect(query, "SELECT stack(2, ';', 'b b')", "main\n");
	query_close(query);
	sources[1].schema = "A";
	assert_int_equal(query_open(sources, 2, &options, &query, &err), SONDE_ARGUMENT);
	sources[1].schema = "main";
	assert_int_equal(query_open(sources, 2, &options, &query, &err), SONDE_ARGUMENT);
	assert_int_equal(query_open(sources, 0, &options, &query, &err), SONDE_ARGUMENT);
	assert_int_equal(query_open(sources, 11, &options, &query, &err), SONDE_ARGUMENT);
	assert_null(query);
	sonde_recording_close(calls);
	sonde_recording_close(profile);
}

static void test_formulas(void **state)
{
	static const char *const good[] = { "twice = 2 * cycles", "'more of it' = twice + Cycles" };
	static const char *const bad[] = { "cycles + 1",	"x = ", "x = nothing * 2", "= 1",
					   "x = cycles cycles", "@file" };
	struct sonde_recording *recording = query_profile_new(true);
	struct query_source source = { .schema = "a", .recording = recording };
	struct query_options options = { .derive = good, .derive_count = 2 };
	struct sonde_error err = { 0 };
	struct query *query;

	(void)state;
	assert_int_equal(query_open(&source, 1, &options, &query, &err), SONDE_OK);
	query_expect(query,
		     "SELECT scope, metric, value FROM vals WHERE context = 2 AND track = 1 "
		     "ORDER BY 1, 2",
		     "execution|cycles|30.0\nexecution|more of it|90.0\nexecution|twice|60.0\n"
		     "point|cycles|10.0\npoint|more of it|30.0\npoint|twice|20.0\n");
	query_expect(query, "SELECT description FROM metrics WHERE name = 'twice'",
		     "twice = 2 * cycles\ntwice = 2 * cycles\n");
	query_close(query);
	for (size_t i = 0; i < COUNT(bad); i++) {
		options = (struct query_options){ .derive = &bad[i], .derive_count = 1 };
		assert_int_equal(query_open(&source, 1, &options, &query, &err), SONDE_ARGUMENT);
	}
	sonde_recording_close(recording);
	recording = query_calls_new();
	source.recording = recording;
	options.derive = &(const char *){ "mean = realtime / calls" };
	assert_int_equal(query_open(&source, 1, &options, &query, &err), SONDE_OK);
	query_expect(
		query,
		"SELECT count(*) > 10, count(*) = count(m.value) FROM vals v LEFT JOIN vals m "
		"ON m.track = v.track AND m.context = v.context AND m.metric = 'mean' AND "
		"m.scope = 'point' AND abs(m.value - v.value / (SELECT value FROM vals c WHERE "
		"c.track = v.track AND c.context = v.context AND c.metric = 'CALLS' AND "
		"c.scope = 'point')) < 1e-15 WHERE v.metric = 'REALTIME (sec)' AND "
		"v.scope = 'point' AND v.context IN (SELECT id FROM contexts WHERE kind = "
		"'function')",
		"1|1\n");
	query_close(query);
	sonde_recording_close(recording);
}

/* Whatever the list of columns says is there, and in that order. */
static void test_columns(void **state)
{
	struct sonde_recording *recording = query_calls_new();
	struct query *query = query_over(recording);
	const struct query_column *column;
	size_t count = 0;

	(void)state;
	for (; (column = query_column_at(count)); count++) {
		char sql[300];

		assert_true(column->help && *column->help);
		snprintf(sql, sizeof(sql), "SELECT %s FROM a.%s LIMIT 1", column->column,
			 column->table);
		assert_int_equal(query_run(query, sql, NULL), SQLITE_DONE);
	}
	assert_true(count > 100);
	query_expect(
		query,
		"SELECT group_concat(name, ' ') FROM (SELECT name FROM pragma_table_list WHERE "
		"schema = 'a' AND type = 'virtual' ORDER BY 1)",
		"anchors args attributes clocks contexts details diagnostics event_types events "
		"functions metrics modules processes recording samples spans tracks vals\n");
	query_close(query);
	sonde_recording_close(recording);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_span_conditions),
		cmocka_unit_test(test_event_conditions),
		cmocka_unit_test(test_orders),
		cmocka_unit_test(test_groups),
		cmocka_unit_test(test_spans),
		cmocka_unit_test(test_events),
		cmocka_unit_test(test_definitions),
		cmocka_unit_test(test_details),
		cmocka_unit_test(test_contexts_of_calls),
		cmocka_unit_test(test_profile),
		cmocka_unit_test(test_empty_name),
		cmocka_unit_test(test_execution_is_made),
		cmocka_unit_test(test_spans_of_samples),
		cmocka_unit_test(test_marks),
		cmocka_unit_test(test_several_recordings),
		cmocka_unit_test(test_formulas),
		cmocka_unit_test(test_columns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
