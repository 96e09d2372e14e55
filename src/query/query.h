/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SQL over recordings: a database of SQLite in memory whose tables are cursors over recordings. Nothing is
 * copied into it; what a query says of time, track and function goes down into the cursors.
 */
#ifndef SONDE_QUERY_QUERY_H
#define SONDE_QUERY_QUERY_H

#include <sqlite3.h>

#include <sonde/profile.h>

struct query;

struct query_source {
	const char *
		schema; /* "a": its tables are a.events ...; those of the first are events as well */
	struct sonde_recording *recording; /* borrowed */
};

struct query_options {
	uint64_t timeout_ns; /* a query that takes longer is interrupted; 0: none */
	bool no_cache;	     /* of the trees that are made for contexts and values */
	unsigned int threads;
	uint64_t memory_limit;	   /* bytes that SQLite may use, over all queries; 0: 1 GiB */
	const char *const *derive; /* formulas: "ipc = instructions / cycles" are metrics of vals */
	size_t derive_count;
};

enum sonde_status query_open(const struct query_source *sources, size_t count,
			     const struct query_options *options, struct query **query,
			     struct sonde_error *err);
void query_close(struct query *query);

/* The connection, read-only and limited: prepare and step on it as usual. Owned by the query. */
sqlite3 *query_connection(struct query *query);

/* Another time limit than that of the options; 0: none. */
void query_set_timeout(struct query *query, uint64_t timeout_ns);

/* Starts the clock of the time limit; before each statement. */
void query_begin(struct query *query);

/* Why the last statement was interrupted: SONDE_LIMIT (time), SONDE_CANCELLED; SONDE_OK: it was not. */
enum sonde_status query_interruption(const struct query *query);

/* Ends what is running, from a signal handler or another thread. */
void query_interrupt(struct query *query);

/*
 * What a table was reading when it failed: the error of the library with file and offset, for
 * messages; NULL where the failure was SQLite's own.
 */
const struct sonde_error *query_error(const struct query *query);

/* One line about each table and column, for .schema and the documentation; NULL past the last. */
struct query_column {
	const char *table, *column, *type, *help;
};
const struct query_column *query_column_at(size_t index);

/* stack(), percentile(), demangle(), human_time(): in query_functions.c, registered by query_open(). */
int query_add_functions(struct query *query, sqlite3 *connection);

#endif
