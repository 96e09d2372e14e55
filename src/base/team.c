/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls of a team: what is the same for every kind of team, and the team of one. The bytes are
 * moved by the team's own functions (src/mpi has those of MPI).
 */
#include <stdlib.h>
#include <string.h>

#include "base/team.h"

enum sonde_status sonde_team_init(struct sonde_team *team, const struct sonde_team_ops *ops,
				  unsigned int rank, unsigned int size, struct sonde_error *err)
{
	*team = (struct sonde_team){ .ops = ops, .rank = rank, .size = size };
	team->numbers = calloc(size, 2 * sizeof(*team->numbers));
	return team->numbers ? SONDE_OK : sonde_fail_nomem(err);
}

void sonde_team_release(struct sonde_team *team)
{
	free(team->numbers);
	*team = (struct sonde_team){ 0 };
}

enum sonde_status sonde_team_exchange(struct sonde_team *team, const uint64_t *mine, size_t count,
				      uint64_t *all, struct sonde_error *err)
{
	if (!count)
		return SONDE_OK;
	if (team)
		return team->ops->exchange(team, mine, count, all, err);
	memmove(all, mine, count * sizeof(*mine));
	return SONDE_OK;
}

/* Fails on every rank where one of them has no room. */
static enum sonde_status all_have_room(struct sonde_team *team, bool room, struct sonde_error *err)
{
	uint64_t *rooms = team->numbers + team->size;
	uint64_t mine = room;
	enum sonde_status status = team->ops->exchange(team, &mine, 1, rooms, err);

	if (status)
		return status;
	for (unsigned int rank = 0; rank < team->size; rank++) {
		if (!rooms[rank])
			return sonde_fail_nomem(err);
	}
	return SONDE_OK;
}

static bool has_room(struct sonde_buffer *all, const uint64_t *sizes, unsigned int count)
{
	size_t total = 0;

	for (unsigned int rank = 0; rank < count; rank++) {
		if (__builtin_add_overflow(total, sizes[rank], &total))
			return false;
	}
	return sonde_buffer_reserve(all, total);
}

enum sonde_status sonde_team_gather(struct sonde_team *team, const void *bytes, size_t size,
				    struct sonde_buffer *all, uint64_t *sizes,
				    struct sonde_error *err)
{
	uint64_t mine = size;
	enum sonde_status status;

	if (!team) {
		sonde_buffer_put(all, bytes, size);
		if (sizes)
			sizes[0] = size;
		return all->failed ? sonde_fail_nomem(err) : SONDE_OK;
	}
	status = team->ops->exchange(team, &mine, 1, team->numbers, err);
	if (status)
		return status;
	status = all_have_room(team, team->rank || has_room(all, team->numbers, team->size), err);
	if (status)
		return status;
	if (sizes && !team->rank)
		memcpy(sizes, team->numbers, team->size * sizeof(*sizes));
	return team->ops->gather(team, bytes, size, all, team->numbers, err);
}

enum sonde_status sonde_team_share(struct sonde_team *team, struct sonde_buffer *bytes,
				   struct sonde_error *err)
{
	uint64_t size = bytes->size;
	enum sonde_status status;

	if (!team)
		return bytes->failed ? sonde_fail_nomem(err) : SONDE_OK;
	status = team->ops->exchange(team, &size, 1, team->numbers, err);
	if (status)
		return status;
	size = team->numbers[0];
	if (team->rank)
		sonde_buffer_clear(bytes);
	status = all_have_room(team, sonde_buffer_reserve(bytes, size - bytes->size), err);
	if (status || !size)
		return status;
	bytes->size = size;
	return team->ops->share(team, bytes, err);
}

/* Everybody's *failure becomes that of `rank`; only the status stays where memory fails. */
static enum sonde_status spread(struct sonde_team *team, unsigned int rank,
				struct sonde_error *failure, struct sonde_error *err)
{
	size_t size = team->rank == rank ? sizeof(*failure) : 0;
	struct sonde_buffer bytes = { 0 };
	enum sonde_status status;

	status = sonde_team_gather(team, failure, size, &bytes, NULL, err);
	if (!status)
		status = sonde_team_share(team, &bytes, err);
	if (!status && bytes.size == sizeof(*failure))
		memcpy(failure, bytes.data, sizeof(*failure));
	sonde_buffer_release(&bytes);
	return status == SONDE_NOMEM ? SONDE_OK : status;
}

/* What this rank says about its own status; who fills no *err gets the text of the status. */
static void describe(struct sonde_error *failure, enum sonde_status status,
		     const struct sonde_error *err)
{
	if (err && err->status == status)
		*failure = *err;
	else
		sonde_fail(failure, status, SONDE_NO_OFFSET, "%s", sonde_status_text(status));
}

enum sonde_status sonde_team_agree(struct sonde_team *team, enum sonde_status status,
				   struct sonde_error *err)
{
	uint64_t mine = status < 0 ? (uint64_t)-status : 0;
	struct sonde_error failure, broken;
	unsigned int rank = 0;

	if (!team)
		return status < 0 ? status : SONDE_OK;
	describe(&failure, status, err);
	if (team->ops->exchange(team, &mine, 1, team->numbers, &broken))
		goto fail;
	while (rank < team->size && !team->numbers[rank])
		rank++;
	if (rank == team->size)
		return SONDE_OK;
	status = (enum sonde_status) - (int64_t)team->numbers[rank];
	if (team->rank != rank)
		describe(&failure, status, NULL);
	if (spread(team, rank, &failure, &broken))
		goto fail;
	if (err)
		*err = failure;
	return status;
fail:
	/* The team is gone; a failure that is known already comes first. */
	if (status >= 0)
		failure = broken;
	if (err)
		*err = failure;
	return failure.status;
}

static void guard(struct sonde_team *team, const char *path)
{
	if (team && !team->rank && team->ops->guard)
		team->ops->guard(team, path);
}

/* Only rank 0 knows the target, and only it removes or renames. */
static void release_staged(struct sonde_team *team, struct sonde_staged *staged)
{
	if (sonde_team_rank(team)) {
		free(staged->work);
		staged->work = NULL;
	}
	sonde_staged_release(staged);
	guard(team, NULL);
}

enum sonde_status sonde_team_stage(struct sonde_team *team, struct sonde_staged *staged,
				   const char *target, bool is_folder, bool replace,
				   struct sonde_error *err)
{
	struct sonde_buffer work = { 0 };
	enum sonde_status status = SONDE_OK;

	*staged = (struct sonde_staged){ .is_folder = is_folder, .replace = replace };
	if (!sonde_team_rank(team))
		status = sonde_staged_begin(staged, target, is_folder, replace, err);
	if (staged->work) {
		guard(team, staged->work);
		sonde_buffer_put(&work, staged->work, strlen(staged->work) + 1);
	}
	status = sonde_team_agree(team, status, err);
	if (!status)
		status = sonde_team_share(team, &work, err);
	if (!status && sonde_team_rank(team)) {
		staged->work = work.data;
		work = (struct sonde_buffer){ 0 };
	}
	sonde_buffer_release(&work);
	if (status)
		release_staged(team, staged);
	return status;
}

enum sonde_status sonde_team_stage_end(struct sonde_team *team, struct sonde_staged *staged,
				       enum sonde_status status, struct sonde_error *err)
{
	status = sonde_team_agree(team, status, err);
	if (!status && !sonde_team_rank(team))
		status = sonde_staged_commit(staged, err);
	/* The last word is rank 0's; where the team broke just now, the output is there all the same. */
	status = sonde_team_agree(team, status, err);
	release_staged(team, staged);
	return status;
}
