/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One track on its way through a pipeline: a cursor and a chain of filters of its own, at whose end a
 * tally counts what arrives. The filters are in cut.c, select.c, shift.c, renumber.c and
 * derive_profile.c.
 */
#include <sonde/format.h>

#include "model/pipeline_private.h"

static void count_details(struct tally *tally, const struct sonde_batch *batch)
{
	for (size_t i = 0; i < batch->count; i++) {
		const struct sonde_event *event = &batch->events[i];

		tally->counters += event->kind == SONDE_EVENT_COUNTER;
		tally->not_held += !(tally->kinds >> event->kind & 1);
		if (!sonde_event_has_detail(event))
			continue;
		tally->links++;
		tally->links_lost += !(tally->kinds >> event->kind & 1);
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

/* What contexts and samples cannot say. */
static void count_not_derived(struct tally *tally, const struct sonde_batch *batch)
{
	for (size_t i = 0; i < batch->count; i++) {
		uint8_t kind = batch->events[i].kind;

		tally->exceptions += kind == SONDE_EVENT_EXCEPTION;
		tally->not_calls += kind != SONDE_EVENT_CALL && kind != SONDE_EVENT_RETURN &&
				    kind != SONDE_EVENT_EXCEPTION;
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
	if (tally->derives_profile)
		count_not_derived(tally, batch);
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

static enum sonde_status tally_samples(struct sonde_sink *sink, uint32_t track,
				       const struct sonde_sample *samples, size_t count,
				       struct sonde_error *err)
{
	struct tally *tally = (struct tally *)sink;
	struct sonde_sink *target = tally->run->sink;

	if (!sonde_run_holds(tally->run, SONDE_LANE_SAMPLES))
		return SONDE_OK;
	tally->samples += count;
	return target->ops->samples(target, track, samples, count, err);
}

static enum sonde_status tally_values(struct sonde_sink *sink, uint32_t track,
				      const struct sonde_value *values, size_t count,
				      struct sonde_error *err)
{
	struct tally *tally = (struct tally *)sink;
	struct sonde_sink *target = tally->run->sink;

	if (!sonde_run_holds(tally->run, SONDE_LANE_VALUES))
		return SONDE_OK;
	tally->values += count;
	return target->ops->values(target, track, values, count, err);
}

static const struct sonde_sink_ops tally_ops = {
	.events = tally_events,
	.samples = tally_samples,
	.values = tally_values,
	.track_end = tally_track_end,
};

/* The filters of one track, last first. */
struct chain {
	struct sonde_sink *filters[5];
	size_t count;
	struct sonde_sink *first; /* the sink that takes what the cursor gives */
	struct sonde_sink *cut;	  /* the one of them that knows when a piece is over, or NULL */
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

/* The piece of a track that a run is over goes on where the piece before it ended. */
static bool resumes(const struct run *run, const struct source *source)
{
	return run->resume && !source->derived;
}

static struct sonde_resume_point *start_of(const struct run *run, const struct piece *piece)
{
	return &run->resume->points[run->sources[piece->source].first + piece->track];
}

static enum sonde_status chain_put_cut(struct chain *chain, struct run *run,
				       const struct piece *piece, struct sonde_error *err)
{
	const struct source *source = &run->sources[piece->source];
	enum sonde_status status = sonde_cut_new(run->spec.from_ns, run->spec.to_ns, chain->first,
						 chain_place(chain), err);

	if (status)
		return status;
	chain_put(chain);
	if (!resumes(run, source))
		return SONDE_OK;
	chain->cut = chain->first;
	return sonde_cut_resume(chain->cut, start_of(run, piece),
				&run->resume->next[source->first + piece->track],
				run->resume->is_started ? &run->out_of_order : NULL, err);
}

/* Built from its end, since every filter knows the one after it; `last` is there already. */
static enum sonde_status chain_build(struct chain *chain, struct run *run,
				     const struct piece *piece, struct sonde_error *err)
{
	const struct source *source = &run->sources[piece->source];
	const struct sonde_definitions *definitions = source->recording->definitions;
	enum sonde_status status = SONDE_OK;

	if (source->remap) {
		status = sonde_renumber_new(source->remap, piece->track, chain->first,
					    chain_place(chain), err);
		if (status)
			return status;
		chain_put(chain);
	}
	if (source->time_maps) {
		status = sonde_shift_new(sonde_source_time_map(source, piece->track), chain->first,
					 chain_place(chain), err);
		if (status)
			return status;
		chain_put(chain);
	}
	if (sonde_select_is_needed(&run->spec)) {
		status = sonde_select_new(&run->spec, definitions, chain->first, chain_place(chain),
					  err);
		if (status)
			return status;
		chain_put(chain);
	}
	return sonde_run_cuts(run) ? chain_put_cut(chain, run, piece, err) : SONDE_OK;
}

/* The chain of a track whose events come to the sink, or whose calls do, as something else. */
static enum sonde_status chain_init(struct chain *chain, struct run *run, const struct piece *piece,
				    struct tally *tally, struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	*chain = (struct chain){ .first = &tally->base };
	if (tally->derives_profile) {
		status = sonde_derive_profile_new(&run->derived_profile, chain->first,
						  chain_place(chain), err);
		if (status)
			return status;
		chain_put(chain);
	}
	status = chain_build(chain, run, piece, err);
	if (status)
		chain_release(chain);
	return status;
}

/* The chain of a track of which only the paths are wanted. */
static enum sonde_status chain_init_gather(struct chain *chain, struct run *run,
					   const struct piece *piece, struct sonde_error *err)
{
	enum sonde_status status;

	*chain = (struct chain){ 0 };
	status = sonde_gather_paths_new(&run->derived_profile, chain_place(chain), err);
	if (status)
		return status;
	chain_put(chain);
	status = chain_build(chain, run, piece, err);
	if (status)
		chain_release(chain);
	return status;
}

/* Everything of a track but its end. Derived events are not read: the samples they are made of are. */
static enum sonde_status feed_events(struct run *run, const struct piece *piece,
				     struct sonde_cursor *cursor, const struct chain *chain,
				     _Atomic uint64_t *events_read, struct sonde_error *err)
{
	bool is_derived = run->sources[piece->source].derived;
	struct sonde_sink *first = chain->first;
	uint64_t samples = 0;
	struct sonde_batch batch;
	enum sonde_status status;

	if (chain->cut && start_of(run, piece)->index)
		sonde_cursor_seek_index(cursor, start_of(run, piece)->index);
	while (!(status = sonde_cursor_next(cursor, &batch, err))) {
		uint64_t units = batch.count;

		status = first->ops->events(first, piece->track, &batch, err);
		if (status)
			return status;
		if (is_derived) {
			units = sonde_derived_cursor_samples(cursor) - samples;
			samples += units;
		} else if (events_read) {
			atomic_fetch_add_explicit(events_read, units, memory_order_relaxed);
		}
		status = sonde_meter_add(&run->meter, units, err);
		if (status || (chain->cut && sonde_cut_is_over(chain->cut)))
			return status;
	}
	return status == SONDE_END ? SONDE_OK : status;
}

static enum sonde_status open_cursor(const struct source *source, uint32_t track,
				     struct sonde_cursor **cursor, struct sonde_error *err)
{
	if (source->derived)
		return sonde_derived_cursor_open(source->derived, track, cursor, err);
	return sonde_cursor_open(source->recording, track, cursor, err);
}

static void add_tally(struct run *run, const struct tally *tally)
{
	atomic_fetch_add(&run->events_fed, tally->written);
	atomic_fetch_add(&run->events_written, tally->written - tally->not_held);
	atomic_fetch_add(&run->calls_opened, tally->opened);
	atomic_fetch_add(&run->calls_closed, tally->closed);
	atomic_fetch_add(&run->details, tally->details);
	atomic_fetch_add(&run->details_written,
			 tally->links - tally->links_lost -
				 (tally->unread < tally->links - tally->links_lost ?
					  tally->unread :
					  tally->links - tally->links_lost));
	atomic_fetch_add(&run->samples_written, tally->samples);
	atomic_fetch_add(&run->values_written, tally->values);
	atomic_fetch_add(&run->not_calls, tally->not_calls);
	atomic_fetch_add(&run->exceptions, tally->exceptions);
	if (tally->derives_profile)
		atomic_fetch_add(&run->events_derived_from, tally->written);
	if (sonde_run_takes_all(run) && tally->detail_count > tally->details + tally->counters)
		atomic_fetch_add(&run->details_unlinked,
				 tally->detail_count - tally->details - tally->counters);
}

static void add_derived(struct run *run, const struct sonde_cursor *cursor)
{
	atomic_fetch_add(&run->samples_read, sonde_derived_cursor_samples(cursor));
	atomic_fetch_add(&run->samples_derived, sonde_derived_cursor_samples(cursor));
}

enum sonde_status sonde_run_gather(void *user, size_t number, struct sonde_error *err)
{
	struct run *run = user;
	const struct piece *piece = &run->pieces.items[number];
	const struct source *source = &run->sources[piece->source];
	struct sonde_cursor *cursor = NULL;
	enum sonde_status status;
	struct chain chain;

	if (!source->derives_profile)
		return SONDE_OK;
	status = chain_init_gather(&chain, run, piece, err);
	if (status)
		return status;
	status = open_cursor(source, piece->track, &cursor, err);
	if (!status)
		status = feed_events(run, piece, cursor, &chain, NULL, err);
	if (!status)
		status = chain.first->ops->track_end(chain.first, piece->track, err);
	sonde_cursor_free(cursor);
	chain_release(&chain);
	return status;
}

enum sonde_status sonde_run_piece(void *user, size_t number, struct sonde_error *err)
{
	struct run *run = user;
	const struct piece *piece = &run->pieces.items[number];
	const struct source *source = &run->sources[piece->source];
	const struct sonde_track *track =
		sonde_definitions_track(source->recording->definitions, piece->track);
	struct tally tally = {
		.base.ops = &tally_ops,
		.run = run,
		.derives_profile = source->derives_profile,
		.kinds = run->sink->format && run->sink->format->kinds ? run->sink->format->kinds :
									 SONDE_KINDS_ALL,
		.detail_count = track->detail_count,
		.detail_end = source->recording->details_by_event ? track->event_count :
								    track->detail_count,
	};
	struct sonde_cursor *cursor = NULL;
	enum sonde_status status;
	struct chain chain;

	status = chain_init(&chain, run, piece, &tally, err);
	if (status)
		return status;
	status = open_cursor(source, piece->track, &cursor, err);
	if (!status)
		status = feed_events(run, piece, cursor, &chain, &run->events_read, err);
	if (!status)
		status = sonde_run_feed_profile(run, piece, &tally, err);
	if (!status)
		status = chain.first->ops->track_end(chain.first, piece->track, err);
	if (!status)
		add_tally(run, &tally);
	if (!status && source->derived)
		add_derived(run, cursor);
	sonde_cursor_free(cursor);
	chain_release(&chain);
	return status;
}
