/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a team must do, as a script that every rank runs: the same for the team over sockets and for
 * the one over MPI.
 */
#ifndef SONDE_TESTS_TEAM_SCRIPT_H
#define SONDE_TESTS_TEAM_SCRIPT_H

#include "base/team.h"

/* 0, or the number of the step that went wrong. `large`: bytes of the largest piece that is moved. */
int team_script_run(struct sonde_team *team, size_t large);

#endif
