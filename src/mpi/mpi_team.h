/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A team whose processes are the ranks of MPI. Waiting gives the processor away instead of spinning:
 * other ranks and threads on the same machine have use for it.
 */
#ifndef SONDE_MPI_MPI_TEAM_H
#define SONDE_MPI_MPI_TEAM_H

#include <mpi.h>

#include "base/team.h"

struct mpi_team {
	struct sonde_team team; /* the first member: both have one address */
	MPI_Comm ranks;		/* of its own, so that nothing else can come between */
	size_t piece;		/* bytes moved by one call of MPI at most, as its counts are int */
	void (*guard)(void *user, const char *path); /* NULL, or what guards an output */
	void *user;
};

/* After MPI_Init_thread(), on all ranks. */
enum sonde_status mpi_team_init(struct mpi_team *team, struct sonde_error *err);
/* Before MPI_Finalize(), on all ranks. */
void mpi_team_release(struct mpi_team *team);

/*
 * Waits until every rank has come here, for `milliseconds` at most (0: for ever). False where some have
 * not: they wait somewhere else, and will for ever.
 */
bool mpi_team_meet(unsigned int milliseconds);

#endif
