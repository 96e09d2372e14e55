/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sources through the pipeline into a new recording, with progress, a summary and the losses.
 */
#include "cli/transfer.h"

#include <stdlib.h>

#include "cli/human.h"
#include "cli/progress.h"
#include "cli/report_file.h"
#include "cli/standard_output.h"
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
	struct cli_transfer_format format;
	const char *path;  /* where to write */
	const char *shown; /* what that is called */
	struct cli_standard_output standard_output;
	struct cli_selection selection;
	struct sonde_run_options run;
	struct sonde_loss *loss;
	struct sonde_run_result result;
};

int cli_transfer_choose_format(struct cli *cli, const struct cli_transfer *options,
			       const char *output, const struct sonde_recording *source,
			       struct cli_transfer_format *chosen)
{
	const struct sonde_format *format = options->format ?
						    sonde_format_by_name(options->format) :
						    sonde_format_by_suffix(output);
	struct sonde_error err = { 0 };
	size_t i;

	if (!format)
		format = sonde_recording_format(source);
	chosen->info = sonde_format_info(format);
	chosen->name = chosen->info->name;
	if (!chosen->info->lanes_written)
		return cli_usage(cli,
				 "recordings in format %s are read, not written: name another one "
				 "for the output with -t NAME ('sonde formats' lists them)",
				 chosen->name);
	for (i = 0; i < options->styles.count; i++) {
		sonde_buffer_put_text(&chosen->style, i ? "," : "");
		sonde_buffer_put_text(&chosen->style, options->styles.items[i]);
	}
	if (!sonde_buffer_text(&chosen->style))
		return cli_fail_nomem(cli);
	if (sonde_format_check_style(format, chosen->style.data, &err))
		return cli_usage(cli, "--style: %s", err.message);
	return CLI_OK;
}

/* Where to write, and what that is called. */
static int choose_place(struct transfer *transfer)
{
	const struct cli_target *target = transfer->request->target;
	int code;

	transfer->path = transfer->shown = target->output;
	if (!cli_target_is_standard_output(target))
		return CLI_OK;
	code = cli_standard_output_begin(transfer->cli, transfer->format.info,
					 &transfer->standard_output);
	transfer->path = transfer->standard_output.path;
	transfer->shown = "standard output";
	return code;
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
	const struct sonde_buffer *style = &transfer->format.style;
	struct sonde_create_options create = { .format = transfer->format.name,
					       .replace = target->force,
					       .loss = transfer->loss,
					       .style = style->size ? style->data : NULL };
	struct cli_progress progress;
	struct sonde_sink *sink = NULL;
	enum sonde_status status;

	status = sonde_sink_create(transfer->path, &create, &sink, err);
	if (status < 0)
		return status;
	cli_progress_begin(transfer->cli, &progress, "writing", "event");
	transfer->run.progress = &progress.progress;
	status = sonde_pipeline_run(transfer->sources, transfer->count, sink, &transfer->run,
				    &transfer->result, err);
	sonde_sink_free(sink);
	cli_progress_end(&progress);
	return status;
}

void cli_put_losses_json(struct sonde_json_writer *json, const struct sonde_loss *loss)
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

int cli_write_loss_report(struct cli *cli, const char *path, const struct sonde_loss *loss)
{
	struct sonde_buffer text = { 0 };
	struct sonde_json_writer json;
	int code;

	sonde_json_writer_init(&json, &text, true);
	sonde_json_object_begin(&json);
	cli_put_losses_json(&json, loss);
	sonde_json_object_end(&json);
	sonde_buffer_put_char(&text, '\n');
	code = cli_write_report(cli, path, &text);
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
	sonde_json_member_string(&json, "format", transfer->format.name);
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
	cli_put_losses_json(&json, transfer->loss);
	if (transfer->request->put_json)
		transfer->request->put_json(transfer->request->user, &json);
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
	sonde_buffer_put_format(
		&elsewhere, "kept, but other readers of %s will not see:", transfer->format.name);
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
	if (result->samples_read) {
		sonde_buffer_put_text(out, " events and ");
		cli_put_counted(out, result->samples_read, "sample");
	}
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
	cli_put_escaped(out, transfer->shown);
	sonde_buffer_put_format(out, " (%s): ", transfer->format.name);
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
	if (written && transfer->standard_output.path)
		code = cli_standard_output_send(transfer->cli, &transfer->standard_output);
	if (code != CLI_OK)
		return code;
	put_result(transfer, written);
	if (options->loss_report)
		code = cli_write_loss_report(transfer->cli, options->loss_report, transfer->loss);
	if (written)
		return code;
	cli_error(transfer->cli, "something would be lost: nothing was written");
	return CLI_FINDINGS;
}

static int check_places(struct cli *cli, const struct cli_transfer_request *request)
{
	int code = cli_target_is_standard_output(request->target) ?
			   CLI_OK :
			   cli_target_check(cli, request->target);

	if (code == CLI_OK && request->transfer->loss_report)
		code = cli_check_report(cli, request->transfer->loss_report,
					request->target->output);
	return code;
}

static int write_output(struct transfer *transfer)
{
	const struct cli_transfer_request *request = transfer->request;
	struct sonde_error err = { 0 };
	int code = cli_transfer_choose_format(transfer->cli, request->transfer,
					      request->target->output, transfer->sources[0],
					      &transfer->format);

	if (code == CLI_OK)
		code = choose_place(transfer);
	return code == CLI_OK ? tell(transfer, run_pipeline(transfer, &err), &err) : code;
}

int cli_transfer_run(struct cli *cli, const struct cli_transfer_request *request)
{
	struct transfer transfer = { .cli = cli, .request = request };
	size_t i;
	int code = request->only_prepare ? CLI_OK : check_places(cli, request);

	if (code != CLI_OK)
		return code;
	code = open_sources(&transfer);
	transfer.run = (struct sonde_run_options){ .selection = transfer.selection.spec,
						   .loss = transfer.loss,
						   .strict = request->transfer->strict };
	if (code == CLI_OK && request->prepare)
		code = request->prepare(cli, request->user, transfer.sources, transfer.count,
					&transfer.run);
	if (code == CLI_OK && !request->only_prepare)
		code = write_output(&transfer);
	cli_standard_output_release(&transfer.standard_output);
	for (i = 0; transfer.sources && !request->given && i < transfer.count; i++)
		sonde_recording_close(transfer.sources[i]);
	free(transfer.sources);
	sonde_loss_free(transfer.loss);
	sonde_buffer_release(&transfer.format.style);
	cli_selection_release(&transfer.selection);
	return code;
}
