/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source -> filters -> sink. The pipeline works track by track, on several threads where the sink
 * allows: each track has a cursor and a chain of filters of its own, at whose end a tally counts
 * what arrives. The filters are in cut.c, select.c and renumber.c.
 */
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/pool.h"
#include "base/sort.h"
#include "base/vec.h"
#include "model/filters.h"
#include "model/recording.h"
#include "model/selection.h"

void sonde_sink_free(struct sonde_sink *sink)
{
	if (sink)
		sink->ops->free(sink);
}

/* One track of one source. */
struct piece {
	size_t source;
	uint32_t track;
};

struct source {
	struct sonde_recording *recording;
	struct sonde_remap *remap; /* NULL: its ids are the target's */
	uint32_t first;		   /* what its track 0 is called in a selection */
	uint32_t track_count;
};

struct run {
	struct sonde_sink *sink;
	struct sonde_selection_spec spec;
	struct sonde_loss *loss;
	unsigned int threads;
	struct source *sources;
	size_t source_count;
	bool *wanted; /* by track, counted on from source to source */
	uint32_t track_count;
	struct sonde_definitions *target;	     /* made anew, or NULL */
	const struct sonde_definitions *definitions; /* for the sink: those, or the source's own */
	SONDE_VEC(struct piece) pieces;
	struct sonde_meter meter;
	/* for the result */
	_Atomic uint64_t events_read, events_written, calls_opened, calls_closed, details,
		details_written, details_unlinked;
	uint64_t blobs_written;
};

static bool cuts(const struct run *run)
{
	return run->spec.from_ns || run->spec.to_ns;
}

static bool takes_all_events(const struct run *run)
{
	return !cuts(run) && !sonde_select_is_needed(&run->spec);
}

static bool holds_blobs(const struct sonde_sink *sink)
{
	return sink->ops->blob && (sink->ops->lanes & SONDE_LANE_BLOBS);
}

/* The end of a chain: counts, and hands over to the sink. */
struct tally {
	struct sonde_sink base;
	struct run *run;
	uint64_t detail_count; /* that the source's track has */
	uint64_t detail_end;   /* a link to this number or beyond leads nowhere */
	uint64_t written;
	uint64_t opened;
	uint64_t closed;
	uint64_t links;	  /* events that have a detail, or should */
	uint64_t details; /* those whose detail exists */
	uint64_t values;  /* counters: a detail may be where their value came from */
	uint64_t unread;  /* links whose detail the sink could not get */
};

static void count_details(struct tally *tally, const struct sonde_batch *batch)
{
	for (size_t i = 0; i < batch->count; i++) {
		const struct sonde_event *event = &batch->events[i];

		tally->values += event->kind == SONDE_EVENT_COUNTER;
		if (!sonde_event_has_detail(event))
			continue;
		tally->links++;
		tally->details += event->detail < tally->detail_end;
	}
}

/* A batch that a filter made up. */
static void count_synthetic(struct tally *tally, const struct sonde_batch *batch)
{
	for (size_t i = 0; i < batch->count; i++) {
		tally->opened += batch->events[i].kind == SONDE_EVENT_CALL;
		tally->closed += sonde_event_leaves(&batch->events[i]);
	}
}

static enum sonde_status tally_events(struct sonde_sink *sink, uint32_t track,
				      const struct sonde_batch *batch, struct sonde_error *err)
{
	struct tally *tally = (struct tally *)sink;
	struct sonde_sink *target = tally->run->sink;
	struct sonde_batch counted = *batch;

	counted.first_index = tally->written;
	tally->written += batch->count;
	if (batch->first_index == SONDE_NO_INDEX)
		count_synthetic(tally, batch);
	count_details(tally, batch);
	counted.unread_details = &tally->unread;
	if (!(target->ops->lanes & SONDE_LANE_EVENTS))
		return SONDE_OK;
	if (!(target->ops->lanes & SONDE_LANE_DETAILS))
		counted.details = NULL;
	return target->ops->events(target, track, &counted, err);
}

static enum sonde_status tally_track_end(struct sonde_sink *sink, uint32_t track,
					 struct sonde_error *err)
{
	struct sonde_sink *target = ((struct tally *)sink)->run->sink;

	return target->ops->track_end(target, track, err);
}

static const struct sonde_sink_ops tally_ops = {
	.events = tally_events,
	.track_end = tally_track_end,
};

/* The filters of one track, last first. */
struct chain {
	struct sonde_sink *filters[3];
	size_t count;
	struct sonde_sink *first; /* the sink that takes what the cursor gives */
};

static void chain_release(struct chain *chain)
{
	while (chain->count)
		sonde_sink_free(chain->filters[--chain->count]);
}

static struct sonde_sink **chain_place(struct chain *chain)
{
	return &chain->filters[chain->count];
}

static void chain_put(struct chain *chain)
{
	chain->first = chain->filters[chain->count++];
}

/* Built from its end, since every filter knows the one after it. */
static enum sonde_status chain_init(struct chain *chain, const struct run *run,
				    const struct piece *piece, struct tally *tally,
				    struct sonde_error *err)
{
	const struct source *source = &run->sources[piece->source];
	const struct sonde_definitions *definitions = source->recording->definitions;
	enum sonde_status status = SONDE_OK;

	*chain = (struct chain){ .first = &tally->base };
	if (source->remap) {
		status = sonde_renumber_new(source->remap, piece->track, chain->first,
					    chain_place(chain), err);
		if (status)
			goto fail;
		chain_put(chain);
	}
	if (sonde_select_is_needed(&run->spec)) {
		status = sonde_select_new(&run->spec, definitions, chain->first, chain_place(chain),
					  err);
		if (status)
			goto fail;
		chain_put(chain);
	}
	if (cuts(run)) {
		status = sonde_cut_new(run->spec.from_ns, run->spec.to_ns, chain->first,
				       chain_place(chain), err);
		if (status)
			goto fail;
		chain_put(chain);
	}
	return SONDE_OK;
fail:
	chain_release(chain);
	return status;
}

/* Everything of a track, then its end. */
static enum sonde_status feed_track(struct run *run, uint32_t track, struct sonde_cursor *cursor,
				    struct sonde_sink *first, struct sonde_error *err)
{
	struct sonde_batch batch;
	enum sonde_status status;

	while (!(status = sonde_cursor_next(cursor, &batch, err))) {
		status = first->ops->events(first, track, &batch, err);
		if (status)
			return status;
		atomic_fetch_add_explicit(&run->events_read, batch.count, memory_order_relaxed);
		status = sonde_meter_add(&run->meter, batch.count, err);
		if (status)
			return status;
	}
	return status == SONDE_END ? first->ops->track_end(first, track, err) : status;
}

static void add_tally(struct run *run, const struct tally *tally)
{
	atomic_fetch_add(&run->events_written, tally->written);
	atomic_fetch_add(&run->calls_opened, tally->opened);
	atomic_fetch_add(&run->calls_closed, tally->closed);
	atomic_fetch_add(&run->details, tally->details);
	atomic_fetch_add(&run->details_written, tally->links - tally->unread);
	if (takes_all_events(run) && tally->detail_count > tally->details + tally->values)
		atomic_fetch_add(&run->details_unlinked,
				 tally->detail_count - tally->details - tally->values);
}

static enum sonde_status run_piece(void *user, size_t number, struct sonde_error *err)
{
	struct run *run = user;
	const struct piece *piece = &run->pieces.items[number];
	struct sonde_recording *recording = run->sources[piece->source].recording;
	const struct sonde_track *track =
		sonde_definitions_track(recording->definitions, piece->track);
	struct tally tally = {
		.base.ops = &tally_ops,
		.run = run,
		.detail_count = track->detail_count,
		.detail_end = recording->details_by_event ? track->event_count :
							    track->detail_count,
	};
	struct sonde_cursor *cursor = NULL;
	enum sonde_status status;
	struct chain chain;

	status = chain_init(&chain, run, piece, &tally, err);
	if (status)
		return status;
	status = sonde_cursor_open(recording, piece->track, &cursor, err);
	if (!status)
		status = feed_track(run, piece->track, cursor, chain.first, err);
	if (!status)
		add_tally(run, &tally);
	sonde_cursor_free(cursor);
	chain_release(&chain);
	return status;
}

static enum sonde_status take_sources(struct run *run, struct sonde_recording *const *sources,
				      size_t count, struct sonde_error *err)
{
	uint64_t first = 0;

	run->sources = calloc(count + 1, sizeof(*run->sources));
	if (!run->sources)
		return sonde_fail_nomem(err);
	run->source_count = count;
	for (size_t i = 0; i < count; i++) {
		uint32_t tracks = sonde_definitions_track_count(sources[i]->definitions);

		run->sources[i] = (struct source){
			.recording = sources[i],
			.first = (uint32_t)first,
			.track_count = tracks,
		};
		first += tracks;
		if (first >= SONDE_NONE)
			return sonde_fail(err, SONDE_LIMIT, SONDE_NO_OFFSET,
					  "the sources have more tracks together than can be "
					  "numbered; take fewer at a time");
	}
	run->track_count = (uint32_t)first;
	return SONDE_OK;
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

/* Lists the wanted tracks and adds up their events. */
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
			run->meter.total +=
				sonde_definitions_track(definitions, track)->event_count;
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

		items[i].key =
			~sonde_definitions_track(recording->definitions, piece->track)->event_count;
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
	for (uint32_t i = 0; cuts(run) && i < processes; i++) {
		const struct sonde_process *process = sonde_definitions_process(definitions, i);

		if (process->start_ns || process->end_ns)
			return false;
	}
	return true;
}

/* One source with all its tracks: its definitions are the target's. */
static bool ids_may_stay(const struct run *run)
{
	return run->source_count == 1 && run->pieces.count == run->track_count &&
	       definitions_may_stay(run, run->sources[0].recording->definitions);
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
		enum sonde_status status =
			sonde_remap_new(source->recording->definitions, run->target,
					takes_all ? NULL : run->wanted + source->first, &run->spec,
					run->loss, &source->remap, err);

		if (status)
			return status;
	}
	return SONDE_OK;
}

static enum sonde_status prepare(struct run *run, struct sonde_recording *const *sources,
				 size_t count, struct sonde_error *err)
{
	enum sonde_status status = sonde_selection_check(&run->spec, err);

	if (!status)
		status = take_sources(run, sources, count, err);
	if (!status)
		status = take_wanted(run, err);
	if (!status)
		status = take_pieces(run, err);
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
	return status;
}

static enum sonde_status feed_blobs(struct run *run, struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	for (size_t i = 0; !status && i < run->source_count; i++) {
		const struct source *source = &run->sources[i];
		uint32_t count = sonde_recording_blob_count(source->recording);

		if (!holds_blobs(run->sink))
			status = sonde_loss_add(run->loss, "resources",
						"the target does not hold resources", count, err);
		else
			for (uint32_t number = 0; !status && number < count; number++)
				status = feed_blob(run, source, number, err);
	}
	return status;
}

static enum sonde_status feed_all(struct run *run, struct sonde_error *err)
{
	enum sonde_status status = run->sink->ops->begin(run->sink, run->definitions, err);

	if (!status)
		status = feed_blobs(run, err);
	if (!status)
		status = sonde_pool_run(run->pieces.count, run->threads, run_piece, run, err);
	return status;
}

/* SONDE_END: the sink wants its events one by one. */
static enum sonde_status feed_whole(struct run *run, struct sonde_run_result *result,
				    struct sonde_error *err)
{
	bool may_be_whole = run->source_count == 1 && takes_all_events(run) &&
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

/* Lanes of the sources that the sink does not hold, apart from those that are counted singly. */
static enum sonde_status count_lost_lanes(struct run *run, struct sonde_error *err)
{
	static const struct {
		unsigned int lane;
		const char *name;
	} lanes[] = {
#define X(name, bit, text) { SONDE_LANE_##name, text },
		SONDE_LANE_LIST(X)
#undef X
	};
	unsigned int held = run->sink->ops->lanes | SONDE_LANE_EVENTS | SONDE_LANE_DETAILS |
			    SONDE_LANE_BLOBS;

	for (size_t i = 0; i < run->source_count; i++) {
		unsigned int lost = run->sources[i].recording->lanes & ~held;

		for (size_t k = 0; k < sizeof(lanes) / sizeof(lanes[0]); k++) {
			enum sonde_status status = SONDE_OK;

			if (lost & lanes[k].lane)
				status = sonde_loss_add(run->loss, lanes[k].name,
							"the target does not hold this lane; all "
							"of it is left out, counted as one",
							1, err);
			if (status)
				return status;
		}
	}
	return SONDE_OK;
}

static enum sonde_status count_lost_tracks(struct run *run, struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	for (size_t i = 0; !status && i < run->source_count; i++)
		status = sonde_loss_add(run->loss, "tracks", "the source cannot read them",
					run->sources[i].recording->tracks_lost, err);
	return status;
}

static enum sonde_status count_loss(struct run *run, struct sonde_error *err)
{
	unsigned int held = run->sink->ops->lanes;
	enum sonde_status status = count_lost_lanes(run, err);

	if (!status && !(held & SONDE_LANE_EVENTS))
		status = sonde_loss_add(run->loss, "events", "the target does not hold events",
					run->events_written, err);
	if (!status && !(held & SONDE_LANE_DETAILS))
		status = sonde_loss_add(run->loss, "details", "the target does not hold details",
					run->details, err);
	if (!status)
		status = sonde_loss_add(run->loss, "details without an event",
					"only what an event leads to is carried over",
					run->details_unlinked, err);
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
	unsigned int held = run->sink->ops->lanes;

	result->events_read = run->events_read;
	result->blobs_written = run->blobs_written;
	if (!(held & SONDE_LANE_EVENTS))
		return;
	result->events_written = run->events_written;
	result->calls_opened = run->calls_opened;
	result->calls_closed = run->calls_closed;
	if (held & SONDE_LANE_DETAILS)
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
		status = count_loss(run, err);
	fill_result(result, run);
	return status;
}

static void run_release(struct run *run)
{
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
	struct run run = { .sink = sink };
	enum sonde_status status;

	if (!options)
		options = &none;
	if (!result)
		result = &ignored;
	*result = (struct sonde_run_result){ 0 };
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
	run_release(&run);
	return status;
}
