/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions on the columns of a table: as letters in a plan, and with their values in a cursor. */
#ifndef SONDE_QUERY_QUERY_WISHES_H
#define SONDE_QUERY_QUERY_WISHES_H

#include "query/query_tables.h"

/* A plan has two letters a condition: the column, from 'a' on, and one of these. */
#define QUERY_OPERATOR_EQUAL '='
#define QUERY_OPERATOR_IN 'i'
#define QUERY_OPERATOR_ABOVE '>'
#define QUERY_OPERATOR_FROM ']'
#define QUERY_OPERATOR_BELOW '<'
#define QUERY_OPERATOR_TO '['

/* Takes conditions over from SQLite: fills in the plan's bits and info->idxStr. Gives a code of SQLite. */
int query_wishes_plan(const struct query_table *table, struct query_plan *plan,
		      sqlite3_index_info *info);

/* The same conditions with their values. */
int query_wishes_read(struct query_wishes *wishes, const struct query_table *table,
		      const char *letters, int count, sqlite3_value **values);
void query_wishes_init(struct query_wishes *wishes);
void query_wishes_release(struct query_wishes *wishes);

#endif
