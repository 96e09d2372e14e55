/* SPDX-License-Identifier: Apache-2.0 */
/* The end of an intake: streams become the files that cursors read, and all is defined. */
#include <stdlib.h>
#include <string.h>

#include "model/intake_private.h"

/* What is written while tracks are gone through; mapped in the end. */
struct finishing {
	struct sonde_intake *intake;
	struct sonde_output events, samples, details;
	struct sonde_output records; /* the spool that is read */
	struct intake_nest *nest;
};

static enum sonde_status flush_tracks(struct sonde_intake *intake, uint32_t first,
				      struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	for (size_t i = first; !status && i < intake->tracks.count; i++) {
		struct intake_track *track = &intake->tracks.items[i];

		status = intake_stream_flush(intake, &track->events, err);
		if (!status)
			status = intake_stream_flush(intake, &track->samples, err);
		intake_stream_release(intake, &track->events);
		intake_stream_release(intake, &track->samples);
	}
	return status;
}

/* All that is in the spool is to be read; what comes now goes to another one. */
static enum sonde_status take_spool(struct finishing *finishing, uint32_t first,
				    struct sonde_error *err)
{
	struct sonde_intake *intake = finishing->intake;
	enum sonde_status status = flush_tracks(intake, first, err);

	sonde_output_release(&finishing->records);
	if (status || intake->spool.fd < 0)
		return status;
	finishing->records = intake->spool;
	intake->spool = (struct sonde_output){ .fd = -1 };
	return sonde_output_flush(&finishing->records, err);
}

/* The times of a track are those of its samples too. */
static void note_times(struct sonde_track *track, uint64_t first_ns, uint64_t last_ns)
{
	bool any = track->event_count || track->sample_count;

	if (!any || first_ns < track->time_first_ns)
		track->time_first_ns = first_ns;
	if (!any || last_ns > track->time_last_ns)
		track->time_last_ns = last_ns;
}

/* Samples need no more than their order, and the numbers of their contexts. */
static enum sonde_status write_samples(struct finishing *finishing, uint32_t track,
				       struct sonde_error *err)
{
	struct intake_track *sampled = &finishing->intake->tracks.items[track];
	const struct intake_record *records;
	enum sonde_status status;
	struct intake_reader reader;
	size_t count = 0;

	if (!sampled->samples.last_extent)
		return SONDE_OK;
	status = intake_open_once(&finishing->samples, err);
	if (status)
		return status;
	sampled->first_sample = finishing->samples.written / sizeof(struct sonde_sample);
	status = intake_reader_open(&reader, &finishing->records, &sampled->samples, err);
	if (status)
		return status;
	while (!status) {
		status = intake_reader_next(&reader, &records, &count, err);
		if (status)
			break;
		note_times(&sampled->definition, records[0].time_ns, records[count - 1].time_ns);
		sampled->definition.sample_count += count;
		for (size_t i = 0; !status && i < count; i++) {
			struct sonde_sample sample = {
				.time_ns = records[i].time_ns,
				.track = track,
				.context = sonde_context_union_number(finishing->intake->tree,
								      records[i].function),
			};

			status = sonde_output_write(&finishing->samples, &sample, sizeof(sample),
						    err);
		}
	}
	intake_reader_release(&reader);
	return status == SONDE_END ? SONDE_OK : status;
}

static int compare_values(const void *left, const void *right)
{
	const struct sonde_value *a = left, *b = right;

	if (a->context != b->context)
		return a->context < b->context ? -1 : 1;
	return (a->metric > b->metric) - (a->metric < b->metric);
}

/* Numbers instead of nodes, in order; those that came to 0 are not there. */
static void settle_values(struct sonde_intake *intake, uint32_t track)
{
	struct intake_values *values = &intake->tracks.items[track].values;
	size_t kept = 0;

	sonde_key_map_release(&values->places);
	for (size_t i = 0; i < values->items.count; i++) {
		struct sonde_value value = values->items.items[i];

		if (value.value == 0)
			continue;
		value.context = sonde_context_union_number(intake->tree, value.context);
		values->items.items[kept++] = value;
	}
	values->items.count = kept;
	if (kept)
		qsort(values->items.items, kept, sizeof(*values->items.items), compare_values);
	intake->value_count += kept;
}

static enum sonde_status take_tracks(struct finishing *finishing, uint32_t first, uint32_t end,
				     struct sonde_error *err)
{
	enum sonde_status status = take_spool(finishing, first, err);

	for (uint32_t i = first; !status && i < end; i++) {
		status = intake_nest_track(finishing->nest, &finishing->records, i, err);
		if (!status)
			status = write_samples(finishing, i, err);
		settle_values(finishing->intake, i);
	}
	return status;
}

/* Further tracks have slots that no other of their process has. */
static void count_slots(struct sonde_intake *intake)
{
	for (size_t i = 0; i < intake->tracks.count; i++) {
		const struct sonde_track *track = &intake->tracks.items[i].definition;
		uint32_t *next = &intake->processes.items[track->process].next_slot;

		if (track->slot >= *next && track->slot < SONDE_NONE)
			*next = track->slot + 1;
	}
}

static enum sonde_status write_lanes(struct finishing *finishing, struct sonde_error *err)
{
	struct sonde_intake *intake = finishing->intake;
	uint32_t tracks = (uint32_t)intake->tracks.count;
	enum sonde_status status = sonde_context_union_finish(intake->tree, err);

	if (status)
		return status;
	finishing->nest = intake_nest_new(intake, &finishing->events, &finishing->details);
	if (!finishing->nest)
		return sonde_fail_nomem(err);
	count_slots(intake);
	status = take_tracks(finishing, 0, tracks, err);
	/* what overlaps was laid out such that it does not any more */
	if (!status && intake->tracks.count > tracks)
		status = take_tracks(finishing, tracks, (uint32_t)intake->tracks.count, err);
	return status;
}

/* What was never opened has nothing in it. */
static enum sonde_status map_lane(struct sonde_output *output, struct sonde_mapped_file *file,
				  struct sonde_error *err)
{
	return output->fd < 0 ? SONDE_OK : sonde_output_map(output, file, err);
}

static enum sonde_status map_lanes(struct finishing *finishing, struct sonde_error *err)
{
	struct sonde_intake *intake = finishing->intake;
	enum sonde_status status = map_lane(&finishing->events, &intake->events, err);

	if (!status)
		status = map_lane(&finishing->samples, &intake->samples, err);
	if (!status)
		status = map_lane(&finishing->details, &intake->details, err);
	if (!status)
		status = map_lane(&intake->detail_out, &intake->detail_bytes, err);
	return status;
}

static enum sonde_status define(struct sonde_intake *intake, struct sonde_error *err)
{
	struct sonde_definitions *definitions = intake->recording->definitions;
	struct sonde_clock clock = { .kind = SONDE_CLOCK_UNKNOWN };
	enum sonde_status status = SONDE_OK;
	uint32_t id;

	if (!sonde_definitions_clock_count(definitions))
		status = sonde_definitions_add_clock(definitions, &clock, &id, err);
	for (size_t i = 0; !status && i < intake->processes.count; i++)
		status = sonde_definitions_add_process(
			definitions, &intake->processes.items[i].definition, &id, err);
	for (size_t i = 0; !status && i < intake->tracks.count; i++)
		status = sonde_definitions_add_track(definitions,
						     &intake->tracks.items[i].definition, &id, err);
	return status;
}

static void hand_over(struct sonde_intake *intake)
{
	struct sonde_recording *recording = intake->recording;
	uint32_t contexts;
	bool has_contexts;

	sonde_context_union_contexts(intake->tree, &contexts);
	/* the root alone has them where it is what was sampled */
	has_contexts = contexts > 1 || intake->value_count || intake->samples.size;
	recording->lanes = (intake->events.size ? SONDE_LANE_EVENTS : 0) |
			   (intake->samples.size ? SONDE_LANE_SAMPLES : 0) |
			   (has_contexts ? SONDE_LANE_CONTEXTS : 0) |
			   (intake->value_count ? SONDE_LANE_VALUES : 0) |
			   (intake->details.size ? SONDE_LANE_DETAILS : 0);
	recording->data = intake;
	recording->ops = &intake_recording_ops;
	intake_release_keys(intake);
	free(intake->order);
	intake->order = NULL;
}

enum sonde_status sonde_intake_finish(struct sonde_intake *intake,
				      struct sonde_intake_counts *counts, struct sonde_error *err)
{
	struct finishing finishing = {
		.intake = intake,
		.events.fd = -1,
		.samples.fd = -1,
		.details.fd = -1,
		.records.fd = -1,
	};
	enum sonde_status status = write_lanes(&finishing, err);

	if (!status)
		status = map_lanes(&finishing, err);
	intake_nest_free(finishing.nest);
	sonde_output_release(&finishing.events);
	sonde_output_release(&finishing.samples);
	sonde_output_release(&finishing.details);
	sonde_output_release(&finishing.records);
	if (!status)
		status = define(intake, err);
	if (status)
		return status;
	if (counts)
		*counts = intake->counts;
	hand_over(intake);
	return SONDE_OK;
}
