/* SPDX-License-Identifier: Apache-2.0 */
/* The table of samples, track by track. A recording of calls has none. */
#include "query/query_tables.h"

enum { SAMPLE_TRACK, SAMPLE_TIME, SAMPLE_CONTEXT, SAMPLE_COLUMNS };

static const struct query_column columns[] = {
	{ "samples", "track", "INTEGER", "tracks.id" },
	{ "samples", "time_ns", "INTEGER", "when, on the clock of its process" },
	{ "samples", "context", "INTEGER", "contexts.id; 0: the track did not run from here on" },
	{ 0 },
};

static const uint8_t pushes[SAMPLE_COLUMNS] = {
	[SAMPLE_TRACK] = QUERY_PUSH_SET,
	[SAMPLE_TIME] = QUERY_PUSH_RANGE,
	[SAMPLE_CONTEXT] = QUERY_PUSH_SET,
};

struct cursor {
	struct query_cursor base;
	uint64_t low_ns, high_ns;
	uint32_t track;
	struct sonde_sample_cursor *samples;
	const struct sonde_sample *batch;
	size_t position, count;
};

static void close_track(struct cursor *cursor)
{
	sonde_sample_cursor_free(cursor->samples);
	cursor->samples = NULL;
	cursor->position = cursor->count = 0;
}

static enum sonde_status open_track(struct cursor *cursor, uint32_t track, struct sonde_error *err)
{
	enum sonde_status status;

	close_track(cursor);
	cursor->track = query_next_track(cursor->base.source,
					 &cursor->base.wishes.columns[SAMPLE_TRACK], NULL, track);
	if (cursor->track == SONDE_NONE) {
		cursor->base.at_end = true;
		return SONDE_OK;
	}
	status = sonde_sample_cursor_open(cursor->base.source->recording, cursor->track,
					  &cursor->samples, err);
	if (!status && cursor->low_ns)
		sonde_sample_cursor_seek_time(cursor->samples, cursor->low_ns);
	return status;
}

static enum sonde_status go_on(struct cursor *cursor, struct sonde_error *err)
{
	enum sonde_status status;

	if (query_is_over(cursor->base.source->query))
		return SONDE_CANCELLED;
	cursor->position = 0;
	status = sonde_sample_cursor_next(cursor->samples, &cursor->batch, &cursor->count, err);
	return status == SONDE_END ? open_track(cursor, cursor->track + 1, err) : status;
}

static int settle(struct cursor *cursor)
{
	const struct query_wish *contexts = &cursor->base.wishes.columns[SAMPLE_CONTEXT];
	enum sonde_status status = SONDE_OK;
	struct sonde_error err = { 0 };

	while (!status && !cursor->base.at_end) {
		const struct sonde_sample *sample;

		if (cursor->position == cursor->count) {
			status = go_on(cursor, &err);
			continue;
		}
		sample = &cursor->batch[cursor->position];
		if (sample->time_ns > cursor->high_ns) {
			status = open_track(cursor, cursor->track + 1, &err);
			continue;
		}
		if (sample->time_ns >= cursor->low_ns && query_wish_fits(contexts, sample->context))
			return SQLITE_OK;
		cursor->position++;
	}
	return query_outcome(&cursor->base, status, &err);
}

static int next(sqlite3_vtab_cursor *base)
{
	struct cursor *cursor = (struct cursor *)base;

	cursor->position++;
	cursor->base.number++;
	return settle(cursor);
}

static int start(struct query_cursor *base)
{
	struct cursor *cursor = (struct cursor *)base;
	struct sonde_error err = { 0 };

	base->at_end = !query_wish_times(&base->wishes.columns[SAMPLE_TIME], &cursor->low_ns,
					 &cursor->high_ns);
	if (base->at_end)
		return SQLITE_OK;
	if (open_track(cursor, 0, &err))
		return query_fail(base->base.pVtab, &err);
	return settle(cursor);
}

static void release(struct query_cursor *base)
{
	close_track((struct cursor *)base);
}

static int column(sqlite3_vtab_cursor *base, sqlite3_context *context, int number)
{
	const struct cursor *cursor = (const struct cursor *)base;
	const struct sonde_sample *sample = &cursor->batch[cursor->position];

	if (number == SAMPLE_TRACK)
		sqlite3_result_int64(context, sample->track);
	else if (number == SAMPLE_TIME)
		sqlite3_result_int64(context, query_integer(sample->time_ns));
	else
		query_result_id(context, sample->context);
	return SQLITE_OK;
}

static void plan(struct query_plan *plan)
{
	static const int order[] = { SAMPLE_TRACK, SAMPLE_TIME };
	static const int by_time[] = { SAMPLE_TIME };
	uint32_t tracks = sonde_definitions_track_count(plan->source->definitions);
	bool one_track = tracks == 1 || plan->equals & ~plan->sets & QUERY_BIT(SAMPLE_TRACK);

	query_plan_events(plan, QUERY_BIT(SAMPLE_TRACK), QUERY_BIT(SAMPLE_TIME),
			  QUERY_BIT(SAMPLE_CONTEXT));
	plan->order_consumed = query_wants_order(plan->info, order, 2) ||
			       (one_track && query_wants_order(plan->info, by_time, 1));
}

const struct query_table query_table_samples = {
	.name = "samples",
	.id_column = -1,
	.row_id = query_row_number,
	QUERY_TABLE_PARTS,
};
