/* SPDX-License-Identifier: Apache-2.0 */
/* Where a command writes to: --output and --force, and what is refused. */
#ifndef SONDE_CLI_TARGET_H
#define SONDE_CLI_TARGET_H

#include "cli/command.h"

struct cli_target {
	const char *output;
	bool force;
};

extern const struct cli_option cli_target_options[];

#define CLI_TARGET_GROUP(type)                                                                     \
	{                                                                                          \
		.title = "Output", .options = cli_target_options, .base = offsetof(type, target)   \
	}

/*
 * Refuses an output that is missing, that exists without --force, or that is one of the operands
 * or lies inside or around one of them. Returns an exit code.
 */
int cli_target_check(struct cli *cli, const struct cli_target *target);

/* `-o -`, which only some commands take: the others refuse it with cli_target_check(). */
bool cli_target_is_standard_output(const struct cli_target *target);

/* Whether nothing stands in the way of the output, or --force allows to replace it. */
bool cli_target_is_free(const struct cli_target *target);

#endif
