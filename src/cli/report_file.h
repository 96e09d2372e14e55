/* SPDX-License-Identifier: Apache-2.0 */
/* A text in a file of its own, beside what a command prints. */
#ifndef SONDE_CLI_REPORT_FILE_H
#define SONDE_CLI_REPORT_FILE_H

#include "cli/cli.h"

/*
 * Whether a report can be written there, before the work is done whose report it is; what fails is told.
 * A place in `output`, which is not there yet, is taken on trust. All of a team make this call.
 */
int cli_check_report(struct cli *cli, const char *path, const char *output);

/* Appears whole, in place of what was there; what fails is told. Returns an exit code. */
int cli_write_report(struct cli *cli, const char *path, const struct sonde_buffer *text);

#endif
