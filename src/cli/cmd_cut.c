/* SPDX-License-Identifier: Apache-2.0 */
/* `sonde cut`: a piece of a recording: between two moments, of some tracks, of some functions. */
#include "cli/commands.h"
#include "cli/transfer.h"

struct cut_options {
	struct cli_common common;
	struct cli_input input;
	struct cli_target target;
	struct cli_transfer transfer;
	struct cli_range range;
	struct cli_filter filter;
};

static bool selects(const struct cli_filter *filter)
{
	return filter->tracks.count || filter->functions.count || filter->kinds ||
	       filter->min_depth || filter->max_depth;
}

static int run(struct cli *cli, const void *options)
{
	const struct cut_options *cut = options;

	if (!cut->range.from.base && !cut->range.to.base && !selects(&cut->filter))
		return cli_usage(cli, "'cut' needs to know what to keep: --from TIME, --to TIME, "
				      "--track, --function, --kind or a depth");
	return cli_transfer_run(cli, &(const struct cli_transfer_request){
					     .input = &cut->input,
					     .target = &cut->target,
					     .transfer = &cut->transfer,
					     .range = &cut->range,
					     .filter = &cut->filter,
				     });
}

const struct cli_command cmd_cut = {
	.name = "cut",
	.summary = "write a piece of a recording: a time, tracks, functions",
	.usage = "sonde cut [OPTIONS] RECORDING [--from TIME] [--to TIME] -o OUTPUT",
	.description =
		"Writes a new recording with what happened between two moments, on some tracks, in "
		"some functions; at least one of these is to be given. Calls that were "
		"open at --from are opened again there, and calls still open at --to are closed "
		"there, by events that are marked as synthetic; so every call in the new recording "
		"has a beginning and an end. Depths are counted anew over the calls that stay.\n"
		"\n"
		"Samples of a profile are cut in the same way by time and by track. Its values are "
		"sums over the whole time: with a time they are left out, which is told.",
	.section = CLI_SECTION_WRITE,
	.operands = { .name = "RECORDING", .kind = CLI_OPERAND_PATH, .at_least = 1, .at_most = 1 },
	.options =
		(const struct cli_option_group[]){
			CLI_RANGE_GROUP(struct cut_options),
			CLI_FILTER_GROUP(struct cut_options),
			CLI_TARGET_GROUP(struct cut_options),
			CLI_TRANSFER_GROUP(struct cut_options),
			CLI_INPUT_GROUP(struct cut_options),
			CLI_COMMON_GROUP,
			{ 0 },
		},
	.topics =
		(const struct cli_topic[]){ CLI_TIME_TOPIC, CLI_LOSS_TOPIC, CLI_PIPE_TOPIC, { 0 } },
	.examples =
		(const struct cli_example[]){
			{ "sonde cut trace --from 100us --to 200us -o piece",
			  "a tenth of a millisecond" },
			{ "sonde cut trace --from 50% -o second-half", "the second half" },
			{ "sonde cut trace --from -50us -o end", "the last fifty microseconds" },
			{ "sonde cut trace --track 'thread [01]' --from 50% -o workers",
			  "two of the threads, the second half" },
			{ "sonde cut trace --function 'handle_*' -o requests",
			  "calls of some functions, at all times" },
			{ 0 },
		},
	.options_size = sizeof(struct cut_options),
	.run = run,
};
