/* SPDX-License-Identifier: Apache-2.0 */
/* `sonde store ingest`: recordings into a store. */
#include "base/json.h"
#include "cli/commands.h"
#include "cli/human.h"
#include "cli/input.h"
#include "cli/progress.h"
#include "cli/store_write.h"
#include "cli/text.h"
#include "store/ingest.h"

struct ingest_options {
	struct cli_common common;
	struct cli_input input;
	const char *split_by;
	const char *service, *host, *env;
	bool json;
};

#define NAME(option, member, text)                                                                 \
	{                                                                                          \
		.name = option, .argument = "NAME", .kind = CLI_TEXT, .help = text,                \
		.offset = offsetof(struct ingest_options, member)                                  \
	}

static const struct cli_option ingest_own_options[] = {
	{ .name = "split-by",
	  .argument = "PATTERN",
	  .kind = CLI_TEXT,
	  .help = "every call of a function with such a name is a trace (* and ? stand for "
		  "anything); without it, every outermost call",
	  .offset = offsetof(struct ingest_options, split_by) },
	NAME("service", service,
	     "the service that the traces are of; else the name of the process"),
	NAME("host", host, "the host that they are of"),
	NAME("env", env, "the environment that they are of"),
	CLI_JSON_OPTION(struct ingest_options),
	{ 0 },
};

static void put_losses(struct cli *cli, const struct sonde_loss *loss)
{
	const struct sonde_loss_entry *entry;
	size_t i;

	for (i = 0; (entry = sonde_loss_at(loss, i)) && !cli->common.quiet; i++) {
		sonde_buffer_put_text(&cli->out, i ? "  " : "not carried over:\n  ");
		cli_put_count(&cli->out, entry->count);
		sonde_buffer_put_char(&cli->out, ' ');
		cli_put_escaped(&cli->out, entry->what);
		sonde_buffer_put_text(&cli->out, ": ");
		cli_put_escaped(&cli->out, entry->reason);
		sonde_buffer_put_char(&cli->out, '\n');
	}
}

static void put_result(struct cli *cli, const char *path, const struct ingest_options *options,
		       const struct sonde_ingest_result *result, const struct sonde_loss *loss)
{
	struct sonde_json_writer json;

	if (options->json) {
		sonde_json_writer_init(&json, &cli->out, false);
		sonde_json_object_begin(&json);
		sonde_json_member_string(&json, "path", path);
		sonde_json_member_u64(&json, "traces", result->traces);
		sonde_json_member_u64(&json, "records", result->records);
		sonde_json_object_end(&json);
		sonde_buffer_put_char(&cli->out, '\n');
	} else if (!cli->common.quiet) {
		cli_put_escaped(&cli->out, path);
		sonde_buffer_put_text(&cli->out, ": ");
		cli_put_counted(&cli->out, result->traces, "trace");
		sonde_buffer_put_text(&cli->out, " with ");
		cli_put_counted(&cli->out, result->records, "record");
		sonde_buffer_put_char(&cli->out, '\n');
		put_losses(cli, loss);
	}
}

static int ingest_one(struct cli *cli, const char *path, const struct ingest_options *options,
		      struct sonde_store *store)
{
	struct sonde_ingest_options ingest = { .split_by = options->split_by,
					       .service = options->service,
					       .host = options->host,
					       .env = options->env };
	struct sonde_ingest_result result = { 0 };
	struct sonde_recording *recording;
	struct cli_progress progress;
	struct sonde_error err = { 0 };
	enum sonde_status status;
	int code = cli_open(cli, path, &options->input, &recording);

	if (code != CLI_OK)
		return code;
	cli_warn_of_faults(cli, recording);
	ingest.loss = sonde_loss_new();
	if (!ingest.loss) {
		sonde_recording_close(recording);
		return cli_fail_nomem(cli);
	}
	cli_progress_begin(cli, &progress, "taking in", "event");
	ingest.progress = &progress.progress;
	status = sonde_ingest_recording(store, recording, &ingest, &result, &err);
	cli_progress_end(&progress);
	if (status == SONDE_OK)
		put_result(cli, path, options, &result, ingest.loss);
	else
		code = cli_store_fail(cli, path, &err);
	sonde_loss_free(ingest.loss);
	sonde_recording_close(recording);
	return code;
}

static int run(struct cli *cli, const void *options)
{
	const char *path = cli->operands[0];
	struct sonde_store *store;
	int code;
	size_t i;

	if (cli->operand_count < 2)
		return cli_usage(cli, "'store ingest' needs a DIR and a RECORDING");
	code = cli_store_open_to_write(cli, path, &store);
	if (code != CLI_OK)
		return code;
	for (i = 1; i < cli->operand_count && code <= CLI_FAILED; i++) {
		int one = ingest_one(cli, cli->operands[i], options, store);

		code = one > code ? one : code;
	}
	return cli_store_close(cli, path, store, code);
}

const struct cli_command cmd_store_ingest = {
	.name = "store ingest",
	.summary = "put recordings into a store",
	.usage = "sonde store ingest [OPTIONS] DIR RECORDING...",
	.description =
		"Puts the calls of recordings into a store: every outermost call of a thread becomes a "
		"trace, or with --split-by every call of the functions named. Whatever sonde reads can "
		"be put in, another store too. When it returns, all is on the disk. Services send "
		"traces to 'sonde store serve' instead.",
	.section = CLI_SECTION_STORE,
	.operands = { .name = "DIR", .kind = CLI_OPERAND_PATH, .at_least = 1, .at_most = SIZE_MAX },
	.options =
		(const struct cli_option_group[]){
			{ .title = "Options", .options = ingest_own_options },
			CLI_INPUT_GROUP(struct ingest_options),
			CLI_COMMON_GROUP,
			{ 0 },
		},
	.examples =
		(const struct cli_example[]){
			{ "sonde store ingest traces trace", "every outermost call is a trace" },
			{ "sonde store ingest traces trace --split-by 'handle*' --service shop",
			  "every call of these functions is one, of the service shop" },
			{ 0 },
		},
	.options_size = sizeof(struct ingest_options),
	.run = run,
};
