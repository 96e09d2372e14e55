/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sonde store check`: `sonde check` for stores, also where they are too damaged to be recognised.
 */
#include "cli/check.h"
#include "cli/commands.h"

static const struct cli_option check_own_options[] = {
	CLI_JSON_OPTION(struct cli_check_options),
	{ 0 },
};

static int run(struct cli *cli, const void *options)
{
	struct cli_check_options check = *(const struct cli_check_options *)options;

	check.input.format = "zts";
	return cli_check_run(cli, &check);
}

const struct cli_command cmd_store_check = {
	.name = "store check",
	.summary = "find everything that is wrong with a store",
	.usage = "sonde store check [OPTIONS] DIR...",
	.description =
		"Looks at every chunk, record, text and index entry of stores, and compares the indexes "
		"with the traces. Prints each fault with its severity, its place, what was expected and "
		"what was found there, its stable id, and, once for each id, what can be done about it. "
		"'sonde check --list' lists the ids. The exit code is 1 where there are errors or "
		"warnings.",
	.section = CLI_SECTION_STORE,
	.operands = { .name = "DIR", .kind = CLI_OPERAND_PATH, .at_least = 1, .at_most = SIZE_MAX },
	.options =
		(const struct cli_option_group[]){
			{ .title = "Options", .options = check_own_options },
			CLI_COMMON_GROUP,
			{ 0 },
		},
	.examples =
		(const struct cli_example[]){
			{ "sonde store check traces", "is anything wrong with it?" },
			{ "sonde store check -q traces && echo sound",
			  "in a script: only the exit code" },
			{ 0 },
		},
	.options_size = sizeof(struct cli_check_options),
	.run = run,
};
