/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of spans. Rows come as span_reader.c finds them; where a statement wants them by function
 * (GROUP BY), as span_groups.c has them, so that SQLite need not sort them.
 */
#include "query/span_groups.h"

enum {
	SPAN_ID,
	SPAN_TRACK,
	SPAN_FUNCTION,
	SPAN_START,
	SPAN_DURATION,
	SPAN_SELF,
	SPAN_DEPTH,
	SPAN_PARENT,
	SPAN_ENDED_BY,
	SPAN_END,
	SPAN_COLUMNS,
};

static const struct query_column columns[] = {
	{ "spans", "id", "INTEGER", "number of the call; events.id of its call" },
	{ "spans", "track", "INTEGER", "tracks.id" },
	{ "spans", "function", "INTEGER", "functions.id" },
	{ "spans", "start_ns", "INTEGER", "time of the call" },
	{ "spans", "dur_ns", "INTEGER", "time until it was left" },
	{ "spans", "self_ns", "INTEGER", "the same without the calls that it made" },
	{ "spans", "depth", "INTEGER", "how deep it is in the stack, from 1" },
	{ "spans", "parent", "INTEGER", "spans.id of the call around it" },
	{ "spans", "ended_by", "TEXT",
	  "'return', 'exception', 'lost' (its return is missing) or 'end' (of the track)" },
	{ "spans", "end_ns", "INTEGER", "time when it was left" },
	{ 0 },
};

static const uint8_t pushes[SPAN_COLUMNS] = {
	[SPAN_ID] = QUERY_PUSH_RANGE,	    [SPAN_TRACK] = QUERY_PUSH_SET,
	[SPAN_FUNCTION] = QUERY_PUSH_SET,   [SPAN_START] = QUERY_PUSH_RANGE,
	[SPAN_DURATION] = QUERY_PUSH_RANGE, [SPAN_DEPTH] = QUERY_PUSH_RANGE,
	[SPAN_PARENT] = QUERY_PUSH_RANGE,
};

struct cursor {
	struct query_cursor base;
	struct span_reader reader;
	struct span_groups groups; /* where they are wanted by function */
	const struct span *row;
};

static enum span_mode mode_for(uint32_t used)
{
	if (used & (QUERY_BIT(SPAN_DURATION) | QUERY_BIT(SPAN_SELF) | QUERY_BIT(SPAN_ENDED_BY) |
		    QUERY_BIT(SPAN_END)))
		return SPAN_MODE_WITH_ENDS;
	return used & (QUERY_BIT(SPAN_DEPTH) | QUERY_BIT(SPAN_PARENT)) ? SPAN_MODE_AT_CALLS :
									 SPAN_MODE_CALLS;
}

static int next(sqlite3_vtab_cursor *base)
{
	struct cursor *cursor = (struct cursor *)base;
	struct sonde_error err;
	enum sonde_status status;

	err.status = SONDE_OK;
	if (cursor->base.order == QUERY_ORDER_FUNCTION)
		status = span_groups_next(&cursor->groups, &cursor->row, &err);
	else
		status = span_reader_next(&cursor->reader, &err);
	cursor->base.at_end = status;
	return status < 0 ? query_fail(base->pVtab, &err) : SQLITE_OK;
}

static int start(struct query_cursor *base)
{
	struct cursor *cursor = (struct cursor *)base;
	const struct query_wish *wishes = base->wishes.columns;
	struct span_wants wants = {
		.mode = mode_for(base->used),
		.ids = &wishes[SPAN_ID],
		.tracks = &wishes[SPAN_TRACK],
		.functions = &wishes[SPAN_FUNCTION],
		.starts = &wishes[SPAN_START],
		.durations = &wishes[SPAN_DURATION],
		.depths = &wishes[SPAN_DEPTH],
		.parents = &wishes[SPAN_PARENT],
		.last_slot = UINT32_MAX,
	};
	struct sonde_error err = { 0 };
	enum sonde_status status;

	cursor->row = &cursor->reader.row;
	if (base->order == QUERY_ORDER_FUNCTION)
		status = span_groups_start(&cursor->groups, base->source, &wants, &err);
	else
		status = span_reader_start(&cursor->reader, base->source, &wants, &err);
	return status ? query_fail(base->base.pVtab, &err) : next(&base->base);
}

static void release(struct query_cursor *base)
{
	struct cursor *cursor = (struct cursor *)base;

	span_reader_release(&cursor->reader);
	span_groups_release(&cursor->groups);
}

static void result_ended_by(sqlite3_context *context, enum span_end ended_by)
{
	static const char *const words[] = {
		[SPAN_END_RETURN] = "return",
		[SPAN_END_EXCEPTION] = "exception",
		[SPAN_END_LOSS] = "lost",
		[SPAN_END_TRACK] = "end",
	};

	sqlite3_result_text(context, words[ended_by], -1, SQLITE_STATIC);
}

static int column(sqlite3_vtab_cursor *base, sqlite3_context *context, int number)
{
	const struct cursor *cursor = (const struct cursor *)base;
	const struct span *row = cursor->row;
	uint64_t duration_ns = row->end_ns - row->start_ns;

	switch (number) {
	case SPAN_ID:
		sqlite3_result_int64(context, row->id);
		break;
	case SPAN_TRACK:
		sqlite3_result_int64(context, row->track);
		break;
	case SPAN_FUNCTION:
		query_result_id(context, row->function);
		break;
	case SPAN_START:
		sqlite3_result_int64(context, query_integer(row->start_ns));
		break;
	case SPAN_DURATION:
		sqlite3_result_int64(context, query_integer(duration_ns));
		break;
	case SPAN_SELF:
		sqlite3_result_int64(context, query_integer(duration_ns > row->children_ns ?
								    duration_ns - row->children_ns :
								    0));
		break;
	case SPAN_DEPTH:
		sqlite3_result_int64(context, row->depth);
		break;
	case SPAN_PARENT:
		if (row->parent != QUERY_NULL)
			sqlite3_result_int64(context, row->parent);
		break;
	case SPAN_ENDED_BY:
		result_ended_by(context, row->ended_by);
		break;
	case SPAN_END:
		sqlite3_result_int64(context, query_integer(row->end_ns));
		break;
	default:
		break;
	}
	return SQLITE_OK;
}

static int row_id(sqlite3_vtab_cursor *base, sqlite3_int64 *id)
{
	*id = ((const struct cursor *)base)->row->id;
	return SQLITE_OK;
}

static void plan(struct query_plan *plan)
{
	static const int by_track[] = { SPAN_TRACK };
	static const int by_function[] = { SPAN_FUNCTION };

	query_plan_events(plan, QUERY_BIT(SPAN_TRACK), QUERY_BIT(SPAN_START),
			  QUERY_BIT(SPAN_FUNCTION));
	plan->rows /= 2;
	if (plan->ranges & QUERY_BIT(SPAN_DURATION))
		plan->rows /= 10;
	if (plan->equals & QUERY_BIT(SPAN_PARENT)) {
		plan->rows = 20;
		plan->cost /= 50;
	}
	if (plan->equals & QUERY_BIT(SPAN_ID)) {
		plan->unique = true;
		plan->rows = 1;
		plan->cost /= 100;
	}
	plan->order_consumed = query_wants_order(plan->info, by_track, 1);
	if (query_wants_order(plan->info, by_function, 1)) {
		plan->order_consumed = true;
		plan->order = QUERY_ORDER_FUNCTION;
	}
}

const struct query_table query_table_spans = {
	.name = "spans",
	.id_column = SPAN_ID,
	.row_id = row_id,
	QUERY_TABLE_PARTS,
};
