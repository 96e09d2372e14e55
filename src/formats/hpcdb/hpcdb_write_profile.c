/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile.db: the tracks are taken in rounds, a few for each worker of each rank. Their planes are
 * made in memory, all learn how long each is, and so where it goes; they are stored while those of the
 * next round are made. How a plane is made is in hpcdb_write_plane.c; the summary comes with the contexts, in hpcdb_write_cct.c.
 */
#include <pthread.h>
#include <stdlib.h>

#include "formats/hpcdb/hpcdb_write_private.h"

/* A worker that rests between two tracks. */
struct rest {
	struct hpcdb_encoder **encoders;
	size_t count;
	pthread_mutex_t lock;
};

/* Tracks of this rank in one round. */
struct batch {
	uint32_t first, count;
	struct sonde_buffer *bytes; /* of each of them */
	struct hpcdb_plane *planes; /* their sizes, then their places */
};

struct round {
	struct hpcdb_job *job;
	struct rest *rest;
	struct batch batches[2];
	struct batch *made, *stored; /* of this round, of the one before */
	uint64_t end;		     /* of the planes that have their place */
	struct hpcdb_sync sync;	     /* stored before this round */
};

static struct hpcdb_encoder *take_encoder(struct round *round)
{
	struct hpcdb_encoder *encoder = NULL;

	pthread_mutex_lock(&round->rest->lock);
	if (round->rest->count)
		encoder = round->rest->encoders[--round->rest->count];
	pthread_mutex_unlock(&round->rest->lock);
	return encoder ? encoder : hpcdb_encoder_new(round->job);
}

static void give_back(struct round *round, struct hpcdb_encoder *encoder)
{
	pthread_mutex_lock(&round->rest->lock);
	round->rest->encoders[round->rest->count++] = encoder;
	pthread_mutex_unlock(&round->rest->lock);
}

static enum sonde_status read_track(struct round *round, struct hpcdb_encoder *encoder,
				    size_t number, struct sonde_error *err)
{
	struct hpcdb_job *job = round->job;
	struct batch *batch = round->made;
	uint32_t track = batch->first + (uint32_t)number;
	void *state = NULL;
	enum sonde_status status = job->source->open(job->source->data, track, &state, err);

	if (status < 0)
		return status;
	status = job->source->values(state, hpcdb_encoder_points(encoder), err);
	if (status >= 0)
		status = hpcdb_encode(encoder, job, &batch->bytes[number], &batch->planes[number],
				      err);
	if (status >= 0 && job->lines)
		status = hpcdb_write_line(job, track, state, err);
	job->source->close(state);
	return status;
}

static enum sonde_status make_plane(struct round *round, size_t number, struct sonde_error *err)
{
	struct hpcdb_encoder *encoder = take_encoder(round);
	enum sonde_status status;

	if (!encoder)
		return sonde_fail_nomem(err);
	status = read_track(round, encoder, number, err);
	if (status < 0) {
		hpcdb_encoder_free(encoder); /* in the middle of something */
		return status;
	}
	give_back(round, encoder);
	return sonde_meter_add(&round->job->meter, 1, err);
}

static enum sonde_status store_plane(struct round *round, size_t number, struct sonde_error *err)
{
	const struct batch *batch = round->stored;

	if (!number && !round->job->options->no_thread_values)
		hpcdb_target_begin_sync(&round->job->values, &round->sync);
	return hpcdb_target_write(&round->job->values, batch->planes[number].offset,
				  batch->bytes[number].data, batch->bytes[number].size, err);
}

static enum sonde_status make_or_store(void *user, size_t number, struct sonde_error *err)
{
	struct round *round = user;
	struct hpcdb_turn turn = hpcdb_turn_of(number, round->made->count, round->stored->count);

	return turn.is_store ? store_plane(round, turn.number, err) :
			       make_plane(round, turn.number, err);
}

/*
 * Places the planes of a round behind those before; `sizes` are of all ranks, in the order of
 * tracks.
 */
static uint64_t place_planes(struct hpcdb_job *job, uint32_t first, uint32_t count,
			     const uint64_t *sizes, uint64_t offset)
{
	for (uint32_t i = 0; i < count; i++) {
		struct hpcdb_plane *plane = &job->planes[first + i];

		*plane = (struct hpcdb_plane){ .offset = offset,
					       .values = sizes[2 * i],
					       .contexts = (uint32_t)sizes[2 * i + 1] };
		offset = hpcdb_plane_end(plane);
	}
	return offset;
}

static uint32_t at_most(uint64_t wanted, uint32_t limit)
{
	return wanted < limit ? (uint32_t)wanted : limit;
}

/* Makes the planes of this round, and stores those of the one before. */
static enum sonde_status run_pool(struct round *round, struct sonde_error *err)
{
	struct hpcdb_job *job = round->job;
	enum sonde_status status = sonde_pool_run((size_t)round->made->count + round->stored->count,
						  job->options->threads, make_or_store, round, err);

	return sonde_team_agree(job->team, status, err);
}

/* What was made is stored in the next round. */
static void swap_batches(struct round *round)
{
	struct batch *made = round->made;

	round->made = round->stored;
	round->stored = made;
	round->made->count = 0;
}

/* `numbers` has room for two of each slot of this rank, then for those of all ranks. */
static enum sonde_status run_round(struct round *round, uint32_t start, uint64_t *numbers,
				   struct sonde_error *err)
{
	struct hpcdb_job *job = round->job;
	struct batch *batch = round->made;
	uint32_t slots = job->slots, tracks = job->world->track_count;
	uint64_t mine = (uint64_t)start + (uint64_t)slots * sonde_team_rank(job->team);
	uint64_t all = (uint64_t)slots * sonde_team_size(job->team), *sizes = numbers + 2 * slots;
	enum sonde_status status;

	batch->first = at_most(mine, tracks);
	batch->count = at_most(slots, tracks - batch->first);
	status = run_pool(round, err);
	if (status < 0)
		return status;
	for (uint32_t i = 0; i < slots; i++) {
		numbers[2 * i] = i < batch->count ? batch->planes[i].values : 0;
		numbers[2 * i + 1] = i < batch->count ? batch->planes[i].contexts : 0;
	}
	status = sonde_team_exchange(job->team, numbers, (size_t)2 * slots, sizes, err);
	if (status < 0)
		return status;
	hpcdb_sync_advance(&round->sync, round->end);
	round->end = place_planes(job, start, at_most(all, tracks - start), sizes, round->end);
	for (uint32_t i = 0; i < batch->count; i++)
		batch->planes[i] = job->planes[batch->first + i];
	swap_batches(round);
	return SONDE_OK;
}

static enum sonde_status run_rounds(struct round *round, struct sonde_error *err)
{
	struct hpcdb_job *job = round->job;
	uint64_t all = (uint64_t)job->slots * sonde_team_size(job->team);
	uint64_t *numbers = calloc(2 * (job->slots + all), sizeof(*numbers));
	enum sonde_status status = SONDE_OK;

	if (!numbers || !round->rest->encoders)
		status = sonde_fail_nomem(err);
	for (size_t i = 0; i < 2; i++)
		if (!round->batches[i].bytes || !round->batches[i].planes)
			status = sonde_fail_nomem(err);
	status = sonde_team_agree(job->team, status, err);
	for (uint64_t i = 0; i < job->world->track_count && status >= 0; i += all)
		status = run_round(round, (uint32_t)i, numbers, err);
	if (status >= 0)
		status = run_pool(round, err);
	job->summary.offset = round->end;
	free(numbers);
	return status;
}

static void release_batch(struct batch *batch, unsigned int slots)
{
	for (size_t i = 0; batch->bytes && i < slots; i++)
		sonde_buffer_release(&batch->bytes[i]);
	free(batch->bytes);
	free(batch->planes);
}

enum sonde_status hpcdb_write_planes(struct hpcdb_job *job, struct sonde_error *err)
{
	struct rest rest = { .lock = PTHREAD_MUTEX_INITIALIZER,
			     .encoders = calloc(job->slots, sizeof(*rest.encoders)) };
	uint64_t start = hpcdb_profile_data_offset(job->world);
	struct round round = {
		.job = job, .rest = &rest, .end = start, .sync = { .from = start, .to = start }
	};
	enum sonde_status status;

	for (size_t i = 0; i < 2; i++)
		round.batches[i] =
			(struct batch){ .bytes = calloc(job->slots, sizeof(struct sonde_buffer)),
					.planes = calloc(job->slots, sizeof(struct hpcdb_plane)) };
	round.made = &round.batches[0];
	round.stored = &round.batches[1];
	status = run_rounds(&round, err);
	for (size_t i = 0; i < rest.count; i++) {
		hpcdb_encoder_add_totals(rest.encoders[i], job->totals, job->world->context_count);
		hpcdb_encoder_free(rest.encoders[i]);
	}
	for (size_t i = 0; i < 2; i++)
		release_batch(&round.batches[i], job->slots);
	free(rest.encoders);
	pthread_mutex_destroy(&rest.lock);
	return status;
}

static uint64_t tuple_size(const struct hpcdb_track *track)
{
	return HPCDB_ID_TUPLE_SIZE + (uint64_t)track->identity_count * HPCDB_ID_SIZE;
}

static uint64_t tuples_offset(const struct hpcdb_world *world)
{
	return HPCDB_PROFILE_HEADER + 0x10 +
	       ((uint64_t)world->track_count + 1) * HPCDB_PROFILE_SIZE;
}

uint64_t hpcdb_profile_data_offset(const struct hpcdb_world *world)
{
	uint64_t offset = tuples_offset(world);

	for (uint32_t i = 0; i < world->track_count; i++)
		offset += tuple_size(&world->tracks[i]);
	return offset;
}

/* {PI} */
static void put_profile(struct sonde_buffer *out, const struct hpcdb_plane *plane, uint64_t tuple,
			uint32_t flags)
{
	sonde_put_u64le(out, plane->values);
	sonde_put_u64le(out, plane->offset);
	sonde_put_u32le(out, plane->contexts);
	sonde_put_u32le(out, 0);
	sonde_put_u64le(out, hpcdb_plane_index_offset(plane));
	sonde_put_u64le(out, tuple);
	sonde_put_u32le(out, flags);
	sonde_put_u32le(out, 0);
}

static void put_profiles(struct sonde_buffer *out, const struct hpcdb_job *job)
{
	const struct hpcdb_world *world = job->world;
	struct hpcdb_plane none = { .offset = hpcdb_profile_data_offset(world) };
	uint64_t tuple = tuples_offset(world);

	put_profile(out, &job->summary, 0, HPCDB_PROFILE_IS_SUMMARY);
	for (uint32_t i = 0; i < world->track_count; i++) {
		put_profile(out, job->options->no_thread_values ? &none : &job->planes[i], tuple,
			    0);
		tuple += tuple_size(&world->tracks[i]);
	}
}

/* [HIT]. The whole of a logical number beyond 32 bits is in the physical one. */
static void put_tuple(struct sonde_buffer *out, const struct hpcdb_track *track)
{
	sonde_put_u64le(out, track->identity_count);
	for (size_t i = 0; i < track->identity_count; i++) {
		const struct sonde_identity *identity = &track->identities[i];

		sonde_put_u16le(out, (uint8_t)identity->kind);
		sonde_put_u16le(out, identity->is_physical ? HPCDB_ID_PHYSICAL : 0);
		sonde_put_u32le(out, (uint32_t)identity->logical);
		sonde_put_u64le(out,
				identity->is_physical ? identity->physical : identity->logical);
	}
}

enum sonde_status hpcdb_write_profile_head(struct hpcdb_job *job, struct sonde_error *err)
{
	const struct hpcdb_world *world = job->world;
	uint64_t tuples = tuples_offset(world), data = hpcdb_profile_data_offset(world);
	uint64_t end = hpcdb_aligned(hpcdb_plane_end(&job->summary), 8);
	struct sonde_buffer out = { 0 };
	enum sonde_status status;

	hpcdb_put_magic(&out, "prof");
	sonde_put_u64le(&out, tuples - HPCDB_PROFILE_HEADER);
	sonde_put_u64le(&out, HPCDB_PROFILE_HEADER);
	sonde_put_u64le(&out, data - tuples);
	sonde_put_u64le(&out, tuples);
	sonde_put_u64le(&out, HPCDB_PROFILE_HEADER + 0x10);
	sonde_put_u32le(&out, world->track_count + 1);
	sonde_put_u32le(&out, HPCDB_PROFILE_SIZE);
	put_profiles(&out, job);
	for (uint32_t i = 0; i < world->track_count; i++)
		put_tuple(&out, &world->tracks[i]);
	status = out.failed ? sonde_fail_nomem(err) :
			      hpcdb_target_write(&job->profile, 0, out.data, out.size, err);
	if (status >= 0)
		status = hpcdb_target_write(&job->profile, end, "_prof.db", HPCDB_FOOTER_SIZE, err);
	job->written->bytes += end + HPCDB_FOOTER_SIZE;
	sonde_buffer_release(&out);
	return status;
}
