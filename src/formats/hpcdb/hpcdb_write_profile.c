/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile.db: planes of tracks are made in memory, and placed one behind the other (hpcdb_write_rounds.c). How a
 * plane is made is in hpcdb_write_plane.c; the summary comes with the contexts, in hpcdb_write_cct.c.
 */
#include <pthread.h>
#include <stdlib.h>

#include "formats/hpcdb/hpcdb_write_private.h"

struct planes {
	struct hpcdb_job *job;
	struct sonde_buffer *bytes;	 /* of each slot */
	struct hpcdb_encoder **encoders; /* that rest between two tracks */
	size_t resting;
	pthread_mutex_t lock; /* over those */
	uint64_t end;	      /* of the planes that have their place */
	uint64_t synced;      /* the disk has begun with those before */
};

static struct hpcdb_encoder *take_encoder(struct planes *planes)
{
	struct hpcdb_encoder *encoder = NULL;

	pthread_mutex_lock(&planes->lock);
	if (planes->resting)
		encoder = planes->encoders[--planes->resting];
	pthread_mutex_unlock(&planes->lock);
	return encoder ? encoder : hpcdb_encoder_new(planes->job);
}

static void give_back(struct planes *planes, struct hpcdb_encoder *encoder)
{
	pthread_mutex_lock(&planes->lock);
	planes->encoders[planes->resting++] = encoder;
	pthread_mutex_unlock(&planes->lock);
}

static enum sonde_status read_track(struct hpcdb_job *job, struct hpcdb_encoder *encoder,
				    uint32_t track, struct sonde_buffer *bytes,
				    struct hpcdb_plane *plane, struct sonde_error *err)
{
	void *state = NULL;
	enum sonde_status status = job->source->open(job->source->data, track, &state, err);

	if (status < 0)
		return status;
	status = job->source->values(state, hpcdb_encoder_points(encoder), err);
	if (status >= 0)
		status = hpcdb_encode(encoder, job, bytes, plane, err);
	if (status >= 0 && job->lines)
		status = hpcdb_write_line(job, track, state, err);
	job->source->close(state);
	return status;
}

static enum sonde_status make_plane(void *user, size_t track, size_t slot, uint64_t *numbers,
				    struct sonde_error *err)
{
	struct planes *planes = user;
	struct hpcdb_encoder *encoder = take_encoder(planes);
	struct hpcdb_plane plane = { 0 };
	enum sonde_status status;

	if (!encoder)
		return sonde_fail_nomem(err);
	status = read_track(planes->job, encoder, (uint32_t)track, &planes->bytes[slot], &plane,
			    err);
	if (status < 0) {
		hpcdb_encoder_free(encoder); /* in the middle of something */
		return status;
	}
	give_back(planes, encoder);
	numbers[0] = plane.values;
	numbers[1] = plane.contexts;
	return sonde_meter_add(&planes->job->meter, 1, err);
}

static enum sonde_status place_plane(void *user, size_t track, size_t slot, const uint64_t *numbers,
				     struct sonde_error *err)
{
	struct planes *planes = user;
	struct hpcdb_plane *plane = &planes->job->planes[track];

	(void)slot;
	(void)err;
	*plane = (struct hpcdb_plane){ .offset = planes->end,
				       .values = numbers[0],
				       .contexts = (uint32_t)numbers[1] };
	planes->end = hpcdb_plane_end(plane);
	return SONDE_OK;
}

static enum sonde_status store_plane(void *user, size_t track, size_t slot, struct sonde_error *err)
{
	struct planes *planes = user;
	struct hpcdb_job *job = planes->job;
	const struct sonde_buffer *bytes = &planes->bytes[slot];

	if (!job->options->no_thread_values)
		hpcdb_target_begin_sync(&job->values, &planes->synced, job->planes[track].offset);
	return hpcdb_target_write(&job->values, job->planes[track].offset, bytes->data, bytes->size,
				  err);
}

enum sonde_status hpcdb_write_planes(struct hpcdb_job *job, struct sonde_error *err)
{
	size_t slots = hpcdb_rounds_slots(job);
	struct planes planes = { .job = job,
				 .bytes = calloc(slots, sizeof(*planes.bytes)),
				 .encoders = calloc(slots, sizeof(*planes.encoders)),
				 .lock = PTHREAD_MUTEX_INITIALIZER,
				 .end = hpcdb_profile_data_offset(job->world) };
	struct hpcdb_rounds rounds = { .job = job,
				       .count = job->world->track_count,
				       .number_count = 2,
				       .user = &planes,
				       .make = make_plane,
				       .place = place_plane,
				       .store = store_plane };
	enum sonde_status status = SONDE_OK;

	planes.synced = planes.end;
	if (!planes.bytes || !planes.encoders)
		status = sonde_fail_nomem(err);
	status = sonde_team_agree(job->team, status, err);
	if (status >= 0)
		status = hpcdb_rounds_run(&rounds, err);
	job->summary.offset = planes.end;
	for (size_t i = 0; i < planes.resting; i++) {
		hpcdb_encoder_add_totals(planes.encoders[i], job->totals,
					 job->world->context_count);
		hpcdb_encoder_free(planes.encoders[i]);
	}
	for (size_t i = 0; planes.bytes && i < slots; i++)
		sonde_buffer_release(&planes.bytes[i]);
	free(planes.bytes);
	free(planes.encoders);
	pthread_mutex_destroy(&planes.lock);
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
