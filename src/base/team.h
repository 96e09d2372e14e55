/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several processes that do one job together (ranks of MPI), as little of it as the job needs. All
 * of them make the same calls in the same order, from one thread. A process alone has no team: NULL is
 * a team of one, for which every call here is cheap and right.
 */
#ifndef SONDE_BASE_TEAM_H
#define SONDE_BASE_TEAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sonde/status.h>

#include "base/buffer.h"
#include "base/file.h"

struct sonde_team;

/*
 * What a kind of team can do. gather and share move bytes only: sonde_team_gather() and
 * sonde_team_share() have told everybody the sizes before and made the room, so that a rank without
 * memory fails all of them instead of leaving the others to wait for it.
 */
struct sonde_team_ops {
	/* `all` receives count numbers of rank 0, then those of rank 1 and so on. */
	enum sonde_status (*exchange)(struct sonde_team *team, const uint64_t *mine, size_t count,
				      uint64_t *all, struct sonde_error *err);
	/* Appends the bytes of every rank, in the order of ranks, to `all` of rank 0, which has room.
	 * `sizes` holds their lengths, on every rank. Pieces may be larger than 2 GiB. */
	enum sonde_status (*gather)(struct sonde_team *team, const void *bytes, size_t size,
				    struct sonde_buffer *all, const uint64_t *sizes,
				    struct sonde_error *err);
	/* Rank 0's bytes become everybody's: bytes->size of them, for which there is room. */
	enum sonde_status (*share)(struct sonde_team *team, struct sonde_buffer *bytes,
				   struct sonde_error *err);
	/* May be NULL. What is at `path` must go should this process be killed; NULL: nothing. */
	void (*guard)(struct sonde_team *team, const char *path);
};

struct sonde_team {
	const struct sonde_team_ops *ops;
	unsigned int rank, size;
	uint64_t *numbers; /* room for 2 * size of them, for the calls below */
};

/* For who makes a kind of team. */
enum sonde_status sonde_team_init(struct sonde_team *team, const struct sonde_team_ops *ops,
				  unsigned int rank, unsigned int size, struct sonde_error *err);
void sonde_team_release(struct sonde_team *team);

static inline unsigned int sonde_team_rank(const struct sonde_team *team)
{
	return team ? team->rank : 0;
}

static inline unsigned int sonde_team_size(const struct sonde_team *team)
{
	return team ? team->size : 1;
}

/*
 * These end alike on every rank, except where the team itself broke (a process died). A failure of a
 * rank's own work between them must go through sonde_team_agree(), or the others wait for ever.
 */
/* `all` receives count numbers of rank 0, then those of rank 1 and so on. */
enum sonde_status sonde_team_exchange(struct sonde_team *team, const uint64_t *mine, size_t count,
				      uint64_t *all, struct sonde_error *err);
/*
 * Appends the bytes of every rank, in the order of ranks, to `all` of rank 0; `sizes` gets their
 * lengths there. Other ranks may give NULL for both.
 */
enum sonde_status sonde_team_gather(struct sonde_team *team, const void *bytes, size_t size,
				    struct sonde_buffer *all, uint64_t *sizes,
				    struct sonde_error *err);
/* Rank 0's bytes become everybody's; what others had in `bytes` is gone. */
enum sonde_status sonde_team_share(struct sonde_team *team, struct sonde_buffer *bytes,
				   struct sonde_error *err);

/*
 * Waits for all. SONDE_OK where all of them said SONDE_OK; else the failure of the lowest rank that
 * failed, with its message in everybody's *err.
 */
enum sonde_status sonde_team_agree(struct sonde_team *team, enum sonde_status status,
				   struct sonde_error *err);

/*
 * One output of all, staged beside its target by rank 0: the same as sonde_staged_begin(), and
 * everybody has staged->work, to write into. It is removed should the team be killed.
 */
enum sonde_status sonde_team_stage(struct sonde_team *team, struct sonde_staged *staged,
				   const char *target, bool is_folder, bool replace,
				   struct sonde_error *err);
/*
 * Must end each successful sonde_team_stage(), once on every rank, with how the rank's work went: agrees,
 * and puts the output in its place where all say SONDE_OK, or removes it. Releases *staged.
 */
enum sonde_status sonde_team_stage_end(struct sonde_team *team, struct sonde_staged *staged,
				       enum sonde_status status, struct sonde_error *err);

#endif
