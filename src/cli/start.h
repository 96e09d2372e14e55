/* SPDX-License-Identifier: Apache-2.0 */
/* What main() of each program of commands calls: see cli_program. */
#ifndef SONDE_CLI_START_H
#define SONDE_CLI_START_H

#include "base/team.h"

/*
 * Runs the command that the arguments name and returns the exit code. In a team every rank makes
 * this call with the same arguments, and only rank 0 prints.
 */
int cli_start(int argc, char **argv, struct sonde_team *team);

#endif
