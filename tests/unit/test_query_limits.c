/* SPDX-License-Identifier: Apache-2.0 */
/* What a query cannot do: write, reach files, run for ever, take all memory, hide that reading failed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "memory_recording.h"
#include "query_fixture.h"
#include "scratch.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void test_refused(void **state)
{
	static const char *const refused[] = {
		"ATTACH ':memory:' AS z",
		"ATTACH 'file:x?mode=rwc' AS z",
		"DETACH a",
		"CREATE TABLE t(x)",
		"CREATE TABLE a.t(x)",
		"CREATE VIEW v AS SELECT 1",
		"CREATE VIRTUAL TABLE temp.t USING events",
		"CREATE VIRTUAL TABLE temp.t USING fts5(x)",
		"CREATE TEMP TRIGGER x INSERT ON t BEGIN SELECT 1; END",
		"DROP TABLE events",
		"DROP TABLE a.events",
		"ALTER TABLE events RENAME TO x",
		"DELETE FROM events",
		"INSERT INTO functions(id) VALUES (1)",
		"UPDATE spans SET id = 1",
		"DELETE FROM sqlite_schema",
		"DELETE FROM sqlite_master",
		"UPDATE sqlite_master SET sql = 'x'",
		"INSERT INTO sqlite_master VALUES ('table', 't', 't', 0, 'CREATE TABLE t(x)')",
		"UPDATE a.sqlite_schema SET sql = 'x'",
		"CREATE TABLE temp.sqlite_master(x)",
		"PRAGMA writable_schema = 1",
		"PRAGMA temp_store = FILE",
		"PRAGMA temp_store_directory = '/tmp'",
		"PRAGMA hard_heap_limit = 0",
		"PRAGMA trusted_schema = 1",
		"PRAGMA journal_mode = DELETE",
		"SELECT load_extension('x')",
		"SELECT fts3_tokenizer('simple')",
		"BEGIN",
		"SAVEPOINT s",
		"ANALYZE",
		"VACUUM",
		"SELECT * FROM pragma_hard_heap_limit(0)",
	};
	struct sonde_recording *recording = query_calls_new();
	struct query *query = query_over(recording);

	(void)state;
	for (size_t i = 0; i < COUNT(refused); i++) {
		int code = query_run(query, refused[i], NULL);

		if (code == SQLITE_DONE)
			fail_msg("%s was allowed", refused[i]);
	}
	query_expect(query, "SELECT count(*), (SELECT count(*) FROM a.functions) FROM functions",
		     "4|4\n");
	query_close(query);
	sonde_recording_close(recording);
}

static void test_allowed(void **state)
{
	static const char *const allowed[] = {
		"EXPLAIN QUERY PLAN SELECT * FROM events",
		"PRAGMA table_info(events)",
		"SELECT * FROM pragma_table_info('spans')",
		"SELECT * FROM json_each('[1, 2]')",
		"PRAGMA database_list",
		"CREATE TEMP TABLE t AS SELECT * FROM spans",
		"CREATE INDEX temp.i ON t(start_ns)",
		"INSERT INTO t SELECT * FROM spans",
		"UPDATE t SET depth = 1",
		"DELETE FROM t WHERE depth = 1",
		("CREATE TEMP VIEW v AS SELECT f.name, s.* FROM spans s JOIN functions f "
		 "ON f.id = s.function"),
		"SELECT * FROM v",
		"DROP VIEW v",
		"DROP TABLE t",
		("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 9) "
		 "SELECT json_group_array(i) FROM n"),
	};
	struct sonde_recording *recording = query_calls_new();
	struct query *query = query_over(recording);

	(void)state;
	for (size_t i = 0; i < COUNT(allowed); i++) {
		if (query_run(query, allowed[i], NULL) != SQLITE_DONE)
			fail_msg("%s: %s", allowed[i], sqlite3_errmsg(query_connection(query)));
	}
	query_close(query);
	sonde_recording_close(recording);
}

/* Nothing that SQL says makes a file. */
static void test_no_files(void **state)
{
	struct sonde_recording *recording = query_calls_new();
	struct query *query = query_over(recording);
	const char *path = scratch_path("made");
	char sql[400];

	(void)state;
	snprintf(sql, sizeof(sql), "VACUUM INTO '%s'", path);
	assert_int_not_equal(query_run(query, sql, NULL), SQLITE_DONE);
	snprintf(sql, sizeof(sql), "ATTACH '%s' AS z", path);
	assert_int_not_equal(query_run(query, sql, NULL), SQLITE_DONE);
	snprintf(sql, sizeof(sql), "VACUUM a INTO '%s'", path);
	assert_int_not_equal(query_run(query, sql, NULL), SQLITE_DONE);
	assert_int_equal(access(path, F_OK), -1);
	query_close(query);
	sonde_recording_close(recording);
}

static const char endless[] =
	"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT sum(i) FROM n";

static void test_time_limit(void **state)
{
	static const char *const long_ones[] = {
		endless,
		"SELECT count(*) FROM events a, events b, events c, events d",
		/* rows that are refused below SQLite take time too */
		("SELECT count(*) FROM events a CROSS JOIN events b CROSS JOIN events c CROSS JOIN "
		 "events d WHERE d.function = 99"),
	};
	struct sonde_recording *recording = query_calls_new();
	struct query_source source = { .schema = "a", .recording = recording };
	struct query_options options = { .timeout_ns = 20000000 };
	struct sonde_error err = { 0 };
	struct query *query;

	(void)state;
	assert_int_equal(query_open(&source, 1, &options, &query, &err), SONDE_OK);
	for (size_t i = 0; i < COUNT(long_ones); i++) {
		assert_int_equal(query_run(query, long_ones[i], NULL), SQLITE_INTERRUPT);
		assert_int_equal(query_interruption(query), SONDE_LIMIT);
		assert_null(query_error(query));
	}
	/* the next one has its own time */
	query_expect(query, "SELECT 1", "1\n");
	assert_int_equal(query_interruption(query), SONDE_OK);
	query_close(query);
	sonde_recording_close(recording);
}

static void *interrupt(void *query)
{
	usleep(20000);
	query_interrupt(query);
	return NULL;
}

static void test_interrupted(void **state)
{
	struct sonde_recording *recording = query_calls_new();
	struct query *query = query_over(recording);
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, interrupt, query), 0);
	assert_int_equal(query_run(query, endless, NULL), SQLITE_INTERRUPT);
	assert_int_equal(query_interruption(query), SONDE_CANCELLED);
	pthread_join(thread, NULL);
	query_expect(query, "SELECT 1", "1\n");
	query_close(query);
	sonde_recording_close(recording);
}

static void test_memory_limit(void **state)
{
	static const struct {
		const char *sql;
		int code;
	} greedy[] = {
		{ "SELECT length(randomblob(1000000000))", SQLITE_TOOBIG },
		{ "SELECT length(group_concat(hex(randomblob(100000)))) FROM events",
		  SQLITE_NOMEM },
		{ "WITH RECURSIVE n(i) AS (SELECT 1 UNION SELECT i + 1 FROM n) SELECT count(*) FROM n",
		  SQLITE_NOMEM },
		{ "SELECT count(DISTINCT randomblob(100000)) FROM events a, events b",
		  SQLITE_NOMEM },
		{ "CREATE TEMP TABLE t AS SELECT randomblob(100000) FROM events a, events b",
		  SQLITE_NOMEM },
	};
	struct sonde_recording *recording = query_calls_new();
	struct query_source source = { .schema = "a", .recording = recording };
	struct query_options options = { .memory_limit = 16 << 20 };
	struct sonde_error err = { 0 };
	struct query *query;

	(void)state;
	assert_int_equal(query_open(&source, 1, &options, &query, &err), SONDE_OK);
	for (size_t i = 0; i < COUNT(greedy); i++) {
		int code = query_run(query, greedy[i].sql, NULL) & 0xff;

		/* a database in memory that is full of what it cannot keep says so in another word */
		if (code != greedy[i].code &&
		    !(greedy[i].code == SQLITE_NOMEM && code == SQLITE_FULL))
			fail_msg("%s: code %d", greedy[i].sql, code);
	}
	query_expect(query, "SELECT count(*) > 1 FROM spans", "1\n");
	query_close(query);
	assert_int_equal(sqlite3_hard_heap_limit64(-1), 0);
	sonde_recording_close(recording);
}

/* What cannot be read is an error, and not the end of a table. */
static void test_failing_reader(void **state)
{
	static const char *const statements[] = {
		"SELECT count(*) FROM events",
		"SELECT count(*) FROM events ORDER BY time_ns",
		"SELECT time_ns FROM events ORDER BY time_ns",
		"SELECT sum(dur_ns) FROM spans",
		"SELECT count(*) FROM spans",
		"SELECT count(*) FROM contexts",
		"SELECT count(*) FROM vals",
		"SELECT f.name FROM functions f JOIN spans s ON s.function = f.id",
	};
	struct sonde_recording *recording = query_calls_new();
	struct query *query;

	(void)state;
	memory_fail_at(recording, 1, 100);
	query = query_over(recording);
	for (size_t i = 0; i < COUNT(statements); i++) {
		assert_int_equal(query_run(query, statements[i], NULL), SQLITE_ERROR);
		assert_non_null(query_error(query));
		assert_int_equal(query_error(query)->status, SONDE_CORRUPT);
		assert_int_equal(query_interruption(query), SONDE_OK);
	}
	query_expect(query, "SELECT count(*) FROM events WHERE track = 0", "164\n");
	assert_null(query_error(query));
	assert_int_equal(query_run(query, "SELECT stack(2)", NULL), SQLITE_ERROR);
	query_close(query);
	sonde_recording_close(recording);
}

/* Arguments that end too early are there, with the reason. */
static void test_failing_details(void **state)
{
	struct sonde_recording *recording = memory_recording_new(3);
	uint32_t process = memory_add_process(recording, "program");
	struct sonde_event event = memory_event(SONDE_EVENT_INSTANT, 1, 0, 0);
	struct query *query;

	(void)state;
	memory_add_event_type(recording, "short", "uint32 n, uint64 wide");
	memory_add_event_type(recording, "broken", "no such type here");
	memory_add_track(recording, process, "t");
	event.detail = memory_add_arguments(recording, 0, 0, "\x07\0\0\0", 4);
	memory_add_event(recording, 0, event);
	event.detail = memory_add_arguments(recording, 0, 1, "\x07\0\0\0", 4);
	memory_add_event(recording, 0, event);
	query = query_over(recording);
	query_expect(query, "SELECT id, kind, json, fault IS NOT NULL FROM details",
		     "0|arguments|NULL|1\n1|arguments|NULL|1\n");
	query_expect(query, "SELECT detail, position, name, value, fault IS NOT NULL FROM args",
		     "0|0|n|7|0\n0|NULL|NULL|NULL|1\n1|NULL|NULL|NULL|1\n");
	query_close(query);
	sonde_recording_close(recording);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refused),	       cmocka_unit_test(test_allowed),
		cmocka_unit_test(test_no_files),       cmocka_unit_test(test_time_limit),
		cmocka_unit_test(test_interrupted),    cmocka_unit_test(test_memory_limit),
		cmocka_unit_test(test_failing_reader), cmocka_unit_test(test_failing_details),
	};

	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
