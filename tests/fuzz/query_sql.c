/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes SQL over two small recordings, one of calls and one of a profile: whatever it says, it ends in time
 * and within memory, changes nothing, and where reading fails there is a message.
 */
#include <stdlib.h>
#include <string.h>

#include "../unit/memory_recording.h"
#include "query/query.h"
#include "require.h"

#define ROWS_MOST 10000
#define STATEMENTS_MOST 8

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct sonde_recording *calls, *profile;

static void close_recordings(void)
{
	sonde_recording_close(calls);
	sonde_recording_close(profile);
}

static void make_calls(void)
{
	uint32_t process;
	uint64_t random = 7;

	calls = memory_recording_new(5);
	process = memory_add_process(calls, "program");
	memory_add_event_type(calls, "typed", "uint32 n, utf8 s");
	memory_add_event_type(calls, "short", "uint64 wide");
	for (unsigned int i = 0; i < 4; i++)
		memory_add_function(calls, process, i % 2 ? "odd" : "");
	for (uint32_t track = 0; track < 2; track++) {
		struct sonde_event event = memory_event(SONDE_EVENT_INSTANT, 200, track, 0);

		memory_add_track(calls, process, "t");
		memory_add_calls(calls, track, 60, 0, 4, false, &random);
		event.detail = memory_add_arguments(calls, track, track, "\1\0\0\0\0\0\0", 7);
		memory_add_event(calls, track, event);
		event = memory_event(SONDE_EVENT_CALL, 201, 0, 2);
		event.detail = memory_add_detail(calls, track, 0);
		memory_add_event(calls, track, event);
	}
}

static void make_profile(void)
{
	uint32_t process, context = 0;

	profile = memory_recording_new(3);
	process = memory_add_process(profile, "program");
	memory_add_function(profile, process, "main");
	memory_add_track(profile, process, "t");
	memory_add_track(profile, process, "u");
	memory_add_metric(profile, "cycles", "point", "");
	memory_add_metric(profile, "cycles", "point", "sum");
	for (unsigned int i = 0; i < 5; i++) {
		context = memory_add_context(profile, context, SONDE_CONTEXT_FUNCTION,
					     SONDE_CONTEXT_CALLED, i % 2 ? 0 : SONDE_NONE);
		memory_add_value(profile, i % 2, context, 0, i + 1);
		memory_add_value(profile, SONDE_NONE, context, 1, i + 1);
		memory_add_sample(profile, i % 2, 10 + i, context);
	}
}

static struct query *open_query(void)
{
	struct query_source sources[] = { { "a", calls }, { "b", profile } };
	struct query_options options = {
		.timeout_ns = 50000000,
		.memory_limit = 32 << 20,
		.threads = 1,
	};
	struct query *query;

	REQUIRE(query_open(sources, 2, &options, &query, NULL) == SONDE_OK);
	return query;
}

static void run(struct query *query, sqlite3_stmt *statement)
{
	int code = SQLITE_ROW;

	for (unsigned int rows = 0; code == SQLITE_ROW && rows < ROWS_MOST; rows++) {
		code = sqlite3_step(statement);
		for (int i = 0; code == SQLITE_ROW && i < sqlite3_column_count(statement); i++)
			sqlite3_column_bytes(statement, i);
	}
	/* both recordings are whole: nothing but the statement can be at fault */
	REQUIRE(!query_error(query));
	REQUIRE(!query_interruption(query) || code == SQLITE_INTERRUPT || code == SQLITE_ERROR ||
		code == SQLITE_DONE || code == SQLITE_ROW);
	sqlite3_finalize(statement);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *sql = malloc(size + 1), *text = sql;
	struct query *query;

	if (!calls) {
		make_calls();
		make_profile();
		atexit(close_recordings);
	}
	REQUIRE(sql);
	if (size)
		memcpy(sql, data, size);
	sql[size] = '\0';
	query = open_query();
	for (unsigned int i = 0; i < STATEMENTS_MOST && *text; i++) {
		sqlite3_stmt *statement = NULL;

		query_begin(query);
		if (sqlite3_prepare_v2(query_connection(query), text, -1, &statement,
				       (const char **)&text) != SQLITE_OK)
			break;
		if (statement)
			run(query, statement);
	}
	query_close(query);
	free(sql);
	return 0;
}
