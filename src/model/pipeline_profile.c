/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contexts, values and samples in a pipeline: what becomes of these lanes, the tree of the target
 * (one source's, or the union of several and of what is derived from calls), and the samples and
 * values that are carried over as they are.
 */
#include <stdlib.h>
#include <string.h>

#include "base/sort.h"
#include "model/pipeline_private.h"
#include "model/time_map.h"

#define BATCH 1024

static bool has(const struct source *source, enum sonde_lane lane)
{
	return source->recording->lanes & lane;
}

/* Which metrics are measured in a context itself; all else follows from those. */
static enum sonde_status find_points(struct source *source, struct sonde_error *err)
{
	const struct sonde_definitions *definitions = source->recording->definitions;

	source->metric_count = sonde_definitions_metric_count(definitions);
	source->is_point = calloc((size_t)source->metric_count + 1, sizeof(*source->is_point));
	if (!source->is_point)
		return sonde_fail_nomem(err);
	for (uint32_t i = 0; i < source->metric_count; i++) {
		const struct sonde_metric *metric = sonde_definitions_metric(definitions, i);
		const char *scope = sonde_definitions_string(definitions, metric->scope);

		source->is_point[i] = !metric->statistic && (!*scope || !strcmp(scope, "point"));
	}
	return SONDE_OK;
}

static enum sonde_status refuse_selection(const struct source *source, struct sonde_error *err)
{
	return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
			  "functions, kinds and depths select events, but what is to be carried "
			  "over from %s are samples and values; select by track or time",
			  sonde_recording_path(source->recording));
}

/*
 * A profile without samples says how long, and not when: calls made of it would have times that
 * somebody made up. Where the target holds nothing else there is nothing to be written.
 */
static enum sonde_status refuse_values(struct source *source, struct sonde_error *err)
{
	uint64_t count = 0;
	enum sonde_status status = sonde_recording_value_count(source->recording, &count, err);

	if (status || !count)
		return status;
	return sonde_fail(err, SONDE_UNSUPPORTED, SONDE_NO_OFFSET,
			  "%s has values of calling contexts and neither events nor samples: it "
			  "says how long, but not when, and the target holds events only",
			  sonde_recording_path(source->recording));
}

static bool has_only_values(const struct source *source)
{
	return has(source, SONDE_LANE_VALUES) && !has(source, SONDE_LANE_EVENTS) &&
	       !has(source, SONDE_LANE_SAMPLES);
}

static enum sonde_status plan_source(struct run *run, struct source *source,
				     struct sonde_error *err)
{
	bool has_tree = has(source, SONDE_LANE_CONTEXTS);
	bool holds_tree = sonde_run_holds(run, SONDE_LANE_CONTEXTS);

	source->passes_contexts = has_tree && holds_tree;
	source->passes_samples = source->passes_contexts && has(source, SONDE_LANE_SAMPLES) &&
				 sonde_run_holds(run, SONDE_LANE_SAMPLES);
	source->passes_values = source->passes_contexts && has(source, SONDE_LANE_VALUES) &&
				sonde_run_holds(run, SONDE_LANE_VALUES);
	source->derives_profile = has(source, SONDE_LANE_EVENTS) && !has_tree && holds_tree &&
				  !sonde_run_holds(run, SONDE_LANE_EVENTS);
	if (sonde_select_is_needed(&run->spec) &&
	    (source->passes_samples || source->passes_values ||
	     (source->passes_contexts && has(source, SONDE_LANE_SAMPLES))))
		return refuse_selection(source, err);
	source->derives_values = source->passes_contexts && has(source, SONDE_LANE_SAMPLES) &&
				 sonde_run_holds(run, SONDE_LANE_VALUES) &&
				 !sonde_run_holds(run, SONDE_LANE_SAMPLES) &&
				 !sonde_run_holds(run, SONDE_LANE_EVENTS) &&
				 (!source->passes_values || sonde_run_cuts(run));
	if (source->passes_values && sonde_run_cuts(run)) {
		source->passes_values = false;
		return sonde_loss_add(
			run->loss, "values", "they are sums over the whole time and cannot be cut",
			sonde_run_count_lane(source->recording, SONDE_LANE_VALUES), err);
	}
	if (source->passes_values)
		return find_points(source, err);
	if (has_only_values(source) && sonde_run_holds(run, SONDE_LANE_EVENTS))
		return refuse_values(source, err);
	if (!source->passes_samples && has(source, SONDE_LANE_SAMPLES) &&
	    !has(source, SONDE_LANE_EVENTS) && sonde_run_holds(run, SONDE_LANE_EVENTS))
		return sonde_derived_events_new(source->recording, &source->derived, err);
	return SONDE_OK;
}

enum sonde_status sonde_run_plan(struct run *run, struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	for (size_t i = 0; !status && i < run->source_count; i++)
		status = plan_source(run, &run->sources[i], err);
	return status;
}

void sonde_run_release_profile(struct run *run)
{
	for (size_t i = 0; i < run->source_count; i++) {
		sonde_derived_events_free(run->sources[i].derived);
		free(run->sources[i].context_map);
		free(run->sources[i].is_point);
	}
	sonde_derived_profile_release(&run->derived_profile);
	sonde_context_union_free(run->tree);
	free(run->own_contexts);
}

/* A context of a source with ids of the target. */
static enum sonde_status translate(const struct source *source, struct sonde_context *context,
				   struct sonde_error *err)
{
	const struct sonde_function_map map = { .remap = source->remap, .process = SONDE_NONE };
	enum sonde_status status = SONDE_OK;

	if (!source->remap)
		return SONDE_OK;
	if (context->function != SONDE_NONE)
		status = sonde_function_map_get(&map, context->function, &context->function, err);
	if (!status)
		status = sonde_remap_module(source->remap, context->module, &context->module, err);
	if (!status)
		status = sonde_remap_string(source->remap, &context->file, err);
	if (!status)
		status = sonde_remap_string(source->remap, &context->name, err);
	return status;
}

/* The only tree that there is: as it is, or a copy with other ids. */
static enum sonde_status take_tree(struct run *run, const struct source *source,
				   struct sonde_error *err)
{
	enum sonde_status status = sonde_recording_contexts(source->recording, &run->contexts,
							    &run->context_count, err);

	if (status || !source->remap || !run->context_count)
		return status;
	run->own_contexts = malloc(run->context_count * sizeof(*run->own_contexts));
	if (!run->own_contexts)
		return sonde_fail_nomem(err);
	for (uint32_t i = 0; !status && i < run->context_count; i++) {
		run->own_contexts[i] = run->contexts[i];
		status = translate(source, &run->own_contexts[i], err);
	}
	run->contexts = run->own_contexts;
	return status;
}

/* Adds a source's tree to the union; its map leads to nodes until the union is finished. */
static enum sonde_status add_tree(struct run *run, struct source *source, struct sonde_error *err)
{
	const struct sonde_context *contexts;
	enum sonde_status status;

	status =
		sonde_recording_contexts(source->recording, &contexts, &source->context_count, err);
	if (status)
		return status;
	source->context_map = calloc((size_t)source->context_count + 1, sizeof(uint32_t));
	if (!source->context_map)
		return sonde_fail_nomem(err);
	for (uint32_t i = 1; !status && i < source->context_count; i++) {
		struct sonde_context context = contexts[i];

		status = translate(source, &context, err);
		if (!status)
			status = sonde_context_union_add(run->tree,
							 source->context_map[context.parent],
							 &context, &source->context_map[i], err);
	}
	return status;
}

static enum sonde_status unite_trees(struct run *run, bool derives, struct sonde_error *err)
{
	bool by_content = sonde_definitions_process_count(run->definitions) > 1 ||
			  run->source_count > 1;
	enum sonde_status status = SONDE_OK;

	run->tree = sonde_context_union_new(run->definitions, by_content);
	if (!run->tree)
		return sonde_fail_nomem(err);
	for (size_t i = 0; !status && i < run->source_count; i++) {
		if (run->sources[i].passes_contexts)
			status = add_tree(run, &run->sources[i], err);
	}
	if (!status && derives) {
		run->derived_profile.tree = run->tree;
		status =
			sonde_pool_run(run->pieces.count, run->threads, sonde_run_gather, run, err);
	}
	if (!status)
		status = sonde_context_union_finish(run->tree, err);
	if (status)
		return status;
	run->contexts = sonde_context_union_contexts(run->tree, &run->context_count);
	for (size_t i = 0; i < run->source_count; i++) {
		struct source *source = &run->sources[i];

		for (uint32_t k = 0; source->context_map && k < source->context_count; k++)
			source->context_map[k] =
				sonde_context_union_number(run->tree, source->context_map[k]);
	}
	return SONDE_OK;
}

static enum sonde_status make_tree(struct run *run, struct sonde_error *err)
{
	static const struct sonde_context root = {
		.parent = SONDE_NONE,
		.function = SONDE_NONE,
		.module = SONDE_NONE,
		.kind = SONDE_CONTEXT_ROOT,
		.end = 1,
	};
	const struct source *only = NULL;
	size_t passing = 0, deriving = 0;
	enum sonde_status status = SONDE_OK;

	for (size_t i = 0; i < run->source_count; i++) {
		if (run->sources[i].passes_contexts)
			only = &run->sources[i];
		passing += run->sources[i].passes_contexts;
		deriving += run->sources[i].derives_profile;
	}
	if (passing == 1 && !deriving)
		status = take_tree(run, only, err);
	else if (passing || deriving)
		status = unite_trees(run, deriving, err);
	if (!status && !run->context_count) {
		run->contexts = &root;
		run->context_count = 1;
	}
	return status;
}

enum sonde_status sonde_run_feed_contexts(struct run *run, struct sonde_error *err)
{
	enum sonde_status status;

	if (!sonde_run_holds(run, SONDE_LANE_CONTEXTS))
		return SONDE_OK;
	status = make_tree(run, err);
	if (status)
		return status;
	return run->sink->ops->contexts(run->sink, run->contexts, run->context_count, err);
}

/* Samples and values of one track on their way. */
struct passage {
	struct run *run;
	const struct source *source;
	struct tally *tally;
	uint32_t track; /* in the target */
	const struct sonde_time_map *map;
	/* samples */
	struct sonde_sample_sums *sums;		/* what they become; NULL: they stay samples */
	struct sonde_resume_point *start, *end; /* of a piece that goes on from another; or NULL */
	uint64_t from_ns, last_ns;
	bool has_before, is_open, is_over;
	uint32_t before;  /* the context before the piece of time is reached */
	uint32_t current; /* the last one that was handed on */
	size_t count;
	union {
		struct sonde_sample samples[BATCH];
		struct sonde_value values[BATCH];
	} space;
};

static uint32_t place(const struct source *source, uint32_t context)
{
	if (!source->context_map)
		return context;
	return context < source->context_count ? source->context_map[context] : 0;
}

static enum sonde_status flush_samples(struct passage *passage, struct sonde_error *err)
{
	struct sonde_sink *next = &passage->tally->base;
	size_t count = passage->count;

	passage->count = 0;
	if (!count)
		return SONDE_OK;
	return next->ops->samples(next, passage->track, passage->space.samples, count, err);
}

static enum sonde_status put_sample(struct passage *passage, uint64_t time_ns, uint32_t context,
				    struct sonde_error *err)
{
	passage->current = context;
	if (passage->map)
		time_ns = sonde_time_map_apply(passage->map, time_ns);
	if (passage->sums)
		return sonde_sample_sums_add(passage->sums, time_ns,
					     place(passage->source, context)) ?
			       SONDE_OK :
			       sonde_fail_nomem(err);
	passage->space.samples[passage->count++] = (struct sonde_sample){
		.time_ns = time_ns,
		.track = passage->track,
		.context = place(passage->source, context),
	};
	return passage->count < BATCH ? SONDE_OK : flush_samples(passage, err);
}

/* The piece of time is reached: the track is in a context there already. */
static enum sonde_status open_piece(struct passage *passage, uint64_t time_ns,
				    struct sonde_error *err)
{
	passage->is_open = true;
	if (!passage->has_before || !passage->before || time_ns == passage->from_ns)
		return SONDE_OK;
	return put_sample(passage, passage->from_ns, passage->before, err);
}

static enum sonde_status pass_sample(struct passage *passage, const struct sonde_sample *sample,
				     struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	if (sample->time_ns <= passage->last_ns && passage->end) {
		passage->end->has_context = true;
		passage->end->context = sample->context;
	}
	if (sample->time_ns < passage->from_ns) {
		passage->has_before = true;
		passage->before = sample->context;
		return SONDE_OK;
	}
	if (!passage->is_open)
		status = open_piece(passage, sample->time_ns, err);
	if (status)
		return status;
	if (sample->time_ns <= passage->last_ns)
		return put_sample(passage, sample->time_ns, sample->context, err);
	/* the track goes on behind the piece: what runs there ends with the piece */
	passage->is_over = true;
	return passage->current ? put_sample(passage, passage->last_ns + 1, 0, err) : SONDE_OK;
}

/* What lies before the piece is known from the one before it, and need not be read. */
static void resume_samples(struct passage *passage, struct sonde_sample_cursor *cursor)
{
	if (!passage->start)
		return;
	passage->end->has_context = passage->start->has_context;
	passage->end->context = passage->start->context;
	if (!passage->run->resume->is_started)
		return;
	passage->has_before = passage->start->has_context;
	passage->before = passage->start->context;
	sonde_sample_cursor_seek_time(cursor, passage->from_ns);
}

static enum sonde_status pass_samples(struct passage *passage, uint32_t track,
				      struct sonde_error *err)
{
	struct run *run = passage->run;
	struct sonde_sample_cursor *cursor = NULL;
	const struct sonde_sample *samples;
	enum sonde_status status;
	size_t count;

	status = sonde_sample_cursor_open(passage->source->recording, track, &cursor, err);
	if (status)
		return status;
	resume_samples(passage, cursor);
	while (!passage->is_over &&
	       !(status = sonde_sample_cursor_next(cursor, &samples, &count, err))) {
		atomic_fetch_add_explicit(&run->samples_read, count, memory_order_relaxed);
		for (size_t i = 0; !status && i < count && !passage->is_over; i++)
			status = pass_sample(passage, &samples[i], err);
		if (!status)
			status = sonde_meter_add(&run->meter, count, err);
		if (status)
			break;
	}
	if (!status || status == SONDE_END)
		status = flush_samples(passage, err);
	sonde_sample_cursor_free(cursor);
	return status;
}

static enum sonde_status flush_values(struct passage *passage, struct sonde_error *err)
{
	struct sonde_sink *next = &passage->tally->base;
	size_t count = passage->count;

	passage->count = 0;
	if (!count)
		return SONDE_OK;
	return next->ops->values(next, passage->track, passage->space.values, count, err);
}

static enum sonde_status put_value(struct passage *passage, const struct sonde_value *value,
				   struct sonde_error *err)
{
	if (value->value == 0)
		return SONDE_OK;
	passage->space.values[passage->count++] = *value;
	return passage->count < BATCH ? SONDE_OK : flush_values(passage, err);
}

/* All values of a track, where its contexts come in another order in the target. */
struct gathered {
	SONDE_VEC(struct sonde_value) values;
};

static enum sonde_status put_gathered(struct passage *passage, const struct gathered *gathered,
				      struct sonde_error *err)
{
	size_t count = gathered->values.count;
	struct sonde_sort_item *order = calloc(count + 1, sizeof(*order));
	enum sonde_status status = SONDE_OK;
	bool happened = order;

	for (size_t i = 0; happened && i < count; i++) {
		const struct sonde_value *value = &gathered->values.items[i];

		order[i].key = (uint64_t)value->context << 32 | value->metric;
		order[i].number = i;
	}
	if (!happened || !sonde_sort(order, count)) {
		free(order);
		return sonde_fail_nomem(err);
	}
	for (size_t i = 0; !status && i < count;) {
		struct sonde_value sum = gathered->values.items[order[i].number];
		size_t first = i;

		/* contexts that say the same became one */
		while (++i < count && order[i].key == order[first].key)
			sum.value += gathered->values.items[order[i].number].value;
		status = put_value(passage, &sum, err);
	}
	free(order);
	return status;
}

/* Hands a value on, or (with `gathered`) keeps it for later. */
static enum sonde_status pass_value(struct passage *passage, const struct sonde_value *value,
				    struct gathered *gathered, struct sonde_error *err)
{
	const struct source *source = passage->source;
	struct sonde_value passed = *value, *kept;

	if (value->metric >= source->metric_count || !source->is_point[value->metric])
		return SONDE_OK;
	passed.track = passage->track;
	passed.context = place(source, value->context);
	if (source->remap)
		passed.metric = sonde_remap_metric(source->remap, value->metric);
	if (!gathered)
		return put_value(passage, &passed, err);
	kept = sonde_vec_push(&gathered->values);
	if (!kept)
		return sonde_fail_nomem(err);
	*kept = passed;
	return SONDE_OK;
}

static enum sonde_status pass_values(struct passage *passage, uint32_t track,
				     struct sonde_error *err)
{
	struct gathered gathered = { 0 };
	struct gathered *gathers = passage->source->context_map ? &gathered : NULL;
	struct sonde_value_cursor *cursor = NULL;
	const struct sonde_value *values;
	enum sonde_status status;
	size_t count;

	status = sonde_value_cursor_open(passage->source->recording, track, &cursor, err);
	if (status)
		return status;
	while (!(status = sonde_value_cursor_next(cursor, &values, &count, err))) {
		for (size_t i = 0; !status && i < count; i++)
			status = pass_value(passage, &values[i], gathers, err);
		if (status)
			break;
	}
	if (status == SONDE_END)
		status = gathers ? put_gathered(passage, gathers, err) : SONDE_OK;
	if (!status)
		status = flush_values(passage, err);
	sonde_value_cursor_free(cursor);
	sonde_vec_release(&gathered.values);
	return status;
}

/* Samples for a target of values: their sums. */
static enum sonde_status pass_sums(struct passage *passage, uint32_t track, struct sonde_error *err)
{
	struct sonde_sink *next = &passage->tally->base;
	enum sonde_status status;

	passage->sums = sonde_sample_sums_new();
	if (!passage->sums)
		return sonde_fail_nomem(err);
	status = pass_samples(passage, track, err);
	if (!status)
		status = sonde_sample_sums_feed(passage->sums, &passage->run->sample_metrics,
						passage->track, next, err);
	sonde_sample_sums_free(passage->sums);
	passage->sums = NULL;
	return status;
}

enum sonde_status sonde_run_define_derived(struct run *run, struct sonde_error *err)
{
	bool derives_profile = false, derives_values = false;
	enum sonde_status status = SONDE_OK;

	for (size_t i = 0; i < run->source_count; i++) {
		derives_profile |= run->sources[i].derives_profile;
		derives_values |= run->sources[i].derives_values;
	}
	if (derives_profile)
		status = sonde_derived_profile_init(&run->derived_profile, run->target, err);
	if (!status && derives_values)
		status = sonde_sample_metrics_init(&run->sample_metrics, run->target, err);
	return status;
}

enum sonde_status sonde_run_feed_profile(struct run *run, const struct piece *piece,
					 struct tally *tally, struct sonde_error *err)
{
	const struct source *source = &run->sources[piece->source];
	enum sonde_status status = SONDE_OK;
	struct passage *passage;

	if (!source->passes_samples && !source->passes_values && !source->derives_values)
		return SONDE_OK;
	passage = calloc(1, sizeof(*passage));
	if (!passage)
		return sonde_fail_nomem(err);
	passage->run = run;
	passage->source = source;
	passage->tally = tally;
	passage->track = source->remap ? sonde_remap_track(source->remap, piece->track) :
					 piece->track;
	if (source->time_maps)
		passage->map = sonde_source_time_map(source, piece->track);
	if (run->resume) {
		passage->start = &run->resume->points[source->first + piece->track];
		passage->end = &run->resume->next[source->first + piece->track];
	}
	passage->from_ns = run->spec.from_ns;
	passage->last_ns = run->spec.to_ns ? run->spec.to_ns - 1 : UINT64_MAX;
	if (source->passes_samples)
		status = pass_samples(passage, piece->track, err);
	if (!status && source->derives_values)
		status = pass_sums(passage, piece->track, err);
	if (!status && source->passes_values)
		status = pass_values(passage, piece->track, err);
	free(passage);
	return status;
}
