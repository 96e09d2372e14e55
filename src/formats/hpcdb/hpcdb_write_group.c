/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From planes of tracks to blocks of contexts, for one group of contexts at a time: the runs of all
 * tracks are read back, and put by counting into the order of context, metric, track. The
 * statistics over the tracks come from the result, so that they add up in the order of tracks.
 */
#include <stdlib.h>

#include "formats/hpcdb/hpcdb_write_private.h"

#define BLOCK_ENTRIES 256 /* of an index, read at once */

/* The values of one context on one track, in the raw bytes. */
struct run {
	uint32_t track, context, count;
};

struct tally {
	double sum, squares, min, max;
	uint64_t count;
};

struct hpcdb_transposer {
	struct sonde_buffer raw; /* pairs as in the planes, run after run */
	SONDE_VEC(struct run) runs;
	SONDE_VEC(uint64_t) keys; /* of each context and slot: numbers, then offsets in blocks */
	SONDE_VEC(struct tally) tallies; /* of each slot of a context */
	SONDE_VEC(uint32_t) blocks; /* of each track: the last one of its index that was read */
	uint8_t index[BLOCK_ENTRIES * HPCDB_PROFILE_INDEX_SIZE];
};

struct hpcdb_transposer *hpcdb_transposer_new(void)
{
	return calloc(1, sizeof(struct hpcdb_transposer));
}

void hpcdb_transposer_free(struct hpcdb_transposer *transposer)
{
	if (!transposer)
		return;
	sonde_buffer_release(&transposer->raw);
	sonde_vec_release(&transposer->runs);
	sonde_vec_release(&transposer->keys);
	sonde_vec_release(&transposer->tallies);
	sonde_vec_release(&transposer->blocks);
	free(transposer);
}

static enum sonde_status read_index(struct hpcdb_transposer *transposer,
				    const struct hpcdb_job *job, const struct hpcdb_plane *plane,
				    uint32_t first, uint32_t count, struct sonde_error *err)
{
	uint64_t offset =
		hpcdb_plane_index_offset(plane) + (uint64_t)first * HPCDB_PROFILE_INDEX_SIZE;

	return hpcdb_target_read(&job->values, offset, transposer->index,
				 (size_t)count * HPCDB_PROFILE_INDEX_SIZE, err);
}

static uint32_t context_at(const struct hpcdb_transposer *transposer, uint32_t entry)
{
	return sonde_load_u32le(transposer->index + (size_t)entry * HPCDB_PROFILE_INDEX_SIZE);
}

static uint64_t start_at(const struct hpcdb_transposer *transposer, uint32_t entry)
{
	return sonde_load_u64le(transposer->index + (size_t)entry * HPCDB_PROFILE_INDEX_SIZE + 4);
}

/*
 * The block of the index that the first context not below `context` is in, or an earlier one next
 * to it: reads no more than a few.
 */
static enum sonde_status find_block(struct hpcdb_transposer *transposer,
				    const struct hpcdb_job *job, const struct hpcdb_plane *plane,
				    uint32_t context, uint32_t *block, struct sonde_error *err)
{
	uint32_t low = 0, high = plane->contexts / BLOCK_ENTRIES + 1;

	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;
		enum sonde_status status;

		if (middle * (uint64_t)BLOCK_ENTRIES >= plane->contexts) {
			high = middle;
			continue;
		}
		status = read_index(transposer, job, plane, middle * BLOCK_ENTRIES, 1, err);
		if (status < 0)
			return status;
		if (context_at(transposer, 0) <= context)
			low = middle;
		else
			high = middle;
	}
	*block = low;
	return SONDE_OK;
}

static enum sonde_status read_block(struct hpcdb_transposer *transposer,
				    const struct hpcdb_job *job, const struct hpcdb_plane *plane,
				    uint32_t block, uint32_t *entries, struct sonde_error *err)
{
	uint64_t first = (uint64_t)block * BLOCK_ENTRIES;
	uint64_t left = first < plane->contexts ? plane->contexts - first : 0;

	*entries = left < BLOCK_ENTRIES ? (uint32_t)left : BLOCK_ENTRIES;
	return read_index(transposer, job, plane, (uint32_t)first, *entries, err);
}

/*
 * Reads the block of the index where a group begins. Groups come in order, so that it mostly is the one where the
 * last group ended, *block, or the next.
 */
static enum sonde_status read_first_block(struct hpcdb_transposer *transposer,
					  const struct hpcdb_job *job,
					  const struct hpcdb_plane *plane, uint32_t context,
					  uint32_t *block, uint32_t *entries,
					  struct sonde_error *err)
{
	enum sonde_status status;

	for (unsigned int tries = 0; tries < 2; tries++, ++*block) {
		status = read_block(transposer, job, plane, *block, entries, err);
		if (status < 0 || !*entries || (*block && context_at(transposer, 0) > context))
			break;
		if (context_at(transposer, *entries - 1) >= context)
			return SONDE_OK;
	}
	if (status >= 0)
		status = find_block(transposer, job, plane, context, block, err);
	return status < 0 ? status : read_block(transposer, job, plane, *block, entries, err);
}

/* What was found of a track so far. */
struct span {
	uint32_t track;
	uint64_t begin, end; /* its pairs in the plane, up to the last run that was found */
	bool is_open;	     /* the count of the last run follows from the start of the next one */
	bool is_whole;
};

static void close_run(struct hpcdb_transposer *transposer, struct span *span, uint64_t start)
{
	if (span->is_open)
		transposer->runs.items[transposer->runs.count - 1].count =
			(uint32_t)(start - span->end);
	span->end = start;
	span->is_open = false;
}

/* The part of the index that was read becomes runs. */
static enum sonde_status add_runs(struct hpcdb_transposer *transposer,
				  const struct hpcdb_group *group, struct span *span,
				  uint32_t entries, struct sonde_error *err)
{
	for (uint32_t i = 0; i < entries; i++) {
		uint32_t context = context_at(transposer, i);
		uint64_t start = start_at(transposer, i);
		struct run *run;

		if (context < group->first)
			continue;
		if (!span->is_open)
			span->begin = start;
		close_run(transposer, span, start);
		if (context >= group->end) {
			span->is_whole = true;
			return SONDE_OK;
		}
		run = sonde_vec_push(&transposer->runs);
		if (!run)
			return sonde_fail_nomem(err);
		*run = (struct run){ .track = span->track, .context = context - group->first };
		span->is_open = true;
	}
	return SONDE_OK;
}

/* Counts the pairs of the runs from `first` on, which begin at `pair`. */
static void count_keys(struct hpcdb_transposer *transposer, const struct hpcdb_plan *plan,
		       size_t first, const uint8_t *pair)
{
	for (size_t i = first; i < transposer->runs.count; i++) {
		const struct run *run = &transposer->runs.items[i];
		uint64_t *keys = transposer->keys.items + (size_t)run->context * plan->slot_count;

		for (uint32_t k = 0; k < run->count; k++, pair += HPCDB_PROFILE_VALUE_SIZE)
			keys[plan->slot_of_id[sonde_load_u16le(pair)]]++;
	}
}

/* Appends the runs of a track, and their pairs to the raw bytes; counts these in `keys`. */
static enum sonde_status read_track(struct hpcdb_transposer *transposer,
				    const struct hpcdb_job *job, const struct hpcdb_group *group,
				    uint32_t track, struct sonde_error *err)
{
	const struct hpcdb_plane *plane = &job->planes[track];
	struct span span = { .track = track };
	size_t first_run = transposer->runs.count;
	uint32_t *block = &transposer->blocks.items[track], entries;
	uint64_t size;
	char *place;
	enum sonde_status status =
		read_first_block(transposer, job, plane, group->first, block, &entries, err);

	while (status >= 0 && entries) {
		status = add_runs(transposer, group, &span, entries, err);
		if (status < 0 || span.is_whole || entries < BLOCK_ENTRIES)
			break;
		status = read_block(transposer, job, plane, ++*block, &entries, err);
	}
	if (status < 0)
		return status;
	if (span.is_open)
		close_run(transposer, &span, plane->values);
	size = (span.end - span.begin) * HPCDB_PROFILE_VALUE_SIZE;
	place = sonde_buffer_reserve(&transposer->raw, size);
	if (!place)
		return sonde_fail_nomem(err);
	transposer->raw.size += size;
	status = hpcdb_target_read(&job->values,
				   plane->offset + span.begin * HPCDB_PROFILE_VALUE_SIZE, place,
				   size, err);
	/* now, while they are in the cache */
	if (status >= 0)
		count_keys(transposer, &job->plan, first_run, (const uint8_t *)place);
	return status;
}

/* {CI}, its offsets counted from the start of the group's blocks. */
static void put_info(struct hpcdb_group *group, uint64_t values, uint64_t offset, uint16_t metrics)
{
	sonde_put_u64le(&group->infos, values);
	sonde_put_u64le(&group->infos, offset);
	sonde_put_u64le(&group->infos, metrics);
	sonde_put_u64le(&group->infos, offset + values * HPCDB_CCT_VALUE_SIZE);
}

/* The pairs are filled in later; `keys` become where those of each slot go. */
static void put_block(struct hpcdb_group *group, const struct hpcdb_plan *plan, uint64_t *keys)
{
	uint64_t offset = group->blocks.size, values = 0;
	uint16_t metrics = 0;

	for (uint32_t i = 0; i < plan->slot_count; i++)
		values += keys[i];
	if (sonde_buffer_reserve(&group->blocks, values * HPCDB_CCT_VALUE_SIZE))
		group->blocks.size += values * HPCDB_CCT_VALUE_SIZE;
	values = 0;
	for (uint32_t i = 0; i < plan->slot_count; i++) {
		uint64_t count = keys[i];

		keys[i] = offset + values * HPCDB_CCT_VALUE_SIZE;
		if (!count)
			continue;
		sonde_put_u16le(&group->blocks, plan->id_of_slot[i]);
		sonde_put_u64le(&group->blocks, values);
		values += count;
		metrics++;
	}
	hpcdb_put_alignment(&group->blocks, 4);
	put_info(group, values, offset, metrics);
}

static void fill_blocks(struct hpcdb_transposer *transposer, const struct hpcdb_plan *plan,
			struct hpcdb_group *group)
{
	const uint8_t *pair = (const uint8_t *)transposer->raw.data;
	uint8_t *blocks = (uint8_t *)group->blocks.data;

	for (size_t i = 0; i < transposer->runs.count; i++) {
		const struct run *run = &transposer->runs.items[i];
		uint64_t *keys = transposer->keys.items + (size_t)run->context * plan->slot_count;

		for (uint32_t k = 0; k < run->count; k++, pair += HPCDB_PROFILE_VALUE_SIZE) {
			uint64_t *key = &keys[plan->slot_of_id[sonde_load_u16le(pair)]];
			uint8_t *place = blocks + *key;

			*key += HPCDB_CCT_VALUE_SIZE;
			sonde_store_u32le(place, run->track + 1);
			memcpy(place + 4, pair + 2, 8);
		}
	}
}

static struct tally tally_of(const uint8_t *pair, const uint8_t *end)
{
	struct tally tally = { 0 };

	for (; pair < end; pair += HPCDB_CCT_VALUE_SIZE) {
		double value = hpcdb_load_double(pair + 4);

		if (!tally.count++) {
			tally.min = value;
			tally.max = value;
		}
		tally.sum += value;
		tally.squares += value * value;
		tally.min = value < tally.min ? value : tally.min;
		tally.max = value > tally.max ? value : tally.max;
	}
	return tally;
}

static double statistic_of(const struct tally *tally, enum hpcdb_stored kind)
{
	switch (kind) {
	case HPCDB_STORED_SUM:
		return tally->sum;
	case HPCDB_STORED_COUNT:
		return (double)tally->count;
	case HPCDB_STORED_SQUARES:
		return tally->squares;
	case HPCDB_STORED_MIN:
		return tally->min;
	default:
		return tally->max;
	}
}

static void put_pair(struct hpcdb_group *group, uint16_t id, double value)
{
	uint8_t pair[HPCDB_PROFILE_VALUE_SIZE];

	if (value == 0)
		return;
	sonde_store_u16le(pair, id);
	hpcdb_store_double(pair + 2, value);
	sonde_buffer_put(&group->pairs, pair, sizeof(pair));
}

/* The statistics of one context, in the order of their ids. */
static void put_statistics(const struct hpcdb_job *job, struct hpcdb_group *group,
			   const struct tally *tallies)
{
	const struct hpcdb_plan *plan = &job->plan;

	for (uint32_t i = 0; i < job->world->metric_count; i++) {
		const struct hpcdb_numbers *numbers = &plan->metrics[i];
		const struct tally *own = tallies + numbers->first_slot;

		for (unsigned int k = 0; k < plan->stored_count; k++)
			for (unsigned int scope = 0; scope < numbers->scope_count; scope++)
				if (own[scope].count)
					put_pair(group, hpcdb_statistic_id(numbers, k, scope),
						 statistic_of(&own[scope], plan->stored[k]));
	}
}

/* After filling, a key is where its pairs end, and so where those of the next slot begin. */
static void summarize(struct hpcdb_transposer *transposer, const struct hpcdb_job *job,
		      struct hpcdb_group *group)
{
	const uint8_t *blocks = (const uint8_t *)group->blocks.data;
	const uint8_t *info = (const uint8_t *)group->infos.data;
	const uint64_t *keys = transposer->keys.items;
	uint32_t slots = job->plan.slot_count;

	for (uint32_t i = group->first; i < group->end; i++, keys += slots) {
		uint64_t before = group->pairs.size / HPCDB_PROFILE_VALUE_SIZE;
		uint64_t start = sonde_load_u64le(info + 8);
		bool is_empty = !sonde_load_u64le(info);

		info += HPCDB_CCT_CONTEXT_SIZE;
		if (is_empty)
			continue;
		for (uint32_t k = 0; k < slots; k++) {
			transposer->tallies.items[k] = tally_of(blocks + start, blocks + keys[k]);
			start = keys[k];
		}
		put_statistics(job, group, transposer->tallies.items);
		if (before == group->pairs.size / HPCDB_PROFILE_VALUE_SIZE)
			continue;
		sonde_put_u32le(&group->index, i);
		sonde_put_u64le(&group->index, before);
	}
}

/* For a database without values of tracks: the same contexts, all empty. */
static void forget_values(struct hpcdb_group *group)
{
	sonde_buffer_clear(&group->blocks);
	sonde_buffer_clear(&group->infos);
	for (uint32_t i = group->first; i < group->end; i++)
		put_info(group, 0, 0, 0);
}

enum sonde_status hpcdb_transpose(struct hpcdb_transposer *transposer, const struct hpcdb_job *job,
				  struct hpcdb_group *group, struct sonde_error *err)
{
	size_t keys = (size_t)(group->end - group->first) * job->plan.slot_count;
	enum sonde_status status = SONDE_OK;

	sonde_buffer_clear(&transposer->raw);
	transposer->runs.count = 0;
	if (!sonde_vec_reserve(&transposer->keys, keys + 1) ||
	    !sonde_vec_reserve(&transposer->tallies, (size_t)job->plan.slot_count + 1) ||
	    !sonde_vec_reserve(&transposer->blocks, job->world->track_count))
		return sonde_fail_nomem(err);
	while (transposer->blocks.count < job->world->track_count)
		transposer->blocks.items[transposer->blocks.count++] = 0;
	memset(transposer->keys.items, 0, keys * sizeof(*transposer->keys.items));
	for (uint32_t i = 0; i < job->world->track_count && status >= 0; i++)
		status = read_track(transposer, job, group, i, err);
	if (status < 0)
		return status;
	for (uint32_t i = 0; i < group->end - group->first; i++)
		put_block(group, &job->plan,
			  transposer->keys.items + (size_t)i * job->plan.slot_count);
	if (group->blocks.failed || group->infos.failed)
		return sonde_fail_nomem(err);
	fill_blocks(transposer, &job->plan, group);
	if (job->plan.stored_count)
		summarize(transposer, job, group);
	if (job->options->no_thread_values)
		forget_values(group);
	if (group->infos.failed || group->pairs.failed || group->index.failed)
		return sonde_fail_nomem(err);
	return SONDE_OK;
}
