/* SPDX-License-Identifier: Apache-2.0 */
/* Samples as values, for targets that hold sums only: how long a track stayed in each context, as reports count it. */
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/sort.h"
#include "base/vec.h"
#include "model/call_tree.h"
#include "model/derive.h"
#include "model/remap.h"

#define NS_PER_SECOND 1e9
#define SAMPLES_NAME "SAMPLES"
#define SAMPLES_TEXT "how often it was met by a sample"
#define TIME_TEXT "time from a sample to the next"

struct stay {
	uint32_t context;
	uint64_t ns, samples;
};

struct sonde_sample_sums {
	struct sonde_key_map places; /* by context, in `stays` */
	SONDE_VEC(struct stay) stays;
	bool is_set; /* of what follows: where it is at the moment, and since when */
	uint32_t place;
	uint64_t from_ns;
};

static enum sonde_status add_metric(struct sonde_definitions *target, const char *name,
				    const char *description, uint32_t *id, struct sonde_error *err)
{
	struct sonde_metric metric = { 0 };
	enum sonde_status status =
		sonde_definitions_add_string(target, name, strlen(name), &metric.name, err);

	if (!status)
		status = sonde_definitions_add_string(target, description, strlen(description),
						      &metric.description, err);
	if (!status)
		status = sonde_definitions_add_string(target, "point", 5, &metric.scope, err);
	return status ? status : sonde_unite_metric(target, &metric, id, err);
}

enum sonde_status sonde_sample_metrics_init(struct sonde_sample_metrics *metrics,
					    struct sonde_definitions *target,
					    struct sonde_error *err)
{
	enum sonde_status status =
		add_metric(target, SONDE_METRIC_TIME, TIME_TEXT, &metrics->time, err);

	return status ? status :
			add_metric(target, SAMPLES_NAME, SAMPLES_TEXT, &metrics->samples, err);
}

struct sonde_sample_sums *sonde_sample_sums_new(void)
{
	return calloc(1, sizeof(struct sonde_sample_sums));
}

void sonde_sample_sums_free(struct sonde_sample_sums *sums)
{
	if (!sums)
		return;
	sonde_key_map_release(&sums->places);
	sonde_vec_release(&sums->stays);
	free(sums);
}

static uint32_t find_place(struct sonde_sample_sums *sums, uint32_t context)
{
	uint32_t place = sonde_key_map_find(&sums->places, context);
	struct stay *stay;

	if (place != SONDE_NONE)
		return place;
	place = (uint32_t)sums->stays.count;
	stay = sonde_vec_push(&sums->stays);
	if (!stay || !sonde_key_map_add(&sums->places, context, place))
		return SONDE_NONE;
	*stay = (struct stay){ .context = context };
	return place;
}

bool sonde_sample_sums_add(struct sonde_sample_sums *sums, uint64_t time_ns, uint32_t context)
{
	/* what goes back in time is of no length */
	if (sums->is_set && time_ns < sums->from_ns)
		return true;
	if (sums->is_set)
		sums->stays.items[sums->place].ns += time_ns - sums->from_ns;
	sums->place = find_place(sums, context);
	sums->is_set = sums->place != SONDE_NONE;
	sums->from_ns = time_ns;
	if (sums->is_set)
		sums->stays.items[sums->place].samples++;
	return sums->is_set;
}

/* The values of one context; none of the root, in which a track does not run. */
static size_t values_of(const struct stay *stay, const struct sonde_sample_metrics *metrics,
			uint32_t track, struct sonde_value *values)
{
	const struct sonde_value value = { .track = track, .context = stay->context };
	size_t time = metrics->samples < metrics->time ? 1 : 0, count = 0;

	if (!stay->context)
		return 0;
	values[0] = values[1] = value;
	values[time].metric = metrics->time;
	values[time].value = (double)stay->ns / NS_PER_SECOND;
	values[1 - time].metric = metrics->samples;
	values[1 - time].value = (double)stay->samples;
	for (size_t i = 0; i < 2; i++) {
		if (values[i].value > 0)
			values[count++] = values[i];
	}
	return count;
}

enum sonde_status sonde_sample_sums_feed(struct sonde_sample_sums *sums,
					 const struct sonde_sample_metrics *metrics, uint32_t track,
					 struct sonde_sink *next, struct sonde_error *err)
{
	size_t count = sums->stays.count;
	struct sonde_sort_item *order = calloc(count + 1, sizeof(*order));
	enum sonde_status status = SONDE_OK;

	if (!order)
		return sonde_fail_nomem(err);
	for (size_t i = 0; i < count; i++)
		order[i] = (struct sonde_sort_item){ .key = sums->stays.items[i].context,
						     .number = i };
	if (!sonde_sort(order, count))
		status = sonde_fail_nomem(err);
	for (size_t i = 0; i < count && !status; i++) {
		struct sonde_value values[2];
		size_t some =
			values_of(&sums->stays.items[order[i].number], metrics, track, values);

		if (some)
			status = next->ops->values(next, track, values, some, err);
	}
	free(order);
	return status;
}
