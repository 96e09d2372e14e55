/* SPDX-License-Identifier: Apache-2.0 */
/* `sonde store values`: which attributes there are, and which values one has. */
#include "base/json.h"
#include "cli/commands.h"
#include "cli/human.h"
#include "cli/store_filter.h"
#include "cli/table.h"
#include "cli/text.h"
#include "store/groups.h"

struct values_options {
	struct cli_common common;
	struct cli_store_filter filter;
	uint64_t limit;
	bool json;
	bool csv;
};

static const struct values_options values_defaults = { .limit = 50 };

static const struct cli_option values_own_options[] = {
	{ .name = "limit",
	  .short_name = 'n',
	  .argument = "N",
	  .kind = CLI_NUMBER,
	  .help = "at most N lines (50 if not given); 0 means all",
	  .offset = offsetof(struct values_options, limit) },
	{ .name = "json",
	  .kind = CLI_FLAG,
	  .help = "print JSON lines: one object for each value",
	  .offset = offsetof(struct values_options, json) },
	{ .name = "csv",
	  .kind = CLI_FLAG,
	  .help = "print CSV (RFC 4180) with a header",
	  .offset = offsetof(struct values_options, csv) },
	{ 0 },
};

static void put_value_json(struct cli *cli, const char *what, const struct sonde_group *group)
{
	struct sonde_json_writer json;

	sonde_json_writer_init(&json, &cli->out, false);
	sonde_json_object_begin(&json);
	sonde_json_key(&json, what);
	sonde_json_string_sized(&json, group->name, group->name_size);
	sonde_json_member_u64(&json, "traces", group->durations.count);
	sonde_json_object_end(&json);
	sonde_buffer_put_char(&cli->out, '\n');
}

static void put_values(struct cli *cli, const struct values_options *options, const char *what,
		       const struct zts_base *base, const struct sonde_groups *groups)
{
	struct cli_column columns[] = { { "traces", true, false }, { what, false, true } };
	struct cli_table table = { .columns = columns, .column_count = 2 };
	size_t count = groups->list.count, i;

	if (options->limit && options->limit < count)
		count = (size_t)options->limit;
	if (options->csv)
		sonde_buffer_put_format(&cli->out, "%s,traces\r\n", what);
	for (i = 0; i < count; i++) {
		const struct sonde_group *group = &groups->list.items[i];

		if (options->json) {
			put_value_json(cli, what, group);
		} else if (options->csv) {
			cli_put_csv(&cli->out, group->name, group->name_size);
			sonde_buffer_put_format(&cli->out, ",%llu\r\n",
						(unsigned long long)group->durations.count);
		} else {
			sonde_buffer_put_u64(&table.text, group->durations.count);
			cli_table_end_cell(&table);
			if (!group->name_size)
				sonde_buffer_put_text(&table.text, "(empty)");
			cli_put_escaped_sized(&table.text, group->name, group->name_size);
			cli_table_end_cell(&table);
		}
		cli_flush_when_full(cli);
	}
	if (!options->json && !options->csv && count)
		cli_table_put(cli, &table, 0);
	else if (!count)
		cli_note_nothing_found(cli, base);
	cli_table_release(&table);
	if (count < groups->list.count)
		cli_next(cli, "%zu more with -n 0", groups->list.count - count);
}

static int values(struct cli *cli, const void *given, struct zts_base *base)
{
	const struct values_options *options = given;
	const char *attribute = cli->operand_count > 1 ? cli->operands[1] : NULL;
	struct sonde_groups groups = { 0 };
	struct sonde_query query;
	struct sonde_error err = { 0 };
	int code = cli_store_query(cli, base, &options->filter, 2, &query);

	if (code == CLI_OK && sonde_values(base, &query, attribute, options->filter.shallow,
					   &groups, &err) != SONDE_OK)
		code = cli_fail(cli, &err);
	if (code == CLI_OK) {
		put_values(cli, options, attribute ? "value" : "attribute", base, &groups);
		cli_warn_of_unreadable(cli, base->path, groups.unreadable);
	}
	sonde_groups_release(&groups);
	sonde_query_release(&query);
	return code;
}

static int run(struct cli *cli, const void *options)
{
	const struct values_options *wanted = options;

	if (wanted->json && wanted->csv)
		return cli_usage(cli, "--json and --csv exclude each other");
	return cli_store_read(cli, values, options);
}

const struct cli_command cmd_store_values = {
	.name = "store values",
	.summary = "list attributes, or the values of one",
	.usage = "sonde store values [OPTIONS] DIR [ATTRIBUTE [CONDITION...]]",
	.description =
		"Without an attribute: the names of all attributes in the store. With one: its values. "
		"Both with the number of traces that have them, of those that fulfil all options and "
		"conditions; most first.",
	.section = CLI_SECTION_STORE,
	.operands = { .name = "DIR", .kind = CLI_OPERAND_PATH, .at_least = 1, .at_most = SIZE_MAX },
	.options =
		(const struct cli_option_group[]){
			{ .title = "Output", .options = values_own_options },
			CLI_STORE_FILTER_GROUP(struct values_options),
			CLI_COMMON_GROUP,
			{ 0 },
		},
	.topics = (const struct cli_topic[]){ CLI_CONDITION_TOPIC, CLI_MOMENT_TOPIC, { 0 } },
	.examples =
		(const struct cli_example[]){
			{ "sonde store values traces", "which attributes are there?" },
			{ "sonde store values traces URI", "which pages were asked for?" },
			{ "sonde store values traces URI 'STATUS>=500'", "which of them failed?" },
			{ 0 },
		},
	.options_size = sizeof(struct values_options),
	.defaults = &values_defaults,
	.run = run,
};
