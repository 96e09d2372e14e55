/* SPDX-License-Identifier: Apache-2.0 */
/* `sonde store get`: whole traces. */
#include "cli/commands.h"
#include "cli/store_filter.h"
#include "cli/store_tree.h"

struct get_options {
	struct cli_common common;
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

static int get_one(struct get *get, struct zts_base *base, const char *id)
{
	struct sonde_places places = { 0 };
	struct sonde_error err = { 0 };
	enum sonde_status status = sonde_places_find(base, id, &places, &err);
	int code = CLI_OK;

	if (status == SONDE_ARGUMENT) {
		cli_error(get->cli, "%s", err.message);
		cli_hint(get->cli, "'sonde store search' lists traces with their ids");
		code = CLI_FAILED;
	} else {
		code = status == SONDE_OK ? put_joined(get, places.list.items, places.list.count) :
					    cli_fail(get->cli, &err);
	}
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
	code = cli_store_open(cli, cli->operands[0], &base);
	if (code != CLI_OK)
		return code;
	code = get_traces(&get, base);
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
		"like #17.",
	.section = CLI_SECTION_STORE,
	.operands = { .name = "DIR", .kind = CLI_OPERAND_PATH, .at_least = 1, .at_most = SIZE_MAX },
	.options =
		(const struct cli_option_group[]){
			{ .title = "Options", .options = get_own_options },
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
			{ 0 },
		},
	.options_size = sizeof(struct get_options),
	.run = run,
};
