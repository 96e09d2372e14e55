/* SPDX-License-Identifier: Apache-2.0 */
/* What `sonde check` and `sonde store check` have in common. */
#ifndef SONDE_CLI_CHECK_H
#define SONDE_CLI_CHECK_H

#include "cli/input.h"

struct cli_check_options {
	struct cli_common common;
	struct cli_input input;
	bool json;
	bool list;
};

/* Checks the operands and shows what was found. Returns an exit code. */
int cli_check_run(struct cli *cli, const void *options);

#endif
