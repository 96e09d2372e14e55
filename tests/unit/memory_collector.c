/* SPDX-License-Identifier: Apache-2.0 */
/* The collecting sink of memory_recording.h: it keeps all it gets, and checks the order of calls. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "memory_recording.h"

static void need(bool happened)
{
	if (!happened)
		abort();
}

static enum sonde_status collect_begin(struct sonde_sink *sink,
				       const struct sonde_definitions *definitions,
				       struct sonde_error *err)
{
	struct collector *collector = (struct collector *)sink;

	collector->definitions = definitions;
	collector->track_count = sonde_definitions_track_count(definitions);
	collector->tracks = calloc(collector->track_count + 1u, sizeof(*collector->tracks));
	if (!collector->tracks)
		return sonde_fail_nomem(err);
	collector->begun++;
	return SONDE_OK;
}

static enum sonde_status fail_in_time(struct collector *collector, struct sonde_error *err)
{
	int left = atomic_load(&collector->calls_until_failure);

	if (left < 0)
		return SONDE_OK;
	left = atomic_fetch_sub(&collector->calls_until_failure, 1);
	if (left > 0)
		return SONDE_OK;
	if (left < 0)
		collector->calls_after_failure++;
	atomic_store(&collector->calls_until_failure, 0);
	return sonde_fail(err, SONDE_IO, SONDE_NO_OFFSET, "the sink was made to fail");
}

static bool make_room(struct collected_track *track, size_t count)
{
	size_t capacity = track->capacity;

	return sonde_vec_grow(&track->detail_functions, &capacity, track->count, count,
			      sizeof(*track->detail_functions)) &&
	       sonde_vec_grow(&track->events, &track->capacity, track->count, count,
			      sizeof(*track->events));
}

static enum sonde_status collect_events(struct sonde_sink *sink, uint32_t number,
					const struct sonde_batch *batch, struct sonde_error *err)
{
	struct collector *collector = (struct collector *)sink;
	struct collected_track *track = &collector->tracks[number];
	enum sonde_status status = fail_in_time(collector, err);

	if (status)
		return status;
	need(number < collector->track_count && batch->count && !track->ends);
	need(batch->first_index == track->count);
	if (!make_room(track, batch->count))
		return sonde_fail_nomem(err);
	for (size_t i = 0; i < batch->count; i++) {
		struct sonde_detail detail = { .function = SONDE_NONE };

		need(batch->events[i].track == number);
		if (collector->ops.lanes & SONDE_LANE_DETAILS)
			status = sonde_batch_detail(batch, &batch->events[i], &detail, err);
		if (status < 0)
			return status;
		if (status == SONDE_OK && detail.stack)
			need(*detail.stack == (uint8_t)batch->events[i].detail);
		track->detail_functions[track->count] =
			detail.kind == SONDE_DETAIL_ARGUMENTS ? detail.event_type : detail.function;
		for (size_t k = 0; detail.kind == SONDE_DETAIL_ARGUMENTS && k < detail.size; k++)
			collector->argument_bytes += detail.bytes[k];
		track->events[track->count++] = batch->events[i];
	}
	return SONDE_OK;
}

enum sonde_status collect_blob(struct sonde_sink *sink, const struct sonde_blob *blob,
			       struct sonde_error *err)
{
	struct collector *collector = (struct collector *)sink;
	size_t number = collector->blob_count++;

	(void)err;
	need(collector->begun == 1 && number < COLLECTED_BLOBS);
	for (uint32_t i = 0; i < collector->track_count; i++)
		need(!collector->tracks[i].count && !collector->tracks[i].ends);
	collector->blobs[number] = *blob;
	snprintf(collector->blob_names[number], sizeof(collector->blob_names[number]), "%s",
		 sonde_definitions_string(collector->definitions, blob->name));
	return SONDE_OK;
}

static enum sonde_status collect_track_end(struct sonde_sink *sink, uint32_t track,
					   struct sonde_error *err)
{
	struct collector *collector = (struct collector *)sink;
	enum sonde_status status = fail_in_time(collector, err);

	if (status)
		return status;
	need(track < collector->track_count);
	collector->tracks[track].ends++;
	return SONDE_OK;
}

static enum sonde_status collect_contexts(struct sonde_sink *sink,
					  const struct sonde_context *contexts, uint32_t count,
					  struct sonde_error *err)
{
	struct collector *collector = (struct collector *)sink;
	enum sonde_status status = fail_in_time(collector, err);

	if (status)
		return status;
	need(collector->begun == 1 && count && !collector->contexts);
	for (uint32_t i = 0; i < collector->track_count; i++)
		need(!collector->tracks[i].sample_count && !collector->tracks[i].ends);
	collector->contexts = malloc(count * sizeof(*contexts));
	if (!collector->contexts)
		return sonde_fail_nomem(err);
	memcpy(collector->contexts, contexts, count * sizeof(*contexts));
	collector->context_count = count;
	need(contexts[0].kind == SONDE_CONTEXT_ROOT && contexts[0].end == count);
	for (uint32_t i = 1; i < count; i++) {
		need(contexts[i].kind != SONDE_CONTEXT_ROOT && contexts[i].parent < i);
		need(contexts[i].end > i && contexts[i].end <= contexts[contexts[i].parent].end);
	}
	return SONDE_OK;
}

static enum sonde_status collect_samples(struct sonde_sink *sink, uint32_t number,
					 const struct sonde_sample *samples, size_t count,
					 struct sonde_error *err)
{
	struct collector *collector = (struct collector *)sink;
	struct collected_track *track = &collector->tracks[number];
	enum sonde_status status = fail_in_time(collector, err);

	if (status)
		return status;
	need(number < collector->track_count && count && !track->ends && collector->contexts);
	if (!sonde_vec_grow(&track->samples, &track->sample_capacity, track->sample_count, count,
			    sizeof(*track->samples)))
		return sonde_fail_nomem(err);
	for (size_t i = 0; i < count; i++) {
		need(samples[i].track == number && samples[i].context < collector->context_count);
		track->samples[track->sample_count++] = samples[i];
	}
	return SONDE_OK;
}

static enum sonde_status collect_values(struct sonde_sink *sink, uint32_t number,
					const struct sonde_value *values, size_t count,
					struct sonde_error *err)
{
	struct collector *collector = (struct collector *)sink;
	struct collected_track *track = &collector->tracks[number];
	enum sonde_status status = fail_in_time(collector, err);

	if (status)
		return status;
	need(number < collector->track_count && count && !track->ends && collector->contexts);
	if (!sonde_vec_grow(&track->values, &track->value_capacity, track->value_count, count,
			    sizeof(*track->values)))
		return sonde_fail_nomem(err);
	for (size_t i = 0; i < count; i++) {
		need(values[i].track == number && values[i].context < collector->context_count);
		need(values[i].value != 0);
		if (track->value_count)
			need(track->values[track->value_count - 1].context <= values[i].context);
		track->values[track->value_count++] = values[i];
	}
	return SONDE_OK;
}

static enum sonde_status collect_finish(struct sonde_sink *sink, struct sonde_error *err)
{
	struct collector *collector = (struct collector *)sink;

	(void)err;
	collector->finished++;
	if (collector->at_finish)
		collector->at_finish(collector);
	return SONDE_OK;
}

void collector_init(struct collector *collector)
{
	*collector = (struct collector){
		.ops = {
			.lanes = SONDE_LANE_EVENTS | SONDE_LANE_DETAILS,
			.parallel_tracks = true,
			.begin = collect_begin,
			.events = collect_events,
			.track_end = collect_track_end,
			.finish = collect_finish,
		},
		.calls_until_failure = -1,
	};
	collector->base.ops = &collector->ops;
}

void collector_init_profile(struct collector *collector)
{
	collector_init(collector);
	collector->ops.lanes = SONDE_LANE_CONTEXTS | SONDE_LANE_VALUES | SONDE_LANE_SAMPLES;
	collector->ops.events = NULL;
	collector->ops.contexts = collect_contexts;
	collector->ops.samples = collect_samples;
	collector->ops.values = collect_values;
}

void collector_release(struct collector *collector)
{
	for (uint32_t i = 0; collector->tracks && i < collector->track_count; i++) {
		free(collector->tracks[i].events);
		free(collector->tracks[i].detail_functions);
		free(collector->tracks[i].samples);
		free(collector->tracks[i].values);
	}
	free(collector->contexts);
	free(collector->tracks);
}
