/* SPDX-License-Identifier: Apache-2.0 */
/* The cursor of all tables that are lists. What their columns are is in table_definitions.c. */
#include "query/table_lists.h"

const uint8_t query_list_pushes_id[QUERY_COLUMNS_MOST] = { QUERY_PUSH_RANGE };
const uint8_t query_list_pushes_id_name[QUERY_COLUMNS_MOST] = { QUERY_PUSH_RANGE, QUERY_PUSH_TEXT };

/* What starting a cursor costs, in rows. */
#define START_COST 3

/* Plans are made before anything is read; what definitions there are is known then. */
void query_list_plan(struct query_plan *plan)
{
	static const int order[] = { 0 };
	static const int row_order[] = { -1 };
	const struct query_list *list = (const struct query_list *)plan->table;
	double count = (double)list->count(plan->source) + 1;

	plan->rows = count;
	plan->cost = count + START_COST;
	if (plan->equals & 1) {
		plan->rows = 1;
		plan->cost = START_COST;
		plan->unique = true;
	} else if (plan->equals & 2) {
		plan->rows = 1;
	} else if (plan->ranges & 1) {
		plan->rows = count / 2;
		plan->cost = count / 2 + START_COST;
	}
	plan->order_consumed = query_wants_order(plan->info, order, 1) ||
			       query_wants_order(plan->info, row_order, 1);
}

static const struct query_list *list_of(const struct query_cursor *cursor)
{
	return (const struct query_list *)cursor->table;
}

/* Goes on to the first row from this one on that fits. */
static void settle(struct query_list_cursor *cursor)
{
	const struct query_list *list = list_of(&cursor->base);
	const struct query_wish *wish = &cursor->base.wishes.columns[list->text_column];
	char space[SONDE_LABEL_SIZE];

	if (wish->text) {
		while (cursor->row < cursor->end &&
		       !query_wish_fits_text(wish,
					     list->text(cursor->base.source, cursor->row, space)))
			cursor->row++;
	}
	cursor->base.at_end = cursor->row >= cursor->end;
}

int query_list_start(struct query_cursor *base)
{
	struct query_list_cursor *cursor = (struct query_list_cursor *)base;
	const struct query_wish *id = &base->wishes.columns[0];

	cursor->end = list_of(base)->count(base->source);
	if (id->high < query_integer(cursor->end))
		cursor->end = id->high < 0 ? 0 : (uint64_t)id->high + 1;
	cursor->row = id->low > 0 ? (uint64_t)id->low : 0;
	settle(cursor);
	return SQLITE_OK;
}

void query_list_release(struct query_cursor *cursor)
{
	(void)cursor;
}

int query_list_next(sqlite3_vtab_cursor *base)
{
	struct query_list_cursor *cursor = (struct query_list_cursor *)base;

	cursor->row++;
	settle(cursor);
	return SQLITE_OK;
}

int query_list_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
	const struct query_list_cursor *cursor = (const struct query_list_cursor *)base;

	if (column)
		list_of(&cursor->base)->column(cursor->base.source, context, cursor->row, column);
	else
		sqlite3_result_int64(context, (sqlite3_int64)cursor->row);
	return SQLITE_OK;
}

int query_list_row_id(sqlite3_vtab_cursor *base, sqlite3_int64 *id)
{
	*id = (sqlite3_int64)((const struct query_list_cursor *)base)->row;
	return SQLITE_OK;
}
