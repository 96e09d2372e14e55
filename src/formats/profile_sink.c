/* SPDX-License-Identifier: Apache-2.0 */
/* The sink of all profiles that are written as a whole; how they look is not known here. */
#include "formats/profile_sink.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/call_tree.h"
#include "model/formula.h"
#include "model/metric.h"

#define BATCH 1024

static const struct sonde_context only_root = {
	.parent = SONDE_NONE,
	.function = SONDE_NONE,
	.module = SONDE_NONE,
	.kind = SONDE_CONTEXT_ROOT,
	.end = 1,
};

static struct profile_sink *sink_of(struct sonde_sink *base)
{
	return (struct profile_sink *)base;
}

/* What no profile of these formats has a place for. */
static enum sonde_status count_lost(struct profile_sink *sink, struct sonde_error *err)
{
	uint64_t unfinished = 0;
	enum sonde_status status;

	for (uint32_t i = 0; i < sink->track_count; i++) {
		const struct sonde_track *track = sonde_definitions_track(sink->definitions, i);

		unfinished += track->unfinished;
	}
	status = sonde_loss_add(sink->loss, "attributes", "the target has no place for them",
				sonde_definitions_attribute_count(sink->definitions), err);
	if (!status)
		status = sonde_loss_add(sink->loss, "marks of unfinished tracks",
					"the target has no place for them", unfinished, err);
	return status;
}

static enum sonde_status begin(struct sonde_sink *base, const struct sonde_definitions *definitions,
			       struct sonde_error *err)
{
	struct profile_sink *sink = sink_of(base);
	enum sonde_status status;

	sink->definitions = definitions;
	sink->track_count = sonde_definitions_track_count(definitions);
	status = count_lost(sink, err);
	if (!status)
		status = sonde_output_open_unnamed(&sink->spool, err);
	if (!status)
		status = sonde_parts_new(&sink->spool, sink->track_count, &sink->parts, err);
	return status;
}

static enum sonde_status contexts(struct sonde_sink *base, const struct sonde_context *items,
				  uint32_t count, struct sonde_error *err)
{
	struct profile_sink *sink = sink_of(base);

	(void)err;
	if (!count)
		return SONDE_OK;
	sink->contexts = items;
	sink->context_count = count;
	return SONDE_OK;
}

static enum sonde_status take_metrics(struct profile_sink *sink, struct sonde_error *err)
{
	const struct sonde_definitions *definitions = sink->definitions;
	uint32_t count = sonde_definitions_metric_count(definitions);

	sink->metrics = calloc((size_t)count + 1, sizeof(*sink->metrics));
	sink->metric_numbers = malloc(((size_t)count + 1) * sizeof(*sink->metric_numbers));
	if (!sink->metrics || !sink->metric_numbers)
		return sonde_fail_nomem(err);
	sink->definition_count = count;
	for (uint32_t i = 0; i < count; i++) {
		const struct sonde_metric *metric = sonde_definitions_metric(definitions, i);
		struct profile_metric *own = &sink->metrics[sink->metric_count];

		sink->metric_numbers[i] = SONDE_NONE;
		if (!sonde_metric_is_point(definitions, metric))
			continue;
		sink->metric_numbers[i] = sink->metric_count++;
		own->name = sonde_definitions_string(definitions, metric->name);
		own->unit = sonde_definitions_string(definitions, metric->unit);
		own->description = sonde_definitions_string(definitions, metric->description);
		own->ns = sonde_metric_ns(own->name, own->unit);
		own->hidden = metric->hidden;
	}
	return SONDE_OK;
}

/* All metrics are there when the first value comes. */
static enum sonde_status need_metrics(struct profile_sink *sink, struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	pthread_mutex_lock(&sink->lock);
	if (!sink->metric_numbers)
		status = take_metrics(sink, err);
	pthread_mutex_unlock(&sink->lock);
	return status;
}

static enum sonde_status spool(struct profile_sink *sink, uint32_t track,
			       const struct profile_point *points, size_t count,
			       struct sonde_error *err)
{
	if (!count)
		return SONDE_OK;
	return sonde_parts_write(sink->parts, track, points, count * sizeof(*points), err);
}

static enum sonde_status values(struct sonde_sink *base, uint32_t track,
				const struct sonde_value *items, size_t count,
				struct sonde_error *err)
{
	struct profile_sink *sink = sink_of(base);
	struct profile_point points[BATCH];
	enum sonde_status status = need_metrics(sink, err);
	uint64_t not_numbers = 0;
	size_t used = 0;

	for (size_t i = 0; i < count && !status; i++) {
		const struct sonde_value *value = &items[i];

		if (track >= sink->track_count || value->context >= sink->context_count)
			return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
					  "a value of context %u of track %u, but there are "
					  "%u contexts and %u tracks",
					  value->context, track, sink->context_count,
					  sink->track_count);
		if (value->metric >= sink->definition_count ||
		    sink->metric_numbers[value->metric] == SONDE_NONE || value->value == 0)
			continue;
		if (!isfinite(value->value)) {
			not_numbers++;
			continue;
		}
		points[used++] = (struct profile_point){
			.context = value->context,
			.metric = sink->metric_numbers[value->metric],
			.value = value->value,
		};
		if (used < BATCH)
			continue;
		status = spool(sink, track, points, used, err);
		used = 0;
	}
	if (!status)
		status = spool(sink, track, points, used, err);
	pthread_mutex_lock(&sink->lock);
	sink->not_numbers += not_numbers;
	pthread_mutex_unlock(&sink->lock);
	return status;
}

static enum sonde_status track_end(struct sonde_sink *base, uint32_t track, struct sonde_error *err)
{
	return sonde_parts_end(sink_of(base)->parts, track, err);
}

static void sum_up(struct profile_sink *sink)
{
	const struct profile_point *points = (const struct profile_point *)sink->spooled.data;
	size_t count = sink->spooled.size / sizeof(*points);

	for (size_t i = 0; i < count; i++) {
		sink->metrics[points[i].metric].sum += points[i].value;
		sink->metrics[points[i].metric].count++;
	}
}

static enum sonde_status complete(struct sonde_sink *base, struct sonde_error *err)
{
	struct profile_sink *sink = sink_of(base);
	enum sonde_status status = need_metrics(sink, err);

	if (!status)
		status = sonde_output_map(&sink->spool, &sink->spooled, err);
	if (!status)
		status = sonde_loss_add(sink->loss, "values", "they are no finite numbers",
					sink->not_numbers, err);
	if (status)
		return status;
	sum_up(sink);
	return sink->write(sink, err);
}

static enum sonde_status finish(struct sonde_sink *base, struct sonde_error *err)
{
	return sonde_new_file_commit(&sink_of(base)->file, err);
}

static void sink_free(struct sonde_sink *base)
{
	struct profile_sink *sink = sink_of(base);

	sonde_output_release(&sink->spool);
	sonde_parts_free(sink->parts);
	sonde_mapped_file_release(&sink->spooled);
	sonde_new_file_release(&sink->file);
	pthread_mutex_destroy(&sink->lock);
	free(sink->metrics);
	free(sink->metric_numbers);
	free(sink->style);
	free(sink);
}

static const struct sonde_sink_ops sink_ops = {
	.lanes = SONDE_LANE_CONTEXTS | SONDE_LANE_VALUES,
	.parallel_tracks = true,
	.begin = begin,
	.contexts = contexts,
	.values = values,
	.track_end = track_end,
	.complete = complete,
	.finish = finish,
	.free = sink_free,
};

static enum sonde_status open_output(struct profile_sink *sink, const char *path,
				     const struct sonde_create_options *options,
				     struct sonde_error *err)
{
	enum sonde_status status = sonde_new_file_begin(&sink->file, path, options->replace, err);

	if (!status && options->style) {
		sink->style = strdup(options->style);
		status = sink->style ? SONDE_OK : sonde_fail_nomem(err);
	}
	return status;
}

enum sonde_status profile_sink_create(const char *path, const struct sonde_create_options *options,
				      enum sonde_status (*write)(struct profile_sink *sink,
								 struct sonde_error *err),
				      struct sonde_sink **sink, struct sonde_error *err)
{
	struct profile_sink *made = calloc(1, sizeof(*made));
	enum sonde_status status;

	if (!made)
		return sonde_fail_nomem(err);
	made->base.ops = &sink_ops;
	made->write = write;
	made->loss = options->loss;
	made->contexts = &only_root;
	made->context_count = 1;
	made->spool.fd = -1;
	if (pthread_mutex_init(&made->lock, NULL)) {
		free(made);
		return sonde_fail_nomem(err);
	}
	status = open_output(made, path, options, err);
	if (status) {
		sink_free(&made->base);
		return status;
	}
	*sink = &made->base;
	return SONDE_OK;
}

enum sonde_status profile_sink_flush(struct profile_sink *sink, struct sonde_buffer *text,
				     size_t enough, struct sonde_error *err)
{
	enum sonde_status status;

	if (text->failed)
		return sonde_fail_nomem(err);
	if (text->size < enough || !text->size)
		return SONDE_OK;
	status = sonde_output_write(&sink->file.output, text->data, text->size, err);
	sonde_buffer_clear(text);
	return status;
}

const struct profile_point *profile_sink_points(const struct profile_sink *sink, uint32_t track,
						size_t *count)
{
	uint64_t start = sonde_parts_offset(sink->parts, track);
	uint64_t end = track + 1 < sink->track_count ? sonde_parts_offset(sink->parts, track + 1) :
						       sink->spooled.size;

	*count = (end - start) / sizeof(struct profile_point);
	if (!*count)
		return NULL; /* without any value nothing is spooled */
	return (const struct profile_point *)(sink->spooled.data + start);
}

double *profile_sink_sums(const struct profile_sink *sink, uint32_t track, uint32_t metric,
			  struct sonde_error *err)
{
	const struct profile_point *points = (const struct profile_point *)sink->spooled.data;
	size_t count = sink->spooled.size / sizeof(*points);
	double *sums = calloc((size_t)sink->context_count + 1, sizeof(*sums));

	if (!sums) {
		sonde_fail_nomem(err);
		return NULL;
	}
	if (track != SONDE_NONE)
		points = profile_sink_points(sink, track, &count);
	for (size_t i = 0; i < count; i++) {
		if (points[i].metric == metric)
			sums[points[i].context] += points[i].value;
	}
	return sums;
}

/* Whether the source itself says what all tracks have of it, and so which time is the largest. */
static bool has_known_sum(const struct profile_sink *sink, const struct profile_metric *metric)
{
	const struct sonde_definitions *definitions = sink->definitions;

	for (uint32_t i = 0; i < sink->definition_count; i++) {
		const struct sonde_metric *other = sonde_definitions_metric(definitions, i);

		if (!strcmp(sonde_definitions_string(definitions, other->name), metric->name) &&
		    !strcmp(sonde_definitions_string(definitions, other->scope), "execution") &&
		    !strcmp(sonde_definitions_string(definitions, other->statistic), "sum"))
			return true;
	}
	return false;
}

/* Of times that are not hidden the largest, else the first: as report and flame choose. */
static uint32_t first_metric(const struct profile_sink *sink)
{
	uint32_t found = sink->metric_count ? 0 : SONDE_NONE;
	double most = -1;

	for (uint32_t i = 0; i < sink->metric_count; i++) {
		const struct profile_metric *metric = &sink->metrics[i];
		double rank = sonde_metric_rank(metric->ns,
						has_known_sum(sink, metric) ? metric->sum : 1);

		if (!metric->hidden && rank > most) {
			most = rank;
			found = i;
		}
	}
	return found;
}

static uint32_t find_metric(const struct profile_sink *sink, const char *name, size_t length)
{
	uint32_t found = SONDE_NONE;
	unsigned int best = 0;

	for (uint32_t i = 0; i < sink->metric_count; i++) {
		unsigned int closeness =
			sonde_metric_name_closeness(sink->metrics[i].name, name, length);

		if (closeness <= best)
			continue;
		best = closeness;
		found = i;
	}
	return found;
}

uint32_t profile_sink_calls(const struct profile_sink *sink)
{
	for (uint32_t i = 0; i < sink->metric_count; i++) {
		if (!strcmp(sink->metrics[i].name, SONDE_METRIC_CALLS))
			return i;
	}
	return SONDE_NONE;
}

static enum sonde_status refuse_metric(const struct profile_sink *sink, const char *name,
				       size_t length, struct sonde_error *err)
{
	struct sonde_buffer names = { 0 };
	enum sonde_status status;

	for (uint32_t i = 0; i < sink->metric_count && names.size < 300; i++)
		sonde_buffer_put_format(&names, "%s%s", i ? ", " : "", sink->metrics[i].name);
	status = sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
			    "there is no metric '%.*s'; there are: %s",
			    (int)(length < 60 ? length : 60), name,
			    names.size && sonde_buffer_text(&names) ? names.data : "none");
	sonde_buffer_release(&names);
	return status;
}

enum sonde_status profile_sink_choose(const struct profile_sink *sink, uint32_t *metric,
				      struct sonde_error *err)
{
	size_t length;
	const char *name = sonde_format_style_value(sink->style, "metric=", &length);

	*metric = first_metric(sink);
	if (*metric == SONDE_NONE)
		return SONDE_OK; /* there is nothing at all: an empty profile has that metric too */
	if (!name && sonde_format_has_style(sink->style, "calls")) {
		name = SONDE_METRIC_CALLS;
		length = strlen(name);
	}
	if (!name)
		return SONDE_OK;
	*metric = find_metric(sink, name, length);
	return *metric == SONDE_NONE ? refuse_metric(sink, name, length, err) : SONDE_OK;
}
