/* SPDX-License-Identifier: Apache-2.0 */
/* `sonde store`: what its subcommands (cmd_store_<name>.c) have in common is said here. */
#include "cli/commands.h"

struct store_options {
	struct cli_common common;
};

/* Reached by `sonde store --` only: a subcommand has a run() of its own. */
static int run(struct cli *cli, const void *options)
{
	(void)options;
	return cli_usage(cli, "'%s' is no command of 'store'", cli->operands[0]);
}

const struct cli_command cmd_store = {
	.name = "store",
	.summary = "keep, search and serve the traces of services",
	.usage = "sonde store COMMAND DIR ...",
	.description =
		"A trace store is a folder that takes in traces of requests for a long time: call "
		"trees with attributes and exceptions, compressed, with an index over all texts. It "
		"is written in numbered parts; old parts are packed and in the end removed. Stores "
		"of Zorka (ZTS) are read and written.\n"
		"\n"
		"One process at a time writes into a store; any number may search in it meanwhile.",
	.section = CLI_SECTION_STORE,
	.operands = { .name = "COMMAND",
		      .kind = CLI_OPERAND_SUBCOMMAND,
		      .at_least = 1,
		      .at_most = 1 },
	.options = (const struct cli_option_group[]){ CLI_COMMON_GROUP, { 0 } },
	.examples =
		(const struct cli_example[]){
			{ "sonde store search traces --errors --from -1h",
			  "what went wrong in the last hour before the newest trace?" },
			{ "sonde store search traces 'STATUS>=500 and URI=/api/*'",
			  "failed requests" },
			{ "sonde store stats traces --by URI", "how long does each page take?" },
			{ 0 },
		},
	.options_size = sizeof(struct store_options),
	.run = run,
};
