/* SPDX-License-Identifier: Apache-2.0 */
/* What a run of a pipeline could not carry over, lane by lane. */
#include "model/pipeline_private.h"

/* Samples that became events: what they said beyond calls. */
static enum sonde_status count_derived_events(struct run *run, const struct source *source,
					      struct sonde_error *err)
{
	enum sonde_status status;

	status = sonde_loss_add(run->loss, "contexts",
				"lines, loops and instructions are part of their functions: the "
				"target holds calls",
				sonde_derived_events_folded(source->derived), err);
	if (!status)
		status = sonde_loss_add(run->loss, "contexts",
					"they lie deeper than calls are derived",
					sonde_derived_events_too_deep(source->derived), err);
	return status;
}

/* Events that became contexts, values and samples. */
static enum sonde_status count_derived_profile(struct run *run, struct sonde_error *err)
{
	enum sonde_status status;

	status = sonde_loss_add(run->loss, "events that are not calls",
				"the target holds contexts, values and samples, which are made of "
				"calls",
				run->not_calls, err);
	if (!status)
		status = sonde_loss_add(run->loss, "exceptions",
					"the target does not tell how a call was left",
					run->exceptions, err);
	return status;
}

uint64_t sonde_run_count_lane(struct sonde_recording *recording, unsigned int lane)
{
	const struct sonde_context *contexts;
	uint32_t context_count = 0;
	uint64_t count = 0;

	if (lane == SONDE_LANE_VALUES && sonde_recording_value_count(recording, &count, NULL))
		count = 0;
	if (lane == SONDE_LANE_CONTEXTS &&
	    !sonde_recording_contexts(recording, &contexts, &context_count, NULL))
		count = context_count;
	for (uint32_t i = 0; lane == SONDE_LANE_SAMPLES &&
			     i < sonde_definitions_track_count(recording->definitions);
	     i++)
		count += sonde_definitions_track(recording->definitions, i)->sample_count;
	return count ? count : 1;
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
	unsigned int held = run->held | SONDE_LANE_EVENTS | SONDE_LANE_DETAILS | SONDE_LANE_BLOBS;

	for (size_t i = 0; i < run->source_count; i++) {
		const struct source *source = &run->sources[i];
		unsigned int lost = source->recording->lanes & ~held;

		if (source->derived) {
			enum sonde_status status = count_derived_events(run, source, err);

			if (status)
				return status;
			lost &= ~(unsigned int)(SONDE_LANE_SAMPLES | SONDE_LANE_CONTEXTS);
		}
		if (source->derives_values) {
			enum sonde_status status = sonde_loss_add(
				run->loss, "times of samples",
				"the target holds how long was spent where, and not when",
				sonde_run_count_lane(source->recording, SONDE_LANE_SAMPLES), err);

			if (status)
				return status;
			lost &= ~(unsigned int)SONDE_LANE_SAMPLES;
		}
		for (size_t k = 0; k < sizeof(lanes) / sizeof(lanes[0]); k++) {
			enum sonde_status status = SONDE_OK;

			if (lost & lanes[k].lane)
				status = sonde_loss_add(
					run->loss, lanes[k].name, "the target does not hold them",
					sonde_run_count_lane(source->recording, lanes[k].lane),
					err);
			if (status)
				return status;
		}
	}
	return SONDE_OK;
}

enum sonde_status sonde_run_count_loss(struct run *run, struct sonde_error *err)
{
	enum sonde_status status = count_lost_lanes(run, err);

	if (!status)
		status = sonde_run_count_facts(run, err);
	if (!status)
		status = sonde_loss_add(run->loss, "samples",
					"the target does not hold samples: events derived from "
					"samples stand for them",
					run->samples_derived, err);
	if (!status && !sonde_run_holds(run, SONDE_LANE_EVENTS))
		status = sonde_loss_add(run->loss, "events", "the target does not hold events",
					run->events_fed - run->events_derived_from, err);
	if (!status)
		status = count_derived_profile(run, err);
	if (!status && !sonde_run_holds(run, SONDE_LANE_DETAILS))
		status = sonde_loss_add(run->loss, "details", "the target does not hold details",
					run->details, err);
	if (!status)
		status = sonde_loss_add(run->loss, "details without an event",
					"only what an event leads to is carried over",
					run->details_unlinked, err);
	if (!status)
		status = sonde_loss_add(run->loss, "events out of order",
					"they come behind the piece that their time lies in",
					run->out_of_order, err);
	return status;
}
