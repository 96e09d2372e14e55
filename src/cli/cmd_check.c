/* SPDX-License-Identifier: Apache-2.0 */
/* `sonde check`: everything that is wrong with recordings. */
#include <sonde/format.h>

#include "cli/check.h"
#include "cli/commands.h"
#include "cli/findings.h"
#include "cli/human.h"
#include "cli/input.h"
#include "cli/progress.h"
#include "cli/text.h"

static const struct cli_option check_own_options[] = {
	{ .name = "list",
	  .kind = CLI_FLAG,
	  .help = "list every id that can be found, with its meaning, and end",
	  .offset = offsetof(struct cli_check_options, list) },
	CLI_JSON_OPTION(struct cli_check_options),
	{ 0 },
};

static void put_type_json(struct sonde_json_writer *json, const struct sonde_format_info *format,
			  const struct sonde_finding_type *type)
{
	sonde_json_object_begin_inline(json);
	sonde_json_member_string(json, "id", type->id);
	sonde_json_member_string(json, "format", format->name);
	sonde_json_member_string(json, "severity", sonde_severity_name(type->severity));
	sonde_json_member_string(json, "title", type->title);
	sonde_json_member_string(json, "advice", type->advice);
	sonde_json_object_end(json);
}

static void put_type(struct cli *cli, const struct sonde_finding_type *type)
{
	cli_put_severity(cli, type->severity);
	sonde_buffer_put_text(&cli->out, "  ");
	cli_put_styled(cli, CLI_STYLE_BOLD, type->id);
	sonde_buffer_put_format(&cli->out, "\n         %s\n         advice: %s\n", type->title,
				type->advice);
}

/* Every finding type of every format. */
static int list_types(struct cli *cli, bool as_json)
{
	struct sonde_json_writer json;
	size_t i, j;

	sonde_json_writer_init(&json, &cli->out, true);
	if (as_json)
		sonde_json_array_begin(&json);
	for (i = 0; i < sonde_format_count(); i++) {
		const struct sonde_format_info *format = sonde_format_info(sonde_format_at(i));

		for (j = 0; format->findings && format->findings[j]; j++) {
			if (as_json)
				put_type_json(&json, format, format->findings[j]);
			else
				put_type(cli, format->findings[j]);
		}
	}
	if (as_json) {
		sonde_json_array_end(&json);
		sonde_buffer_put_char(&cli->out, '\n');
	}
	return CLI_OK;
}

/* The state over all operands. */
struct check {
	struct cli *cli;
	const struct cli_check_options *options;
	struct sonde_json_writer json;
	struct cli_tally total;
	size_t checked; /* recordings that could be checked at all */
};

static void put_result(struct check *check, const char *path,
		       const struct sonde_diagnostics *diagnostics, const struct cli_tally *tally)
{
	struct sonde_buffer *out = &check->cli->out;

	if (check->cli->operand_count > 1) {
		cli_put_escaped(out, cli_input_name(check->cli, path));
		sonde_buffer_put_text(out, ": ");
		cli_put_tally(out, tally);
		sonde_buffer_put_char(out, '\n');
	}
	cli_put_findings(check->cli, diagnostics, path);
}

static void put_result_json(struct check *check, const char *path,
			    const struct sonde_diagnostics *diagnostics,
			    const struct cli_tally *tally)
{
	sonde_json_object_begin(&check->json);
	sonde_json_member_string(&check->json, "path", cli_input_name(check->cli, path));
	cli_put_tally_json(&check->json, tally);
	cli_put_findings_json(&check->json, diagnostics);
	sonde_json_object_end(&check->json);
}

static int check_one(struct check *check, const char *path, struct sonde_diagnostics *diagnostics)
{
	struct sonde_check_options options = { .format = check->options->input.format };
	struct cli_progress progress;
	struct cli_tally tally;
	struct sonde_error err = { 0 };
	enum sonde_status status;
	int code = cli_input_path(check->cli, path, &path);

	if (code != CLI_OK)
		return code;
	cli_progress_begin(check->cli, &progress, "checking", NULL);
	options.progress = &progress.progress;
	status = sonde_check(path, &options, diagnostics, &err);
	cli_progress_end(&progress);
	if (status != SONDE_OK) {
		sonde_error_set_file(&err, path);
		return cli_fail(check->cli, &err);
	}
	tally = cli_tally_of(diagnostics);
	check->checked++;
	check->total.errors += tally.errors;
	check->total.warnings += tally.warnings;
	check->total.notes += tally.notes;
	if (check->options->json)
		put_result_json(check, path, diagnostics, &tally);
	else if (!check->cli->common.quiet)
		put_result(check, path, diagnostics, &tally);
	return CLI_OK;
}

static int check_all(struct check *check)
{
	int worst = CLI_OK;
	size_t i;

	for (i = 0; i < check->cli->operand_count; i++) {
		struct sonde_diagnostics *diagnostics = sonde_diagnostics_new();
		int code = diagnostics ? check_one(check, check->cli->operands[i], diagnostics) :
					 cli_fail_nomem(check->cli);

		sonde_diagnostics_free(diagnostics);
		if (code > worst)
			worst = code;
		if (code > CLI_FAILED)
			break; /* interrupted */
	}
	return worst;
}

int cli_check_run(struct cli *cli, const void *options)
{
	struct check check = { .cli = cli, .options = options };
	int code;

	if (check.options->list)
		return list_types(cli, check.options->json);
	if (!cli->operand_count)
		return cli_usage(cli, "'%s' needs a %s", cli->command->name,
				 cli->command->operands.name);
	sonde_json_writer_init(&check.json, &cli->out, true);
	if (check.options->json) {
		sonde_json_object_begin(&check.json);
		sonde_json_key(&check.json, "recordings");
		sonde_json_array_begin(&check.json);
	}
	code = check_all(&check);
	if (check.options->json) {
		sonde_json_array_end(&check.json);
		cli_put_tally_json(&check.json, &check.total);
		sonde_json_object_end(&check.json);
		sonde_buffer_put_char(&cli->out, '\n');
	} else if (!cli->common.quiet && check.checked) {
		cli_put_tally(&cli->out, &check.total);
		sonde_buffer_put_char(&cli->out, '\n');
	}
	if (code == CLI_OK && check.total.errors + check.total.warnings)
		code = CLI_FINDINGS;
	return code;
}

const struct cli_command cmd_check = {
	.name = "check",
	.summary = "find everything that is wrong with recordings",
	.usage = "sonde check [OPTIONS] RECORDING...",
	.description =
		"Looks at every byte of the recordings and prints each fault with its severity, its "
		"place, what was expected and what was found there, its stable id, and, once for "
		"each id, what can be done about it. Of many alike in a file three are shown, with "
		"--verbose more.\n"
		"\n"
		"Errors mean that data is damaged or lost, warnings that something beside the data "
		"is missing or disagrees; notes are worth knowing, and the data is whole. The exit "
		"code is 1 where there are errors or warnings.",
	.section = CLI_SECTION_LOOK,
	.operands = { .name = "RECORDING", .kind = CLI_OPERAND_PATH, .at_most = SIZE_MAX },
	.options =
		(const struct cli_option_group[]){
			{ .title = "Options", .options = check_own_options },
			CLI_INPUT_GROUP(struct cli_check_options),
			CLI_COMMON_GROUP,
			{ 0 },
		},
	.topics = (const struct cli_topic[]){ CLI_STANDARD_INPUT_TOPIC, { 0 } },
	.examples =
		(const struct cli_example[]){
			{ "sonde check trace", "everything that is wrong with a recording" },
			{ "sonde check -q trace && echo sound", "in a script: only the exit code" },
			{ "sonde check --json trace", "the same for a program" },
			{ "sonde check --list", "what can be found, and what it means" },
			{ 0 },
		},
	.options_size = sizeof(struct cli_check_options),
	.run = cli_check_run,
};
