/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tree of contexts of a profile: its own contexts, with the sums of what tracks have there. Values of scope
 * "point" are what was spent in a context alone; all else follows from those. Where a time is selected, or
 * there are no values, the time from each sample to the next is the value.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/cct_private.h"
#include "base/pool.h"
#include "base/sort.h"
#include "base/vec.h"
#include "model/call_tree.h"
#include "model/filters.h"
#include "model/metric.h"
#include "model/recording.h"

#define NS_PER_SECOND 1e9

enum { METRIC_TIME, METRIC_SAMPLES };

struct point {
	uint32_t context, metric; /* of the tree */
	double value;
};

/* Sums of one metric over a part of the tree; what is 0 was not touched. */
struct totals {
	double *values;
	bool *is_touched;
	SONDE_VEC(uint32_t) touched;
};

struct work {
	struct sonde_recording *recording;
	const struct sonde_selection_spec *spec;
	const struct cct_options *options;
	struct cct_body *body;
	struct sonde_meter meter;
	bool *wanted;	       /* by track */
	uint32_t *contexts;    /* by context of the recording: that of the tree */
	uint32_t source_count; /* of those */
	uint32_t *metrics;     /* by metric of the recording: that of the tree, SONDE_NONE: none */
	uint32_t metric_count; /* of the recording */
	SONDE_VEC(struct point) points;
	struct totals contexts_of_track, functions_of_track;
	struct totals contexts_of_process, functions_of_process;
	uint64_t *sample_ns; /* by context of the tree */
	uint32_t *sample_counts;
};

static bool totals_init(struct totals *totals, uint32_t count)
{
	totals->values = calloc((size_t)count + 1, sizeof(*totals->values));
	totals->is_touched = calloc((size_t)count + 1, sizeof(*totals->is_touched));
	return totals->values && totals->is_touched;
}

static void totals_release(struct totals *totals)
{
	free(totals->values);
	free(totals->is_touched);
	sonde_vec_release(&totals->touched);
}

static bool totals_add(struct totals *totals, uint32_t number, double value)
{
	if (!totals->is_touched[number]) {
		uint32_t *touched = sonde_vec_push(&totals->touched);

		if (!touched)
			return false;
		*touched = number;
		totals->is_touched[number] = true;
	}
	totals->values[number] += value;
	return true;
}

/* Into the spreads, and into the totals of what the place belongs to (or NULL); it is empty then. */
static bool totals_spread(struct totals *totals, struct cct_spread *spreads, uint32_t place,
			  struct totals *more)
{
	bool happened = true;

	for (size_t i = 0; i < totals->touched.count; i++) {
		uint32_t number = totals->touched.items[i];
		double value = totals->values[number];

		cct_spread_add(&spreads[number], place, value);
		happened = happened && (!more || totals_add(more, number, value));
		totals->values[number] = 0;
		totals->is_touched[number] = false;
	}
	totals->touched.count = 0;
	return happened;
}

/* Adds the contexts of the recording; the map leads to nodes of the union first, then to contexts. */
static enum sonde_status unite_contexts(struct work *work, struct sonde_context_union *tree,
					struct sonde_error *err)
{
	const struct sonde_context *contexts = NULL;
	enum sonde_status status =
		sonde_recording_contexts(work->recording, &contexts, &work->source_count, err);

	if (status)
		return status;
	work->contexts = calloc((size_t)work->source_count + 1, sizeof(*work->contexts));
	if (!work->contexts)
		return sonde_fail_nomem(err);
	for (uint32_t i = 1; !status && i < work->source_count; i++)
		status = sonde_context_union_add(tree, work->contexts[contexts[i].parent],
						 &contexts[i], &work->contexts[i], err);
	if (!status)
		status = sonde_context_union_finish(tree, err);
	for (uint32_t i = 0; !status && i < work->source_count; i++)
		work->contexts[i] = sonde_context_union_number(tree, work->contexts[i]);
	return status;
}

/* The contexts of the recording, where functions and modules that say the same are one. */
static enum sonde_status take_contexts(struct work *work, struct sonde_error *err)
{
	struct sonde_context_union *tree =
		sonde_context_union_new(work->recording->definitions, true);
	struct cct_define define;
	enum sonde_status status;

	if (!tree)
		return sonde_fail_nomem(err);
	status = unite_contexts(work, tree, err);
	if (!status)
		status = cct_define_init(&define, work->recording->definitions,
					 work->body->definitions, err);
	if (!status) {
		status = cct_define_contexts(&define, tree, work->body, err);
		cct_define_release(&define);
	}
	sonde_context_union_free(tree);
	return status ? status : cct_body_add_recursion(work->body, err);
}

/* What all tracks have of a metric, where the recording says that at once; 1 where it does not. */
static double known_sum(struct sonde_recording *recording, const struct sonde_metric *point)
{
	const struct sonde_definitions *definitions = recording->definitions;
	uint32_t count = sonde_definitions_metric_count(definitions);

	for (uint32_t i = 0; i < count && recording->ops->value; i++) {
		const struct sonde_metric *metric = sonde_definitions_metric(definitions, i);
		double value = 0;

		if (metric->name != point->name ||
		    strcmp(sonde_definitions_string(definitions, metric->scope), "execution") !=
			    0 ||
		    strcmp(sonde_definitions_string(definitions, metric->statistic), "sum") != 0)
			continue;
		sonde_recording_value(recording, SONDE_NONE, 0, i, &value, NULL);
		return value;
	}
	return 1;
}

/* The one to show where nobody says which: of times that are not hidden the largest, else the first. */
static uint32_t first_metric(struct sonde_recording *recording)
{
	const struct sonde_definitions *definitions = recording->definitions;
	uint32_t count = sonde_definitions_metric_count(definitions), found = SONDE_NONE;
	double most = -1;

	for (uint32_t i = 0; i < count; i++) {
		const struct sonde_metric *metric = sonde_definitions_metric(definitions, i);
		double ns, rank;

		if (!sonde_metric_is_point(definitions, metric) || metric->hidden)
			continue;
		ns = sonde_metric_ns(sonde_definitions_string(definitions, metric->name),
				     sonde_definitions_string(definitions, metric->unit));
		rank = sonde_metric_rank(ns, ns > 0 ? known_sum(recording, metric) : 0);
		if (rank > most) {
			most = rank;
			found = i;
		}
	}
	return found;
}

static enum sonde_status take_metric(struct work *work, uint32_t number, struct sonde_error *err)
{
	const struct sonde_definitions *definitions = work->recording->definitions;
	const struct sonde_metric *metric = sonde_definitions_metric(definitions, number);
	struct cct_metric *added;
	enum sonde_status status;

	if (!metric || !sonde_metric_is_point(definitions, metric) ||
	    work->metrics[number] != SONDE_NONE)
		return SONDE_OK;
	work->metrics[number] = work->body->cct.metric_count;
	status = cct_add_metric(
		&work->body->cct, sonde_definitions_string(definitions, metric->name),
		sonde_definitions_string(definitions, metric->description), &added, err);
	if (status)
		return status;
	added->hidden = metric->hidden;
	added->ns =
		sonde_metric_ns(added->name, sonde_definitions_string(definitions, metric->unit));
	return SONDE_OK;
}

static enum sonde_status take_metrics(struct work *work, struct sonde_error *err)
{
	const struct sonde_definitions *definitions = work->recording->definitions;
	uint32_t first = first_metric(work->recording);
	enum sonde_status status = SONDE_OK;

	work->metric_count = sonde_definitions_metric_count(definitions);
	work->metrics = malloc(((size_t)work->metric_count + 1) * sizeof(*work->metrics));
	if (!work->metrics)
		return sonde_fail_nomem(err);
	memset(work->metrics, 0xff, work->metric_count * sizeof(*work->metrics));
	if (first != SONDE_NONE)
		status = take_metric(work, first, err);
	for (uint32_t i = 0; !status && i < work->metric_count; i++)
		status = take_metric(work, i, err);
	return status;
}

static enum sonde_status name_sample_metrics(struct work *work, struct sonde_error *err)
{
	struct cct *cct = &work->body->cct;
	struct cct_metric *added;
	enum sonde_status status = cct_add_metric(cct, SONDE_METRIC_TIME,
						  "time from a sample to the next", &added, err);

	if (status)
		return status;
	added->ns = NS_PER_SECOND;
	return cct_add_metric(cct, "SAMPLES", "how often it was met by a sample", &added, err);
}

/* All points of a track, in the order of the recording. */
static enum sonde_status read_values(struct work *work, uint32_t track, struct sonde_error *err)
{
	struct sonde_value_cursor *cursor = NULL;
	const struct sonde_value *values;
	size_t count;
	enum sonde_status status = sonde_value_cursor_open(work->recording, track, &cursor, err);

	while (!status && !(status = sonde_value_cursor_next(cursor, &values, &count, err))) {
		for (size_t i = 0; i < count; i++) {
			struct point *point;

			if (values[i].metric >= work->metric_count ||
			    values[i].context >= work->source_count ||
			    work->metrics[values[i].metric] == SONDE_NONE)
				continue;
			point = sonde_vec_push(&work->points);
			if (!point) {
				sonde_value_cursor_free(cursor);
				return sonde_fail_nomem(err);
			}
			*point = (struct point){
				.context = work->contexts[values[i].context],
				.metric = work->metrics[values[i].metric],
				.value = values[i].value,
			};
		}
		status = sonde_meter_add(&work->meter, count, err);
	}
	sonde_value_cursor_free(cursor);
	return status == SONDE_END ? SONDE_OK : status;
}

/* A track as its samples are read, and where it stays at the moment. */
struct stay {
	struct cct_track *track;
	bool has_times; /* of the track: they are set */
	bool is_set;
	uint32_t context; /* of the tree */
	uint64_t from_ns;
};

static void note_time(struct stay *stay, uint64_t time_ns)
{
	struct cct_track *track = stay->track;

	if (!stay->has_times || time_ns < track->first_ns)
		track->first_ns = time_ns;
	if (!stay->has_times || time_ns > track->last_ns)
		track->last_ns = time_ns;
	stay->has_times = true;
}

/* It is over, and counts as far as it is selected. */
static void end_stay(struct work *work, struct stay *stay, uint64_t time_ns)
{
	uint64_t from_ns = stay->from_ns, to_ns = time_ns;

	if (from_ns < work->spec->from_ns)
		from_ns = work->spec->from_ns;
	if (work->spec->to_ns && to_ns > work->spec->to_ns)
		to_ns = work->spec->to_ns;
	if (!stay->is_set || to_ns <= from_ns)
		return;
	note_time(stay, from_ns);
	note_time(stay, to_ns);
	if (!stay->context)
		return;
	work->sample_ns[stay->context] += to_ns - from_ns;
	stay->track->busy_ns += to_ns - from_ns;
}

static bool is_selected(const struct work *work, uint64_t time_ns)
{
	return time_ns >= work->spec->from_ns &&
	       (!work->spec->to_ns || time_ns < work->spec->to_ns);
}

static void take_sample(struct work *work, struct stay *stay, const struct sonde_sample *sample)
{
	/* what goes back in time is of no length */
	if (stay->is_set && sample->time_ns < stay->from_ns)
		return;
	end_stay(work, stay, sample->time_ns);
	stay->is_set = true;
	stay->context = sample->context < work->source_count ? work->contexts[sample->context] : 0;
	stay->from_ns = sample->time_ns;
	if (!is_selected(work, sample->time_ns))
		return;
	note_time(stay, sample->time_ns);
	stay->track->sample_count++;
	work->sample_counts[stay->context] += stay->context != 0;
}

static enum sonde_status read_samples(struct work *work, uint32_t track, struct sonde_error *err)
{
	struct stay stay = { .track = &work->body->tracks[track] };
	struct sonde_sample_cursor *cursor = NULL;
	const struct sonde_sample *samples;
	size_t count;
	enum sonde_status status = sonde_sample_cursor_open(work->recording, track, &cursor, err);

	while (!status && !(status = sonde_sample_cursor_next(cursor, &samples, &count, err))) {
		for (size_t i = 0; i < count; i++)
			take_sample(work, &stay, &samples[i]);
		status = sonde_meter_add(&work->meter, count, err);
	}
	sonde_sample_cursor_free(cursor);
	return status == SONDE_END ? SONDE_OK : status;
}

/* What the samples of a track came to, as points. */
static bool take_sample_points(struct work *work, bool are_wanted)
{
	for (uint32_t i = 1; i < work->body->context_count; i++) {
		double values[] = { (double)work->sample_ns[i] / NS_PER_SECOND,
				    work->sample_counts[i] };

		work->sample_ns[i] = 0;
		work->sample_counts[i] = 0;
		for (uint32_t metric = 0; are_wanted && metric < 2; metric++) {
			struct point *point;

			if (!(values[metric] > 0))
				continue;
			point = sonde_vec_push(&work->points);
			if (!point)
				return false;
			*point = (struct point){ i, metric, values[metric] };
		}
	}
	return true;
}

static void add_points(struct work *work, uint32_t track)
{
	struct cct_metric *metrics = work->body->cct.metrics;

	for (size_t i = 0; i < work->points.count; i++) {
		const struct point *point = &work->points.items[i];

		metrics[point->metric].self[point->context] += point->value;
		work->body->tracks[track].totals[point->metric] += point->value;
	}
}

/* A point and all above it. */
static bool touch(struct totals *totals, const struct sonde_context *contexts, uint32_t context,
		  double value)
{
	if (!totals_add(totals, context, value))
		return false;
	while (context && !totals->is_touched[contexts[context].parent]) {
		context = contexts[context].parent;
		if (!totals_add(totals, context, 0))
			return false;
	}
	return true;
}

static bool sort_numbers(uint32_t *numbers, size_t count)
{
	struct sonde_sort_item *items = calloc(count + 1, sizeof(*items));
	bool happened = items;

	for (size_t i = 0; items && i < count; i++)
		items[i].key = numbers[i];
	happened = happened && sonde_sort(items, count);
	for (size_t i = 0; happened && i < count; i++)
		numbers[i] = (uint32_t)items[i].key;
	free(items);
	return happened;
}

/* What a track has of one metric in each context and below, and in each function. */
static bool total_track(struct work *work, uint32_t metric)
{
	const struct cct_body *body = work->body;
	const struct sonde_context *contexts = body->contexts;
	struct totals *totals = &work->contexts_of_track;

	for (size_t i = 0; i < work->points.count; i++) {
		const struct point *point = &work->points.items[i];

		if (point->metric == metric &&
		    !touch(totals, contexts, point->context, point->value))
			return false;
	}
	if (!sort_numbers(totals->touched.items, totals->touched.count))
		return false;
	for (size_t i = totals->touched.count; i-- > 0;) {
		uint32_t context = totals->touched.items[i], function = contexts[context].function;

		if (context)
			totals->values[contexts[context].parent] += totals->values[context];
		if (function != SONDE_NONE && !body->recursive[context] &&
		    !totals_add(&work->functions_of_track, function, totals->values[context]))
			return false;
	}
	return true;
}

static bool spread_track(struct work *work, uint32_t track)
{
	struct cct_body *body = work->body;

	if (!body->context_spread)
		return true;
	return total_track(work, body->cct.spread_metric) &&
	       totals_spread(&work->contexts_of_track, body->context_spread, track,
			     &work->contexts_of_process) &&
	       totals_spread(&work->functions_of_track, body->function_spread, track,
			     &work->functions_of_process);
}

static bool spread_process(struct work *work, uint32_t process)
{
	struct cct_body *body = work->body;

	if (!body->context_spread)
		return true;
	return totals_spread(&work->contexts_of_process, body->context_process_spread, process,
			     NULL) &&
	       totals_spread(&work->functions_of_process, body->function_process_spread, process,
			     NULL);
}

static enum sonde_status do_track(struct work *work, uint32_t track, bool from_samples,
				  struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	work->points.count = 0;
	if (work->recording->lanes & SONDE_LANE_SAMPLES) {
		status = read_samples(work, track, err);
		if (!status && !take_sample_points(work, from_samples))
			status = sonde_fail_nomem(err);
	}
	if (!status && !from_samples)
		status = read_values(work, track, err);
	if (status)
		return status;
	add_points(work, track);
	return spread_track(work, track) ? SONDE_OK : sonde_fail_nomem(err);
}

/* Tracks in the order of their processes. */
static enum sonde_status do_tracks(struct work *work, bool from_samples, struct sonde_error *err)
{
	const struct sonde_definitions *definitions = work->recording->definitions;
	uint32_t count = sonde_definitions_track_count(definitions);
	struct sonde_sort_item *order = calloc((size_t)count + 1, sizeof(*order));
	enum sonde_status status = SONDE_OK;

	if (!order)
		return sonde_fail_nomem(err);
	for (uint32_t i = 0; i < count; i++)
		order[i] = (struct sonde_sort_item){
			.key = sonde_definitions_track(definitions, i)->process, .number = i
		};
	if (!sonde_sort(order, count))
		status = sonde_fail_nomem(err);
	for (uint32_t i = 0; !status && i < count; i++) {
		uint32_t track = (uint32_t)order[i].number;

		if (work->wanted[track])
			status = do_track(work, track, from_samples, err);
		if (!status && (i + 1 == count || order[i + 1].key != order[i].key) &&
		    !spread_process(work, (uint32_t)order[i].key))
			status = sonde_fail_nomem(err);
	}
	free(order);
	return status;
}

static enum sonde_status make_spreads(struct work *work, struct sonde_error *err)
{
	struct cct_body *body = work->body;
	size_t contexts = (size_t)body->context_count + 1;
	uint32_t count = sonde_definitions_function_count(body->definitions);
	uint32_t metric =
		work->options->metric ? cct_find_metric(&body->cct, work->options->metric) : 0;

	if (!work->options->spread || !body->cct.metric_count)
		return SONDE_OK;
	body->cct.spread_metric = metric == SONDE_NONE ? 0 : metric;
	body->context_spread = calloc(contexts, sizeof(struct cct_spread));
	body->context_process_spread = calloc(contexts, sizeof(struct cct_spread));
	body->function_spread = calloc((size_t)count + 1, sizeof(struct cct_spread));
	body->function_process_spread = calloc((size_t)count + 1, sizeof(struct cct_spread));
	if (body->context_spread && body->context_process_spread && body->function_spread &&
	    body->function_process_spread &&
	    totals_init(&work->contexts_of_track, body->context_count) &&
	    totals_init(&work->contexts_of_process, body->context_count) &&
	    totals_init(&work->functions_of_track, count) &&
	    totals_init(&work->functions_of_process, count))
		return SONDE_OK;
	return sonde_fail_nomem(err);
}

static void count_work(struct work *work, bool from_samples)
{
	const struct sonde_definitions *definitions = work->recording->definitions;
	uint32_t count = sonde_definitions_track_count(definitions);
	uint64_t values = 0;

	if (!from_samples && work->recording->ops->value_count)
		values = work->recording->ops->value_count(work->recording);
	work->meter.total = values;
	for (uint32_t i = 0; i < count; i++) {
		const struct sonde_track *track = sonde_definitions_track(definitions, i);

		work->meter.total += work->wanted[i] ? track->sample_count : 0;
		work->body->tracks[i].dropped_events = track->dropped_events;
	}
}

static void work_release(struct work *work)
{
	totals_release(&work->contexts_of_track);
	totals_release(&work->functions_of_track);
	totals_release(&work->contexts_of_process);
	totals_release(&work->functions_of_process);
	sonde_vec_release(&work->points);
	free(work->sample_ns);
	free(work->sample_counts);
	free(work->wanted);
	free(work->contexts);
	free(work->metrics);
}

static enum sonde_status build(struct work *work, bool from_samples, struct sonde_error *err)
{
	struct cct_body *body = work->body;
	enum sonde_status status;

	status = cct_copy_places(work->recording->definitions, body->definitions, err);
	if (!status)
		status = cct_body_add_tracks(body, err);
	if (!status)
		status = take_contexts(work, err);
	if (!status)
		status = from_samples ? name_sample_metrics(work, err) : take_metrics(work, err);
	if (!status)
		status = make_spreads(work, err);
	if (status)
		return status;
	work->sample_ns = calloc((size_t)body->context_count + 1, sizeof(*work->sample_ns));
	work->sample_counts = calloc((size_t)body->context_count + 1, sizeof(*work->sample_counts));
	if (!work->sample_ns || !work->sample_counts)
		return sonde_fail_nomem(err);
	count_work(work, from_samples);
	status = do_tracks(work, from_samples, err);
	for (uint32_t i = 0; !status && i < body->cct.metric_count; i++)
		cct_sum_up(&body->cct, &body->cct.metrics[i]);
	return status;
}

enum sonde_status cct_build_profile(struct cct_body *body, struct sonde_recording *recording,
				    const struct cct_options *options, struct sonde_error *err)
{
	const struct sonde_selection_spec *spec = options->selection;
	bool from_samples = !(recording->lanes & SONDE_LANE_VALUES) || sonde_cut_is_needed(spec);
	struct work work = {
		.recording = recording,
		.spec = spec,
		.options = options,
		.body = body,
		.meter.progress = options->progress,
	};
	enum sonde_status status =
		cct_wanted_tracks(recording->definitions, spec, &work.wanted, err);

	if (!status)
		status = build(&work, from_samples, err);
	work_release(&work);
	return status;
}
