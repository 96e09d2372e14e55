/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of values: track by track, then the statistics over all tracks; of one context straight from
 * where a recording has them. Values that are made come from query_values.c.
 */
#include <stdlib.h>

#include "query/query_tables.h"

enum {
	VALUE_TRACK,
	VALUE_CONTEXT,
	VALUE_METRIC,
	VALUE_SCOPE,
	VALUE_VALUE,
	VALUE_STATISTIC,
	VALUE_METRIC_ID,
	VALUE_COLUMNS,
};

static const struct query_column columns[] = {
	{ "vals", "track", "INTEGER", "tracks.id; NULL: a statistic over all tracks" },
	{ "vals", "context", "INTEGER", "contexts.id" },
	{ "vals", "metric", "TEXT", "metrics.name: what is counted" },
	{ "vals", "scope", "TEXT",
	  "'point': in the context itself; 'execution': with all below it; 'function' ..." },
	{ "vals", "value", "REAL", "how much; what is 0 has no row" },
	{ "vals", "statistic", "TEXT", "over the tracks: 'sum', 'mean' ...; NULL: of one track" },
	{ "vals", "metric_id", "INTEGER", "metrics.id" },
	{ 0 },
};

static const uint8_t pushes[VALUE_COLUMNS] = {
	[VALUE_TRACK] = QUERY_PUSH_SET,	    [VALUE_CONTEXT] = QUERY_PUSH_SET,
	[VALUE_METRIC] = QUERY_PUSH_TEXT,   [VALUE_SCOPE] = QUERY_PUSH_TEXT,
	[VALUE_METRIC_ID] = QUERY_PUSH_SET,
};

enum phase {
	PHASE_TRACKS,		  /* each in turn; SONDE_NONE after the last: statistics */
	PHASE_CONTEXT,		  /* one context, of all tracks */
	PHASE_CONTEXT_STATISTICS, /* its statistics, metric by metric */
};

struct cursor {
	struct query_cursor base;
	bool *metrics; /* by metric: is it wanted */
	uint32_t metric_count;
	enum phase phase;
	uint32_t track;
	struct sonde_value_cursor *values;
	struct query_values own; /* where they are made */
	const struct sonde_value *batch;
	size_t position, count;
	uint32_t statistic; /* the metric that is next */
	struct sonde_value single;
};

static const struct sonde_metric *metric_of(const struct cursor *cursor, uint32_t metric)
{
	return sonde_definitions_metric(cursor->base.source->definitions, metric);
}

/* --- what is wanted --- */

static enum sonde_status choose_metrics(struct cursor *cursor, struct sonde_error *err)
{
	const struct sonde_definitions *definitions = cursor->base.source->definitions;
	const struct query_wish *wishes = cursor->base.wishes.columns;

	free(cursor->metrics);
	cursor->metric_count = sonde_definitions_metric_count(definitions);
	cursor->metrics = calloc((size_t)cursor->metric_count + 1, sizeof(*cursor->metrics));
	if (!cursor->metrics)
		return sonde_fail_nomem(err);
	for (uint32_t i = 0; i < cursor->metric_count; i++) {
		const struct sonde_metric *metric = metric_of(cursor, i);
		const char *scope = sonde_definitions_string(definitions, metric->scope);

		cursor->metrics[i] =
			query_wish_fits(&wishes[VALUE_METRIC_ID], i) &&
			query_wish_fits_text(&wishes[VALUE_METRIC],
					     sonde_definitions_string(definitions, metric->name)) &&
			query_wish_fits_text(&wishes[VALUE_SCOPE], *scope ? scope : NULL);
	}
	return SONDE_OK;
}

static bool is_wanted(const struct cursor *cursor, const struct sonde_value *value)
{
	const struct query_wish *wishes = cursor->base.wishes.columns;

	return value->metric < cursor->metric_count && cursor->metrics[value->metric] &&
	       query_wish_fits(&wishes[VALUE_CONTEXT], value->context) &&
	       query_wish_fits(&wishes[VALUE_TRACK],
			       value->track == SONDE_NONE ? QUERY_NULL : value->track);
}

static bool wants_statistics(const struct cursor *cursor)
{
	return query_wish_is_any(&cursor->base.wishes.columns[VALUE_TRACK]);
}

/* --- where they come from --- */

static void close_values(struct cursor *cursor)
{
	sonde_value_cursor_free(cursor->values);
	cursor->values = NULL;
	cursor->position = cursor->count = 0;
}

/* Values that are made are there at once; of one context only those are looked at. */
static enum sonde_status take_made(struct cursor *cursor, struct sonde_error *err)
{
	const struct query_wish *contexts = &cursor->base.wishes.columns[VALUE_CONTEXT];
	const struct query_values *values;
	enum sonde_status status =
		query_values_get(cursor->base.source, cursor->track, &cursor->own, &values, err);

	if (status)
		return status;
	cursor->batch = values->items;
	cursor->count = values->count;
	if (contexts->low > 0)
		cursor->position = contexts->low > UINT32_MAX ?
					   values->count :
					   query_values_find(values, (uint32_t)contexts->low);
	if (contexts->high < UINT32_MAX)
		cursor->count = contexts->high < 0 ?
					0 :
					query_values_find(values, (uint32_t)contexts->high + 1);
	if (cursor->position > cursor->count)
		cursor->position = cursor->count;
	return SONDE_OK;
}

/* The next wanted track from `track` on, then the statistics; after them the cursor is at its end. */
static enum sonde_status open_track(struct cursor *cursor, uint32_t track, struct sonde_error *err)
{
	const struct query_wish *wishes = cursor->base.wishes.columns;
	bool was_last = track == SONDE_NONE;

	close_values(cursor);
	cursor->track =
		was_last ? SONDE_NONE :
			   query_next_track(cursor->base.source, &wishes[VALUE_TRACK], NULL, track);
	if (was_last || (cursor->track == SONDE_NONE &&
			 (!wants_statistics(cursor) || cursor->base.source->derives_profile))) {
		cursor->base.at_end = true;
		return SONDE_OK;
	}
	if (cursor->base.source->makes_values && cursor->track != SONDE_NONE)
		return take_made(cursor, err);
	return sonde_value_cursor_open(cursor->base.source->recording, cursor->track,
				       &cursor->values, err);
}

/* The next statistic of the context, or the end. */
static enum sonde_status look_up_statistic(struct cursor *cursor, struct sonde_error *err)
{
	for (; cursor->statistic < cursor->metric_count; cursor->statistic++) {
		struct sonde_value *single = &cursor->single;
		enum sonde_status status;

		if (!cursor->metrics[cursor->statistic] ||
		    !metric_of(cursor, cursor->statistic)->statistic)
			continue;
		*single = (struct sonde_value){
			.track = SONDE_NONE,
			.context = (uint32_t)cursor->base.wishes.columns[VALUE_CONTEXT].low,
			.metric = cursor->statistic,
		};
		status = sonde_recording_value(cursor->base.source->recording, SONDE_NONE,
					       single->context, single->metric, &single->value,
					       err);
		if (status == SONDE_END)
			continue;
		cursor->statistic++;
		cursor->batch = single;
		cursor->position = 0;
		cursor->count = 1;
		return status;
	}
	cursor->base.at_end = true;
	return SONDE_OK;
}

static enum sonde_status go_on(struct cursor *cursor, struct sonde_error *err)
{
	enum sonde_status status;

	if (query_is_over(cursor->base.source->query))
		return SONDE_CANCELLED;
	cursor->position = cursor->count = 0;
	if (cursor->phase == PHASE_CONTEXT_STATISTICS)
		return look_up_statistic(cursor, err);
	status = cursor->values ? sonde_value_cursor_next(cursor->values, &cursor->batch,
							  &cursor->count, err) :
				  SONDE_END;
	if (status != SONDE_END)
		return status;
	if (cursor->phase == PHASE_TRACKS)
		return open_track(
			cursor, cursor->track == SONDE_NONE ? SONDE_NONE : cursor->track + 1, err);
	close_values(cursor);
	cursor->phase = PHASE_CONTEXT_STATISTICS;
	cursor->base.at_end = !wants_statistics(cursor);
	return SONDE_OK;
}

static int settle(struct cursor *cursor)
{
	enum sonde_status status = SONDE_OK;
	struct sonde_error err = { 0 };

	while (!status && !cursor->base.at_end) {
		if (cursor->position == cursor->count)
			status = go_on(cursor, &err);
		else if (is_wanted(cursor, &cursor->batch[cursor->position]))
			return SQLITE_OK;
		else
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

/* One context that exists is read on its own where the recording has all values. */
static enum sonde_status open_first(struct cursor *cursor, struct sonde_error *err)
{
	const struct query_wish *context = &cursor->base.wishes.columns[VALUE_CONTEXT];
	const struct query_profile *profile;
	enum sonde_status status = query_profile_get(cursor->base.source, &profile, err);

	if (status)
		return status;
	cursor->phase = PHASE_TRACKS;
	if (cursor->base.source->makes_values || context->low != context->high)
		return open_track(cursor, 0, err);
	if (context->low < 0 || context->low >= profile->context_count) {
		cursor->base.at_end = true;
		return SONDE_OK;
	}
	cursor->phase = PHASE_CONTEXT;
	cursor->statistic = 0;
	return sonde_value_cursor_open_context(cursor->base.source->recording,
					       (uint32_t)context->low, &cursor->values, err);
}

static int start(struct query_cursor *base)
{
	struct cursor *cursor = (struct cursor *)base;
	struct sonde_error err = { 0 };
	enum sonde_status status;

	close_values(cursor);
	status = choose_metrics(cursor, &err);
	if (!status)
		status = open_first(cursor, &err);
	return status ? query_fail(base->base.pVtab, &err) : settle(cursor);
}

static void release(struct query_cursor *base)
{
	struct cursor *cursor = (struct cursor *)base;

	close_values(cursor);
	sonde_vec_release(&cursor->own);
	free(cursor->metrics);
}

/* --- rows --- */

static int column(sqlite3_vtab_cursor *base, sqlite3_context *context, int number)
{
	const struct cursor *cursor = (const struct cursor *)base;
	const struct sonde_value *value = &cursor->batch[cursor->position];
	const struct sonde_definitions *definitions = cursor->base.source->definitions;

	switch (number) {
	case VALUE_TRACK:
		query_result_id(context, value->track);
		break;
	case VALUE_CONTEXT:
		sqlite3_result_int64(context, value->context);
		break;
	case VALUE_METRIC:
		query_result_string(context, definitions, metric_of(cursor, value->metric)->name);
		break;
	case VALUE_SCOPE:
		query_result_string(context, definitions, metric_of(cursor, value->metric)->scope);
		break;
	case VALUE_VALUE:
		sqlite3_result_double(context, value->value);
		break;
	case VALUE_STATISTIC:
		query_result_string(context, definitions,
				    metric_of(cursor, value->metric)->statistic);
		break;
	case VALUE_METRIC_ID:
		sqlite3_result_int64(context, value->metric);
		break;
	default:
		break;
	}
	return SQLITE_OK;
}

/* How many values there are is not asked: it may take reading them. */
#define USUAL_VALUES 1000000

static void plan(struct query_plan *plan)
{
	uint32_t tracks = sonde_definitions_track_count(plan->source->definitions);

	plan->rows = USUAL_VALUES;
	if (plan->equals & QUERY_BIT(VALUE_TRACK))
		plan->rows /= tracks ? tracks : 1;
	plan->cost = plan->rows;
	if (plan->equals & QUERY_BIT(VALUE_CONTEXT)) {
		plan->rows /= 10000;
		plan->cost = plan->rows + 20 + tracks;
	}
	if (plan->equals & (QUERY_BIT(VALUE_METRIC) | QUERY_BIT(VALUE_METRIC_ID)))
		plan->rows /= 4;
	if (plan->equals & QUERY_BIT(VALUE_SCOPE))
		plan->rows /= 3;
}

const struct query_table query_table_vals = {
	.name = "vals",
	.id_column = -1,
	.row_id = query_row_number,
	QUERY_TABLE_PARTS,
};
