/* SPDX-License-Identifier: Apache-2.0 */
/* `sonde store get`: whole traces. */
#include <stdlib.h>

#include "cli/commands.h"
#include "cli/store_filter.h"
#include "cli/store_tree.h"
#include "cli/transfer.h"
#include "formats/zts/zts_read.h"

struct get_options {
	struct cli_common common;
	struct cli_target target;
	struct cli_transfer transfer;
	bool all;
	bool json;
};

static const struct cli_option get_own_options[] = {
	{ .name = "all",
	  .kind = CLI_FLAG,
	  .help = "every trace of the store, in the order in which they were put in",
	  .offset = offsetof(struct get_options, all) },
	CLI_JSON_OPTION(struct get_options),
	{ 0 },
};

/* Those of convert, but for --json, which is ours. */
static const struct cli_option get_write_options[] = {
	{ .name = "to-format",
	  .short_name = 't',
	  .argument = "NAME",
	  .kind = CLI_FORMAT,
	  .help = "format of the output; without it, the one that its name ends like, or another "
		  "store",
	  .offset = offsetof(struct cli_transfer, format) },
	{ .name = "style",
	  .argument = "WORDS",
	  .kind = CLI_LIST,
	  .help = "how to write the format, where there are several ways; 'sonde formats' lists "
		  "them",
	  .offset = offsetof(struct cli_transfer, styles) },
	{ .name = "loss-report",
	  .argument = "FILE",
	  .kind = CLI_PATH,
	  .help = "write what could not be carried over to FILE, as JSON",
	  .offset = offsetof(struct cli_transfer, loss_report) },
	{ 0 },
};

struct get {
	struct cli *cli;
	const struct get_options *options;
	struct cli_store_names names;
	size_t shown;
	size_t unreadable;
};

/* Traces that belong together, or one. */
static int put_joined(struct get *get, const struct sonde_place *places, size_t count)
{
	struct sonde_joined joined;
	struct sonde_error err = { 0 };
	enum sonde_status status = sonde_joined_make(&joined, places, count, &err);
	int code = CLI_OK;

	if (status != SONDE_OK) {
		code = cli_fail(get->cli, &err);
		get->unreadable++;
	} else if (get->options->json) {
		cli_put_tree_json(get->cli, &joined, &get->names, !get->shown);
	} else {
		if (get->shown)
			sonde_buffer_put_char(&get->cli->out, '\n');
		cli_put_tree(get->cli, &joined, &get->names);
	}
	get->shown += code == CLI_OK;
	sonde_joined_release(&joined);
	return code;
}

static int get_all(struct get *get, struct zts_base *base)
{
	struct sonde_places places = { 0 };
	struct sonde_error err = { 0 };
	int worst = CLI_OK;
	size_t i;

	if (sonde_places_all(base, &places, &err) != SONDE_OK)
		worst = cli_fail(get->cli, &err);
	for (i = 0; i < places.list.count && !get->cli->out_failed; i++) {
		int code = put_joined(get, &places.list.items[i], 1);

		worst = code > worst ? code : worst;
	}
	sonde_vec_release(&places.list);
	return worst;
}

/* What was asked for, as a recording of its own, into a file. */
static int convert(struct get *get, const struct zts_base *base, const struct sonde_places *places)
{
	const struct cli_transfer_request request = { .target = &get->options->target,
						      .transfer = &get->options->transfer };
	struct cli_transfer_request with_source = request;
	struct zts_slot_ref *slots = calloc(places->list.count + 1, sizeof(*slots));
	struct sonde_recording *recording;
	struct sonde_error err = { 0 };
	size_t count = 0, i;
	int code;

	if (!slots)
		return cli_fail_nomem(get->cli);
	for (i = 0; i < places->list.count; i++) {
		const struct sonde_place *place = &places->list.items[i];

		/* of all, those inside of others come with them */
		if (get->options->all && place->part->slots.list.items[place->slot].start_offset)
			continue;
		slots[count++] =
			(struct zts_slot_ref){ .part = place->part->number, .slot = place->slot };
	}
	if (zts_recording_of_slots(base->path, slots, count, &recording, &err) == SONDE_OK) {
		with_source.given = recording;
		code = cli_transfer_run(get->cli, &with_source);
		sonde_recording_close(recording);
	} else {
		code = cli_fail(get->cli, &err);
	}
	free(slots);
	return code;
}

static int fail_to_find(struct get *get, const struct sonde_error *err)
{
	if (err->status != SONDE_ARGUMENT)
		return cli_fail(get->cli, err);
	cli_error(get->cli, "%s: %s", get->cli->operands[0], err->message);
	cli_hint(get->cli, "'sonde store search' lists traces with their ids");
	return CLI_FAILED;
}

static int convert_traces(struct get *get, struct zts_base *base)
{
	struct sonde_places places = { 0 };
	struct sonde_error err = { 0 };
	enum sonde_status status = SONDE_OK;
	size_t i;
	int code;

	if (get->options->all)
		status = sonde_places_all(base, &places, &err);
	for (i = 1; i < get->cli->operand_count && status == SONDE_OK; i++)
		status = sonde_places_find(base, get->cli->operands[i], &places, &err);
	code = status == SONDE_OK ? convert(get, base, &places) : fail_to_find(get, &err);
	sonde_vec_release(&places.list);
	return code;
}

static int get_one(struct get *get, struct zts_base *base, const char *id)
{
	struct sonde_places places = { 0 };
	struct sonde_error err = { 0 };
	enum sonde_status status = sonde_places_find(base, id, &places, &err);
	int code = status == SONDE_OK ? put_joined(get, places.list.items, places.list.count) :
					fail_to_find(get, &err);

	sonde_vec_release(&places.list);
	return code;
}

static int get_traces(struct get *get, struct zts_base *base)
{
	int worst = CLI_OK;
	size_t i;

	if (get->options->json)
		sonde_buffer_put_text(&get->cli->out, "{\"traces\":[\n");
	if (get->options->all)
		worst = get_all(get, base);
	for (i = 1; i < get->cli->operand_count; i++) {
		int code = get_one(get, base, get->cli->operands[i]);

		worst = code > worst ? code : worst;
	}
	if (get->options->json)
		sonde_buffer_put_text(&get->cli->out, "\n]}\n");
	return worst;
}

static int run(struct cli *cli, const void *options)
{
	struct get get = { .cli = cli, .options = options };
	struct zts_base *base;
	int code;

	if (!get.options->all && cli->operand_count < 2)
		return cli_usage(cli, "'store get' needs a DIR and an ID, or --all");
	if (get.options->all && cli->operand_count > 1)
		return cli_usage(cli, "--all gets every trace: no ID is needed");
	if (get.options->transfer.format && !get.options->target.output)
		return cli_usage(cli, "--to-format needs --output: where to write to");
	code = cli_store_open(cli, cli->operands[0], &base);
	if (code != CLI_OK)
		return code;
	code = get.options->target.output ? convert_traces(&get, base) : get_traces(&get, base);
	cli_store_names_release(&get.names);
	zts_base_free(base);
	return code;
}

const struct cli_command cmd_store_get = {
	.name = "store get",
	.summary = "show whole traces: calls, times, attributes, exceptions",
	.usage = "sonde store get [OPTIONS] DIR ID...",
	.description =
		"Shows traces as trees of calls: how long each took, how much of that was its own "
		"(not that of calls in it), how many calls there were, its attributes, and "
		"exceptions with their stack and causes. A text that is lost is shown as its number, "
		"like #17. With --output the traces are written as a recording, in any format that "
		"'sonde convert' writes, instead.",
	.section = CLI_SECTION_STORE,
	.operands = { .name = "DIR", .kind = CLI_OPERAND_PATH, .at_least = 1, .at_most = SIZE_MAX },
	.options =
		(const struct cli_option_group[]){
			{ .title = "Options", .options = get_own_options },
			CLI_TARGET_GROUP(struct get_options),
			{ .title = "Writing",
			  .options = get_write_options,
			  .base = offsetof(struct get_options, transfer) },
			CLI_COMMON_GROUP,
			{ 0 },
		},
	.topics =
		(const struct cli_topic[]){
			{ .title = "Ids",
			  .text = "ID is one of\n"
				  "  00001a:17      part and slot, as 'sonde store search' shows it\n"
				  "  592ad309-7d98-4a5d-e5b3-f440be1a4792   the UUID, with or without\n"
				  "                 dashes\n"
				  "  592ad309       the beginning of only one UUID\n"
				  "  32 digits of a distributed trace (OpenTelemetry): all its trees,\n"
				  "                 joined by their spans, from whatever service and part" },
			{ 0 } },
	.examples =
		(const struct cli_example[]){
			{ "sonde store get traces 000000:0", "the first trace" },
			{ "sonde store get traces 000000:0 --json", "the same for a program" },
			{ "sonde store get traces 000000:0 -o one.wtf-trace",
			  "as a recording that other programs read" },
			{ 0 },
		},
	.options_size = sizeof(struct get_options),
	.run = run,
};
