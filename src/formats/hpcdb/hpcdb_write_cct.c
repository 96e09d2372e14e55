/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cct.db and the summary of profile.db: groups of contexts, small enough for memory, are transposed
 * in rounds and placed one behind the other; they are stored while those of the next round are made. How one is transposed is in hpcdb_write_group.c.
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

struct rest {
	struct hpcdb_transposer **transposers;
	size_t count;
	pthread_mutex_t lock;
};

/* Groups of this rank in one round. */
struct batch {
	size_t first, count;
	struct hpcdb_group *groups; /* these */
	uint64_t *places;	    /* of each of them: in cct.db, pair and entry of the summary */
};

struct round {
	struct hpcdb_job *job;
	struct rest rest;
	const uint32_t *bounds; /* of all groups, and the end of the last */
	size_t group_count;
	struct batch batches[2];
	struct batch *made, *stored;		     /* of this round, of the one before */
	uint64_t block_end, pair_count, entry_count; /* so far */
	struct hpcdb_sync sync;			     /* of cct.db: stored before this round */
	SONDE_VEC(struct entries) entries;
};

enum { NUMBERS = 3 };

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

static struct hpcdb_transposer *take_transposer(struct rest *rest)
{
	struct hpcdb_transposer *transposer = NULL;

	pthread_mutex_lock(&rest->lock);
	if (rest->count)
		transposer = rest->transposers[--rest->count];
	pthread_mutex_unlock(&rest->lock);
	return transposer ? transposer : hpcdb_transposer_new();
}

static void give_back(struct rest *rest, struct hpcdb_transposer *transposer)
{
	pthread_mutex_lock(&rest->lock);
	rest->transposers[rest->count++] = transposer;
	pthread_mutex_unlock(&rest->lock);
}

static enum sonde_status make_group(struct round *round, size_t number, struct sonde_error *err)
{
	struct hpcdb_job *job = round->job;
	struct hpcdb_group *group = &round->made->groups[number];
	struct hpcdb_transposer *transposer = take_transposer(&round->rest);
	uint64_t tracks = job->world->track_count, index = round->made->first + number;
	enum sonde_status status;

	if (!transposer)
		return sonde_fail_nomem(err);
	sonde_buffer_clear(&group->blocks);
	sonde_buffer_clear(&group->infos);
	sonde_buffer_clear(&group->pairs);
	sonde_buffer_clear(&group->index);
	group->first = round->bounds[index];
	group->end = round->bounds[index + 1];
	status = hpcdb_transpose(transposer, job, group, err);
	give_back(&round->rest, transposer);
	if (status < 0)
		return status;
	return sonde_meter_add(&job->meter,
			       tracks * (index + 1) / round->group_count -
				       tracks * index / round->group_count,
			       err);
}

static enum sonde_status store_group(struct round *round, size_t number, struct sonde_error *err)
{
	struct hpcdb_job *job = round->job;
	struct hpcdb_group *group = &round->stored->groups[number];
	const uint64_t *places = &round->stored->places[number * NUMBERS];
	uint8_t *info = (uint8_t *)group->infos.data, *end = info + group->infos.size;
	enum sonde_status status;

	if (!number)
		hpcdb_target_begin_sync(&job->cct, &round->sync);
	for (; info < end; info += HPCDB_CCT_CONTEXT_SIZE) {
		sonde_store_u64le(info + 0x08, sonde_load_u64le(info + 0x08) + places[0]);
		sonde_store_u64le(info + 0x18, sonde_load_u64le(info + 0x18) + places[0]);
	}
	status = hpcdb_target_write(&job->cct,
				    ARRAY_OFFSET + (uint64_t)group->first * HPCDB_CCT_CONTEXT_SIZE,
				    group->infos.data, group->infos.size, err);
	if (status >= 0)
		status = hpcdb_target_write(&job->cct, places[0], group->blocks.data,
					    group->blocks.size, err);
	if (status >= 0)
		status = hpcdb_target_write(
			&job->profile, job->summary.offset + places[1] * HPCDB_PROFILE_VALUE_SIZE,
			group->pairs.data, group->pairs.size, err);
	return status;
}

static enum sonde_status make_or_store(void *user, size_t number, struct sonde_error *err)
{
	struct round *round = user;
	struct hpcdb_turn turn = hpcdb_turn_of(number, round->made->count, round->stored->count);

	return turn.is_store ? store_group(round, turn.number, err) :
			       make_group(round, turn.number, err);
}

/* The entries of a group, counted from the first pair of the summary, stay in memory for now. */
static bool keep_entries(struct round *round, size_t number)
{
	struct sonde_buffer *index = &round->made->groups[number].index;
	const uint64_t *places = &round->made->places[number * NUMBERS];
	struct entries *kept;

	if (!index->size)
		return true;
	kept = sonde_vec_push(&round->entries);
	if (!kept)
		return false;
	for (size_t i = 0; i < index->size; i += HPCDB_PROFILE_INDEX_SIZE) {
		uint8_t *entry = (uint8_t *)index->data + i;

		sonde_store_u64le(entry + 4, sonde_load_u64le(entry + 4) + places[1]);
	}
	*kept = (struct entries){ .place = places[2], .bytes = *index };
	*index = (struct sonde_buffer){ 0 };
	return true;
}

/* From the sizes of all groups of the round, in their order, to the places of this rank's. */
static void place_groups(struct round *round, const uint64_t *sizes, size_t all, size_t mine)
{
	for (size_t i = 0; i < all; i++) {
		if (i >= mine && i - mine < round->made->count) {
			uint64_t *places = &round->made->places[(i - mine) * NUMBERS];

			places[0] = round->block_end;
			places[1] = round->pair_count;
			places[2] = round->entry_count;
		}
		round->block_end += sizes[i * NUMBERS];
		round->pair_count += sizes[i * NUMBERS + 1];
		round->entry_count += sizes[i * NUMBERS + 2];
	}
}

/* Makes the groups of this round, and stores those of the one before. */
static enum sonde_status run_pool(struct round *round, struct sonde_error *err)
{
	struct hpcdb_job *job = round->job;
	enum sonde_status status = sonde_pool_run(round->made->count + round->stored->count,
						  job->options->threads, make_or_store, round, err);

	return sonde_team_agree(job->team, status, err);
}

/* What was made has its place, and is stored in the next round. */
static enum sonde_status end_round(struct round *round, struct sonde_error *err)
{
	struct batch *made = round->made;

	for (size_t i = 0; i < made->count; i++)
		if (!keep_entries(round, i))
			return sonde_fail_nomem(err);
	round->made = round->stored;
	round->stored = made;
	round->made->count = 0;
	return SONDE_OK;
}

static enum sonde_status run_round(struct round *round, size_t start, uint64_t *numbers,
				   struct sonde_error *err)
{
	struct hpcdb_job *job = round->job;
	struct batch *batch = round->made;
	size_t slots = job->slots, mine = slots * sonde_team_rank(job->team);
	uint64_t *sizes = numbers + slots * NUMBERS;
	size_t left = round->group_count - start;
	enum sonde_status status;

	batch->first = start + (mine < left ? mine : left);
	batch->count = round->group_count - batch->first;
	if (batch->count > slots)
		batch->count = slots;
	status = run_pool(round, err);
	if (status < 0)
		return status;
	memset(numbers, 0, slots * NUMBERS * sizeof(*numbers));
	for (size_t i = 0; i < batch->count; i++) {
		const struct hpcdb_group *group = &batch->groups[i];

		numbers[i * NUMBERS] = group->blocks.size;
		numbers[i * NUMBERS + 1] = group->pairs.size / HPCDB_PROFILE_VALUE_SIZE;
		numbers[i * NUMBERS + 2] = group->index.size / HPCDB_PROFILE_INDEX_SIZE;
	}
	status = sonde_team_exchange(job->team, numbers, slots * NUMBERS, sizes, err);
	if (status < 0)
		return status;
	hpcdb_sync_advance(&round->sync, round->block_end);
	place_groups(round, sizes, slots * sonde_team_size(job->team), mine);
	return sonde_team_agree(job->team, end_round(round, err), err);
}

static enum sonde_status store_entries(struct round *round, struct sonde_error *err)
{
	struct hpcdb_job *job = round->job;
	enum sonde_status status = SONDE_OK;

	job->summary.values = round->pair_count;
	job->summary.contexts = (uint32_t)round->entry_count;
	for (size_t i = 0; i < round->entries.count && status >= 0; i++)
		status = hpcdb_target_write(&job->profile,
					    hpcdb_plane_index_offset(&job->summary) +
						    round->entries.items[i].place *
							    HPCDB_PROFILE_INDEX_SIZE,
					    round->entries.items[i].bytes.data,
					    round->entries.items[i].bytes.size, err);
	return status;
}

static enum sonde_status store_head(struct round *round, struct sonde_error *err)
{
	struct hpcdb_job *job = round->job;
	uint64_t end = hpcdb_aligned(round->block_end, 8);
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

static enum sonde_status run_rounds(struct round *round, struct sonde_error *err)
{
	struct hpcdb_job *job = round->job;
	size_t ranks = sonde_team_size(job->team), all = job->slots * ranks;
	uint64_t *numbers = calloc((job->slots + all) * NUMBERS, sizeof(*numbers));
	enum sonde_status status = SONDE_OK;

	if (!numbers || !round->bounds || !round->rest.transposers)
		status = sonde_fail_nomem(err);
	for (size_t i = 0; i < 2; i++)
		if (!round->batches[i].groups || !round->batches[i].places)
			status = sonde_fail_nomem(err);
	status = sonde_team_agree(job->team, status, err);
	for (size_t i = 0; i < round->group_count && status >= 0; i += all)
		status = run_round(round, i, numbers, err);
	if (status >= 0)
		status = run_pool(round, err);
	if (status >= 0)
		status = store_entries(round, err);
	if (status >= 0 && hpcdb_is_first(job))
		status = store_head(round, err);
	free(numbers);
	return sonde_team_agree(job->team, status, err);
}

static void batch_release(struct batch *batch, unsigned int slots)
{
	for (size_t i = 0; batch->groups && i < slots; i++) {
		sonde_buffer_release(&batch->groups[i].blocks);
		sonde_buffer_release(&batch->groups[i].infos);
		sonde_buffer_release(&batch->groups[i].pairs);
		sonde_buffer_release(&batch->groups[i].index);
	}
	free(batch->groups);
	free(batch->places);
}

static void round_release(struct round *round)
{
	for (size_t i = 0; i < round->rest.count; i++)
		hpcdb_transposer_free(round->rest.transposers[i]);
	for (size_t i = 0; i < 2; i++)
		batch_release(&round->batches[i], round->job->slots);
	for (size_t i = 0; i < round->entries.count; i++)
		sonde_buffer_release(&round->entries.items[i].bytes);
	sonde_vec_release(&round->entries);
	free(round->rest.transposers);
	pthread_mutex_destroy(&round->rest.lock);
}

enum sonde_status hpcdb_write_contexts(struct hpcdb_job *job, struct sonde_error *err)
{
	enum sonde_status status = exchange_totals(job, err);
	struct round round = { .job = job, .rest.lock = PTHREAD_MUTEX_INITIALIZER };
	uint32_t *bounds;

	if (status < 0)
		return status;
	bounds = cut_groups(job, &round.group_count);
	round.bounds = bounds;
	round.rest.transposers = calloc(job->slots, sizeof(*round.rest.transposers));
	for (size_t i = 0; i < 2; i++)
		round.batches[i] = (struct batch){
			.groups = calloc(job->slots, sizeof(struct hpcdb_group)),
			.places = calloc((size_t)job->slots * NUMBERS, sizeof(uint64_t)),
		};
	round.made = &round.batches[0];
	round.stored = &round.batches[1];
	round.block_end =
		ARRAY_OFFSET + (uint64_t)job->world->context_count * HPCDB_CCT_CONTEXT_SIZE;
	round.sync = (struct hpcdb_sync){ .from = round.block_end, .to = round.block_end };
	status = run_rounds(&round, err);
	round_release(&round);
	free(bounds);
	return status;
}
