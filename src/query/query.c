/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connection of a query: a database in memory with a schema for each recording, and its limits. A
 * statement can read tables and keep temporary ones in memory; it reaches no file, and ends where its time or
 * memory is over.
 */
#include "query/query.h"

#include <stdlib.h>
#include <string.h>

#include "base/now.h"
#include "model/recording.h"
#include "query/query_tables.h"

/* Operations of SQLite's machine between two looks at the clock: some ten microseconds. */
#define OPERATIONS_BETWEEN 2000

#define MEMORY_LIMIT (INT64_C(1) << 30)

/* See span_groups.h: 128 MB. */
#define SPANS_AT_ONCE ((uint64_t)2 << 20)

/* As many databases as SQLite attaches. */
#define RECORDINGS_MOST 10

/* Pragmas that only tell. */
static const char *const telling_pragmas[] = {
	"collation_list", "compile_options", "database_list", "function_list", "module_list",
	"pragma_list",	  "table_info",	     "table_list",    "table_xinfo",
};

static bool is_telling(const char *pragma)
{
	for (size_t i = 0; i < sizeof(telling_pragmas) / sizeof(telling_pragmas[0]); i++) {
		if (!sqlite3_stricmp(pragma, telling_pragmas[i]))
			return true;
	}
	return false;
}

/*
 * Whether a table may be changed: those that are temporary. SQLite asks for its list of tables whenever a
 * virtual table is declared, and itself refuses everything else to be written there.
 */
static bool may_change(const char *table, const char *schema)
{
	return (schema && !strcmp(schema, "temp")) || !strcmp(table, "sqlite_master");
}

/* For sqlite3_set_authorizer(): reading, and tables and views of the connection's own that go with it. */
static int authorize(void *data, int action, const char *first, const char *second,
		     const char *schema, const char *trigger)
{
	const struct query *query = data;

	(void)trigger;
	if (!query->ready)
		return SQLITE_OK;
	switch (action) {
	case SQLITE_SELECT:
	case SQLITE_READ:
	case SQLITE_RECURSIVE:
	case SQLITE_CREATE_TEMP_TABLE:
	case SQLITE_CREATE_TEMP_VIEW:
	case SQLITE_CREATE_TEMP_INDEX:
	case SQLITE_DROP_TEMP_TABLE:
	case SQLITE_DROP_TEMP_VIEW:
	case SQLITE_DROP_TEMP_INDEX:
		return SQLITE_OK;
	case SQLITE_INSERT:
	case SQLITE_UPDATE:
	case SQLITE_DELETE:
	case SQLITE_REINDEX:
		return may_change(first, schema) ? SQLITE_OK : SQLITE_DENY;
	case SQLITE_FUNCTION:
		/* neither may be called by a name that was made up of pieces: SQLite has no such way */
		return sqlite3_stricmp(second, "load_extension") &&
				       sqlite3_stricmp(second, "fts3_tokenizer") ?
			       SQLITE_OK :
			       SQLITE_DENY;
	case SQLITE_PRAGMA:
		return is_telling(first) ? SQLITE_OK : SQLITE_DENY;
	default:
		return SQLITE_DENY;
	}
}

bool query_is_over(struct query *query)
{
	if (atomic_load_explicit(&query->cancelled, memory_order_relaxed))
		query->interruption = SONDE_CANCELLED;
	else if (query->deadline_ns && sonde_now_ns(CLOCK_MONOTONIC) >= query->deadline_ns)
		query->interruption = SONDE_LIMIT;
	return query->interruption != SONDE_OK;
}

static int look_at_clock(void *data)
{
	return query_is_over(data);
}

void query_set_timeout(struct query *query, uint64_t timeout_ns)
{
	query->timeout_ns = timeout_ns;
}

void query_begin(struct query *query)
{
	query->interruption = SONDE_OK;
	query->failed = false;
	atomic_store(&query->cancelled, false);
	query->deadline_ns = 0;
	if (query->timeout_ns)
		query->deadline_ns = sonde_now_ns(CLOCK_MONOTONIC) + query->timeout_ns;
}

enum sonde_status query_interruption(const struct query *query)
{
	return query->interruption;
}

void query_interrupt(struct query *query)
{
	atomic_store(&query->cancelled, true);
}

const struct sonde_error *query_error(const struct query *query)
{
	return query->failed ? &query->error : NULL;
}

sqlite3 *query_connection(struct query *query)
{
	return query->connection;
}

static void set_limits(sqlite3 *connection)
{
	static const struct {
		int limit, value;
	} limits[] = {
		{ SQLITE_LIMIT_LENGTH, 64 << 20 },
		{ SQLITE_LIMIT_SQL_LENGTH, 1 << 20 },
		{ SQLITE_LIMIT_COLUMN, 500 },
		{ SQLITE_LIMIT_EXPR_DEPTH, 500 },
		{ SQLITE_LIMIT_COMPOUND_SELECT, 200 },
		{ SQLITE_LIMIT_VDBE_OP, 1000000 },
		{ SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1000 },
		{ SQLITE_LIMIT_TRIGGER_DEPTH, 10 },
		{ SQLITE_LIMIT_WORKER_THREADS, 0 },
	};

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		sqlite3_limit(connection, limits[i].limit, limits[i].value);
}

static int configure(struct query *query)
{
	sqlite3 *connection = query->connection;
	int code = SQLITE_OK;

	sqlite3_extended_result_codes(connection, 1);
	set_limits(connection);
	code |= sqlite3_db_config(connection, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	code |= sqlite3_db_config(connection, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	code |= sqlite3_db_config(connection, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
	code |= sqlite3_db_config(connection, SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, 0, NULL);
	code |= sqlite3_db_config(connection, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	if (code)
		return code;
	/* sorting does not go to files */
	code = sqlite3_exec(connection, "PRAGMA temp_store = MEMORY", NULL, NULL, NULL);
	if (code == SQLITE_OK)
		code = sqlite3_set_authorizer(connection, authorize, query);
	sqlite3_progress_handler(connection, OPERATIONS_BETWEEN, look_at_clock, query);
	return code;
}

static int run(sqlite3 *connection, char *sql)
{
	int code = sql ? sqlite3_exec(connection, sql, NULL, NULL, NULL) : SQLITE_NOMEM;

	sqlite3_free(sql);
	return code;
}

static int add_schema(struct query *query, const char *schema)
{
	const struct query_table *table;
	int code = SQLITE_OK;

	for (size_t i = 0; code == SQLITE_OK && (table = query_table_at(i)); i++)
		code = run(query->connection,
			   sqlite3_mprintf("CREATE VIRTUAL TABLE \"%w\".%s USING %s", schema,
					   table->name, table->name));
	return code;
}

static int add_schemas(struct query *query)
{
	int code = add_schema(query, "main");

	for (size_t i = 0; code == SQLITE_OK && i < query->count; i++) {
		const char *schema = query->recordings[i].schema;

		code = run(query->connection,
			   sqlite3_mprintf("ATTACH ':memory:' AS \"%w\"", schema));
		if (code == SQLITE_OK)
			code = add_schema(query, schema);
	}
	return code;
}

static enum sonde_status open_connection(struct query *query, struct sonde_error *err)
{
	int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_MEMORY |
		    SQLITE_OPEN_NOMUTEX;
	int code = sqlite3_open_v2(":memory:", &query->connection, flags, NULL);

	if (code == SQLITE_OK)
		code = configure(query);
	if (code == SQLITE_OK)
		code = query_add_tables(query);
	if (code == SQLITE_OK)
		code = query_add_functions(query, query->connection);
	if (code == SQLITE_OK)
		code = add_schemas(query);
	if (code == SQLITE_OK)
		return SONDE_OK;
	if (code == SQLITE_NOMEM || !query->connection)
		return sonde_fail_nomem(err);
	return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET, "the tables could not be made: %s",
			  sqlite3_errmsg(query->connection));
}

static enum sonde_status add_source(struct query *query, const struct query_source *source,
				    struct sonde_error *err)
{
	struct query_recording *recording = &query->recordings[query->count];
	unsigned int lanes = sonde_recording_lanes(source->recording);
	const struct sonde_definitions *definitions =
		sonde_recording_definitions(source->recording);

	if (sonde_definitions_track_count(definitions) > QUERY_ID_TRACKS)
		return sonde_fail(err, SONDE_LIMIT, SONDE_NO_OFFSET,
				  "a query can number %lld tracks, and this recording has more",
				  (long long)QUERY_ID_TRACKS);
	*recording = (struct query_recording){
		.query = query,
		.schema = strdup(source->schema),
		.recording = source->recording,
		.definitions = definitions,
		.derives_events = !(lanes & SONDE_LANE_EVENTS) && lanes & SONDE_LANE_SAMPLES,
		.derives_profile = lanes & SONDE_LANE_EVENTS && !(lanes & SONDE_LANE_CONTEXTS),
	};
	query->count++;
	return recording->schema ? query_metrics_define(recording, err) : sonde_fail_nomem(err);
}

static enum sonde_status check_sources(const struct query_source *sources, size_t count,
				       struct sonde_error *err)
{
	size_t most = RECORDINGS_MOST;

	if (!count || count > most)
		return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
				  "a query takes 1 to %zu recordings, not %zu", most, count);
	for (size_t i = 0; i < count; i++) {
		for (size_t j = 0; j < i; j++) {
			if (!sqlite3_stricmp(sources[i].schema, sources[j].schema))
				return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
						  "two recordings are called %s",
						  sources[i].schema);
		}
		if (!sqlite3_stricmp(sources[i].schema, "main") ||
		    !sqlite3_stricmp(sources[i].schema, "temp"))
			return sonde_fail(
				err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
				"no recording can be called %s: SQL has another use for it",
				sources[i].schema);
	}
	return SONDE_OK;
}

enum sonde_status query_open(const struct query_source *sources, size_t count,
			     const struct query_options *options, struct query **query,
			     struct sonde_error *err)
{
	struct query *made;
	enum sonde_status status = check_sources(sources, count, err);

	*query = NULL;
	if (status)
		return status;
	made = calloc(1, sizeof(*made));
	if (!made)
		return sonde_fail_nomem(err);
	made->threads = options->threads;
	made->timeout_ns = options->timeout_ns;
	made->spans_at_once = SPANS_AT_ONCE;
	made->old_heap_limit = sqlite3_hard_heap_limit64(
		options->memory_limit ? (sqlite3_int64)options->memory_limit : MEMORY_LIMIT);
	made->recordings = calloc(count, sizeof(*made->recordings));
	if (!made->recordings) {
		query_close(made);
		return sonde_fail_nomem(err);
	}
	for (size_t i = 0; !status && i < count; i++)
		status = add_source(made, &sources[i], err);
	for (size_t i = 0; !status && i < count; i++)
		status = query_formulas_define(&made->recordings[i], options->derive,
					       options->derive_count, err);
	if (!status)
		status = open_connection(made, err);
	if (status) {
		query_close(made);
		return status;
	}
	made->ready = true;
	*query = made;
	return SONDE_OK;
}

void query_close(struct query *query)
{
	if (!query)
		return;
	sqlite3_close_v2(query->connection);
	for (size_t i = 0; i < query->count; i++) {
		struct query_recording *source = &query->recordings[i];

		sonde_derived_events_free(source->derived);
		query_marks_free(source->marks);
		query_signatures_free(source->signatures);
		query_values_release(source);
		query_formulas_free(source->formulas);
		free(source->execution);
		query_profile_free(source->profile);
		free(source->schema);
	}
	free(query->recordings);
	sqlite3_hard_heap_limit64(query->old_heap_limit);
	free(query);
}

enum sonde_status query_events_open(struct query_recording *source, uint32_t track,
				    struct sonde_cursor **cursor, struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	if (!source->derives_events)
		return sonde_cursor_open(source->recording, track, cursor, err);
	if (!source->derived)
		status = sonde_derived_events_new(source->recording, &source->derived, err);
	return status ? status : sonde_derived_cursor_open(source->derived, track, cursor, err);
}
