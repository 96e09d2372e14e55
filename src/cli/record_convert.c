/* SPDX-License-Identifier: Apache-2.0 */
/* From the session that was recorded to the output that was asked for. */
#include "cli/record_convert.h"

#include <sonde/format.h>
#include <sonde/pipeline.h>

#include "base/file.h"
#include "cli/human.h"
#include "cli/text.h"

void record_convert_begin(struct cli *cli, const struct record_plan *plan)
{
	if (cli->common.verbose)
		cli_note(cli, "recording into %s, which becomes %s at the end",
			 plan->options.output, plan->target);
}

static void tell_losses(struct cli *cli, const struct record_plan *plan,
			const struct sonde_loss *loss)
{
	const struct sonde_loss_entry *entry;

	for (size_t i = 0; (entry = sonde_loss_at(loss, i)); i++) {
		struct sonde_buffer text = { 0 };
		const char *message;

		if (entry->only_elsewhere && !cli->common.verbose)
			continue;
		if (entry->only_elsewhere)
			sonde_buffer_put_format(&text,
						"other readers of %s will not see: ", plan->format);
		else
			sonde_buffer_put_format(&text, "lost in %s: ", plan->format);
		cli_put_count(&text, entry->count);
		sonde_buffer_put_char(&text, ' ');
		cli_put_escaped(&text, entry->what);
		sonde_buffer_put_text(&text, ": ");
		cli_put_escaped(&text, entry->reason);
		message = sonde_buffer_text(&text);
		if (message && entry->only_elsewhere)
			cli_note(cli, "%s", message);
		else if (message)
			cli_warning(cli, "%s", message);
		sonde_buffer_release(&text);
	}
}

static enum sonde_status convert(const struct record_plan *plan, struct sonde_loss *loss,
				 struct sonde_error *err)
{
	struct sonde_create_options create = {
		.format = plan->format,
		.replace = plan->replace_target,
		.loss = loss,
	};
	struct sonde_run_options run = { .loss = loss };
	struct sonde_run_result result = { 0 };
	struct sonde_recording *source = NULL;
	struct sonde_sink *sink = NULL;
	enum sonde_status status = sonde_recording_open(plan->options.output, NULL, &source, err);

	if (status >= 0)
		status = sonde_sink_create(plan->target, &create, &sink, err);
	if (status >= 0)
		status = sonde_pipeline_run(&source, 1, sink, &run, &result, err);
	sonde_sink_free(sink);
	sonde_recording_close(source);
	return status;
}

bool record_convert(struct cli *cli, const struct record_plan *plan)
{
	struct sonde_loss *loss = sonde_loss_new();
	struct sonde_buffer word = { 0 };
	struct sonde_error err = { 0 };
	enum sonde_status status = loss ? convert(plan, loss, &err) : sonde_fail_nomem(&err);

	if (status >= 0) {
		tell_losses(cli, plan, loss);
		sonde_path_remove(plan->options.output);
	} else {
		cli_fail(cli, &err);
		cli_error(cli, "%s was not written; the recording is in %s", plan->target,
			  plan->options.output);
		cli_hint(cli, "sonde convert %s -t %s -o FILE   tries again",
			 cli_shell_word(&word, plan->options.output), plan->format);
		sonde_buffer_release(&word);
	}
	sonde_loss_free(loss);
	return status >= 0;
}
