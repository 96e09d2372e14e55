/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A team of forked processes that talk through sockets, so that what is written for MPI is tested
 * without it. Calls that do not match (one rank exchanges, another one gathers) would hang under MPI:
 * here they fail with SONDE_ARGUMENT and say who called what.
 */
#ifndef SONDE_TESTS_PIPE_TEAM_H
#define SONDE_TESTS_PIPE_TEAM_H

#include "base/team.h"

#define PIPE_TEAM_MOST 8

/*
 * Runs `work` as every rank of a team of `size` and waits for all. Rank 0 is the calling process, so
 * that what it leaves in `context` stays; the others are its children, which end when `work` returns.
 * codes[rank] receives what it returned (0 to 127), or 128 and the number of the signal that ended
 * it; -1 for all where the team could not be made. No assertion of cmocka belongs into `work`. A
 * child that hangs is ended by SIGALRM after a minute.
 */
typedef int (*pipe_team_work)(struct sonde_team *team, void *context);
void pipe_team_run(unsigned int size, pipe_team_work work, void *context, int *codes);

#endif
