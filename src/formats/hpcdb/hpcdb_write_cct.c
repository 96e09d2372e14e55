/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cct.db and the summary of profile.db: groups of contexts, small enough for memory, are transposed and placed one
 * behind the other (hpcdb_write_rounds.c). How one is transposed is in hpcdb_write_group.c.
 */
#include <pthread.h>
#include <stdlib.h>

#include "formats/hpcdb/hpcdb_write_private.h"

/*
 * A group takes 22 bytes a value and 8 a key; with many tracks few values of each would cost a
 * read.
 */
#define GROUP_VALUES ((uint64_t)1 << 17)
#define GROUP_VALUES_OF_TRACK 32
#define GROUP_KEYS ((uint64_t)1 << 21)
#define EXCHANGED 4096 /* totals at once */

enum { ARRAY_OFFSET = 0x40, SECTION_OFFSET = 0x30 };

/* Index entries of the summary, until all its pairs are written. */
struct entries {
	uint64_t place; /* of the first of them */
	struct sonde_buffer bytes;
};

/* A group in memory, and where it goes. */
struct slot {
	struct hpcdb_group group;
	uint64_t block, pair; /* in cct.db; in the summary */
};

struct groups {
	struct hpcdb_job *job;
	const uint32_t *bounds; /* of all groups, and the end of the last */
	size_t count;
	struct slot *slots;
	struct hpcdb_transposer **transposers; /* that rest between two groups */
	size_t resting;
	pthread_mutex_t lock;			     /* over those */
	uint64_t block_end, pair_count, entry_count; /* so far */
	uint64_t synced;			     /* the disk has begun with cct.db before */
	SONDE_VEC(struct entries) entries;
};

/* What has to be known of a group to place those behind it. */
enum { BLOCK_BYTES, PAIRS, ENTRIES, NUMBERS };

/* Totals of all ranks. */
static enum sonde_status exchange_totals(struct hpcdb_job *job, struct sonde_error *err)
{
	uint32_t contexts = job->world->context_count, ranks = sonde_team_size(job->team);
	uint64_t *mine = calloc((size_t)EXCHANGED * (ranks + 1), sizeof(*mine));
	enum sonde_status status = mine ? SONDE_OK : sonde_fail_nomem(err);

	status = sonde_team_agree(job->team, status, err);
	for (uint32_t i = 0; mine && i < contexts && status >= 0; i += EXCHANGED) {
		uint32_t count = contexts - i < EXCHANGED ? contexts - i : EXCHANGED;

		for (uint32_t k = 0; k < count; k++)
			mine[k] = job->totals[i + k];
		status = sonde_team_exchange(job->team, mine, count, mine + EXCHANGED, err);
		for (uint32_t k = 0; k < count && status >= 0; k++) {
			uint64_t sum = 0;

			for (uint32_t rank = 0; rank < ranks; rank++)
				sum += mine[EXCHANGED + (size_t)rank * count + k];
			job->totals[i + k] = sum;
		}
		if (contexts - i <= EXCHANGED)
			break;
	}
	free(mine);
	return status;
}

/*
 * Cuts the contexts into groups; the bounds follow from totals alone, so all ranks have the same.
 */
static uint32_t *cut_groups(const struct hpcdb_job *job, size_t *group_count)
{
	uint32_t contexts = job->world->context_count;
	uint64_t limit = (uint64_t)job->world->track_count * GROUP_VALUES_OF_TRACK, values = 0;
	uint64_t keys = 0;
	SONDE_VEC(uint32_t) bounds = { 0 };
	uint32_t *bound = sonde_vec_push(&bounds);

	if (limit < GROUP_VALUES)
		limit = GROUP_VALUES;
	if (bound)
		*bound = 0;
	for (uint32_t i = 0; i < contexts && bound; i++) {
		uint64_t own = job->totals[i];

		if (keys && (own > limit - values || keys + job->plan.slot_count > GROUP_KEYS)) {
			bound = sonde_vec_push(&bounds);
			if (bound)
				*bound = i;
			values = keys = 0;
		}
		values = own > limit ? limit : values + own;
		keys += job->plan.slot_count + 1;
	}
	bound = bound ? sonde_vec_push(&bounds) : NULL;
	if (!bound) {
		sonde_vec_release(&bounds);
		return NULL;
	}
	*bound = contexts;
	*group_count = bounds.count - 1;
	return bounds.items;
}

static struct hpcdb_transposer *take_transposer(struct groups *groups)
{
	struct hpcdb_transposer *transposer = NULL;

	pthread_mutex_lock(&groups->lock);
	if (groups->resting)
		transposer = groups->transposers[--groups->resting];
	pthread_mutex_unlock(&groups->lock);
	return transposer ? transposer : hpcdb_transposer_new();
}

static void give_back(struct groups *groups, struct hpcdb_transposer *transposer)
{
	pthread_mutex_lock(&groups->lock);
	groups->transposers[groups->resting++] = transposer;
	pthread_mutex_unlock(&groups->lock);
}

static enum sonde_status make_group(void *user, size_t number, size_t slot, uint64_t *numbers,
				    struct sonde_error *err)
{
	struct groups *groups = user;
	struct hpcdb_job *job = groups->job;
	struct hpcdb_group *group = &groups->slots[slot].group;
	struct hpcdb_transposer *transposer = take_transposer(groups);
	uint64_t tracks = job->world->track_count;
	enum sonde_status status;

	if (!transposer)
		return sonde_fail_nomem(err);
	sonde_buffer_clear(&group->blocks);
	sonde_buffer_clear(&group->infos);
	sonde_buffer_clear(&group->pairs);
	sonde_buffer_clear(&group->index);
	group->first = groups->bounds[number];
	group->end = groups->bounds[number + 1];
	status = hpcdb_transpose(transposer, job, group, err);
	give_back(groups, transposer);
	if (status < 0)
		return status;
	numbers[BLOCK_BYTES] = group->blocks.size;
	numbers[PAIRS] = group->pairs.size / HPCDB_PROFILE_VALUE_SIZE;
	numbers[ENTRIES] = group->index.size / HPCDB_PROFILE_INDEX_SIZE;
	return sonde_meter_add(
		&job->meter,
		tracks * (number + 1) / groups->count - tracks * number / groups->count, err);
}

/* The entries of a group, counted from the first pair of the summary, stay in memory for now. */
static bool keep_entries(struct groups *groups, struct sonde_buffer *index)
{
	struct entries *kept;

	if (!index->size)
		return true;
	kept = sonde_vec_push(&groups->entries);
	if (!kept)
		return false;
	for (size_t i = 0; i < index->size; i += HPCDB_PROFILE_INDEX_SIZE) {
		uint8_t *entry = (uint8_t *)index->data + i;

		sonde_store_u64le(entry + 4, sonde_load_u64le(entry + 4) + groups->pair_count);
	}
	*kept = (struct entries){ .place = groups->entry_count, .bytes = *index };
	*index = (struct sonde_buffer){ 0 };
	return true;
}

static enum sonde_status place_group(void *user, size_t number, size_t slot,
				     const uint64_t *numbers, struct sonde_error *err)
{
	struct groups *groups = user;

	(void)number;
	if (slot != SIZE_MAX) {
		groups->slots[slot].block = groups->block_end;
		groups->slots[slot].pair = groups->pair_count;
		if (!keep_entries(groups, &groups->slots[slot].group.index))
			return sonde_fail_nomem(err);
	}
	groups->block_end += numbers[BLOCK_BYTES];
	groups->pair_count += numbers[PAIRS];
	groups->entry_count += numbers[ENTRIES];
	return SONDE_OK;
}

static enum sonde_status store_group(void *user, size_t number, size_t slot,
				     struct sonde_error *err)
{
	struct groups *groups = user;
	struct hpcdb_job *job = groups->job;
	struct hpcdb_group *group = &groups->slots[slot].group;
	uint64_t block = groups->slots[slot].block, pair = groups->slots[slot].pair;
	uint8_t *info = (uint8_t *)group->infos.data, *end = info + group->infos.size;
	enum sonde_status status;

	(void)number;
	hpcdb_target_begin_sync(&job->cct, &groups->synced, block);
	for (; info < end; info += HPCDB_CCT_CONTEXT_SIZE) {
		sonde_store_u64le(info + 0x08, sonde_load_u64le(info + 0x08) + block);
		sonde_store_u64le(info + 0x18, sonde_load_u64le(info + 0x18) + block);
	}
	status = hpcdb_target_write(&job->cct,
				    ARRAY_OFFSET + (uint64_t)group->first * HPCDB_CCT_CONTEXT_SIZE,
				    group->infos.data, group->infos.size, err);
	if (status >= 0)
		status = hpcdb_target_write(&job->cct, block, group->blocks.data,
					    group->blocks.size, err);
	if (status >= 0)
		status = hpcdb_target_write(&job->profile,
					    job->summary.offset + pair * HPCDB_PROFILE_VALUE_SIZE,
					    group->pairs.data, group->pairs.size, err);
	return status;
}

static enum sonde_status store_entries(const struct groups *groups, struct sonde_error *err)
{
	struct hpcdb_job *job = groups->job;
	enum sonde_status status = SONDE_OK;

	job->summary.values = groups->pair_count;
	job->summary.contexts = (uint32_t)groups->entry_count;
	for (size_t i = 0; i < groups->entries.count && status >= 0; i++)
		status = hpcdb_target_write(&job->profile,
					    hpcdb_plane_index_offset(&job->summary) +
						    groups->entries.items[i].place *
							    HPCDB_PROFILE_INDEX_SIZE,
					    groups->entries.items[i].bytes.data,
					    groups->entries.items[i].bytes.size, err);
	return status;
}

static enum sonde_status store_head(const struct groups *groups, struct sonde_error *err)
{
	struct hpcdb_job *job = groups->job;
	uint64_t end = hpcdb_aligned(groups->block_end, 8);
	struct sonde_buffer out = { 0 };
	enum sonde_status status;

	hpcdb_put_magic(&out, "ctxt");
	sonde_put_u64le(&out, ARRAY_OFFSET - SECTION_OFFSET +
				      (uint64_t)job->world->context_count * HPCDB_CCT_CONTEXT_SIZE);
	sonde_put_u64le(&out, SECTION_OFFSET);
	hpcdb_put_zeros(&out, SECTION_OFFSET - HPCDB_CCT_HEADER);
	sonde_put_u64le(&out, ARRAY_OFFSET);
	sonde_put_u32le(&out, job->world->context_count);
	sonde_put_u32le(&out, HPCDB_CCT_CONTEXT_SIZE);
	status = out.failed ? sonde_fail_nomem(err) :
			      hpcdb_target_write(&job->cct, 0, out.data, out.size, err);
	if (status >= 0)
		status = hpcdb_target_write(&job->cct, end, "__ctx.db", HPCDB_FOOTER_SIZE, err);
	job->written->bytes += end + HPCDB_FOOTER_SIZE;
	sonde_buffer_release(&out);
	return status;
}

static enum sonde_status write_groups(struct groups *groups, struct sonde_error *err)
{
	struct hpcdb_job *job = groups->job;
	struct hpcdb_rounds rounds = { .job = job,
				       .count = groups->count,
				       .number_count = NUMBERS,
				       .user = groups,
				       .make = make_group,
				       .place = place_group,
				       .store = store_group };
	enum sonde_status status = SONDE_OK;

	if (!groups->bounds || !groups->slots || !groups->transposers)
		status = sonde_fail_nomem(err);
	status = sonde_team_agree(job->team, status, err);
	if (status >= 0)
		status = hpcdb_rounds_run(&rounds, err);
	if (status < 0)
		return status;
	status = store_entries(groups, err);
	if (status >= 0 && hpcdb_is_first(job))
		status = store_head(groups, err);
	return sonde_team_agree(job->team, status, err);
}

static void groups_release(struct groups *groups)
{
	size_t slots = hpcdb_rounds_slots(groups->job);

	for (size_t i = 0; i < groups->resting; i++)
		hpcdb_transposer_free(groups->transposers[i]);
	for (size_t i = 0; groups->slots && i < slots; i++) {
		sonde_buffer_release(&groups->slots[i].group.blocks);
		sonde_buffer_release(&groups->slots[i].group.infos);
		sonde_buffer_release(&groups->slots[i].group.pairs);
		sonde_buffer_release(&groups->slots[i].group.index);
	}
	for (size_t i = 0; i < groups->entries.count; i++)
		sonde_buffer_release(&groups->entries.items[i].bytes);
	sonde_vec_release(&groups->entries);
	free(groups->slots);
	free(groups->transposers);
	pthread_mutex_destroy(&groups->lock);
}

enum sonde_status hpcdb_write_contexts(struct hpcdb_job *job, struct sonde_error *err)
{
	enum sonde_status status = exchange_totals(job, err);
	struct groups groups = { .job = job, .lock = PTHREAD_MUTEX_INITIALIZER };
	uint32_t *bounds;

	if (status < 0)
		return status;
	bounds = cut_groups(job, &groups.count);
	groups.bounds = bounds;
	groups.slots = calloc(hpcdb_rounds_slots(job), sizeof(*groups.slots));
	groups.transposers = calloc(hpcdb_rounds_slots(job), sizeof(*groups.transposers));
	groups.block_end =
		ARRAY_OFFSET + (uint64_t)job->world->context_count * HPCDB_CCT_CONTEXT_SIZE;
	groups.synced = groups.block_end;
	status = write_groups(&groups, err);
	groups_release(&groups);
	free(bounds);
	return status;
}
