/* SPDX-License-Identifier: Apache-2.0 */
/* `sonde convert`: a recording in another format, or the same with less in it. */
#include "cli/commands.h"
#include "cli/transfer.h"

struct convert_options {
	struct cli_common common;
	struct cli_input input;
	struct cli_target target;
	struct cli_transfer transfer;
	struct cli_range range;
	struct cli_filter filter;
};

static int run(struct cli *cli, const void *options)
{
	const struct convert_options *convert = options;

	return cli_transfer_run(cli, &(const struct cli_transfer_request){
					     .input = &convert->input,
					     .target = &convert->target,
					     .transfer = &convert->transfer,
					     .range = &convert->range,
					     .filter = &convert->filter,
				     });
}

const struct cli_command cmd_convert = {
	.name = "convert",
	.summary = "write a recording anew, in another format or filtered",
	.usage = "sonde convert [OPTIONS] RECORDING -o OUTPUT",
	.description =
		"Writes a new recording with everything that the options select; without options "
		"that select, everything. Depths are counted anew over the calls that stay. Where a "
		"time range cuts through calls they are opened at its start and closed at its end, "
		"by events that are marked as synthetic.\n"
		"\n"
		"Where the target holds profiles (hpcdb, hpcrun), calls become calling contexts with "
		"their number and time, and samples. The samples of a profile become calls where the "
		"target holds events.",
	.section = CLI_SECTION_WRITE,
	.operands = { .name = "RECORDING", .kind = CLI_OPERAND_PATH, .at_least = 1, .at_most = 1 },
	.options =
		(const struct cli_option_group[]){
			CLI_TARGET_GROUP(struct convert_options),
			CLI_TRANSFER_GROUP(struct convert_options),
			CLI_RANGE_GROUP(struct convert_options),
			CLI_FILTER_GROUP(struct convert_options),
			CLI_INPUT_GROUP(struct convert_options),
			CLI_COMMON_GROUP,
			{ 0 },
		},
	.topics =
		(const struct cli_topic[]){ CLI_TIME_TOPIC, CLI_LOSS_TOPIC, CLI_PIPE_TOPIC, { 0 } },
	.examples =
		(const struct cli_example[]){
			{ "sonde convert trace -o copy", "a fresh copy, with checksums" },
			{ "sonde convert trace -o small --track 0 --max-depth 3",
			  "only the outer three levels of one thread" },
			{ "sonde convert trace -o app.d -t hpcdb",
			  "a profile: how often and how long each path of calls was" },
			{ "sonde convert trace -t cff -o - | gzip > trace.gz",
			  "to standard output; 'gzip -dc trace.gz | sonde info -' reads it again" },
			{ "sonde convert trace -o requests --function 'handle_*' --loss-report loss.json",
			  "only some functions; what was lost as JSON" },
			{ 0 },
		},
	.options_size = sizeof(struct convert_options),
	.run = run,
};
