/* SPDX-License-Identifier: Apache-2.0 */
/* `sonde recover`: a finished recording out of a damaged one. */
#include <sonde/format.h>

#include "cli/commands.h"
#include "cli/findings.h"
#include "cli/function_names.h"
#include "cli/human.h"
#include "cli/input.h"
#include "cli/progress.h"
#include "cli/recover.h"
#include "cli/target.h"
#include "cli/text.h"

/* Kinds of findings shown without --verbose. */
#define FINDINGS_SHOWN 10

static const struct cli_option recover_own_options[] = {
	CLI_JSON_OPTION(struct cli_recover_options),
	{ 0 },
};

/* What the report is made of. */
struct recovery {
	struct cli *cli;
	const struct cli_recover_options *options;
	const char *path;
	struct sonde_diagnostics *diagnostics;
	struct sonde_recover_result result;
	struct cli_function_names names;
};

static void put_report_json(struct recovery *recovery)
{
	const struct sonde_recover_result *result = &recovery->result;
	struct cli_tally tally = cli_tally_of(recovery->diagnostics);
	struct sonde_json_writer json;

	sonde_json_writer_init(&json, &recovery->cli->out, true);
	sonde_json_object_begin(&json);
	sonde_json_member_string(&json, "path", cli_input_name(recovery->cli, recovery->path));
	sonde_json_member_string(&json, "output", recovery->options->target.output);
	sonde_json_member_u64(&json, "events_kept", result->events_kept);
	sonde_json_member_u64(&json, "details_kept", result->details_kept);
	sonde_json_member_u64(&json, "details_unlinked", result->details_unlinked);
	sonde_json_member_u64(&json, "samples_kept", result->samples_kept);
	sonde_json_member_u64(&json, "values_kept", result->values_kept);
	sonde_json_member_u64(&json, "tracks_kept", result->tracks_kept);
	sonde_json_member_u64(&json, "tracks_lost", result->tracks_lost);
	sonde_json_member_u64(&json, "bytes_dropped", result->bytes_dropped);
	sonde_json_member_u64(&json, "links_mended", result->links_mended);
	sonde_json_member_u64(&json, "manifests_made", result->manifests_made);
	sonde_json_member_u64(&json, "functions_named", recovery->names.found);
	sonde_json_member_u64(&json, "functions_not_found", recovery->names.not_found);
	cli_put_tally_json(&json, &tally);
	cli_put_findings_json(&json, recovery->diagnostics);
	sonde_json_object_end(&json);
	sonde_buffer_put_char(&recovery->cli->out, '\n');
}

static void put_faults(struct recovery *recovery)
{
	struct cli *cli = recovery->cli;
	struct cli_tally tally = cli_tally_of(recovery->diagnostics);

	if (!tally.errors && !tally.warnings) {
		sonde_buffer_put_text(&cli->out, "wrong    nothing\n");
		return;
	}
	sonde_buffer_put_text(&cli->out, "wrong    ");
	cli_put_tally(&cli->out, &tally);
	sonde_buffer_put_char(&cli->out, '\n');
	cli_put_findings_briefly(cli, recovery->diagnostics, 9,
				 cli->common.verbose ? SIZE_MAX : FINDINGS_SHOWN);
}

static void put_guesses(struct sonde_buffer *out, const struct recovery *recovery)
{
	const struct sonde_recover_result *result = &recovery->result;
	const char *between = "";

	if (!result->links_mended && !result->manifests_made && !result->functions_named)
		sonde_buffer_put_text(out, "nothing");
	if (recovery->names.found) {
		sonde_buffer_put_text(out, "names of ");
		cli_put_counted(out, recovery->names.found, "function");
		sonde_buffer_put_text(out, ", from the files that they are in");
		between = "\n         ";
	}
	if (recovery->names.not_found) {
		sonde_buffer_put_text(out, between);
		sonde_buffer_put_text(out, "no names of ");
		cli_put_counted(out, recovery->names.not_found, "function");
		sonde_buffer_put_text(out, ": the file is gone, has changed, or does not tell");
		between = "\n         ";
	}
	if (result->manifests_made) {
		sonde_buffer_put_text(out, between);
		between = "\n         ";
		sonde_buffer_put_text(out, "threads and clock of ");
		cli_put_counted(out, result->manifests_made, "pid folder");
		sonde_buffer_put_text(out, " without a manifest; functions have no names");
	}
	if (result->links_mended) {
		sonde_buffer_put_text(out, between);
		cli_put_counted(out, result->links_mended, "link");
		sonde_buffer_put_text(out, " between events and details that disagreed");
	}
}

static void put_kept(struct sonde_buffer *out, const struct sonde_recover_result *result)
{
	sonde_buffer_put_text(out, "kept     ");
	if (result->values_kept || result->samples_kept) {
		cli_put_counted(out, result->values_kept, "value");
		sonde_buffer_put_text(out, " and ");
		cli_put_counted(out, result->samples_kept, "sample");
	} else {
		cli_put_counted(out, result->events_kept, "event");
		sonde_buffer_put_text(out, " and ");
		cli_put_counted(out, result->details_kept, "detail");
	}
	sonde_buffer_put_text(out, " of ");
	cli_put_counted(out, result->tracks_kept, "track");
	if (result->details_unlinked) {
		sonde_buffer_put_text(out, "\n         ");
		cli_put_counted(out, result->details_unlinked, "detail");
		sonde_buffer_put_text(out, " of them without the event, which did not survive");
	}
	sonde_buffer_put_char(out, '\n');
}

static void put_lost(struct sonde_buffer *out, const struct sonde_recover_result *result)
{
	sonde_buffer_put_text(out, "lost     ");
	if (!result->tracks_lost && !result->bytes_dropped)
		sonde_buffer_put_text(out, "nothing that was in the files");
	if (result->tracks_lost)
		cli_put_counted(out, result->tracks_lost, "whole track");
	if (result->tracks_lost && result->bytes_dropped)
		sonde_buffer_put_text(out, " and ");
	if (result->bytes_dropped) {
		cli_put_counted(out, result->bytes_dropped, "byte");
		sonde_buffer_put_text(out, " that no longer made a record");
	}
	sonde_buffer_put_char(out, '\n');
}

static void put_report(struct recovery *recovery)
{
	struct sonde_buffer *out = &recovery->cli->out;

	put_faults(recovery);
	put_kept(out, &recovery->result);
	put_lost(out, &recovery->result);
	sonde_buffer_put_text(out, "guessed  ");
	put_guesses(out, recovery);
	sonde_buffer_put_text(out, "\nwrote    ");
	cli_put_escaped(out, recovery->options->target.output);
	sonde_buffer_put_char(out, '\n');
}

static int recover(struct recovery *recovery)
{
	struct sonde_recover_options options = { .format = recovery->options->input.format,
						 .replace = recovery->options->target.force };
	struct cli_progress progress;
	struct sonde_error err = { 0 };
	enum sonde_status status;

	cli_progress_begin(recovery->cli, &progress, "recovering", "event");
	options.progress = &progress.progress;
	options.name_function = cli_name_function;
	options.name_context = &recovery->names;
	status = sonde_recover(recovery->path, recovery->options->target.output, &options,
			       recovery->diagnostics, &recovery->result, &err);
	cli_progress_end(&progress);
	cli_function_names_release(&recovery->names);
	if (status != SONDE_OK) {
		sonde_error_set_file(&err, recovery->path);
		return cli_fail(recovery->cli, &err);
	}
	if (recovery->options->json)
		put_report_json(recovery);
	else if (!recovery->cli->common.quiet)
		put_report(recovery);
	return CLI_OK;
}

int cli_recover_run(struct cli *cli, const void *options)
{
	struct recovery recovery = { .cli = cli, .options = options, .path = cli->operands[0] };
	int code = cli_target_check(cli, &recovery.options->target);

	if (code == CLI_OK)
		code = cli_input_path(cli, cli->operands[0], &recovery.path);
	if (code != CLI_OK)
		return code;
	recovery.diagnostics = sonde_diagnostics_new();
	code = recovery.diagnostics ? recover(&recovery) : cli_fail_nomem(cli);
	sonde_diagnostics_free(recovery.diagnostics);
	return code;
}

const struct cli_command cmd_recover = {
	.name = "recover",
	.summary = "write a finished recording with what survives in a damaged one",
	.usage = "sonde recover [OPTIONS] RECORDING -o OUTPUT",
	.description =
		"Writes a new, finished recording with everything that can still be read of one "
		"that was never finished, was cut, or is damaged otherwise, and reports what was "
		"wrong, what was kept and lost, and what had to be guessed. The damaged recording "
		"is not touched.",
	.section = CLI_SECTION_WRITE,
	.operands = { .name = "RECORDING", .kind = CLI_OPERAND_PATH, .at_least = 1, .at_most = 1 },
	.options =
		(const struct cli_option_group[]){
			CLI_TARGET_GROUP(struct cli_recover_options),
			{ .title = "Options", .options = recover_own_options },
			CLI_INPUT_GROUP(struct cli_recover_options),
			CLI_COMMON_GROUP,
			{ 0 },
		},
	.topics = (const struct cli_topic[]){ CLI_STANDARD_INPUT_TOPIC, { 0 } },
	.examples =
		(const struct cli_example[]){
			{ "sonde recover crashed -o repaired",
			  "save what a crashed program recorded" },
			{ "sonde recover crashed -o repaired --force --json",
			  "once more, with the report for a program" },
			{ 0 },
		},
	.options_size = sizeof(struct cli_recover_options),
	.run = cli_recover_run,
};
