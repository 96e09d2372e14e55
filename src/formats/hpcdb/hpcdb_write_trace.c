/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace.db: each track has room for as many samples as it may have at most, so that it can be
 * written as it comes. Samples name listed contexts; what is out of order, or tells twice that a
 * track does not run, is put right when the track is at its end.
 */
#include <stdlib.h>
#include <unistd.h>

#include "base/sort.h"
#include "formats/hpcdb/hpcdb_write_private.h"

#define BATCH 4096 /* samples */
#define ARRAY_OFFSET 0x40

struct line {
	struct hpcdb_job *job;
	uint32_t track;
	uint64_t start, room, count;
	uint64_t first_ns, last_ns; /* lowest and highest so far */
	uint64_t out_of_order;
	bool repeats_rest; /* a sample with context 0 after another one */
	uint32_t last_context;
	struct sonde_sample samples[BATCH];
	uint8_t bytes[BATCH * HPCDB_SAMPLE_SIZE];
};

enum sonde_status hpcdb_plan_trace(struct hpcdb_job *job, struct sonde_error *err)
{
	const struct hpcdb_world *world = job->world;
	uint64_t offset = ARRAY_OFFSET + (uint64_t)world->track_count * HPCDB_TRACE_SIZE;
	uint64_t samples = 0;

	for (uint32_t i = 0; i < world->track_count; i++)
		if (__builtin_add_overflow(samples, world->tracks[i].sample_limit, &samples) ||
		    samples > (uint64_t)INT64_MAX / 2 / HPCDB_SAMPLE_SIZE)
			return sonde_fail(err, SONDE_LIMIT, SONDE_NO_OFFSET,
					  "the samples of all tracks do not fit into a file");
	atomic_store(&job->time_first, UINT64_MAX);
	if (!samples || job->options->no_traces)
		return SONDE_OK;
	job->lines = malloc(((size_t)world->track_count + 1) * sizeof(*job->lines));
	if (!job->lines)
		return sonde_fail_nomem(err);
	for (uint32_t i = 0; i < world->track_count; i++) {
		job->lines[i] = offset;
		offset = hpcdb_aligned(offset + world->tracks[i].sample_limit * HPCDB_SAMPLE_SIZE,
				       8);
	}
	job->lines[world->track_count] = offset;
	return SONDE_OK;
}

static void store_sample(uint8_t *place, uint64_t time_ns, uint32_t context)
{
	sonde_store_u64le(place, time_ns);
	sonde_store_u32le(place + 8, context);
}

static enum sonde_status add_samples(struct line *line, size_t count, struct sonde_error *err)
{
	const struct hpcdb_job *job = line->job;
	uint64_t offset = line->start + line->count * HPCDB_SAMPLE_SIZE;

	if (count > line->room - line->count)
		return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
				  "track %u has more samples than the %llu it said it has at most",
				  line->track, (unsigned long long)line->room);
	for (size_t i = 0; i < count; i++) {
		const struct sonde_sample *sample = &line->samples[i];
		uint32_t context;

		if (sample->context >= job->world->context_count)
			return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
					  "a sample of track %u is in context %u, but there are %u",
					  line->track, sample->context, job->world->context_count);
		context = job->listed[sample->context];
		line->repeats_rest |= !context && !line->last_context;
		line->last_context = context;
		line->out_of_order += sample->time_ns < line->last_ns;
		if (sample->time_ns > line->last_ns)
			line->last_ns = sample->time_ns;
		if (sample->time_ns < line->first_ns)
			line->first_ns = sample->time_ns;
		store_sample(line->bytes + i * HPCDB_SAMPLE_SIZE, sample->time_ns, context);
	}
	line->count += count;
	return hpcdb_target_write(&job->trace, offset, line->bytes, count * HPCDB_SAMPLE_SIZE, err);
}

/* Puts a whole line in the order of time; of equal times the earlier stays the first. */
static enum sonde_status sort_line(struct line *line, struct sonde_error *err)
{
	const struct hpcdb_target *file = &line->job->trace;
	size_t size = line->count * HPCDB_SAMPLE_SIZE;
	struct sonde_sort_item *items = malloc(line->count * sizeof(*items));
	uint8_t *bytes = malloc(size);
	enum sonde_status status;

	if (!items || !bytes) {
		free(items);
		free(bytes);
		return sonde_fail_nomem(err);
	}
	status = hpcdb_target_read(file, line->start, bytes, size, err);
	for (size_t i = 0; i < line->count && status >= 0; i++) {
		const uint8_t *place = bytes + i * HPCDB_SAMPLE_SIZE;

		items[i] = (struct sonde_sort_item){ sonde_load_u64le(place),
						     sonde_load_u32le(place + 8) };
	}
	if (status >= 0 && !sonde_sort(items, line->count))
		status = sonde_fail_nomem(err);
	for (size_t i = 0; i < line->count && status >= 0; i++)
		store_sample(bytes + i * HPCDB_SAMPLE_SIZE, items[i].key,
			     (uint32_t)items[i].number);
	if (status >= 0)
		status = hpcdb_target_write(file, line->start, bytes, size, err);
	free(items);
	free(bytes);
	return status;
}

/* Of samples that say one after the other that the track does not run, keeps the first. */
static enum sonde_status drop_repeats(struct line *line, struct sonde_error *err)
{
	const struct hpcdb_target *file = &line->job->trace;
	uint64_t kept = 0;
	uint32_t last = UINT32_MAX;
	enum sonde_status status = SONDE_OK;

	for (uint64_t i = 0; i < line->count && status >= 0; i += BATCH) {
		size_t count = line->count - i < BATCH ? line->count - i : BATCH, fewer = 0;

		status = hpcdb_target_read(file, line->start + i * HPCDB_SAMPLE_SIZE, line->bytes,
					   count * HPCDB_SAMPLE_SIZE, err);
		for (size_t k = 0; k < count && status >= 0; k++) {
			const uint8_t *sample = line->bytes + k * HPCDB_SAMPLE_SIZE;
			uint32_t context = sonde_load_u32le(sample + 8);

			if (!context && !last)
				continue;
			last = context;
			memmove(line->bytes + fewer++ * HPCDB_SAMPLE_SIZE, sample,
				HPCDB_SAMPLE_SIZE);
		}
		if (status >= 0)
			status = hpcdb_target_write(file, line->start + kept * HPCDB_SAMPLE_SIZE,
						    line->bytes, fewer * HPCDB_SAMPLE_SIZE, err);
		kept += fewer;
	}
	/* what was behind is no part of the line, but should not look like one either */
	memset(line->bytes, 0, sizeof(line->bytes));
	for (uint64_t i = kept; i < line->count && status >= 0; i += BATCH)
		status = hpcdb_target_write(file, line->start + i * HPCDB_SAMPLE_SIZE, line->bytes,
					    (line->count - i < BATCH ? line->count - i : BATCH) *
						    HPCDB_SAMPLE_SIZE,
					    err);
	line->count = kept;
	return status;
}

static void note_times(struct hpcdb_job *job, const struct line *line)
{
	uint64_t first = atomic_load(&job->time_first), last = atomic_load(&job->time_last);

	if (!line->count)
		return;
	while (line->first_ns < first &&
	       !atomic_compare_exchange_weak(&job->time_first, &first, line->first_ns))
		;
	while (line->last_ns > last &&
	       !atomic_compare_exchange_weak(&job->time_last, &last, line->last_ns))
		;
}

static enum sonde_status finish_line(struct line *line, struct sonde_error *err)
{
	struct hpcdb_job *job = line->job;
	uint8_t head[HPCDB_TRACE_SIZE] = { 0 };
	enum sonde_status status = SONDE_OK;

	if (line->out_of_order)
		status = sort_line(line, err);
	if (status >= 0 && (line->out_of_order || line->repeats_rest))
		status = drop_repeats(line, err);
	if (status < 0)
		return status;
	note_times(job, line);
	atomic_fetch_add(&job->samples, line->count);
	atomic_fetch_add(&job->samples_out_of_order, line->out_of_order);
	sonde_store_u32le(head, line->track + 1);
	sonde_store_u64le(head + 0x08, line->start);
	sonde_store_u64le(head + 0x10, line->start + line->count * HPCDB_SAMPLE_SIZE);
	return hpcdb_target_write(&job->trace,
				  ARRAY_OFFSET + (uint64_t)line->track * HPCDB_TRACE_SIZE, head,
				  sizeof(head), err);
}

enum sonde_status hpcdb_write_line(struct hpcdb_job *job, uint32_t track, void *state,
				   struct sonde_error *err)
{
	struct line *line = malloc(sizeof(*line));
	enum sonde_status status = SONDE_OK;
	size_t count = 1;

	if (!line)
		return sonde_fail_nomem(err);
	line->job = job;
	line->track = track;
	line->start = job->lines[track];
	line->room = job->world->tracks[track].sample_limit;
	line->first_ns = UINT64_MAX;
	line->last_ns = line->count = line->out_of_order = 0;
	line->repeats_rest = false;
	line->last_context = UINT32_MAX;
	while (count && status >= 0) {
		count = 0;
		status = job->source->samples(state, line->samples, BATCH, &count, err);
		if (status >= 0 && count)
			status = add_samples(line, count, err);
	}
	if (status >= 0)
		status = finish_line(line, err);
	free(line);
	return status;
}

/* Times and numbers of all ranks are known; where nothing was sampled there is no file at all. */
enum sonde_status hpcdb_write_trace_head(struct hpcdb_job *job, struct sonde_error *err)
{
	uint32_t tracks = job->world->track_count;
	uint64_t end = hpcdb_aligned(job->lines[tracks], 8);
	struct sonde_buffer out = { 0 };
	enum sonde_status status;

	if (!atomic_load(&job->samples)) {
		if (unlink(job->trace.path))
			return sonde_fail_errno(err, job->trace.path, "cannot be removed");
		return SONDE_OK;
	}
	hpcdb_put_magic(&out, "trce");
	sonde_put_u64le(&out,
			ARRAY_OFFSET - HPCDB_TRACE_HEADER + (uint64_t)tracks * HPCDB_TRACE_SIZE);
	sonde_put_u64le(&out, HPCDB_TRACE_HEADER);
	sonde_put_u64le(&out, ARRAY_OFFSET);
	sonde_put_u32le(&out, tracks);
	sonde_put_u32le(&out, HPCDB_TRACE_SIZE);
	sonde_put_u64le(&out, atomic_load(&job->time_first));
	sonde_put_u64le(&out, atomic_load(&job->time_last));
	status = out.failed ? sonde_fail_nomem(err) :
			      hpcdb_target_write(&job->trace, 0, out.data, out.size, err);
	if (status >= 0)
		status = hpcdb_target_write(&job->trace, end, "trace.db", HPCDB_FOOTER_SIZE, err);
	job->written->bytes += end + HPCDB_FOOTER_SIZE;
	sonde_buffer_release(&out);
	return status;
}
