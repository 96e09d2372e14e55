/* SPDX-License-Identifier: Apache-2.0 */
/* Counts events and samples by slices of time. */
#include "analyse/density.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/pool.h"

#define SLICES_MOST ((size_t)1 << 20)

struct counting {
	struct density *density;
	struct sonde_recording *recording;
	_Atomic uint64_t *slices;
	struct sonde_meter meter;
};

/* What is added to one slice at once, since most of what comes next is in the same one. */
struct run_of_one {
	struct counting *counting;
	size_t slice;
	uint64_t count;
};

static void flush(struct run_of_one *run)
{
	if (run->count)
		atomic_fetch_add_explicit(&run->counting->slices[run->slice], run->count,
					  memory_order_relaxed);
	run->count = 0;
}

/* Times of a damaged track may lie anywhere. */
static size_t slice_of(const struct density *density, uint64_t time_ns)
{
	if (time_ns <= density->first_ns)
		return 0;
	if (time_ns >= density->last_ns)
		return density->slice_count - 1;
	return (size_t)((time_ns - density->first_ns) >> density->shift);
}

static void count(struct run_of_one *run, uint64_t time_ns)
{
	size_t slice = slice_of(run->counting->density, time_ns);

	if (slice != run->slice) {
		flush(run);
		run->slice = slice;
	}
	run->count++;
}

static enum sonde_status count_events(struct counting *counting, uint32_t track,
				      struct run_of_one *run, struct sonde_error *err)
{
	struct sonde_cursor *cursor = NULL;
	struct sonde_batch batch;
	enum sonde_status status = sonde_cursor_open(counting->recording, track, &cursor, err);

	if (status)
		return status;
	while (!(status = sonde_cursor_next(cursor, &batch, err))) {
		for (size_t i = 0; i < batch.count; i++)
			count(run, batch.events[i].time_ns);
		status = sonde_meter_add(&counting->meter, batch.count, err);
		if (status)
			break;
	}
	sonde_cursor_free(cursor);
	return status == SONDE_END ? SONDE_OK : status;
}

static enum sonde_status count_samples(struct counting *counting, uint32_t track,
				       struct run_of_one *run, struct sonde_error *err)
{
	struct sonde_sample_cursor *cursor = NULL;
	const struct sonde_sample *samples;
	enum sonde_status status =
		sonde_sample_cursor_open(counting->recording, track, &cursor, err);
	size_t size;

	if (status)
		return status;
	while (!(status = sonde_sample_cursor_next(cursor, &samples, &size, err))) {
		for (size_t i = 0; i < size; i++)
			count(run, samples[i].time_ns);
		status = sonde_meter_add(&counting->meter, size, err);
		if (status)
			break;
	}
	sonde_sample_cursor_free(cursor);
	return status == SONDE_END ? SONDE_OK : status;
}

static enum sonde_status count_track(void *user, size_t number, struct sonde_error *err)
{
	struct counting *counting = user;
	struct run_of_one run = { .counting = counting };
	unsigned int lanes = sonde_recording_lanes(counting->recording);
	enum sonde_status status = SONDE_OK;

	if (lanes & SONDE_LANE_EVENTS)
		status = count_events(counting, (uint32_t)number, &run, err);
	if (!status && (lanes & SONDE_LANE_SAMPLES))
		status = count_samples(counting, (uint32_t)number, &run, err);
	flush(&run);
	return status;
}

static void add_up(struct density *density, _Atomic uint64_t *slices)
{
	for (size_t i = 0; i < density->slice_count; i++)
		density->before[i + 1] = density->before[i] + slices[i];
}

enum sonde_status density_find(struct density *density, struct sonde_recording *recording,
			       const struct sonde_run_options *options, struct sonde_error *err)
{
	const struct sonde_definitions *definitions = sonde_recording_definitions(recording);
	uint32_t tracks = sonde_definitions_track_count(definitions);
	struct counting counting = { .density = density,
				     .recording = recording,
				     .meter.progress = options->progress };
	enum sonde_status status;

	*density = (struct density){ 0 };
	sonde_recording_time_range(recording, &density->first_ns, &density->last_ns);
	while ((density->last_ns - density->first_ns) >> density->shift >= SLICES_MOST)
		density->shift++;
	density->slice_count =
		(size_t)((density->last_ns - density->first_ns) >> density->shift) + 1;
	for (uint32_t i = 0; i < tracks; i++) {
		const struct sonde_track *track = sonde_definitions_track(definitions, i);

		counting.meter.total += track->event_count + track->sample_count;
	}
	counting.slices = calloc(density->slice_count, sizeof(*counting.slices));
	density->before = calloc(density->slice_count + 1, sizeof(*density->before));
	if (!counting.slices || !density->before) {
		free(counting.slices);
		return sonde_fail_nomem(err);
	}
	status = sonde_pool_run(tracks, options->threads, count_track, &counting, err);
	if (!status)
		add_up(density, counting.slices);
	free(counting.slices);
	return status;
}

void density_release(struct density *density)
{
	free(density->before);
	*density = (struct density){ 0 };
}

double density_before(const struct density *density, uint64_t time_ns)
{
	size_t slice = slice_of(density, time_ns);
	double inside = 0;

	if (time_ns > density->last_ns)
		return (double)density->before[density->slice_count];
	if (time_ns > density->first_ns)
		inside = (double)((time_ns - density->first_ns) &
				  ((UINT64_C(1) << density->shift) - 1)) /
			 (double)(UINT64_C(1) << density->shift);
	return (double)density->before[slice] +
	       inside * (double)(density->before[slice + 1] - density->before[slice]);
}

uint64_t density_time(const struct density *density, double wanted)
{
	size_t low = 0, high = density->slice_count;
	double share, inside;
	uint64_t time_ns;

	if (wanted >= (double)density->before[high])
		return density->last_ns == UINT64_MAX ? UINT64_MAX : density->last_ns + 1;
	/* the last slice before which not more than that happened */
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if ((double)density->before[middle] <= wanted)
			low = middle;
		else
			high = middle;
	}
	inside = (double)(density->before[low + 1] - density->before[low]);
	share = inside > 0 ? (wanted - (double)density->before[low]) / inside : 0;
	time_ns = density->first_ns + ((uint64_t)low << density->shift);
	return time_ns + (uint64_t)(share * (double)(UINT64_C(1) << density->shift));
}
