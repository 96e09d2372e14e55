/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recording into another format than ATF: the session is written beside the output, converted when
 * the program has ended, and removed.
 */
#ifndef SONDE_CLI_RECORD_CONVERT_H
#define SONDE_CLI_RECORD_CONVERT_H

#include "cli/record_plan.h"

/* Before the program runs: says where the session is, should we not live to convert it. */
void record_convert_begin(struct cli *cli, const struct record_plan *plan);

/*
 * Converts the session, tells what was lost, and removes the session. False: it stays, and was
 * told about.
 */
bool record_convert(struct cli *cli, const struct record_plan *plan);

#endif
