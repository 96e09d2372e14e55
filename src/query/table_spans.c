/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of spans: calls with their returns, by one pass over each track with a stack. A span is a row
 * when it ends, so rows come in the order of their ends; where a query does not ask for ends they come with
 * the calls. Which call a return leaves is decided as in model/call_tree.c.
 */
#include "query/span_marks.h"

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

#define BIT(column) (UINT32_C(1) << (column))

/* So far up is looked for a call of the same function and the depth of a return. */
#define SEARCHED 256

enum ended_by { ENDED_BY_RETURN, ENDED_BY_EXCEPTION, ENDED_BY_LOSS, ENDED_BY_TRACK };

/* How much of the work a query needs. */
enum mode {
	MODE_CALLS,	/* only what calls say: nothing is paired */
	MODE_AT_CALLS,	/* what is around calls too: rows come with the calls */
	MODE_WITH_ENDS, /* all */
};

struct cursor {
	struct query_cursor base;
	/* what is wanted */
	enum mode mode;
	int64_t low_id, high_id;
	uint64_t low_ns, high_ns; /* of the start */
	uint64_t low_index, high_index;
	bool has_parent; /* only calls out of that one: */
	uint64_t parent_index;
	size_t parent_place; /* on the stack; SIZE_MAX: not met yet */
	bool looks_closer;   /* more than time and index decides about a call */
	/* where it is */
	uint32_t track;
	struct sonde_cursor *events;
	const struct sonde_event *batch;
	size_t position, count;
	uint64_t index; /* of batch[position] */
	uint64_t frontier;
	bool track_ends; /* all that is open ends now */
	/* what is open */
	struct span_stack open;
	size_t wanted_open;
	size_t keep; /* calls above so many are over ... */
	size_t left; /* ... and this one by what follows, the others for want of a return */
	enum ended_by left_by;
	uint64_t now_ns;
	/* the row */
	struct span_call row;
	uint64_t end_ns;
	enum ended_by ended_by;
	int64_t parent; /* QUERY_NULL: none */
};

static int64_t id_of(const struct cursor *cursor, uint64_t index)
{
	return (int64_t)cursor->track << QUERY_ID_SHIFT | (int64_t)index;
}

static int64_t parent_of(const struct cursor *cursor, size_t place)
{
	return place ? id_of(cursor, cursor->open.items[place - 1].index) : QUERY_NULL;
}

/* A call at this place of the stack, if it was pushed there. */
static bool is_wanted(const struct cursor *cursor, const struct span_call *call, size_t place)
{
	const struct query_wish *wishes = cursor->base.wishes.columns;

	if (call->start_ns < cursor->low_ns || call->start_ns > cursor->high_ns ||
	    call->index < cursor->low_index || call->index > cursor->high_index)
		return false;
	if (!cursor->looks_closer)
		return true;
	return query_wish_fits(&wishes[SPAN_FUNCTION],
			       call->function == SONDE_NONE ? QUERY_NULL : call->function) &&
	       query_wish_fits(&wishes[SPAN_DEPTH], call->depth) &&
	       (cursor->mode == MODE_CALLS ||
		query_wish_fits(&wishes[SPAN_PARENT], parent_of(cursor, place)));
}

/* --- tracks and batches --- */

static void close_track(struct cursor *cursor)
{
	sonde_cursor_free(cursor->events);
	cursor->events = NULL;
	cursor->position = cursor->count = 0;
	cursor->open.count = cursor->keep = cursor->wanted_open = 0;
	cursor->track_ends = false;
	cursor->parent_place = SIZE_MAX;
}

static void limit_index(struct cursor *cursor)
{
	int64_t first = (int64_t)cursor->track << QUERY_ID_SHIFT;

	cursor->low_index = cursor->low_id > first ? (uint64_t)(cursor->low_id - first) : 0;
	cursor->high_index = cursor->high_id - first < QUERY_ID_NUMBER ?
				     (uint64_t)(cursor->high_id - first) :
				     (uint64_t)QUERY_ID_NUMBER;
}

/* Starts as near to what is wanted as what is known allows. */
static enum sonde_status seek(struct cursor *cursor, struct sonde_error *err)
{
	uint64_t from = cursor->has_parent ? cursor->parent_index : cursor->low_index;
	enum sonde_status status;

	cursor->index = 0;
	if (cursor->base.source->derives_events)
		return SONDE_OK;
	if (cursor->mode == MODE_CALLS) {
		if (cursor->low_ns)
			sonde_cursor_seek_time(cursor->events, cursor->low_ns);
		if (sonde_cursor_position(cursor->events) < cursor->low_index)
			sonde_cursor_seek_index(cursor->events, cursor->low_index);
		return SONDE_OK;
	}
	status = query_marks_find(cursor->base.source, cursor->track, from,
				  cursor->has_parent ? 0 : cursor->low_ns, &cursor->open,
				  &cursor->index, err);
	if (status || !cursor->index)
		return status;
	for (size_t i = 0; i < cursor->open.count; i++) {
		struct span_call *call = &cursor->open.items[i];

		call->wanted = cursor->mode == MODE_WITH_ENDS && is_wanted(cursor, call, i);
		cursor->wanted_open += call->wanted;
	}
	cursor->keep = cursor->open.count;
	sonde_cursor_seek_index(cursor->events, cursor->index);
	return SONDE_OK;
}

/* Opens the next wanted track from `track` on; after the last the cursor is at its end. */
static enum sonde_status open_track(struct cursor *cursor, uint32_t track, struct sonde_error *err)
{
	const struct query_wish *wishes = cursor->base.wishes.columns;
	struct query_wish ids = { .low = cursor->low_id, .high = cursor->high_id };
	enum sonde_status status;

	close_track(cursor);
	cursor->track = query_next_track(cursor->base.source, &wishes[SPAN_TRACK], &ids, track);
	if (cursor->track == SONDE_NONE) {
		cursor->base.at_end = true;
		return SONDE_OK;
	}
	limit_index(cursor);
	status = query_events_open(cursor->base.source, cursor->track, &cursor->events, err);
	if (status)
		return status;
	cursor->frontier = cursor->mode == MODE_CALLS ?
				   UINT64_MAX :
				   query_marks_frontier(cursor->base.source, cursor->track);
	return seek(cursor, err);
}

/* The next batch; SONDE_END where the track has no more. */
static enum sonde_status read_batch(struct cursor *cursor, struct sonde_error *err)
{
	struct query_recording *source = cursor->base.source;
	struct sonde_batch batch;
	enum sonde_status status;

	if (query_is_over(source->query))
		return SONDE_CANCELLED;
	status = sonde_cursor_next(cursor->events, &batch, err);
	if (status)
		return status;
	cursor->batch = batch.events;
	cursor->count = batch.count;
	cursor->position = 0;
	cursor->index = batch.first_index;
	if (cursor->index >= cursor->frontier) {
		query_marks_add(source, cursor->track, &cursor->open, cursor->index,
				batch.events[0].time_ns);
		cursor->frontier = query_marks_frontier(source, cursor->track);
	}
	return SONDE_OK;
}

/* --- calls --- */

/* Ends the innermost call; true where it is a row. */
static inline bool end_call(struct cursor *cursor)
{
	struct span_stack *open = &cursor->open;
	const struct span_call *call = &open->items[--open->count];
	uint64_t duration_ns = cursor->now_ns > call->start_ns ? cursor->now_ns - call->start_ns :
								 0;

	if (open->count)
		open->items[open->count - 1].children_ns += duration_ns;
	if (!call->wanted)
		return false;
	cursor->wanted_open--;
	if (!query_wish_fits(&cursor->base.wishes.columns[SPAN_DURATION],
			     query_integer(duration_ns)))
		return false;
	cursor->row = *call;
	cursor->end_ns = call->start_ns + duration_ns;
	cursor->ended_by = open->count == cursor->left ? cursor->left_by : ENDED_BY_LOSS;
	if (cursor->track_ends)
		cursor->ended_by = ENDED_BY_TRACK;
	cursor->parent = parent_of(cursor, open->count);
	return true;
}

/* Nothing that is still to come is wanted, and nothing that is open is. */
static bool is_done(struct cursor *cursor, uint64_t time_ns)
{
	if (cursor->wanted_open)
		return false;
	if (time_ns > cursor->high_ns || cursor->index > cursor->high_index)
		return true;
	return cursor->has_parent && cursor->index > cursor->parent_index &&
	       cursor->open.count <= cursor->parent_place;
}

/* Opens a call; those at its depth or deeper must be over before. False where memory failed. */
static inline bool begin_call(struct cursor *cursor, const struct sonde_event *event, bool *is_row)
{
	struct span_call call = {
		.function = event->function,
		.depth = event->depth ? event->depth : (uint32_t)cursor->open.count + 1,
		.start_ns = event->time_ns,
		.index = cursor->index,
	};
	bool wanted = is_wanted(cursor, &call, cursor->open.count);
	struct span_call *place;

	if (wanted && cursor->mode != MODE_WITH_ENDS) {
		cursor->row = call;
		cursor->parent = parent_of(cursor, cursor->open.count);
		*is_row = true;
	}
	if (cursor->mode == MODE_CALLS)
		return true;
	call.wanted = wanted && cursor->mode == MODE_WITH_ENDS;
	cursor->wanted_open += call.wanted;
	if (cursor->has_parent && call.index == cursor->parent_index)
		cursor->parent_place = cursor->open.count;
	place = sonde_vec_push(&cursor->open);
	if (!place)
		return false;
	*place = call;
	cursor->keep = cursor->open.count;
	return true;
}

/* Where a call at this depth goes: those at its depth or deeper are over, though their returns are lost. */
static size_t place_for_depth(const struct span_stack *open, uint32_t depth)
{
	size_t place = open->count;

	/* depth 0 is no depth: a source that does not say */
	while (depth && place && open->items[place - 1].depth >= depth)
		place--;
	return place;
}

static size_t search_function(const struct span_stack *open, uint32_t function)
{
	size_t end = open->count > SEARCHED ? open->count - SEARCHED : 0;

	for (size_t i = open->count; i > end; i--) {
		if (function == SONDE_NONE || open->items[i - 1].function == function)
			return i - 1;
	}
	return SIZE_MAX;
}

/* The call that a return leaves which does not fit the innermost one; SIZE_MAX: none. */
static size_t search_left(const struct span_stack *open, const struct sonde_event *event)
{
	size_t left = search_function(open, event->function);
	size_t end = open->count > SEARCHED ? open->count - SEARCHED : 0;

	if (left == SIZE_MAX || event->function == SONDE_NONE || !event->depth)
		return left;
	for (size_t i = left + 1; i > end; i--) {
		const struct span_call *call = &open->items[i - 1];

		if (call->depth == event->depth && call->function == event->function)
			return i - 1;
	}
	/* deeper than all that is open, and only a caller has that function: its call is lost */
	if (left + 1 < open->count && event->depth > open->items[open->count - 1].depth)
		return SIZE_MAX;
	return left;
}

static inline void leave_call(struct cursor *cursor, const struct sonde_event *event)
{
	const struct span_stack *open = &cursor->open;
	size_t left = open->count - 1;

	if (!open->count)
		return;
	if (__builtin_expect(open->items[left].function != event->function ||
				     open->items[left].depth != event->depth,
			     0))
		left = search_left(open, event);
	if (left == SIZE_MAX)
		return;
	cursor->keep = cursor->left = left;
	cursor->left_by = event->kind == SONDE_EVENT_RETURN ? ENDED_BY_RETURN : ENDED_BY_EXCEPTION;
}

/* --- rows --- */

/* At the end of a batch: another one, the end of what is open, or another track. */
static enum sonde_status go_on(struct cursor *cursor, struct sonde_error *err)
{
	enum sonde_status status;

	if (cursor->track_ends)
		return open_track(cursor, cursor->track + 1, err);
	status = read_batch(cursor, err);
	if (status != SONDE_END)
		return status;
	cursor->track_ends = true;
	cursor->keep = 0;
	return SONDE_OK;
}

/* Takes one event, or ends calls that cannot be open before it; then it comes again. */
static inline enum sonde_status take_event(struct cursor *cursor, bool *is_row,
					   struct sonde_error *err)
{
	const struct sonde_event *event = &cursor->batch[cursor->position];

	cursor->now_ns = event->time_ns;
	if (event->kind == SONDE_EVENT_CALL) {
		size_t place = place_for_depth(&cursor->open, event->depth);

		if (__builtin_expect(place < cursor->open.count, 0)) {
			cursor->keep = place;
			cursor->left = SIZE_MAX;
			return SONDE_OK;
		}
		if (is_done(cursor, event->time_ns))
			return open_track(cursor, cursor->track + 1, err);
		if (!begin_call(cursor, event, is_row))
			return sonde_fail_nomem(err);
	} else if (sonde_event_leaves(event) && cursor->mode != MODE_CALLS) {
		leave_call(cursor, event);
	}
	cursor->position++;
	cursor->index++;
	return SONDE_OK;
}

static int next(sqlite3_vtab_cursor *base)
{
	struct cursor *cursor = (struct cursor *)base;
	enum sonde_status status = SONDE_OK;
	struct sonde_error err = { 0 };
	bool is_row = false;

	while (!status && !is_row && !cursor->base.at_end) {
		if (cursor->open.count > cursor->keep)
			is_row = end_call(cursor);
		else if (cursor->position == cursor->count)
			status = go_on(cursor, &err);
		else
			status = take_event(cursor, &is_row, &err);
	}
	return status ? query_fail(base->pVtab, &err) : SQLITE_OK;
}

static void release(struct query_cursor *base)
{
	struct cursor *cursor = (struct cursor *)base;

	close_track(cursor);
	sonde_vec_release(&cursor->open);
}

static enum mode mode_for(uint32_t used)
{
	if (used & (BIT(SPAN_DURATION) | BIT(SPAN_SELF) | BIT(SPAN_ENDED_BY) | BIT(SPAN_END)))
		return MODE_WITH_ENDS;
	return used & (BIT(SPAN_DEPTH) | BIT(SPAN_PARENT)) ? MODE_AT_CALLS : MODE_CALLS;
}

/* Children of one call lie behind it in its track. */
static void limit_to_parent(struct cursor *cursor)
{
	const struct query_wish *parent = &cursor->base.wishes.columns[SPAN_PARENT];

	cursor->has_parent = parent->low == parent->high;
	if (!cursor->has_parent)
		return;
	cursor->parent_index = (uint64_t)(parent->low & QUERY_ID_NUMBER);
	if (cursor->low_id < parent->low)
		cursor->low_id = parent->low;
	if (cursor->high_id > (parent->low | QUERY_ID_NUMBER))
		cursor->high_id = parent->low | QUERY_ID_NUMBER;
}

static int start(struct query_cursor *base)
{
	struct cursor *cursor = (struct cursor *)base;
	const struct query_wish *wishes = base->wishes.columns;
	const struct query_wish *start_ns = &wishes[SPAN_START];
	struct sonde_error err = { 0 };

	close_track(cursor);
	cursor->mode = mode_for(base->used);
	cursor->low_id = wishes[SPAN_ID].low > 0 ? wishes[SPAN_ID].low : 0;
	cursor->high_id = wishes[SPAN_ID].high;
	limit_to_parent(cursor);
	cursor->low_ns = start_ns->low > 0 ? (uint64_t)start_ns->low : 0;
	cursor->high_ns = start_ns->high == INT64_MAX ? UINT64_MAX : (uint64_t)start_ns->high;
	cursor->looks_closer = !query_wish_is_any(&wishes[SPAN_FUNCTION]) ||
			       !query_wish_is_any(&wishes[SPAN_DEPTH]) ||
			       !query_wish_is_any(&wishes[SPAN_PARENT]);
	if (start_ns->high < 0 || cursor->high_id < cursor->low_id) {
		base->at_end = true;
		return SQLITE_OK;
	}
	if (open_track(cursor, 0, &err))
		return query_fail(base->base.pVtab, &err);
	return next(&base->base);
}

static void result_ended_by(sqlite3_context *context, enum ended_by ended_by)
{
	static const char *const words[] = {
		[ENDED_BY_RETURN] = "return",
		[ENDED_BY_EXCEPTION] = "exception",
		[ENDED_BY_LOSS] = "lost",
		[ENDED_BY_TRACK] = "end",
	};

	sqlite3_result_text(context, words[ended_by], -1, SQLITE_STATIC);
}

static int column(sqlite3_vtab_cursor *base, sqlite3_context *context, int number)
{
	const struct cursor *cursor = (const struct cursor *)base;
	const struct span_call *row = &cursor->row;
	uint64_t duration_ns = cursor->end_ns - row->start_ns;

	switch (number) {
	case SPAN_ID:
		sqlite3_result_int64(context, id_of(cursor, row->index));
		break;
	case SPAN_TRACK:
		sqlite3_result_int64(context, cursor->track);
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
		if (cursor->parent != QUERY_NULL)
			sqlite3_result_int64(context, cursor->parent);
		break;
	case SPAN_ENDED_BY:
		result_ended_by(context, cursor->ended_by);
		break;
	case SPAN_END:
		sqlite3_result_int64(context, query_integer(cursor->end_ns));
		break;
	default:
		break;
	}
	return SQLITE_OK;
}

static int row_id(sqlite3_vtab_cursor *base, sqlite3_int64 *id)
{
	const struct cursor *cursor = (const struct cursor *)base;

	*id = id_of(cursor, cursor->row.index);
	return SQLITE_OK;
}

static void plan(struct query_plan *plan)
{
	static const int order[] = { SPAN_TRACK };

	query_plan_events(plan, BIT(SPAN_TRACK), BIT(SPAN_START), BIT(SPAN_FUNCTION));
	plan->rows /= 2;
	if (plan->ranges & BIT(SPAN_DURATION))
		plan->rows /= 10;
	if (plan->equals & BIT(SPAN_PARENT)) {
		plan->rows = 20;
		plan->cost /= 50;
	}
	if (plan->equals & BIT(SPAN_ID)) {
		plan->unique = true;
		plan->rows = 1;
		plan->cost /= 100;
	}
	plan->order_consumed = query_wants_order(plan->info, order, 1);
}

const struct query_table query_table_spans = {
	.name = "spans",
	.columns = columns,
	.id_column = SPAN_ID,
	.pushes = pushes,
	.cursor_size = sizeof(struct cursor),
	.plan = plan,
	.start = start,
	.release = release,
	.next = next,
	.column = column,
	.row_id = row_id,
};
