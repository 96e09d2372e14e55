/* SPDX-License-Identifier: Apache-2.0 */
/* `sonde merge`: several recordings in one. */
#include "cli/commands.h"
#include "cli/transfer.h"

struct merge_options {
	struct cli_common common;
	struct cli_input input;
	struct cli_target target;
	struct cli_transfer transfer;
};

static int run(struct cli *cli, const void *options)
{
	const struct merge_options *merge = options;

	return cli_transfer_run(cli, &(const struct cli_transfer_request){
					     .input = &merge->input,
					     .target = &merge->target,
					     .transfer = &merge->transfer,
				     });
}

const struct cli_command cmd_merge = {
	.name = "merge",
	.summary = "put several recordings into one",
	.usage = "sonde merge [OPTIONS] RECORDING RECORDING... -o OUTPUT",
	.description =
		"Writes one recording with the processes of all the given ones, which stay apart. "
		"Times are taken as they are: recordings of one machine's boot line up by "
		"themselves.",
	.section = CLI_SECTION_WRITE,
	.operands = { .name = "RECORDING",
		      .kind = CLI_OPERAND_PATH,
		      .at_least = 2,
		      .at_most = SIZE_MAX },
	.options =
		(const struct cli_option_group[]){
			CLI_TARGET_GROUP(struct merge_options),
			CLI_TRANSFER_GROUP(struct merge_options),
			CLI_INPUT_GROUP(struct merge_options),
			CLI_COMMON_GROUP,
			{ 0 },
		},
	.topics = (const struct cli_topic[]){ CLI_LOSS_TOPIC, { 0 } },
	.examples =
		(const struct cli_example[]){
			{ "sonde merge server client -o both", "two processes in one recording" },
			{ 0 },
		},
	.options_size = sizeof(struct merge_options),
	.run = run,
};
