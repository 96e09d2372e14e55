/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A new recording to standard output: `-o -`. It is written to a temporary file first, so that standard
 * output gets all of it or nothing, and what a command tells goes to standard error meanwhile.
 */
#ifndef SONDE_CLI_STANDARD_OUTPUT_H
#define SONDE_CLI_STANDARD_OUTPUT_H

#include "cli/cli.h"

struct sonde_format_info;

/* Zeroed: not in use. */
struct cli_standard_output {
	char *folder;
	char *path; /* where to write */
};

/* Refuses what cannot be sent there, and makes a place. Returns an exit code. */
int cli_standard_output_begin(struct cli *cli, const struct sonde_format_info *format,
			      struct cli_standard_output *output);

/* Sends what was written. Returns an exit code. */
int cli_standard_output_send(struct cli *cli, struct cli_standard_output *output);

/* Removes what is left. */
void cli_standard_output_release(struct cli_standard_output *output);

#endif
