/* SPDX-License-Identifier: Apache-2.0 */
/* The one parser of all command lines. */
#ifndef SONDE_CLI_PARSE_H
#define SONDE_CLI_PARSE_H

#include "cli/command.h"

/*
 * Parses the arguments after the name of cli->command: options into `options` (of
 * command->options_size bytes, filled with the defaults here), the rest into cli->operands.
 * Stops at --help, which is then set in the options. Returns CLI_OK, or CLI_USAGE (CLI_FAILED
 * where memory failed) after telling the user.
 */
int cli_parse(struct cli *cli, void *options, char **arguments);

/* Frees the lists in `options`. */
void cli_parse_release(const struct cli_command *command, void *options);

#endif
