/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How fast statements read the tables of a recording. Prints a line of JSON for each: rows that the table handed
 * to SQLite, seconds of the clock and of the processor (the least of RUNS runs), and rows a second of the latter.
 *	sonde-bench-query RECORDING [RUNS]
 */
#include <inttypes.h>
#include <string.h>

#include "need.h"
#include "query/query.h"

/* Each gives one row, whose first column is how many rows of the table it took. */
static const struct {
	const char *name, *sql;
} statements[] = {
	{ "spans, second half by time", "SELECT count(*), sum(dur_ns) FROM spans WHERE start_ns >= "
					"(SELECT (first_ns + last_ns) / 2 FROM recording)" },
	{ "spans", "SELECT count(*), sum(self_ns) FROM spans" },
	{ "spans by function",
	  "SELECT sum(n), max(total) FROM (SELECT count(*) AS n, sum(dur_ns) AS "
	  "total FROM spans GROUP BY function)" },
	{ "events", "SELECT count(*), max(time_ns) FROM events" },
	{ "events in time",
	  "SELECT count(*), max(seq) FROM (SELECT seq FROM events ORDER BY time_ns "
	  "LIMIT -1 OFFSET 0)" },
	{ "vals", "SELECT count(*), sum(value) FROM vals" },
};

static int64_t run(struct query *query, const char *sql)
{
	sqlite3_stmt *statement = NULL;
	int64_t rows = 0;
	int code;

	query_begin(query);
	code = sqlite3_prepare_v2(query_connection(query), sql, -1, &statement, NULL);
	if (code == SQLITE_OK)
		code = sqlite3_step(statement);
	if (code != SQLITE_ROW) {
		fprintf(stderr, "%s: %s\n", sql, sqlite3_errmsg(query_connection(query)));
		exit(3);
	}
	rows = sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	return rows;
}

static void measure(struct query *query, const char *name, const char *sql, unsigned long runs)
{
	double seconds = 0, cpu_seconds = 0;
	int64_t rows = 0;

	for (unsigned long i = 0; i < runs; i++) {
		double start = seconds_of(CLOCK_MONOTONIC);
		double cpu_start = seconds_of(CLOCK_PROCESS_CPUTIME_ID);

		rows = run(query, sql);
		start = seconds_of(CLOCK_MONOTONIC) - start;
		cpu_start = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - cpu_start;
		if (!i || start < seconds)
			seconds = start;
		if (!i || cpu_start < cpu_seconds)
			cpu_seconds = cpu_start;
	}
	printf("{\"statement\":\"%s\",\"rows\":%" PRId64 ",\"seconds\":%.3f,\"cpu_seconds\":%.3f,"
	       "\"rows_per_second\":%.0f}\n",
	       name, rows, seconds, cpu_seconds, cpu_seconds > 0 ? (double)rows / cpu_seconds : 0);
}

int main(int argc, char **argv)
{
	unsigned long runs = argc > 2 ? strtoul(argv[2], NULL, 10) : 3;
	struct query_source source = { .schema = "a" };
	struct query_options options = { 0 };
	struct sonde_error err = { 0 };
	struct query *query = NULL;

	if (argc < 2 || !runs) {
		fprintf(stderr, "usage: sonde-bench-query RECORDING [RUNS]\n");
		return 2;
	}
	need(sonde_recording_open(argv[1], NULL, &source.recording, &err), &err);
	need(query_open(&source, 1, &options, &query, &err), &err);
	for (size_t i = 0; i < sizeof(statements) / sizeof(statements[0]); i++)
		measure(query, statements[i].name, statements[i].sql, runs);
	query_close(query);
	sonde_recording_close(source.recording);
	return 0;
}
