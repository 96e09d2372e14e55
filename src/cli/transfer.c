/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sources through the pipeline into a new recording, with progress, a summary and the losses.
 */
#include "cli/transfer.h"

#include <stdlib.h>

#include <sonde/format.h>

#include "base/json.h"
#include "cli/human.h"
#include "cli/progress.h"
#include "cli/report_file.h"
#include "cli/text.h"
#include "formats/format.h"

const struct cli_option cli_transfer_options[] = {
	{ .name = "to-format",
	  .short_name = 't',
	  .argument = "NAME",
	  .kind = CLI_FORMAT,
	  .help = "format of the output; without it, the one that the name of the output ends "
		  "like, or that of the input",
	  .offset = offsetof(struct cli_transfer, format) },
	{ .name = "style",
	  .argument = "WORDS",
	  .kind = CLI_LIST,
	  .help = "how to write the format, where there are several ways; 'sonde formats' lists "
		  "them, several with commas or by repeating",
	  .offset = offsetof(struct cli_transfer, styles) },
	{ .name = "loss-report",
	  .argument = "FILE",
	  .kind = CLI_PATH,
	  .help = "write what could not be carried over to FILE, as JSON",
	  .offset = offsetof(struct cli_transfer, loss_report) },
	{ .name = "strict",
	  .kind = CLI_FLAG,
	  .help = "fail, and write nothing, where anything would be lost",
	  .offset = offsetof(struct cli_transfer, strict) },
	CLI_JSON_OPTION(struct cli_transfer),
	{ 0 },
};

/* Everything that one transfer holds. */
struct transfer {
	struct cli *cli;
	const struct cli_transfer_request *request;
	struct sonde_recording **sources;
	size_t count; /* of sources */
	const char *format;
	struct sonde_buffer style; /* words with commas */
	struct cli_selection selection;
	struct sonde_loss *loss;
	struct sonde_run_result result;
};

/* What is asked for; else what the name of the output says; else what the first source is. */
static int choose_format(struct transfer *transfer)
{
	const struct cli_transfer *options = transfer->request->transfer;
	const struct sonde_format *source = sonde_recording_format(transfer->sources[0]);
	const struct sonde_format *format =
		options->format ? sonde_format_by_name(options->format) :
				  sonde_format_by_suffix(transfer->request->target->output);
	struct sonde_error err = { 0 };
	size_t i;

	if (!format)
		format = source;
	transfer->format = sonde_format_info(format)->name;
	if (!sonde_format_info(format)->lanes_written)
		return cli_usage(transfer->cli,
				 "recordings in format %s are read, not written: name another one "
				 "for the output with -t NAME ('sonde formats' lists them)",
				 transfer->format);
	for (i = 0; i < options->styles.count; i++) {
		sonde_buffer_put_text(&transfer->style, i ? "," : "");
		sonde_buffer_put_text(&transfer->style, options->styles.items[i]);
	}
	if (!sonde_buffer_text(&transfer->style))
		return cli_fail_nomem(transfer->cli);
	if (sonde_format_check_style(format, transfer->style.data, &err))
		return cli_usage(transfer->cli, "--style: %s", err.message);
	return CLI_OK;
}

static int open_sources(struct transfer *transfer)
{
	struct cli *cli = transfer->cli;
	size_t i;

	transfer->sources = calloc(cli->operand_count + 1, sizeof(struct sonde_recording *));
	transfer->loss = sonde_loss_new();
	if (!transfer->sources || !transfer->loss)
		return cli_fail_nomem(cli);
	transfer->count = transfer->request->given ? 1 : cli->operand_count;
	transfer->sources[0] = transfer->request->given;
	for (i = 0; i < transfer->count && !transfer->request->given; i++) {
		int code = cli_open(cli, cli->operands[i], transfer->request->input,
				    &transfer->sources[i]);

		if (code != CLI_OK)
			return code;
		cli_warn_of_faults(cli, transfer->sources[i]);
	}
	return cli_selection_resolve(cli, transfer->sources[0], transfer->request->range,
				     transfer->request->filter, &transfer->selection);
}

static enum sonde_status run_pipeline(struct transfer *transfer, struct sonde_error *err)
{
	const struct cli_target *target = transfer->request->target;
	struct sonde_create_options create = { .format = transfer->format,
					       .replace = target->force,
					       .loss = transfer->loss,
					       .style = transfer->style.size ?
								transfer->style.data :
								NULL };
	struct sonde_run_options run = { .selection = transfer->selection.spec,
					 .loss = transfer->loss,
					 .strict = transfer->request->transfer->strict };
	struct cli_progress progress;
	struct sonde_sink *sink = NULL;
	enum sonde_status status;

	status = sonde_sink_create(target->output, &create, &sink, err);
	if (status < 0)
		return status;
	cli_progress_begin(transfer->cli, &progress, "writing", "event");
	run.progress = &progress.progress;
	status = sonde_pipeline_run(transfer->sources, transfer->count, sink, &run,
				    &transfer->result, err);
	sonde_sink_free(sink);
	cli_progress_end(&progress);
	return status;
}

static void put_losses_json(struct sonde_json_writer *json, const struct sonde_loss *loss)
{
	const struct sonde_loss_entry *entry;
	size_t i;

	sonde_json_key(json, "losses");
	sonde_json_array_begin(json);
	for (i = 0; (entry = sonde_loss_at(loss, i)); i++) {
		sonde_json_object_begin_inline(json);
		sonde_json_member_string(json, "what", entry->what);
		sonde_json_member_u64(json, "count", entry->count);
		sonde_json_member_string(json, "reason", entry->reason);
		sonde_json_member_bool(json, "only_elsewhere", entry->only_elsewhere);
		sonde_json_object_end(json);
	}
	sonde_json_array_end(json);
}

static int write_loss_report(struct transfer *transfer)
{
	const char *path = transfer->request->transfer->loss_report;
	struct sonde_buffer text = { 0 };
	struct sonde_json_writer json;
	int code;

	sonde_json_writer_init(&json, &text, true);
	sonde_json_object_begin(&json);
	put_losses_json(&json, transfer->loss);
	sonde_json_object_end(&json);
	sonde_buffer_put_char(&text, '\n');
	code = cli_write_report(transfer->cli, path, &text);
	sonde_buffer_release(&text);
	return code;
}

static void put_summary_json(struct transfer *transfer, bool written)
{
	const struct sonde_run_result *result = &transfer->result;
	struct sonde_json_writer json;
	size_t i;

	sonde_json_writer_init(&json, &transfer->cli->out, true);
	sonde_json_object_begin(&json);
	sonde_json_member_string(&json, "output", transfer->request->target->output);
	sonde_json_member_bool(&json, "written", written);
	sonde_json_member_string(&json, "format", transfer->format);
	sonde_json_key(&json, "sources");
	sonde_json_array_begin(&json);
	for (i = 0; i < transfer->count; i++)
		sonde_json_string(&json, transfer->cli->operands[i]);
	sonde_json_array_end(&json);
	sonde_json_member_u64(&json, "events_read", result->events_read);
	sonde_json_member_u64(&json, "events_written", result->events_written);
	sonde_json_member_u64(&json, "calls_opened", result->calls_opened);
	sonde_json_member_u64(&json, "calls_closed", result->calls_closed);
	sonde_json_member_u64(&json, "details_written", result->details_written);
	sonde_json_member_u64(&json, "resources_written", result->blobs_written);
	sonde_json_member_u64(&json, "contexts_written", result->contexts_written);
	sonde_json_member_u64(&json, "values_written", result->values_written);
	sonde_json_member_u64(&json, "samples_read", result->samples_read);
	sonde_json_member_u64(&json, "samples_written", result->samples_written);
	put_losses_json(&json, transfer->loss);
	sonde_json_object_end(&json);
	sonde_buffer_put_char(&transfer->cli->out, '\n');
}

/* Those of one kind; how many there were. */
static size_t put_entries(struct transfer *transfer, const char *title, bool only_elsewhere)
{
	struct sonde_buffer *out = &transfer->cli->out;
	const struct sonde_loss_entry *entry;
	size_t count = 0, i;

	for (i = 0; (entry = sonde_loss_at(transfer->loss, i)); i++) {
		if (entry->only_elsewhere != only_elsewhere)
			continue;
		if (!count++) {
			cli_put_styled(transfer->cli, CLI_STYLE_YELLOW, title);
			sonde_buffer_put_char(out, '\n');
		}
		sonde_buffer_put_text(out, "  ");
		cli_put_count(out, entry->count);
		sonde_buffer_put_char(out, ' ');
		cli_put_escaped(out, entry->what);
		sonde_buffer_put_text(out, ": ");
		cli_put_escaped(out, entry->reason);
		sonde_buffer_put_char(out, '\n');
	}
	return count;
}

static void put_losses(struct transfer *transfer, const char *title)
{
	struct sonde_buffer elsewhere = { 0 };

	if (!put_entries(transfer, title, false))
		sonde_buffer_put_text(&transfer->cli->out, "nothing was lost\n");
	sonde_buffer_put_format(&elsewhere,
				"kept, but other readers of %s will not see:", transfer->format);
	if (sonde_buffer_text(&elsewhere))
		put_entries(transfer, elsewhere.data, true);
	sonde_buffer_release(&elsewhere);
}

static void put_if_any(struct sonde_buffer *out, uint64_t count, const char *noun)
{
	if (!count)
		return;
	sonde_buffer_put_text(out, ", ");
	cli_put_counted(out, count, noun);
}

/* What was written, by what the target holds. */
static void put_written(struct sonde_buffer *out, const struct sonde_run_result *result)
{
	if (result->contexts_written) {
		cli_put_counted(out, result->contexts_written, "calling context");
		put_if_any(out, result->values_written, "value");
		put_if_any(out, result->samples_written, "sample");
		if (!result->events_read)
			return;
		sonde_buffer_put_text(out, " from ");
		cli_put_counted(out, result->events_read, "event");
		return;
	}
	cli_put_counted(out, result->events_written, "event");
	if (result->samples_read && !result->events_read) {
		sonde_buffer_put_text(out, " made of ");
		cli_put_counted(out, result->samples_read, "sample");
		return;
	}
	sonde_buffer_put_text(out, " of ");
	cli_put_count(out, result->events_read);
	sonde_buffer_put_text(out, " read, ");
	cli_put_counted(out, result->details_written, "detail");
}

/* A source that the target can hold nothing of: who could? */
static void hint_at_holders(struct transfer *transfer)
{
	struct sonde_buffer names = { 0 };

	for (size_t i = 0; i < sonde_format_count(); i++) {
		const struct sonde_format_info *info = sonde_format_info(sonde_format_at(i));

		if (info->lanes_written & SONDE_LANE_VALUES)
			sonde_buffer_put_format(&names, names.size ? ", %s" : "%s", info->name);
	}
	if (sonde_buffer_text(&names) && names.size)
		cli_hint(transfer->cli, "formats that hold such values: %s", names.data);
	sonde_buffer_release(&names);
}

static void tell_if_empty(struct transfer *transfer)
{
	const struct sonde_run_result *result = &transfer->result;

	if (result->events_written || result->samples_written || result->values_written)
		return;
	if (cli_selects(&transfer->selection.spec) && (result->events_read || result->samples_read))
		cli_note(transfer->cli, "nothing fits what was asked for");
	else if (result->events_read || result->samples_read)
		cli_note(transfer->cli,
			 "nothing but definitions was written; what was lost says why");
}

static void put_summary(struct transfer *transfer)
{
	const struct sonde_run_result *result = &transfer->result;
	struct sonde_buffer *out = &transfer->cli->out;

	sonde_buffer_put_text(out, "wrote ");
	cli_put_escaped(out, transfer->request->target->output);
	sonde_buffer_put_format(out, " (%s): ", transfer->format);
	put_written(out, result);
	if (result->blobs_written) {
		sonde_buffer_put_text(out, ", ");
		cli_put_counted(out, result->blobs_written, "resource");
	}
	sonde_buffer_put_char(out, '\n');
	if (result->calls_opened || result->calls_closed) {
		cli_put_counted(out, result->calls_opened, "call");
		sonde_buffer_put_text(out, " opened again at the start and ");
		cli_put_count(out, result->calls_closed);
		sonde_buffer_put_text(out, " closed at the end, by events marked synthetic\n");
	}
	put_losses(transfer, "lost:");
	tell_if_empty(transfer);
}

static void put_result(struct transfer *transfer, bool written)
{
	if (transfer->request->transfer->json)
		put_summary_json(transfer, written);
	else if (transfer->cli->common.quiet)
		return;
	else if (written)
		put_summary(transfer);
	else
		put_losses(transfer, "would be lost:");
}

static int tell(struct transfer *transfer, enum sonde_status status, const struct sonde_error *err)
{
	const struct cli_transfer *options = transfer->request->transfer;
	bool written = status == SONDE_OK;
	int code = CLI_OK;

	if (!written && !(options->strict && status == SONDE_LIMIT)) {
		code = cli_fail(transfer->cli, err);
		if (status == SONDE_UNSUPPORTED)
			hint_at_holders(transfer);
		return code;
	}
	put_result(transfer, written);
	if (options->loss_report)
		code = write_loss_report(transfer);
	if (written)
		return code;
	cli_error(transfer->cli, "something would be lost: nothing was written");
	return CLI_FINDINGS;
}

int cli_transfer_run(struct cli *cli, const struct cli_transfer_request *request)
{
	struct transfer transfer = { .cli = cli, .request = request };
	struct sonde_error err = { 0 };
	size_t i;
	int code = cli_target_check(cli, request->target);

	if (code == CLI_OK && request->transfer->loss_report)
		code = cli_check_report(cli, request->transfer->loss_report,
					request->target->output);
	if (code != CLI_OK)
		return code;
	code = open_sources(&transfer);
	if (code == CLI_OK)
		code = choose_format(&transfer);
	if (code == CLI_OK)
		code = tell(&transfer, run_pipeline(&transfer, &err), &err);
	for (i = 0; transfer.sources && !request->given && i < transfer.count; i++)
		sonde_recording_close(transfer.sources[i]);
	free(transfer.sources);
	sonde_loss_free(transfer.loss);
	sonde_buffer_release(&transfer.style);
	cli_selection_release(&transfer.selection);
	return code;
}
