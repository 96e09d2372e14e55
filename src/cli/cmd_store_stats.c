/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sonde store stats`: how long things take, by method, attribute, type, service, host or
 * environment.
 */
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "cli/commands.h"
#include "cli/human.h"
#include "cli/store_filter.h"
#include "cli/table.h"
#include "cli/text.h"
#include "store/groups.h"

struct stats_options {
	struct cli_common common;
	struct cli_store_filter filter;
	const char *by;
	uint64_t every;
	uint64_t limit;
	bool json;
	bool csv;
};

static const struct stats_options stats_defaults = { .by = "method", .limit = 50 };

static const struct cli_option stats_own_options[] = {
	{ .name = "by",
	  .argument = "WHAT",
	  .kind = CLI_TEXT,
	  .help = "a line for each method (if not given), type, service, host, env, or value of an "
		  "attribute",
	  .offset = offsetof(struct stats_options, by) },
	{ .name = "every",
	  .argument = "T",
	  .kind = CLI_DURATION,
	  .help = "lines of their own for each stretch of time of this length, like 5m",
	  .offset = offsetof(struct stats_options, every) },
	{ .name = "limit",
	  .short_name = 'n',
	  .argument = "N",
	  .kind = CLI_NUMBER,
	  .help = "at most N lines (50 if not given), of each stretch of time; 0 means all",
	  .offset = offsetof(struct stats_options, limit) },
	{ .name = "json",
	  .kind = CLI_FLAG,
	  .help = "print JSON lines: one object for each line, times in nanoseconds",
	  .offset = offsetof(struct stats_options, json) },
	{ .name = "csv",
	  .kind = CLI_FLAG,
	  .help = "print CSV (RFC 4180) with a header, times in nanoseconds",
	  .offset = offsetof(struct stats_options, csv) },
	{ 0 },
};

static const struct {
	const char *name;
	enum sonde_stats_by by;
} known[] = {
	{ "method", SONDE_STATS_METHOD },   { "type", SONDE_STATS_TYPE },
	{ "service", SONDE_STATS_SERVICE }, { "host", SONDE_STATS_HOST },
	{ "env", SONDE_STATS_ENV },
};

/* @name is always an attribute. */
static void set_by(struct sonde_stats_request *request, const char *by)
{
	size_t i;

	request->by = SONDE_STATS_ATTRIBUTE;
	request->attribute = by[0] == '@' && by[1] ? by + 1 : by;
	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(known[i].name, by))
			request->by = known[i].by;
}

/* Numbers of a line, in the order in which they are shown. */
#define NUMBERS 7
static const char *const number_names[NUMBERS] = {
	"sum", "mean", "min", "p50", "p90", "p99", "max"
};

static void numbers_of(const struct sonde_group *group, uint64_t numbers[NUMBERS])
{
	const struct sonde_sketch *sketch = &group->durations;

	numbers[0] = sketch->sum < 1.8e19 ? (uint64_t)sketch->sum : UINT64_MAX;
	numbers[1] = (uint64_t)sonde_sketch_mean(sketch);
	numbers[2] = sketch->min;
	numbers[3] = sonde_sketch_quantile(sketch, 0.5);
	numbers[4] = sonde_sketch_quantile(sketch, 0.9);
	numbers[5] = sonde_sketch_quantile(sketch, 0.99);
	numbers[6] = sketch->max;
}

static void put_group_json(struct cli *cli, const struct stats_options *options,
			   const struct sonde_group *group)
{
	struct sonde_json_writer json;
	uint64_t numbers[NUMBERS];
	char key[16];
	size_t i;

	numbers_of(group, numbers);
	sonde_json_writer_init(&json, &cli->out, false);
	sonde_json_object_begin(&json);
	if (options->every)
		sonde_json_member_u64(&json, "from_ns", group->time_ns);
	sonde_json_key(&json, "name");
	sonde_json_string_sized(&json, group->name, group->name_size);
	sonde_json_member_u64(&json, "count", group->durations.count);
	sonde_json_member_u64(&json, "errors", group->errors);
	for (i = 0; i < NUMBERS; i++) {
		snprintf(key, sizeof(key), "%s_ns", number_names[i]);
		sonde_json_member_u64(&json, key, numbers[i]);
	}
	sonde_json_object_end(&json);
	sonde_buffer_put_char(&cli->out, '\n');
}

static void put_csv_titles(struct cli *cli, const struct stats_options *options)
{
	size_t i;

	sonde_buffer_put_text(&cli->out,
			      options->every ? "from_ns,name,count,errors" : "name,count,errors");
	for (i = 0; i < NUMBERS; i++)
		sonde_buffer_put_format(&cli->out, ",%s_ns", number_names[i]);
	sonde_buffer_put_text(&cli->out, "\r\n");
}

static void put_group_csv(struct cli *cli, const struct stats_options *options,
			  const struct sonde_group *group)
{
	uint64_t numbers[NUMBERS];
	size_t i;

	numbers_of(group, numbers);
	if (options->every) {
		sonde_buffer_put_u64(&cli->out, group->time_ns);
		sonde_buffer_put_char(&cli->out, ',');
	}
	cli_put_csv(&cli->out, group->name, group->name_size);
	sonde_buffer_put_format(&cli->out, ",%llu,%llu", (unsigned long long)group->durations.count,
				(unsigned long long)group->errors);
	for (i = 0; i < NUMBERS; i++) {
		sonde_buffer_put_char(&cli->out, ',');
		sonde_buffer_put_u64(&cli->out, numbers[i]);
	}
	sonde_buffer_put_text(&cli->out, "\r\n");
}

static const struct cli_column columns[] = {
	{ "from (UTC)", false, false }, { "name", false, true }, { "count", true, false },
	{ "errors", true, false },	{ "sum", true, false },	 { "mean", true, false },
	{ "min", true, false },		{ "p50", true, false },	 { "p90", true, false },
	{ "p99", true, false },		{ "max", true, false },
};

static void put_group_row(struct cli_table *table, const struct stats_options *options,
			  const struct sonde_group *group)
{
	uint64_t numbers[NUMBERS];
	size_t i;

	numbers_of(group, numbers);
	if (options->every) {
		cli_put_date(&table->text, group->time_ns);
		if (table->text.size > 8)
			table->text.size -= 8; /* whole seconds; the title says that it is UTC */
	}
	cli_table_end_cell(table);
	if (group->name_size)
		cli_put_escaped_sized(&table->text, group->name, group->name_size);
	else
		sonde_buffer_put_text(&table->text, "(none)");
	cli_table_end_cell(table);
	sonde_buffer_put_u64(&table->text, group->durations.count);
	cli_table_end_cell(table);
	if (group->errors)
		sonde_buffer_put_u64(&table->text, group->errors);
	cli_table_end_cell(table);
	for (i = 0; i < NUMBERS; i++) {
		cli_put_duration(&table->text, numbers[i], " ");
		cli_table_end_cell(table);
	}
}

static void put_groups(struct cli *cli, const struct stats_options *options,
		       const struct zts_base *base, const struct sonde_groups *groups)
{
	struct cli_table table = { .columns = columns,
				   .column_count = sizeof(columns) / sizeof(columns[0]) };
	uint64_t shown = 0, left_out = 0;
	size_t i;

	if (options->csv)
		put_csv_titles(cli, options);
	for (i = 0; i < groups->list.count; i++) {
		const struct sonde_group *group = &groups->list.items[i];

		if (i && group->time_ns != group[-1].time_ns)
			shown = 0;
		if (options->limit && shown++ >= options->limit) {
			left_out++;
			continue;
		}
		if (options->json)
			put_group_json(cli, options, group);
		else if (options->csv)
			put_group_csv(cli, options, group);
		else
			put_group_row(&table, options, group);
		cli_flush_when_full(cli);
	}
	if (!options->json && !options->csv && groups->list.count)
		cli_table_put(cli, &table, 0);
	else if (!groups->list.count)
		cli_note_nothing_found(cli, base);
	cli_table_release(&table);
	if (left_out)
		cli_next(cli, "%llu more with -n 0", (unsigned long long)left_out);
}

static int stats(struct cli *cli, const void *given, struct zts_base *base)
{
	const struct stats_options *options = given;
	struct sonde_stats_request request = { .shallow = options->filter.shallow,
					       .every_ns = options->every };
	struct sonde_groups groups = { 0 };
	struct sonde_query query;
	struct sonde_error err = { 0 };
	int code = cli_store_query(cli, base, &options->filter, 1, &query);

	request.query = &query;
	set_by(&request, options->by);
	if (code == CLI_OK && sonde_stats(base, &request, &groups, &err) != SONDE_OK)
		code = cli_fail(cli, &err);
	if (code == CLI_OK) {
		put_groups(cli, options, base, &groups);
		cli_warn_of_unreadable(cli, base->path, groups.unreadable);
	}
	sonde_groups_release(&groups);
	sonde_query_release(&query);
	return code;
}

static int run(struct cli *cli, const void *options)
{
	const struct stats_options *wanted = options;

	if (wanted->json && wanted->csv)
		return cli_usage(cli, "--json and --csv exclude each other");
	if (wanted->every && wanted->every < 1000000)
		return cli_usage(cli, "--every: stretches of less than 1ms are too short");
	return cli_store_read(cli, stats, options);
}

const struct cli_command cmd_store_stats = {
	.name = "store stats",
	.summary = "how often and how long: by method, service or attribute",
	.usage = "sonde store stats [OPTIONS] DIR [CONDITION...]",
	.description =
		"Counts calls (by method, or by the value of an attribute that calls have) or whole "
		"traces (by type, service, host or env) of the traces that fulfil all options and "
		"conditions: how many, how many of them failed, and how long they took in all, on "
		"average, and at least and at most. p50, p90 and p99 are the times that half, 90 % and "
		"99 % of them did not exceed, right to 1 %. What took most time in all comes first.",
	.section = CLI_SECTION_STORE,
	.operands = { .name = "DIR", .kind = CLI_OPERAND_PATH, .at_least = 1, .at_most = SIZE_MAX },
	.options =
		(const struct cli_option_group[]){
			{ .title = "Statistics", .options = stats_own_options },
			CLI_STORE_FILTER_GROUP(struct stats_options),
			CLI_COMMON_GROUP,
			{ 0 },
		},
	.topics = (const struct cli_topic[]){ CLI_CONDITION_TOPIC, CLI_MOMENT_TOPIC, { 0 } },
	.examples =
		(const struct cli_example[]){
			{ "sonde store stats traces", "which methods take the time?" },
			{ "sonde store stats traces --by URI 'STATUS>=500'",
			  "failed requests, by page" },
			{ "sonde store stats traces --by service --every 5m --csv",
			  "services over time, for a chart" },
			{ 0 },
		},
	.options_size = sizeof(struct stats_options),
	.defaults = &stats_defaults,
	.run = run,
};
