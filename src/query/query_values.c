/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values that a recording does not have and that are made of what it has: times and numbers of calls, and what
 * was spent in a context and all below it. They are made for a track at a time.
 */
#include <stdlib.h>

#include "query/query_tables.h"

#define NS_PER_SECOND 1e9

/* So many values are kept between statements; those of more tracks are made anew each time. */
#define KEPT_MOST ((size_t)8 << 20)

static enum sonde_status add_value(struct query_values *values, uint32_t track, uint32_t context,
				   uint32_t metric, double value, struct sonde_error *err)
{
	struct sonde_value *added;

	if (value == 0)
		return SONDE_OK;
	added = sonde_vec_push(values);
	if (!added)
		return sonde_fail_nomem(err);
	*added = (struct sonde_value){
		.track = track,
		.context = context,
		.metric = metric,
		.value = value,
	};
	return SONDE_OK;
}

/* --- of calls --- */

static enum sonde_status make_of_calls(struct query_recording *source, uint32_t track,
				       struct query_values *values, struct sonde_error *err)
{
	const struct query_profile *profile;
	enum sonde_status status = query_profile_get(source, &profile, err);
	const struct query_spents *spent =
		!status && track < profile->track_count ? &profile->spent[track] : NULL;

	for (size_t i = 0; !status && spent && i < spent->count; i++) {
		const struct query_spent *item = &spent->items[i];
		double made[QUERY_SPENT_METRICS] = {
			[QUERY_TIME_POINT] = (double)item->self_ns / NS_PER_SECOND,
			[QUERY_TIME_EXECUTION] = (double)item->total_ns / NS_PER_SECOND,
			[QUERY_CALLS_POINT] = (double)item->calls,
			[QUERY_CALLS_EXECUTION] = (double)item->total_calls,
		};

		for (int j = 0; !status && j < QUERY_SPENT_METRICS; j++)
			status = add_value(values, track, item->context, source->spent_metrics[j],
					   made[j], err);
	}
	return status;
}

/* --- of recorded values --- */

static enum sonde_status read_values(struct query_recording *source, uint32_t track,
				     struct query_values *values, struct sonde_error *err)
{
	struct sonde_value_cursor *cursor = NULL;
	const struct sonde_value *batch;
	enum sonde_status status;
	size_t count;

	status = sonde_value_cursor_open(source->recording, track, &cursor, err);
	while (!status) {
		status = sonde_value_cursor_next(cursor, &batch, &count, err);
		for (size_t i = 0; !status && i < count; i++)
			status = add_value(values, track, batch[i].context, batch[i].metric,
					   batch[i].value, err);
	}
	sonde_value_cursor_free(cursor);
	return status == SONDE_END ? SONDE_OK : status;
}

/* Adds up one metric over the tree: `sums` has room for every context. */
static enum sonde_status add_execution(const struct query_profile *profile,
				       struct query_values *values, uint32_t track, uint32_t from,
				       uint32_t metric, double *sums, struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;
	size_t count = values->count;
	bool any = false;

	for (uint32_t i = 0; i < profile->context_count; i++)
		sums[i] = 0;
	for (size_t i = 0; i < count; i++) {
		const struct sonde_value *value = &values->items[i];

		if (value->metric == from && value->context < profile->context_count) {
			sums[value->context] += value->value;
			any = true;
		}
	}
	if (!any)
		return SONDE_OK;
	/* parents come before their children */
	for (uint32_t i = profile->context_count - 1; i > 0; i--) {
		if (profile->contexts[i].parent < i)
			sums[profile->contexts[i].parent] += sums[i];
	}
	for (uint32_t i = 0; !status && i < profile->context_count; i++)
		status = add_value(values, track, i, metric, sums[i], err);
	return status;
}

static enum sonde_status make_execution(struct query_recording *source, uint32_t track,
					struct query_values *values, struct sonde_error *err)
{
	const struct query_profile *profile;
	enum sonde_status status = query_profile_get(source, &profile, err);
	double *sums;

	if (status || !profile->context_count)
		return status;
	sums = malloc(profile->context_count * sizeof(*sums));
	if (!sums)
		return sonde_fail_nomem(err);
	for (uint32_t i = 0; !status && i < source->metric_count; i++) {
		if (source->execution[i] != SONDE_NONE)
			status = add_execution(profile, values, track, i, source->execution[i],
					       sums, err);
	}
	free(sums);
	return status;
}

/* --- both --- */

static int compare_values(const void *a, const void *b)
{
	const struct sonde_value *left = a, *right = b;

	if (left->context != right->context)
		return left->context < right->context ? -1 : 1;
	return (left->metric > right->metric) - (left->metric < right->metric);
}

static void sort(struct query_values *values)
{
	if (values->count)
		qsort(values->items, values->count, sizeof(*values->items), compare_values);
}

static enum sonde_status make(struct query_recording *source, uint32_t track,
			      struct query_values *values, struct sonde_error *err)
{
	enum sonde_status status;

	values->count = 0;
	if (source->derives_profile)
		status = make_of_calls(source, track, values, err);
	else
		status = read_values(source, track, values, err);
	if (!status && source->execution) {
		status = make_execution(source, track, values, err);
		sort(values);
	}
	if (!status && source->formulas) {
		status = query_formulas_work_out(source, values, err);
		sort(values);
	}
	return status;
}

/* Keeps values for the next statement where there is room for them. */
static const struct query_values *keep(struct query_recording *source, uint32_t track,
				       struct query_values *own)
{
	uint32_t tracks = sonde_definitions_track_count(source->definitions);

	if (!source->kept)
		source->kept = calloc((size_t)tracks + 1, sizeof(*source->kept));
	if (!source->kept || track >= tracks || source->kept_values + own->count > KEPT_MOST)
		return own;
	source->kept_values += own->count;
	source->kept[track] = *own;
	*own = (struct query_values){ 0 };
	return &source->kept[track];
}

enum sonde_status query_values_get(struct query_recording *source, uint32_t track,
				   struct query_values *own, const struct query_values **values,
				   struct sonde_error *err)
{
	enum sonde_status status;

	*values = source->kept ? &source->kept[track] : NULL;
	if (*values && (*values)->items)
		return SONDE_OK;
	status = make(source, track, own, err);
	if (!status)
		*values = keep(source, track, own);
	return status;
}

void query_values_release(struct query_recording *source)
{
	uint32_t tracks = sonde_definitions_track_count(source->definitions);

	for (uint32_t i = 0; source->kept && i < tracks; i++)
		sonde_vec_release(&source->kept[i]);
	free(source->kept);
}

size_t query_values_find(const struct query_values *values, uint32_t context)
{
	size_t low = 0, high = values->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (values->items[middle].context < context)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}
