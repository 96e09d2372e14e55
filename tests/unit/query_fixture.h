/* SPDX-License-Identifier: Apache-2.0 */
/* Queries over recordings in memory, and their rows as text, for tests. */
#ifndef TESTS_QUERY_FIXTURE_H
#define TESTS_QUERY_FIXTURE_H

#include "base/buffer.h"
#include "query/query.h"

/* Calls on three tracks, some without their returns, instants, a counter, details. */
struct sonde_recording *query_calls_new(void);

/* Contexts, values of two tracks with statistics, samples; with only "point" values where asked to. */
struct sonde_recording *query_profile_new(bool only_point);

/* Of one recording that is called "a"; the test fails where it cannot be opened. */
struct query *query_over(struct sonde_recording *recording);

/*
 * Runs one statement: rows as lines, values between bars, NULL for NULL. Gives SQLite's last code, SQLITE_DONE
 * where all went well.
 */
int query_run(struct query *query, const char *sql, struct sonde_buffer *out);

/* All rows of a statement that must work are exactly these. */
void query_expect(struct query *query, const char *sql, const char *rows);

/* Two statements have the same rows, in any order; gives how many. */
size_t query_expect_same(struct query *query, const char *first, const char *second);

#endif
