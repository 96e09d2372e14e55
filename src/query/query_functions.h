/* SPDX-License-Identifier: Apache-2.0 */
/* The functions that queries have beside SQLite's own; registered by query_add_functions(). */
#ifndef SONDE_QUERY_QUERY_FUNCTIONS_H
#define SONDE_QUERY_QUERY_FUNCTIONS_H

#include <sqlite3.h>

/* For .functions, suggestions and the documentation. */
struct query_function {
	const char *name, *usage, *help;
};

/* NULL past the last. */
const struct query_function *query_function_at(size_t index);

/* Aggregates, in query_aggregates.c: percentile(), median() and its kind, stddev(). */
int query_add_aggregates(sqlite3 *connection);

#endif
