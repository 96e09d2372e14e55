/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of events: track by track, or of all tracks in the order of time where a query wants that.
 * Recordings that have samples and no events get calls and returns made of them.
 */
#include <stdlib.h>

#include "query/query_tables.h"

enum {
	EVENT_SEQUENCE,
	EVENT_TRACK,
	EVENT_TIME,
	EVENT_KIND,
	EVENT_FUNCTION,
	EVENT_DEPTH,
	EVENT_DETAIL,
	EVENT_ID,
	EVENT_TYPE,
	EVENT_VALUE,
	EVENT_NUMBER,
	EVENT_SYNTHETIC,
	EVENT_COLUMNS,
};

static const struct query_column columns[] = {
	{ "events", "seq", "INTEGER", "number of the event in its track, from 0" },
	{ "events", "track", "INTEGER", "tracks.id" },
	{ "events", "time_ns", "INTEGER", "when, on the clock of its process" },
	{ "events", "kind", "TEXT", "'call', 'return', 'exception', 'instant', 'counter' ..." },
	{ "events", "function", "INTEGER", "functions.id, of calls, returns and exceptions" },
	{ "events", "depth", "INTEGER", "how many calls are open, this one counted" },
	{ "events", "detail", "INTEGER", "details.id of what comes with it" },
	{ "events", "id", "INTEGER", "number of the event among all" },
	{ "events", "event_type", "INTEGER", "event_types.id, of other kinds than calls" },
	{ "events", "value", "REAL", "of a counter" },
	{ "events", "number", "INTEGER",
	  "what ties events of a flow or a range together; of kind 'other' the format's kind" },
	{ "events", "synthetic", "INTEGER", "1: not recorded but made by a cut" },
	{ 0 },
};

static const uint8_t pushes[EVENT_COLUMNS] = {
	[EVENT_SEQUENCE] = QUERY_PUSH_RANGE, [EVENT_TRACK] = QUERY_PUSH_SET,
	[EVENT_TIME] = QUERY_PUSH_RANGE,     [EVENT_KIND] = QUERY_PUSH_WORD,
	[EVENT_FUNCTION] = QUERY_PUSH_SET,   [EVENT_DEPTH] = QUERY_PUSH_RANGE,
	[EVENT_ID] = QUERY_PUSH_RANGE,
};

struct cursor {
	struct query_cursor base;
	/* what is wanted */
	uint64_t low_ns, high_ns;
	uint64_t low_index, high_index;
	bool looks_closer; /* at kind, function, depth */
	/* where it is */
	uint32_t track;
	struct sonde_cursor *events;	    /* of one track, or: */
	struct sonde_merged_cursor *merged; /* of all, in the order of time */
	uint64_t *next_index;		    /* by track, of these; NULL: nobody asks */
	const struct sonde_event *batch;
	size_t position, count;
	uint64_t index; /* of batch[position] in its track, where there is one track */
};

static int64_t word(int column, const char *text)
{
	enum sonde_event_kind kind = sonde_event_kind_from_name(text);

	(void)column;
	return kind < SONDE_EVENT_KIND_COUNT ? (int64_t)kind : -1;
}

static int64_t function_of(const struct sonde_event *event)
{
	return sonde_event_has_function(event) && event->function != SONDE_NONE ? event->function :
										  QUERY_NULL;
}

static uint64_t index_of(const struct cursor *cursor)
{
	return cursor->next_index ? cursor->next_index[cursor->batch[cursor->position].track] :
				    cursor->index;
}

static int64_t id_of(uint32_t track, uint64_t number)
{
	return (int64_t)track << QUERY_ID_SHIFT | (int64_t)number;
}

static bool is_wanted(const struct cursor *cursor, const struct sonde_event *event)
{
	const struct query_wish *wishes = cursor->base.wishes.columns;
	unsigned int kind = event->kind < SONDE_EVENT_KIND_COUNT ? event->kind : SONDE_EVENT_OTHER;

	if (event->time_ns < cursor->low_ns || event->time_ns > cursor->high_ns)
		return false;
	if (!cursor->looks_closer)
		return true;
	return query_wish_fits(&wishes[EVENT_KIND], kind) &&
	       query_wish_fits(&wishes[EVENT_FUNCTION], function_of(event)) &&
	       query_wish_fits(&wishes[EVENT_DEPTH], event->depth);
}

/* --- tracks and batches --- */

static void close_events(struct cursor *cursor)
{
	sonde_cursor_free(cursor->events);
	sonde_merged_cursor_free(cursor->merged);
	free(cursor->next_index);
	cursor->events = NULL;
	cursor->merged = NULL;
	cursor->next_index = NULL;
	cursor->position = cursor->count = 0;
}

/* What seq and id ask of a track, as indices. False where nothing fits. */
static bool limit_index(struct cursor *cursor)
{
	const struct query_wish *sequence = &cursor->base.wishes.columns[EVENT_SEQUENCE];
	const struct query_wish *id = &cursor->base.wishes.columns[EVENT_ID];
	int64_t first = (int64_t)cursor->track << QUERY_ID_SHIFT;
	int64_t low = sequence->low > 0 ? sequence->low : 0;
	int64_t high = sequence->high < QUERY_ID_NUMBER ? sequence->high : QUERY_ID_NUMBER;

	if (id->low > first && id->low - first > low)
		low = id->low - first;
	if (id->high < first + high)
		high = id->high - first;
	cursor->low_index = (uint64_t)low;
	cursor->high_index = (uint64_t)high;
	return low <= high;
}

/* Opens the next wanted track from `track` on; after the last the cursor is at its end. */
static enum sonde_status open_track(struct cursor *cursor, uint32_t track, struct sonde_error *err)
{
	struct query_recording *source = cursor->base.source;
	const struct query_wish *wishes = cursor->base.wishes.columns;
	enum sonde_status status;

	close_events(cursor);
	do {
		cursor->track =
			query_next_track(source, &wishes[EVENT_TRACK], &wishes[EVENT_ID], track);
		track = cursor->track + 1;
	} while (cursor->track != SONDE_NONE && !limit_index(cursor));
	if (cursor->track == SONDE_NONE) {
		cursor->base.at_end = true;
		return SONDE_OK;
	}
	status = query_events_open(source, cursor->track, &cursor->events, err);
	if (status || source->derives_events)
		return status;
	if (cursor->low_ns)
		sonde_cursor_seek_time(cursor->events, cursor->low_ns);
	if (sonde_cursor_position(cursor->events) < cursor->low_index)
		sonde_cursor_seek_index(cursor->events, cursor->low_index);
	return SONDE_OK;
}

/* Where in each track the merged events begin. */
static enum sonde_status count_tracks(struct cursor *cursor, struct sonde_error *err)
{
	struct query_recording *source = cursor->base.source;
	uint32_t count = sonde_definitions_track_count(source->definitions);
	enum sonde_status status = SONDE_OK;

	cursor->next_index = calloc((size_t)count + 1, sizeof(*cursor->next_index));
	if (!cursor->next_index)
		return sonde_fail_nomem(err);
	for (uint32_t i = 0; !status && cursor->low_ns && i < count; i++) {
		struct sonde_cursor *track = NULL;

		status = sonde_cursor_open(source->recording, i, &track, err);
		if (status)
			return status;
		sonde_cursor_seek_time(track, cursor->low_ns);
		cursor->next_index[i] = sonde_cursor_position(track);
		sonde_cursor_free(track);
	}
	return status;
}

static enum sonde_status open_merged(struct cursor *cursor, struct sonde_error *err)
{
	enum sonde_status status = sonde_merged_cursor_open(cursor->base.source->recording, NULL, 0,
							    &cursor->merged, err);

	if (status)
		return status;
	if (cursor->low_ns)
		sonde_merged_cursor_seek_time(cursor->merged, cursor->low_ns);
	return count_tracks(cursor, err);
}

static enum sonde_status read_batch(struct cursor *cursor, struct sonde_error *err)
{
	struct sonde_batch batch;
	enum sonde_status status;

	if (query_is_over(cursor->base.source->query))
		return SONDE_CANCELLED;
	status = cursor->merged ? sonde_merged_cursor_next(cursor->merged, &batch, err) :
				  sonde_cursor_next(cursor->events, &batch, err);
	if (status)
		return status;
	cursor->batch = batch.events;
	cursor->count = batch.count;
	cursor->position = 0;
	cursor->index = batch.first_index;
	return SONDE_OK;
}

/* --- rows --- */

static enum sonde_status go_on(struct cursor *cursor, struct sonde_error *err)
{
	enum sonde_status status = read_batch(cursor, err);

	if (status != SONDE_END)
		return status;
	if (!cursor->merged)
		return open_track(cursor, cursor->track + 1, err);
	cursor->base.at_end = true;
	return SONDE_OK;
}

/* Nothing that comes after this event is wanted. */
static enum sonde_status skip_rest(struct cursor *cursor, struct sonde_error *err)
{
	if (!cursor->merged)
		return open_track(cursor, cursor->track + 1, err);
	cursor->base.at_end = true;
	return SONDE_OK;
}

/* From the present event on: the first that is wanted. */
static int settle(struct cursor *cursor)
{
	enum sonde_status status = SONDE_OK;
	struct sonde_error err = { 0 };

	while (!status && !cursor->base.at_end) {
		const struct sonde_event *event;

		if (cursor->position == cursor->count) {
			status = go_on(cursor, &err);
			continue;
		}
		event = &cursor->batch[cursor->position];
		if (event->time_ns > cursor->high_ns ||
		    (!cursor->merged && cursor->index > cursor->high_index)) {
			status = skip_rest(cursor, &err);
			continue;
		}
		if (is_wanted(cursor, event) &&
		    (cursor->merged || cursor->index >= cursor->low_index))
			return SQLITE_OK;
		if (cursor->next_index)
			cursor->next_index[event->track]++;
		cursor->position++;
		cursor->index++;
	}
	return query_outcome(&cursor->base, status, &err);
}

static int next(sqlite3_vtab_cursor *base)
{
	struct cursor *cursor = (struct cursor *)base;

	if (cursor->next_index)
		cursor->next_index[cursor->batch[cursor->position].track]++;
	cursor->position++;
	cursor->index++;
	return settle(cursor);
}

static int start(struct query_cursor *base)
{
	struct cursor *cursor = (struct cursor *)base;
	const struct query_wish *wishes = base->wishes.columns;
	struct sonde_error err = { 0 };
	enum sonde_status status;

	close_events(cursor);
	cursor->looks_closer = !query_wish_is_any(&wishes[EVENT_KIND]) ||
			       !query_wish_is_any(&wishes[EVENT_FUNCTION]) ||
			       !query_wish_is_any(&wishes[EVENT_DEPTH]);
	if (!query_wish_times(&wishes[EVENT_TIME], &cursor->low_ns, &cursor->high_ns)) {
		base->at_end = true;
		return SQLITE_OK;
	}
	status = base->order == QUERY_ORDER_TIME ? open_merged(cursor, &err) :
						   open_track(cursor, 0, &err);
	return status ? query_fail(base->base.pVtab, &err) : settle(cursor);
}

static void release(struct query_cursor *base)
{
	close_events((struct cursor *)base);
}

static void result_number(sqlite3_context *context, const struct sonde_event *event)
{
	switch (event->kind) {
	case SONDE_EVENT_CALL:
	case SONDE_EVENT_RETURN:
	case SONDE_EVENT_EXCEPTION:
	case SONDE_EVENT_INSTANT:
	case SONDE_EVENT_MARK:
	case SONDE_EVENT_COUNTER:
		break;
	default:
		sqlite3_result_int64(context, event->extra);
	}
}

static void other_column(sqlite3_context *context, const struct sonde_event *event, int number)
{
	switch (number) {
	case EVENT_DETAIL:
		if (sonde_event_has_detail(event))
			sqlite3_result_int64(context, id_of(event->track, event->detail));
		break;
	case EVENT_TYPE:
		if (!sonde_event_has_function(event))
			query_result_id(context, event->function);
		break;
	case EVENT_VALUE:
		if (event->kind == SONDE_EVENT_COUNTER)
			sqlite3_result_double(context, sonde_event_value(event));
		break;
	case EVENT_NUMBER:
		result_number(context, event);
		break;
	case EVENT_SYNTHETIC:
		sqlite3_result_int(context, event->flags & SONDE_EVENT_SYNTHETIC);
		break;
	default:
		break;
	}
}

static int column(sqlite3_vtab_cursor *base, sqlite3_context *context, int number)
{
	const struct cursor *cursor = (const struct cursor *)base;
	const struct sonde_event *event = &cursor->batch[cursor->position];

	switch (number) {
	case EVENT_SEQUENCE:
		sqlite3_result_int64(context, (sqlite3_int64)index_of(cursor));
		break;
	case EVENT_TRACK:
		sqlite3_result_int64(context, event->track);
		break;
	case EVENT_TIME:
		sqlite3_result_int64(context, query_integer(event->time_ns));
		break;
	case EVENT_KIND:
		sqlite3_result_text(context, sonde_event_kind_name(event->kind), -1, SQLITE_STATIC);
		break;
	case EVENT_FUNCTION:
		if (function_of(event) != QUERY_NULL)
			sqlite3_result_int64(context, function_of(event));
		break;
	case EVENT_DEPTH:
		sqlite3_result_int64(context, event->depth);
		break;
	case EVENT_ID:
		sqlite3_result_int64(context, id_of(event->track, index_of(cursor)));
		break;
	default:
		other_column(context, event, number);
	}
	return SQLITE_OK;
}

static int row_id(sqlite3_vtab_cursor *base, sqlite3_int64 *id)
{
	const struct cursor *cursor = (const struct cursor *)base;

	*id = id_of(cursor->batch[cursor->position].track, index_of(cursor));
	return SQLITE_OK;
}

/* By id, by track and place, and by track and time: how they come anyway. */
static bool is_natural(sqlite3_index_info *info)
{
	static const int by_id[] = { EVENT_ID }, by_row[] = { -1 };
	static const int by_place[] = { EVENT_TRACK, EVENT_SEQUENCE };
	static const int by_time[] = { EVENT_TRACK, EVENT_TIME, EVENT_SEQUENCE };

	return query_wants_order(info, by_id, 1) || query_wants_order(info, by_row, 1) ||
	       query_wants_order(info, by_place, 2) || query_wants_order(info, by_time, 3);
}

static void plan(struct query_plan *plan)
{
	static const int by_time[] = { EVENT_TIME };
	static const int by_place[] = { EVENT_SEQUENCE };
	uint32_t places = QUERY_BIT(EVENT_SEQUENCE) | QUERY_BIT(EVENT_ID);
	bool one_track = plan->equals & ~plan->sets & QUERY_BIT(EVENT_TRACK) ||
			 sonde_definitions_track_count(plan->source->definitions) == 1;

	query_plan_events(plan, QUERY_BIT(EVENT_TRACK), QUERY_BIT(EVENT_TIME),
			  QUERY_BIT(EVENT_FUNCTION) | QUERY_BIT(EVENT_KIND));
	if (plan->equals & QUERY_BIT(EVENT_ID) ||
	    (one_track && plan->equals & QUERY_BIT(EVENT_SEQUENCE))) {
		plan->unique = true;
		plan->rows = 1;
		plan->cost = plan->source->derives_events ? plan->cost / 2 : 100;
	}
	plan->order_consumed = is_natural(plan->info);
	if (one_track && (query_wants_order(plan->info, by_time, 1) ||
			  query_wants_order(plan->info, by_place, 1)))
		plan->order_consumed = true;
	/* merged: of all tracks, wherever they begin */
	if (!one_track && !plan->source->derives_events &&
	    query_wants_order(plan->info, by_time, 1) &&
	    !((plan->equals | plan->ranges) & (QUERY_BIT(EVENT_TRACK) | places))) {
		plan->order_consumed = true;
		plan->order = QUERY_ORDER_TIME;
	}
}

const struct query_table query_table_events = {
	.name = "events",
	.id_column = EVENT_ID,
	.word = word,
	.row_id = row_id,
	QUERY_TABLE_PARTS,
};
