/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source -> filters -> sink. The pipeline works track by track, on several threads where the sink
 * allows. Here a run is prepared and ended: which tracks there are, whose ids hold in the target, and
 * the order of calls that a sink relies on.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/sort.h"
#include "model/pipeline_private.h"
#include "model/selection.h"

void sonde_sink_free(struct sonde_sink *sink)
{
	if (sink)
		sink->ops->free(sink);
}

/* A lane without a function to feed it is not held. */
static unsigned int held_lanes(const struct sonde_sink_ops *ops)
{
	unsigned int held = ops->lanes;

	if (!ops->blob)
		held &= ~(unsigned int)SONDE_LANE_BLOBS;
	if (!ops->contexts)
		held &= ~(unsigned int)SONDE_LANE_CONTEXTS;
	if (!ops->values)
		held &= ~(unsigned int)SONDE_LANE_VALUES;
	if (!ops->samples)
		held &= ~(unsigned int)SONDE_LANE_SAMPLES;
	return held;
}

static enum sonde_status take_sources(struct run *run, struct sonde_recording *const *sources,
				      size_t count, struct sonde_error *err)
{
	uint64_t first = 0;
	size_t first_process = 0;

	run->sources = calloc(count + 1, sizeof(*run->sources));
	if (!run->sources)
		return sonde_fail_nomem(err);
	run->source_count = count;
	for (size_t i = 0; i < count; i++) {
		uint32_t tracks = sonde_definitions_track_count(sources[i]->definitions);
		uint32_t processes = sonde_definitions_process_count(sources[i]->definitions);

		run->sources[i] = (struct source){
			.recording = sources[i],
			.first = (uint32_t)first,
			.track_count = tracks,
			.label = run->options->labels ? run->options->labels[i] : NULL,
		};
		/* without a process there is no map that could be meant */
		if (run->options->time_maps && processes)
			run->sources[i].time_maps = run->options->time_maps + first_process;
		first_process += processes;
		first += tracks;
		if (first >= SONDE_NONE)
			return sonde_fail(err, SONDE_LIMIT, SONDE_NO_OFFSET,
					  "the sources have more tracks together than can be "
					  "numbered; take fewer at a time");
	}
	run->track_count = (uint32_t)first;
	return SONDE_OK;
}

const struct sonde_time_map *sonde_source_time_map(const struct source *source, uint32_t track)
{
	const struct sonde_definitions *definitions = source->recording->definitions;
	uint32_t process = sonde_definitions_track(definitions, track)->process;

	if (process >= sonde_definitions_process_count(definitions))
		process = 0;
	return &source->time_maps[process];
}

static enum sonde_status take_wanted(struct run *run, struct sonde_error *err)
{
	run->wanted = calloc((size_t)run->track_count + 1, sizeof(*run->wanted));
	if (!run->wanted)
		return sonde_fail_nomem(err);
	for (uint32_t i = 0; !run->spec.track_count && i < run->track_count; i++)
		run->wanted[i] = true;
	for (size_t i = 0; i < run->spec.track_count; i++) {
		if (run->spec.tracks[i] >= run->track_count)
			return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
					  "there is no track %" PRIu32
					  " to select: there are %" PRIu32 ", numbered from 0",
					  run->spec.tracks[i], run->track_count);
		run->wanted[run->spec.tracks[i]] = true;
	}
	return SONDE_OK;
}

static uint64_t size_of(const struct sonde_definitions *definitions, uint32_t track)
{
	const struct sonde_track *definition = sonde_definitions_track(definitions, track);

	return definition->event_count + definition->sample_count;
}

/* Lists the wanted tracks and adds up their events and samples. */
static enum sonde_status take_pieces(struct run *run, struct sonde_error *err)
{
	for (size_t i = 0; i < run->source_count; i++) {
		const struct source *source = &run->sources[i];
		const struct sonde_definitions *definitions = source->recording->definitions;

		for (uint32_t track = 0; track < source->track_count; track++) {
			struct piece *piece;

			if (!run->wanted[source->first + track])
				continue;
			piece = sonde_vec_push(&run->pieces);
			if (!piece)
				return sonde_fail_nomem(err);
			*piece = (struct piece){ .source = i, .track = track };
			run->meter.total += size_of(definitions, track);
		}
	}
	return SONDE_OK;
}

/* Longest tracks first, so that no thread is left alone with one at the end. */
static enum sonde_status sort_pieces(struct run *run, struct sonde_error *err)
{
	size_t count = run->pieces.count;
	struct sonde_sort_item *items = calloc(count + 1, sizeof(*items));
	struct piece *sorted = calloc(count + 1, sizeof(*sorted));
	enum sonde_status status = SONDE_OK;

	if (!items || !sorted)
		goto fail;
	for (size_t i = 0; i < count; i++) {
		const struct piece *piece = &run->pieces.items[i];
		const struct sonde_recording *recording = run->sources[piece->source].recording;

		items[i].key = ~size_of(recording->definitions, piece->track);
		items[i].number = i;
	}
	if (!sonde_sort(items, count))
		goto fail;
	for (size_t i = 0; i < count; i++)
		sorted[i] = run->pieces.items[items[i].number];
	for (size_t i = 0; i < count; i++)
		run->pieces.items[i] = sorted[i];
	goto done;
fail:
	status = sonde_fail_nomem(err);
done:
	free(items);
	free(sorted);
	return status;
}

/* Nothing about the processes and tracks of a source changes on the way to the target. */
static bool definitions_may_stay(const struct run *run, const struct sonde_definitions *definitions)
{
	uint32_t processes = sonde_definitions_process_count(definitions);

	for (uint32_t i = 0; i < run->track_count; i++) {
		if (sonde_definitions_track(definitions, i)->unfinished)
			return false;
	}
	for (uint32_t i = 0; sonde_run_cuts(run) && i < processes; i++) {
		const struct sonde_process *process = sonde_definitions_process(definitions, i);

		if (process->start_ns || process->end_ns)
			return false;
	}
	return true;
}

/* One source with all its tracks: its definitions are the target's. */
static bool ids_may_stay(const struct run *run)
{
	return run->source_count == 1 && !run->sources[0].derives_profile &&
	       !run->sources[0].derives_values && !run->options->time_maps &&
	       !run->sources[0].label && run->pieces.count == run->track_count &&
	       definitions_may_stay(run, run->sources[0].recording->definitions);
}

/* What is derived from calls takes two runs over them. */
static void expect_second_run(struct run *run)
{
	for (size_t i = 0; i < run->pieces.count; i++) {
		const struct piece *piece = &run->pieces.items[i];
		const struct source *source = &run->sources[piece->source];

		if (source->derives_profile)
			run->meter.total += size_of(source->recording->definitions, piece->track);
	}
}

static enum sonde_status build_target(struct run *run, struct sonde_error *err)
{
	bool takes_all = run->pieces.count == run->track_count;

	run->target = sonde_definitions_new();
	if (!run->target)
		return sonde_fail_nomem(err);
	run->definitions = run->target;
	for (size_t i = 0; i < run->source_count; i++) {
		struct source *source = &run->sources[i];
		const struct sonde_remap_request request = {
			.wanted = takes_all ? NULL : run->wanted + source->first,
			.spec = &run->spec,
			.loss = run->loss,
			.time_maps = source->time_maps,
			.clock_of = i ? SONDE_NONE : run->options->clock_of,
			.label = source->label,
		};
		enum sonde_status status = sonde_remap_new(
			source->recording->definitions, run->target, &request, &source->remap, err);

		if (status)
			return status;
	}
	return sonde_run_define_derived(run, err);
}

static enum sonde_status prepare(struct run *run, struct sonde_recording *const *sources,
				 size_t count, struct sonde_error *err)
{
	enum sonde_status status = sonde_selection_check(&run->spec, err);

	if (!status)
		status = take_sources(run, sources, count, err);
	if (!status && run->resume)
		status = sonde_resume_begin(run->resume, run->track_count, &run->spec, err);
	if (!status)
		status = take_wanted(run, err);
	if (!status)
		status = take_pieces(run, err);
	if (!status)
		status = sonde_run_plan(run, err);
	expect_second_run(run);
	if (!status && ids_may_stay(run))
		run->definitions = sources[0]->definitions;
	else if (!status)
		status = build_target(run, err);
	if (!status && run->threads != 1)
		status = sort_pieces(run, err);
	return status;
}

/* One resource of a source. What is damaged is left out and counted. */
static enum sonde_status feed_blob(struct run *run, const struct source *source, uint32_t number,
				   struct sonde_error *err)
{
	struct sonde_blob blob;
	enum sonde_status status = sonde_recording_blob(source->recording, number, &blob, err);

	if (status == SONDE_CORRUPT || status == SONDE_TRUNCATED)
		return sonde_loss_add(run->loss, "resources", "the source cannot read them", 1,
				      err);
	if (!status && source->remap)
		status = sonde_remap_string(source->remap, &blob.name, err);
	if (!status)
		status = run->sink->ops->blob(run->sink, &blob, err);
	run->blobs_written += !status;
	return status == SONDE_END ? SONDE_OK : status;
}

static enum sonde_status feed_blobs(struct run *run, struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	for (size_t i = 0; !status && i < run->source_count; i++) {
		const struct source *source = &run->sources[i];
		uint32_t count = sonde_recording_blob_count(source->recording);

		if (!sonde_run_holds(run, SONDE_LANE_BLOBS))
			status = sonde_loss_add(run->loss, "resources",
						"the target does not hold resources", count, err);
		else
			for (uint32_t number = 0; !status && number < count; number++)
				status = feed_blob(run, source, number, err);
	}
	return status;
}

/* Means and derived metrics that a source has of its own, where it is not taken as a whole. */
static enum sonde_status feed_formulas(struct run *run, struct sonde_error *err)
{
	struct sonde_sink *sink = run->sink;
	enum sonde_status status = SONDE_OK;
	struct sonde_formula formula = { 0 };
	uint64_t lost = 0;

	for (size_t i = 0; i < run->source_count; i++) {
		struct sonde_recording *source = run->sources[i].recording;

		for (uint32_t k = 0; sonde_recording_formula(source, k, &formula); k++) {
			status = sink->ops->formula ? sink->ops->formula(sink, &formula, err) :
						      SONDE_END;
			if (status < 0)
				return status;
			lost += status == SONDE_END;
		}
	}
	return sonde_loss_add(run->loss, "formulas",
			      "the target does not work them out of its metrics", lost, err);
}

static enum sonde_status feed_all(struct run *run, struct sonde_error *err)
{
	enum sonde_status status = run->sink->ops->begin(run->sink, run->definitions, err);

	if (!status)
		status = feed_blobs(run, err);
	if (!status)
		status = feed_formulas(run, err);
	if (!status)
		status = sonde_run_feed_contexts(run, err);
	if (!status)
		status = sonde_pool_run(run->pieces.count, run->threads, sonde_run_piece, run, err);
	return status;
}

/* SONDE_END: the sink wants its events one by one. */
static enum sonde_status feed_whole(struct run *run, struct sonde_run_result *result,
				    struct sonde_error *err)
{
	bool may_be_whole = run->source_count == 1 && sonde_run_takes_all(run) &&
			    !run->options->time_maps && !run->options->labels &&
			    !run->spec.track_count && run->sink->ops->whole;
	struct sonde_recording *source = may_be_whole ? run->sources[0].recording : NULL;
	enum sonde_status status;

	if (!source)
		return SONDE_END;
	status = run->sink->ops->whole(run->sink, source, result, err);
	if (!status)
		result->blobs_written = sonde_recording_blob_count(source);
	return status;
}

static enum sonde_status count_lost_tracks(struct run *run, struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	for (size_t i = 0; !status && i < run->source_count; i++)
		status = sonde_loss_add(run->loss, "tracks", "the source cannot read them",
					run->sources[i].recording->tracks_lost, err);
	return status;
}

/* Something is lost for everybody, and not only for other readers of the format. */
static bool loses(const struct sonde_loss *loss)
{
	const struct sonde_loss_entry *entry;

	for (size_t i = 0; loss && (entry = sonde_loss_at(loss, i)); i++) {
		if (!entry->only_elsewhere)
			return true;
	}
	return false;
}

static void fill_result(struct sonde_run_result *result, const struct run *run)
{
	result->events_read = run->events_read;
	result->blobs_written = run->blobs_written;
	result->samples_read = run->samples_read;
	result->samples_written = run->samples_written;
	result->values_written = run->values_written;
	result->contexts_written = run->context_count;
	if (!sonde_run_holds(run, SONDE_LANE_EVENTS))
		return;
	result->events_written = run->events_written;
	result->calls_opened = run->calls_opened;
	result->calls_closed = run->calls_closed;
	if (sonde_run_holds(run, SONDE_LANE_DETAILS))
		result->details_written = run->details_written;
}

static enum sonde_status feed(struct run *run, struct sonde_run_result *result,
			      struct sonde_error *err)
{
	enum sonde_status status = feed_whole(run, result, err);

	if (status != SONDE_END)
		return status;
	*result = (struct sonde_run_result){ 0 };
	status = feed_all(run, err);
	if (!status)
		status = sonde_run_count_loss(run, err);
	fill_result(result, run);
	return status;
}

static void run_release(struct run *run)
{
	sonde_run_release_profile(run);
	for (size_t i = 0; i < run->source_count; i++)
		sonde_remap_free(run->sources[i].remap);
	free(run->sources);
	free(run->wanted);
	sonde_vec_release(&run->pieces);
	sonde_definitions_free(run->target);
}

enum sonde_status sonde_pipeline_run(struct sonde_recording *const *sources, size_t count,
				     struct sonde_sink *sink,
				     const struct sonde_run_options *options,
				     struct sonde_run_result *result, struct sonde_error *err)
{
	static const struct sonde_run_options none;
	struct sonde_run_result ignored;
	struct run run = { .sink = sink, .held = held_lanes(sink->ops) };
	enum sonde_status status;

	if (!options)
		options = &none;
	if (!result)
		result = &ignored;
	*result = (struct sonde_run_result){ 0 };
	run.options = options;
	run.resume = options->resume;
	run.spec = options->selection;
	run.loss = options->loss;
	run.threads = sink->ops->parallel_tracks ? options->threads : 1;
	run.meter.progress = options->progress;
	status = prepare(&run, sources, count, err);
	if (!status)
		status = feed(&run, result, err);
	if (!status)
		status = count_lost_tracks(&run, err);
	if (!status && sink->ops->complete)
		status = sink->ops->complete(sink, err);
	if (!status && options->strict && loses(options->loss))
		status = sonde_fail(err, SONDE_LIMIT, SONDE_NO_OFFSET,
				    "something would be lost, and that was forbidden");
	if (!status)
		status = sink->ops->finish(sink, err);
	if (!status && run.resume)
		run.resume->is_written = true;
	run_release(&run);
	return status;
}
