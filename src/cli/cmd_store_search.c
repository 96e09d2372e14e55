/* SPDX-License-Identifier: Apache-2.0 */
/* `sonde store search`: which traces, a line each. */
#include "base/json.h"
#include "base/uuid.h"
#include "cli/commands.h"
#include "cli/human.h"
#include "cli/store_filter.h"
#include "cli/store_tree.h"
#include "cli/table.h"
#include "cli/text.h"

struct search_options {
	struct cli_common common;
	struct cli_store_filter filter;
	unsigned int sort; /* enum sonde_search_sort */
	bool ascending;
	uint64_t limit;
	uint64_t offset;
	const char *cursor;
	bool json;
	bool csv;
};

static const struct search_options search_defaults = { .limit = 50 };

static const struct cli_choice sort_choices[] = {
	[SONDE_SORT_TIME] = { "time", "newest first" },
	[SONDE_SORT_DURATION] = { "duration", "longest first" },
	[SONDE_SORT_CALLS] = { "calls", "most calls first" },
	[SONDE_SORT_ERRORS] = { "errors", "most errors first" },
	[SONDE_SORT_RECORDS] = { "records", "largest first" },
	{ 0 },
};

static const struct cli_option search_own_options[] = {
	{ .name = "sort",
	  .argument = "BY",
	  .kind = CLI_CHOICE,
	  .choices = sort_choices,
	  .help = "the order",
	  .offset = offsetof(struct search_options, sort) },
	{ .name = "ascending",
	  .kind = CLI_FLAG,
	  .help = "the other way round: oldest, shortest, fewest first",
	  .offset = offsetof(struct search_options, ascending) },
	{ .name = "limit",
	  .short_name = 'n',
	  .argument = "N",
	  .kind = CLI_NUMBER,
	  .help = "at most N traces (50 if not given); 0 means all",
	  .offset = offsetof(struct search_options, limit) },
	{ .name = "offset",
	  .argument = "N",
	  .kind = CLI_NUMBER,
	  .help = "pass over the first N",
	  .offset = offsetof(struct search_options, offset) },
	{ .name = "cursor",
	  .argument = "CURSOR",
	  .kind = CLI_TEXT,
	  .help = "go on behind the last trace of the page before, also where new ones came in "
		  "since",
	  .offset = offsetof(struct search_options, cursor) },
	{ .name = "json",
	  .kind = CLI_FLAG,
	  .help = "print JSON: the traces, and the cursor of the next page",
	  .offset = offsetof(struct search_options, json) },
	{ .name = "csv",
	  .kind = CLI_FLAG,
	  .help = "print CSV (RFC 4180) with a header",
	  .offset = offsetof(struct search_options, csv) },
	{ 0 },
};

/* What is shown of a trace. */
struct shown {
	const struct sonde_search_hit *hit;
	const struct zts_slot *slot;
	struct sonde_trace_totals totals;
	struct cli_store_names names;
	struct sonde_buffer name;
	struct sonde_buffer type;
	struct sonde_buffer app;
};

/* A name, put together once for all traces; nothing for 0. */
static void put_known_name(struct shown *shown, uint32_t id, struct sonde_buffer *out)
{
	struct sonde_names *names = cli_store_names_of(&shown->names, shown->hit->part);
	size_t size;
	const char *name;

	if (!id)
		return;
	if (!names) {
		out->failed = true;
		return;
	}
	name = sonde_names_get(names, id, &size);
	sonde_buffer_put(out, name, size);
}

/* A name of the slot: our parts have texts, others numbers. */
static void put_slot_name(struct shown *shown, uint32_t name, struct sonde_buffer *out)
{
	if (shown->hit->part->has_names)
		put_known_name(shown, name, out);
	else
		sonde_slot_put_name(shown->hit->part, name, out);
}

static void shown_set(struct shown *shown, const struct sonde_search_hit *hit)
{
	const struct zts_slot *slot = &hit->part->slots.list.items[hit->slot];

	shown->hit = hit;
	shown->slot = slot;
	shown->totals = sonde_trace_totals(hit->part, hit->slot);
	sonde_buffer_clear(&shown->name);
	sonde_buffer_clear(&shown->type);
	sonde_buffer_clear(&shown->app);
	put_known_name(shown, slot->description, &shown->name);
	put_slot_name(shown, slot->type, &shown->type);
	put_slot_name(shown, slot->app, &shown->app);
}

static void shown_release(struct shown *shown)
{
	sonde_buffer_release(&shown->name);
	sonde_buffer_release(&shown->type);
	sonde_buffer_release(&shown->app);
	cli_store_names_release(&shown->names);
}

static void put_time(struct sonde_buffer *out, uint64_t ns)
{
	cli_put_date(out, ns);
	if (out->size > 4)
		out->size -= 4; /* the title says that it is UTC */
}

static const struct cli_column columns[] = {
	{ "time (UTC)", false, false }, { "duration", true, false }, { "type", false, false },
	{ "service", false, false },	{ "errors", true, false },   { "calls", true, false },
	{ "records", true, false },	{ "name", false, true },     { "id", false, false },
};

static void put_table(struct cli *cli, const struct sonde_search_result *result)
{
	struct cli_table table = { .columns = columns,
				   .column_count = sizeof(columns) / sizeof(columns[0]) };
	struct shown shown = { 0 };
	size_t i;

	for (i = 0; i < result->hits.count; i++) {
		struct sonde_buffer *out = &table.text;

		shown_set(&shown, &result->hits.items[i]);
		put_time(out, shown.hit->start_ns);
		cli_table_end_cell(&table);
		cli_put_duration(out, shown.hit->duration_ns, " ");
		cli_table_end_cell(&table);
		cli_put_escaped_sized(out, shown.type.data, shown.type.size);
		cli_table_end_cell(&table);
		cli_put_escaped_sized(out, shown.app.data, shown.app.size);
		cli_table_end_cell(&table);
		if (shown.totals.errors)
			sonde_buffer_put_u64(out, shown.totals.errors);
		else if (shown.totals.has_error)
			sonde_buffer_put_text(out, "yes");
		cli_table_end_cell(&table);
		sonde_buffer_put_u64(out, shown.totals.calls);
		cli_table_end_cell(&table);
		sonde_buffer_put_u64(out, shown.totals.records);
		cli_table_end_cell(&table);
		cli_put_escaped_sized(out, shown.name.data, shown.name.size);
		cli_table_end_cell(&table);
		sonde_place_put(shown.hit->part, shown.hit->slot, out);
		cli_table_end_cell(&table);
	}
	cli_table_put(cli, &table, 0);
	cli_table_release(&table);
	shown_release(&shown);
}

static void put_member(struct sonde_json_writer *json, const char *key,
		       const struct sonde_buffer *text)
{
	sonde_json_key(json, key);
	if (text->size)
		sonde_json_string_sized(json, text->data, text->size);
	else
		sonde_json_null(json);
}

static void put_name_member(struct sonde_json_writer *json, const char *key, struct shown *shown,
			    uint32_t name, struct sonde_buffer *space)
{
	sonde_buffer_clear(space);
	put_slot_name(shown, name, space);
	put_member(json, key, space);
}

static void put_hit_json(struct sonde_json_writer *json, struct shown *shown,
			 struct sonde_buffer *space)
{
	sonde_json_object_begin_inline(json);
	sonde_buffer_clear(space);
	sonde_place_put(shown->hit->part, shown->hit->slot, space);
	put_member(json, "id", space);
	sonde_buffer_clear(space);
	sonde_uuid_put(shown->slot->uuid, space);
	put_member(json, "uuid", space);
	sonde_json_member_u64(json, "start_ns", shown->hit->start_ns);
	sonde_json_member_u64(json, "duration_ns", shown->hit->duration_ns);
	put_member(json, "type", &shown->type);
	put_member(json, "service", &shown->app);
	put_name_member(json, "host", shown, shown->slot->host, space);
	put_name_member(json, "env", shown, shown->slot->env, space);
	sonde_json_member_bool(json, "error", shown->totals.has_error);
	sonde_json_member_u64(json, "errors", shown->totals.errors);
	sonde_json_member_u64(json, "calls", shown->totals.calls);
	sonde_json_member_u64(json, "records", shown->totals.records);
	put_member(json, "name", &shown->name);
	sonde_json_object_end(json);
}

static void put_json(struct cli *cli, const struct sonde_search_result *result)
{
	struct sonde_json_writer json;
	struct sonde_buffer space = { 0 };
	struct shown shown = { 0 };
	size_t i;

	sonde_json_writer_init(&json, &cli->out, true);
	sonde_json_object_begin(&json);
	sonde_json_key(&json, "traces");
	sonde_json_array_begin(&json);
	for (i = 0; i < result->hits.count; i++) {
		shown_set(&shown, &result->hits.items[i]);
		put_hit_json(&json, &shown, &space);
		cli_flush_when_full(cli);
	}
	sonde_json_array_end(&json);
	put_member(&json, "next", &result->cursor);
	sonde_json_object_end(&json);
	sonde_buffer_put_char(&cli->out, '\n');
	shown_release(&shown);
	sonde_buffer_release(&space);
}

static void put_csv_number(struct sonde_buffer *out, uint64_t number)
{
	sonde_buffer_put_char(out, ',');
	sonde_buffer_put_u64(out, number);
}

static void put_csv(struct cli *cli, const struct sonde_search_result *result)
{
	struct sonde_buffer *out = &cli->out;
	struct shown shown = { 0 };
	size_t i;

	sonde_buffer_put_text(out, "id,uuid,start_ns,duration_ns,type,service,errors,calls,records,"
				   "name\r\n");
	for (i = 0; i < result->hits.count; i++) {
		shown_set(&shown, &result->hits.items[i]);
		sonde_place_put(shown.hit->part, shown.hit->slot, out);
		sonde_buffer_put_char(out, ',');
		sonde_uuid_put(shown.slot->uuid, out);
		put_csv_number(out, shown.hit->start_ns);
		put_csv_number(out, shown.hit->duration_ns);
		sonde_buffer_put_char(out, ',');
		cli_put_csv(out, shown.type.data, shown.type.size);
		sonde_buffer_put_char(out, ',');
		cli_put_csv(out, shown.app.data, shown.app.size);
		put_csv_number(out, shown.totals.errors);
		put_csv_number(out, shown.totals.calls);
		put_csv_number(out, shown.totals.records);
		sonde_buffer_put_char(out, ',');
		cli_put_csv(out, shown.name.data, shown.name.size);
		sonde_buffer_put_text(out, "\r\n");
		cli_flush_when_full(cli);
	}
	shown_release(&shown);
}

static void put_result(struct cli *cli, const struct search_options *options,
		       const struct zts_base *base, const struct sonde_search_result *result)
{
	if (options->json) {
		put_json(cli, result);
		return;
	}
	if (options->csv)
		put_csv(cli, result);
	else if (result->hits.count)
		put_table(cli, result);
	else
		cli_note_nothing_found(cli, base);
	if (result->has_more && result->cursor.size)
		cli_next(cli, "more with --cursor %.*s", (int)result->cursor.size,
			 result->cursor.data);
}

static int search(struct cli *cli, const void *given, struct zts_base *base)
{
	const struct search_options *options = given;
	struct sonde_search_request request = { .sort = (enum sonde_search_sort)options->sort,
						.ascending = options->ascending,
						.shallow = options->filter.shallow,
						.limit = options->limit,
						.offset = options->offset,
						.cursor = options->cursor };
	struct sonde_search_result result = { 0 };
	struct sonde_query query;
	struct sonde_error err = { 0 };
	int code = cli_store_query(cli, base, &options->filter, 1, &query);

	request.query = &query;
	if (code == CLI_OK && sonde_store_search(base, &request, &result, &err) != SONDE_OK)
		code = err.status == SONDE_ARGUMENT ? cli_usage(cli, "%s", err.message) :
						      cli_fail(cli, &err);
	if (code == CLI_OK) {
		put_result(cli, options, base, &result);
		cli_warn_of_unreadable(cli, base->path, result.unreadable);
	}
	sonde_search_result_release(&result);
	sonde_query_release(&query);
	return code;
}

static int run(struct cli *cli, const void *options)
{
	const struct search_options *wanted = options;

	if (wanted->json && wanted->csv)
		return cli_usage(cli, "--json and --csv exclude each other");
	return cli_store_read(cli, search, options);
}

const struct cli_command cmd_store_search = {
	.name = "store search",
	.summary = "find traces",
	.usage = "sonde store search [OPTIONS] DIR [CONDITION...]",
	.description =
		"Lists the traces of a store that fulfil all options and conditions, a line each: "
		"when they began, how long they took, their type and service, how many errors, calls "
		"and records are in them, their name, and the id that 'sonde store get' takes. Without "
		"conditions: the newest ones.",
	.section = CLI_SECTION_STORE,
	.operands = { .name = "DIR", .kind = CLI_OPERAND_PATH, .at_least = 1, .at_most = SIZE_MAX },
	.options =
		(const struct cli_option_group[]){
			CLI_STORE_FILTER_GROUP(struct search_options),
			{ .title = "Output", .options = search_own_options },
			CLI_COMMON_GROUP,
			{ 0 },
		},
	.topics = (const struct cli_topic[]){ CLI_CONDITION_TOPIC, CLI_MOMENT_TOPIC, { 0 } },
	.examples =
		(const struct cli_example[]){
			{ "sonde store search traces", "the newest traces" },
			{ "sonde store search traces --errors --from -1h",
			  "what went wrong in the last hour before the newest trace?" },
			{ "sonde store search traces 'STATUS>=500 and (URI=/api/* or timeout)'",
			  "failed requests of an interface, and those that ran into a timeout" },
			{ "sonde store search traces --sort duration -n 10", "the ten slowest" },
			{ "sonde store search traces --method 'Dao.*' --json",
			  "traces with a call of this class, for a program" },
			{ 0 },
		},
	.options_size = sizeof(struct search_options),
	.defaults = &search_defaults,
	.run = run,
};
