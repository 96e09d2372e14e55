/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls become a tree of contexts. Each track has a tree of its own (model/call_tree.c), which is added to
 * the union of all under a lock and forgotten: memory is that of as many tracks as there are threads.
 */
#include "analyse/cct_calls.h"

#include <stdlib.h>

#include "model/filters.h"
#include "model/recording.h"

/* The end of the filters of a track, or all there is. */
struct target {
	struct sonde_sink base;
	struct sonde_call_tree *tree;
	uint64_t event_count;
};

static enum sonde_status target_events(struct sonde_sink *sink, uint32_t track,
				       const struct sonde_batch *batch, struct sonde_error *err)
{
	struct target *target = (struct target *)sink;

	(void)track;
	target->event_count += batch->count;
	return sonde_call_tree_add(target->tree, batch->events, batch->count, NULL, NULL, err);
}

static enum sonde_status target_track_end(struct sonde_sink *sink, uint32_t track,
					  struct sonde_error *err)
{
	(void)track;
	return sonde_call_tree_end(((struct target *)sink)->tree, NULL, NULL, err);
}

static enum sonde_status raw_function(void *user, uint64_t key, uint32_t *function,
				      struct sonde_error *err)
{
	struct sonde_cursor *cursor = user;

	return cursor->ops->raw_function(cursor, key, function, err);
}

/* A track as it is; as it lies in the file, where the format allows that. */
static enum sonde_status read_whole_track(struct cct_work *work, struct sonde_cursor *cursor,
					  struct target *target, struct sonde_error *err)
{
	bool is_raw = cursor->ops->next_raw;
	struct sonde_raw_events raw;
	struct sonde_batch batch;
	enum sonde_status status;

	for (;;) {
		size_t count;

		status = is_raw ? cursor->ops->next_raw(cursor, &raw, err) :
				  sonde_cursor_next(cursor, &batch, err);
		if (status)
			break;
		count = is_raw ? raw.count : batch.count;
		status = is_raw ? sonde_call_tree_add_raw(target->tree, raw.bytes, count,
							  raw_function, cursor, err) :
				  sonde_call_tree_add(target->tree, batch.events, count, NULL, NULL,
						      err);
		if (!status)
			status = sonde_meter_add(&work->meter, count, err);
		if (status)
			return status;
		target->event_count += count;
	}
	return status == SONDE_END ? sonde_call_tree_end(target->tree, NULL, NULL, err) : status;
}

/* A track through filters. */
static enum sonde_status read_track(struct cct_work *work, struct sonde_cursor *cursor,
				    uint32_t track, struct sonde_sink *sink,
				    struct sonde_error *err)
{
	struct sonde_batch batch;
	enum sonde_status status;

	while (!(status = sonde_cursor_next(cursor, &batch, err))) {
		status = sink->ops->events(sink, track, &batch, err);
		if (!status)
			status = sonde_meter_add(&work->meter, batch.count, err);
		if (status)
			return status;
	}
	return status == SONDE_END ? sink->ops->track_end(sink, track, err) : status;
}

/* The filters that the selection asks for, and behind them the tree. */
static enum sonde_status filter_track(struct cct_work *work, struct sonde_cursor *cursor,
				      uint32_t track, struct target *target,
				      struct sonde_error *err)
{
	const struct sonde_selection_spec *spec = work->spec;
	struct sonde_sink *select = NULL, *cut = NULL, *first = &target->base;
	enum sonde_status status = SONDE_OK;

	if (sonde_select_is_needed(spec)) {
		status = sonde_select_new(spec, work->recording->definitions, first, &select, err);
		first = select;
	}
	if (!status && sonde_cut_is_needed(spec)) {
		status = sonde_cut_new(spec->from_ns, spec->to_ns, first, &cut, err);
		first = cut;
	}
	if (!status)
		status = read_track(work, cursor, track, first, err);
	sonde_sink_free(cut);
	sonde_sink_free(select);
	return status;
}

static enum sonde_status take_track(struct cct_work *work, uint32_t track, struct target *target,
				    struct sonde_error *err)
{
	struct sonde_cursor *cursor = NULL;
	enum sonde_status status = sonde_cursor_open(work->recording, track, &cursor, err);

	if (!status)
		status = sonde_passes_every_event(work->spec) ?
				 read_whole_track(work, cursor, target, err) :
				 filter_track(work, cursor, track, target, err);
	sonde_cursor_free(cursor);
	return status;
}

static enum sonde_status do_piece(void *user, size_t number, struct sonde_error *err)
{
	static const struct sonde_sink_ops ops = {
		.events = target_events,
		.track_end = target_track_end,
	};
	struct cct_work *work = user;
	const struct cct_piece *piece = &work->pieces.items[number];
	struct cct_track *track = &work->body->tracks[piece->track];
	struct target target = {
		.base.ops = &ops,
		.tree = sonde_call_tree_new_with_durations(),
	};
	enum sonde_status status;

	if (!target.tree)
		return sonde_fail_nomem(err);
	status = take_track(work, piece->track, &target, err);
	if (!status) {
		track->event_count = target.event_count;
		sonde_call_tree_times(target.tree, &track->first_ns, &track->last_ns);
		status = cct_work_add_track(work, piece, target.tree, err);
	}
	sonde_call_tree_free(target.tree);
	return status;
}

/*
 * Tracks of one process follow each other, so that few processes are begun at a time; the longest of
 * them first, so that no thread is left alone with one at the end.
 */
static int compare_pieces(const void *a, const void *b, void *user)
{
	const struct sonde_definitions *definitions = user;
	const struct cct_piece *one = a, *two = b;
	uint64_t one_size = sonde_definitions_track(definitions, one->track)->event_count;
	uint64_t two_size = sonde_definitions_track(definitions, two->track)->event_count;

	if (one->process != two->process)
		return one->process < two->process ? -1 : 1;
	if (one_size != two_size)
		return one_size > two_size ? -1 : 1;
	return one->track < two->track ? -1 : one->track > two->track;
}

static enum sonde_status take_pieces(struct cct_work *work, const bool *wanted,
				     struct sonde_error *err)
{
	struct sonde_definitions *definitions = work->recording->definitions;
	uint32_t count = sonde_definitions_track_count(definitions);

	work->process_count = sonde_definitions_process_count(definitions);
	work->processes = calloc((size_t)work->process_count + 1, sizeof(*work->processes));
	if (!work->processes)
		return sonde_fail_nomem(err);
	for (uint32_t i = 0; i < count; i++) {
		const struct sonde_track *track = sonde_definitions_track(definitions, i);
		uint32_t process = track->process < work->process_count ? track->process :
									  work->process_count;
		struct cct_piece *piece;

		if (!wanted[i])
			continue;
		piece = sonde_vec_push(&work->pieces);
		if (!piece)
			return sonde_fail_nomem(err);
		*piece = (struct cct_piece){ .track = i, .process = process };
		work->processes[process].tracks_left++;
		work->meter.total += track->event_count;
		work->body->tracks[i].dropped_events = track->dropped_events;
	}
	if (work->pieces.count)
		qsort_r(work->pieces.items, work->pieces.count, sizeof(*work->pieces.items),
			compare_pieces, definitions);
	return SONDE_OK;
}

static enum sonde_status name_metrics(struct cct_work *work, struct sonde_error *err)
{
	struct cct *cct = &work->body->cct;
	struct cct_metric *added;
	enum sonde_status status =
		cct_add_metric(cct, SONDE_METRIC_TIME, SONDE_METRIC_TIME_TEXT, &added, err);

	if (status)
		return status;
	added->ns = NS_PER_SECOND;
	return cct_add_metric(cct, SONDE_METRIC_CALLS, SONDE_METRIC_CALLS_TEXT, &added, err);
}

/* From the nodes of the union to the contexts. */
static enum sonde_status fill_calls(struct cct_work *work, struct sonde_error *err)
{
	struct cct_body *body = work->body;

	body->calls = calloc(body->context_count, sizeof(*body->calls));
	if (!body->calls)
		return sonde_fail_nomem(err);
	for (size_t i = 0; i < work->sums.count; i++) {
		const struct cct_sums *sums = &work->sums.items[i];

		body->calls[sonde_context_union_number(work->tree, (uint32_t)i)] =
			(struct cct_calls){
				.count = sums->calls,
				.exceptions = sums->exceptions,
				.unfinished = sums->unfinished,
				.sum_ns = sums->sum_ns,
				.min_ns = sums->min_ns,
				.max_ns = sums->max_ns,
				.squares = (double)sums->squares,
			};
	}
	return SONDE_OK;
}

/* Made anew now that it is known how many contexts there are. */
static enum sonde_status fill_metrics(struct cct_work *work, struct sonde_error *err)
{
	struct cct_body *body = work->body;
	struct cct_metric *time = &body->cct.metrics[CCT_METRIC_TIME];
	struct cct_metric *calls = &body->cct.metrics[CCT_METRIC_CALLS];
	uint64_t *self_ns = calloc(body->context_count, sizeof(*self_ns));
	uint64_t *total_ns = calloc(body->context_count, sizeof(*total_ns));

	for (uint32_t i = 0; i < 2; i++) {
		struct cct_metric *metric = &body->cct.metrics[i];

		free(metric->self);
		free(metric->total);
		metric->self = calloc(body->context_count, sizeof(*metric->self));
		metric->total = calloc(body->context_count, sizeof(*metric->total));
		if (!metric->self || !metric->total || !self_ns || !total_ns) {
			free(self_ns);
			free(total_ns);
			return sonde_fail_nomem(err);
		}
	}
	for (uint32_t i = body->context_count; i-- > 0;) {
		bool is_function = body->contexts[i].kind == SONDE_CONTEXT_FUNCTION;
		uint32_t parent = body->contexts[i].parent;

		/* entries and the root have what is below them */
		if (is_function)
			total_ns[i] = body->calls[i].sum_ns;
		self_ns[i] += is_function ? total_ns[i] : 0;
		if (i && body->contexts[parent].kind == SONDE_CONTEXT_FUNCTION)
			self_ns[parent] -= total_ns[i];
		else if (i)
			total_ns[parent] += total_ns[i];
		time->self[i] = (double)self_ns[i] / NS_PER_SECOND;
		time->total[i] = (double)total_ns[i] / NS_PER_SECOND;
		calls->self[i] = (double)body->calls[i].count;
	}
	free(self_ns);
	free(total_ns);
	cct_sum_up(&body->cct, calls);
	return SONDE_OK;
}

static enum sonde_status fill_durations(struct cct_work *work, const struct cct_define *define,
					struct sonde_error *err)
{
	struct cct_body *body = work->body;
	uint32_t functions = sonde_definitions_function_count(body->definitions);

	body->durations = calloc((size_t)functions + 1, sizeof(*body->durations));
	if (!body->durations)
		return sonde_fail_nomem(err);
	for (size_t i = 0; i < work->durations.count; i++) {
		uint32_t first = sonde_context_union_class_function(work->tree, (uint32_t)i);
		uint32_t function = first < define->function_count ? define->functions[first] :
								     SONDE_NONE;

		if (function == SONDE_NONE)
			continue;
		body->durations[function] = work->durations.items[i];
		work->durations.items[i] = (struct sonde_sketch){ 0 };
	}
	return SONDE_OK;
}

static struct cct_spread spread_of(const struct cct_work *work,
				   const struct cct_whole_spread *spread)
{
	double unit = work->spread_metric == CCT_METRIC_TIME ? NS_PER_SECOND : 1;

	return (struct cct_spread){
		.count = spread->count,
		.max_place = spread->max_place,
		.min = (double)spread->min / unit,
		.max = (double)spread->max / unit,
		.sum = (double)spread->sum / unit,
		.squares = (double)spread->squares / unit / unit,
	};
}

static struct cct_spread *node_spread(const struct cct_work *work,
				      const struct cct_whole_spread *spreads, size_t count)
{
	struct cct_spread *made = calloc(work->body->context_count, sizeof(*made));

	for (size_t i = 0; made && i < count; i++)
		made[sonde_context_union_number(work->tree, (uint32_t)i)] =
			spread_of(work, &spreads[i]);
	return made;
}

static struct cct_spread *function_spread(const struct cct_work *work,
					  const struct cct_define *define,
					  const struct cct_whole_spread *spreads, size_t count)
{
	uint32_t functions = sonde_definitions_function_count(work->body->definitions);
	struct cct_spread *made = calloc((size_t)functions + 1, sizeof(*made));

	for (size_t i = 0; made && i < count; i++) {
		uint32_t first = sonde_context_union_class_function(work->tree, (uint32_t)i);

		if (first < define->function_count && define->functions[first] != SONDE_NONE)
			made[define->functions[first]] = spread_of(work, &spreads[i]);
	}
	return made;
}

static enum sonde_status fill_spreads(struct cct_work *work, const struct cct_define *define,
				      struct sonde_error *err)
{
	struct cct_body *body = work->body;

	body->cct.spread_metric = work->spread_metric;
	body->context_spread = node_spread(work, work->node_tracks.items, work->node_tracks.count);
	sonde_vec_release(&work->node_tracks);
	body->context_process_spread =
		node_spread(work, work->node_processes.items, work->node_processes.count);
	sonde_vec_release(&work->node_processes);
	body->function_spread = function_spread(work, define, work->function_tracks.items,
						work->function_tracks.count);
	body->function_process_spread = function_spread(
		work, define, work->function_processes.items, work->function_processes.count);
	if (body->context_spread && body->context_process_spread && body->function_spread &&
	    body->function_process_spread)
		return SONDE_OK;
	return sonde_fail_nomem(err);
}

/* What only adding needed. */
static void release_places(struct cct_work *work)
{
	for (uint32_t i = 0; work->processes && i <= work->process_count; i++)
		cct_place_release(&work->processes[i].place);
	cct_place_release(&work->place);
}

/* With very many contexts memory counts: what was brought over is released at once. */
static enum sonde_status finish(struct cct_work *work, struct sonde_error *err)
{
	struct cct_define define;
	enum sonde_status status;

	release_places(work);
	status = sonde_context_union_finish(work->tree, err);
	if (status)
		return status;
	status = cct_define_init(&define, work->recording->definitions, work->body->definitions,
				 err);
	if (status)
		return status;
	status = cct_define_contexts(&define, work->tree, work->body, err);
	if (!status)
		status = cct_body_add_recursion(work->body, err);
	if (!status)
		status = fill_calls(work, err);
	sonde_vec_release(&work->sums);
	if (!status)
		status = fill_metrics(work, err);
	if (!status)
		status = fill_durations(work, &define, err);
	if (!status)
		status = fill_spreads(work, &define, err);
	cct_define_release(&define);
	return status;
}

static void work_release(struct cct_work *work)
{
	for (size_t i = 0; i < work->durations.count; i++)
		sonde_sketch_release(&work->durations.items[i]);
	release_places(work);
	free(work->processes);
	sonde_vec_release(&work->durations);
	sonde_vec_release(&work->pieces);
	sonde_vec_release(&work->sums);
	sonde_vec_release(&work->node_tracks);
	sonde_vec_release(&work->node_processes);
	sonde_vec_release(&work->function_tracks);
	sonde_vec_release(&work->function_processes);
	sonde_vec_release(&work->open);
	sonde_context_union_free(work->tree);
	pthread_mutex_destroy(&work->lock);
}

static enum sonde_status prepare(struct cct_work *work, const struct cct_options *options,
				 struct sonde_error *err)
{
	enum sonde_status status =
		cct_copy_places(work->recording->definitions, work->body->definitions, err);
	uint32_t metric;
	bool *wanted;

	if (!status)
		status = cct_body_add_tracks(work->body, err);
	if (!status)
		status = name_metrics(work, err);
	if (!status)
		status = cct_wanted_tracks(work->recording->definitions, options->selection,
					   &wanted, err);
	if (status)
		return status;
	metric = options->metric ? cct_find_metric(&work->body->cct, options->metric) :
				   CCT_METRIC_TIME;
	work->spread_metric = metric == CCT_METRIC_CALLS ? CCT_METRIC_CALLS : CCT_METRIC_TIME;
	status = take_pieces(work, wanted, err);
	free(wanted);
	return status;
}

enum sonde_status cct_build_calls(struct cct_body *body, struct sonde_recording *recording,
				  const struct cct_options *options, struct sonde_error *err)
{
	struct cct_work work = {
		.recording = recording,
		.spec = options->selection,
		.body = body,
		.meter.progress = options->progress,
		.tree = sonde_context_union_new(recording->definitions, true),
	};
	enum sonde_status status;

	if (!work.tree || pthread_mutex_init(&work.lock, NULL)) {
		sonde_context_union_free(work.tree);
		return sonde_fail_nomem(err);
	}
	status = prepare(&work, options, err);
	if (!status)
		status = sonde_pool_run(work.pieces.count, options->threads, do_piece, &work, err);
	if (!status)
		status = finish(&work, err);
	work_release(&work);
	return status;
}
