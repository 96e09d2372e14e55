/* SPDX-License-Identifier: Apache-2.0 */
/* `sonde info`: what a recording is, in one screen. Looks at definitions, never at events. */
#include "cli/commands.h"
#include "cli/info.h"
#include "cli/input.h"

struct info_options {
	struct cli_common common;
	struct cli_input input;
	bool json;
};

static const struct cli_option info_own_options[] = {
	CLI_JSON_OPTION(struct info_options),
	{ 0 },
};

static int show_all(struct cli *cli, const struct info_options *options,
		    struct sonde_json_writer *json)
{
	int worst = CLI_OK;
	size_t i;

	for (i = 0; i < cli->operand_count; i++) {
		struct sonde_recording *recording;
		int code = cli_open(cli, cli->operands[i], &options->input, &recording);

		if (code != CLI_OK) {
			worst = code;
			continue;
		}
		if (i && !options->json)
			sonde_buffer_put_char(&cli->out, '\n');
		if (options->json)
			cli_put_info_json(cli, recording, json);
		else
			cli_put_info(cli, recording);
		sonde_recording_close(recording);
	}
	return worst;
}

static int run(struct cli *cli, const void *options)
{
	const struct info_options *info = options;
	struct sonde_json_writer json;
	int code;

	if (!info->json)
		return show_all(cli, info, NULL);
	sonde_json_writer_init(&json, &cli->out, true);
	sonde_json_object_begin(&json);
	sonde_json_key(&json, "recordings");
	sonde_json_array_begin(&json);
	code = show_all(cli, info, &json);
	sonde_json_array_end(&json);
	sonde_json_object_end(&json);
	sonde_buffer_put_char(&cli->out, '\n');
	return code;
}

const struct cli_command cmd_info = {
	.name = "info",
	.summary = "show what a recording is, in one screen",
	.usage = "sonde info [OPTIONS] RECORDING...",
	.description =
		"Shows the format of each recording, whether it is finished or damaged, its "
		"processes, clock and time span, its tracks, and how much of everything there is. "
		"Takes the same time for a large recording as for a small one. Of a profile it "
		"tells what was measured, where each track ran, and the hottest path: from the root "
		"the child that most was spent in and below, as long as that is a tenth of the "
		"whole. With --verbose "
		"every track, module, type of event and embedded resource is listed, and everything "
		"else that the recording says about itself.",
	.section = CLI_SECTION_LOOK,
	.operands = { .name = "RECORDING",
		      .kind = CLI_OPERAND_PATH,
		      .at_least = 1,
		      .at_most = SIZE_MAX },
	.options =
		(const struct cli_option_group[]){
			{ .title = "Options", .options = info_own_options },
			CLI_INPUT_GROUP(struct info_options),
			CLI_COMMON_GROUP,
			{ 0 },
		},
	.topics = (const struct cli_topic[]){ CLI_STANDARD_INPUT_TOPIC, { 0 } },
	.examples =
		(const struct cli_example[]){
			{ "sonde info trace", "what is this?" },
			{ "sonde info -v trace", "with every track and module" },
			{ "sonde info --json trace", "everything, for a program" },
			{ "sonde info database",
			  "of a profile: what was measured, on which threads" },
			{ 0 },
		},
	.options_size = sizeof(struct info_options),
	.run = run,
};
