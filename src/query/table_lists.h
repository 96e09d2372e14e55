/* SPDX-License-Identifier: Apache-2.0 */
/* Tables whose rows are numbered from 0 and at hand: definitions, findings, resources. */
#ifndef SONDE_QUERY_TABLE_LISTS_H
#define SONDE_QUERY_TABLE_LISTS_H

#include "query/query_tables.h"

struct query_list {
	struct query_table base; /* from QUERY_LIST_TABLE() */
	uint64_t (*count)(struct query_recording *source);
	void (*column)(struct query_recording *source, sqlite3_context *context, uint64_t row,
		       int column);
	/* Of the column that QUERY_PUSH_TEXT is for; NULL where there is none. `space`: SONDE_LABEL_SIZE. */
	const char *(*text)(struct query_recording *source, uint64_t row, char *space);
	int text_column;
};

void query_list_plan(struct query_plan *plan);
int query_list_start(struct query_cursor *base);
void query_list_release(struct query_cursor *cursor);
int query_list_next(sqlite3_vtab_cursor *base);
int query_list_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column);
int query_list_row_id(sqlite3_vtab_cursor *base, sqlite3_int64 *id);

struct query_list_cursor {
	struct query_cursor base;
	uint64_t row, end;
};

/* Column 0 is its id. */
#define QUERY_LIST_TABLE(list_name, list_columns, list_pushes)                                     \
	{                                                                                          \
		.name = (list_name), .columns = (list_columns), .pushes = (list_pushes),           \
		.cursor_size = sizeof(struct query_list_cursor), .plan = query_list_plan,          \
		.start = query_list_start, .release = query_list_release, .next = query_list_next, \
		.column = query_list_column, .row_id = query_list_row_id,                          \
	}

/* Of table_about.c. */
extern const struct query_list query_list_metrics;
extern const struct query_list query_list_attributes;
extern const struct query_list query_list_diagnostics;
extern const struct query_list query_list_clocks;
extern const struct query_list query_list_anchors;
extern const struct query_list query_list_recording;

/* What lists of definitions have for `pushes`: of the id, and of the column after it that is a name. */
extern const uint8_t query_list_pushes_id[QUERY_COLUMNS_MOST];
extern const uint8_t query_list_pushes_id_name[QUERY_COLUMNS_MOST];

#endif
