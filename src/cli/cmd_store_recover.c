/* SPDX-License-Identifier: Apache-2.0 */
/* `sonde store recover`: a good store out of a damaged one. */
#include "cli/commands.h"
#include "cli/recover.h"

static const struct cli_option recover_own_options[] = {
	CLI_JSON_OPTION(struct cli_recover_options),
	{ 0 },
};

static int run(struct cli *cli, const void *options)
{
	struct cli_recover_options recover = *(const struct cli_recover_options *)options;

	recover.input.format = "zts";
	return cli_recover_run(cli, &recover);
}

const struct cli_command cmd_store_recover = {
	.name = "store recover",
	.summary = "write a good store with what survives in a damaged one",
	.usage = "sonde store recover [OPTIONS] DIR -o OUTPUT",
	.description =
		"Writes a new store with every trace that can still be read of a damaged one, its "
		"indexes made anew from the traces and texts, and reports what was wrong, kept and lost. "
		"A text that is lost is shown as its number, like #17. The damaged store is not touched. "
		"A store whose writer was killed needs none of this: it opens again as it is.",
	.section = CLI_SECTION_STORE,
	.operands = { .name = "DIR", .kind = CLI_OPERAND_PATH, .at_least = 1, .at_most = 1 },
	.options =
		(const struct cli_option_group[]){
			CLI_TARGET_GROUP(struct cli_recover_options),
			{ .title = "Options", .options = recover_own_options },
			CLI_COMMON_GROUP,
			{ 0 },
		},
	.examples =
		(const struct cli_example[]){
			{ "sonde store recover damaged -o repaired", "save what is left" },
			{ 0 },
		},
	.options_size = sizeof(struct cli_recover_options),
	.run = run,
};
