/* SPDX-License-Identifier: Apache-2.0 */
/* What `sonde recover` and `sonde store recover` have in common. */
#ifndef SONDE_CLI_RECOVER_H
#define SONDE_CLI_RECOVER_H

#include "cli/input.h"
#include "cli/target.h"

struct cli_recover_options {
	struct cli_common common;
	struct cli_input input;
	struct cli_target target;
	bool json;
};

/* Recovers the operand and reports. Returns an exit code. */
int cli_recover_run(struct cli *cli, const void *options);

#endif
