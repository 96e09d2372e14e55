/* SPDX-License-Identifier: Apache-2.0 */
/* `sonde formats`: what is read and written. */
#include <sonde/format.h>

#include "base/json.h"
#include "cli/commands.h"
#include "cli/formats_matrix.h"
#include "cli/table.h"

struct formats_options {
	struct cli_common common;
	bool json;
	bool matrix;
};

static const struct cli_option formats_own_options[] = {
	{ .name = "matrix",
	  .kind = CLI_FLAG,
	  .offset = offsetof(struct formats_options, matrix),
	  .help = "what survives a conversion from each format to each other" },
	CLI_JSON_OPTION(struct formats_options),
	{ 0 },
};

struct lane {
	unsigned int bit;
	const char *name;
};

static const struct lane lanes[] = {
#define X(name, bit, text) { SONDE_LANE_##name, text },
	SONDE_LANE_LIST(X)
#undef X
};

#define LANE_COUNT (sizeof(lanes) / sizeof(lanes[0]))

/* Whatever is read can be checked, if only by reading it. */
static bool is_checked(const struct sonde_format_info *format)
{
	return format->can_check || format->lanes_read;
}

static void put_lanes(struct sonde_buffer *out, unsigned int bits)
{
	const char *gap = "";
	size_t i;

	for (i = 0; i < LANE_COUNT; i++) {
		if (!(bits & lanes[i].bit))
			continue;
		sonde_buffer_put_text(out, gap);
		sonde_buffer_put_text(out, lanes[i].name);
		gap = ", ";
	}
	if (!bits)
		sonde_buffer_put_char(out, '-');
}

static void put_lanes_json(struct sonde_json_writer *json, const char *key, unsigned int bits)
{
	size_t i;

	sonde_json_key(json, key);
	sonde_json_array_begin_inline(json);
	for (i = 0; i < LANE_COUNT; i++)
		if (bits & lanes[i].bit)
			sonde_json_string(json, lanes[i].name);
	sonde_json_array_end(json);
}

static void put_styles_json(struct sonde_json_writer *json, const struct sonde_format_style *style)
{
	sonde_json_key(json, "styles");
	sonde_json_array_begin(json);
	for (; style && style->word; style++) {
		sonde_json_object_begin_inline(json);
		sonde_json_member_string(json, "word", style->word);
		sonde_json_member_string(json, "help", style->help);
		sonde_json_object_end(json);
	}
	sonde_json_array_end(json);
}

static void put_json(struct cli *cli)
{
	struct sonde_json_writer json;
	size_t i;

	sonde_json_writer_init(&json, &cli->out, true);
	sonde_json_array_begin(&json);
	for (i = 0; i < sonde_format_count(); i++) {
		const struct sonde_format_info *format = sonde_format_info(sonde_format_at(i));

		sonde_json_object_begin(&json);
		sonde_json_member_string(&json, "name", format->name);
		sonde_json_member_string(&json, "title", format->title);
		sonde_json_member_string(&json, "shape", format->shape);
		if (format->suffix)
			sonde_json_member_string(&json, "suffix", format->suffix);
		put_lanes_json(&json, "reads", format->lanes_read);
		put_lanes_json(&json, "writes", format->lanes_written);
		cli_put_held_json(&json, "reads_what", format, format->lanes_read);
		cli_put_held_json(&json, "writes_what", format, format->lanes_written);
		sonde_json_member_bool(&json, "checks", is_checked(format));
		sonde_json_member_bool(&json, "recovers", format->can_recover);
		put_styles_json(&json, format->styles);
		sonde_json_object_end(&json);
	}
	sonde_json_array_end(&json);
	sonde_buffer_put_char(&cli->out, '\n');
}

static void put_text_cell(struct cli_table *table, const char *text)
{
	sonde_buffer_put_text(&table->text, text);
	cli_table_end_cell(table);
}

/* "read, write, check": what can be done with a format. */
static void put_abilities(struct sonde_buffer *out, const struct sonde_format_info *format)
{
	const struct {
		bool can;
		const char *word;
	} abilities[] = {
		{ format->lanes_read != 0, "read" },
		{ format->lanes_written != 0, "write" },
		{ is_checked(format), "check" },
		{ format->can_recover, "recover" },
	};
	const char *gap = "";
	size_t i;

	for (i = 0; i < sizeof(abilities) / sizeof(abilities[0]); i++) {
		if (!abilities[i].can)
			continue;
		sonde_buffer_put_text(out, gap);
		sonde_buffer_put_text(out, abilities[i].word);
		gap = ", ";
	}
}

static void put_table(struct cli *cli)
{
	static const struct cli_column columns[] = {
		{ .title = "NAME" },  { .title = "TITLE", .shrinks = true },
		{ .title = "SHAPE" }, { .title = "SUFFIX" },
		{ .title = "CAN" },   { .title = "HOLDS" },
	};
	struct cli_table table = { .columns = columns,
				   .column_count = sizeof(columns) / sizeof(columns[0]) };
	size_t i;

	for (i = 0; i < sonde_format_count(); i++) {
		const struct sonde_format_info *format = sonde_format_info(sonde_format_at(i));

		put_text_cell(&table, format->name);
		put_text_cell(&table, format->title);
		put_text_cell(&table, format->shape);
		put_text_cell(&table, format->suffix ? format->suffix : "");
		put_abilities(&table.text, format);
		cli_table_end_cell(&table);
		put_lanes(&table.text, format->lanes_read | format->lanes_written);
		cli_table_end_cell(&table);
	}
	cli_table_put(cli, &table, 0);
	cli_table_release(&table);
}

/* The words of --style, where a format has any. */
static void put_styles(struct cli *cli)
{
	static const struct cli_column columns[] = {
		{ .title = "FORMAT" },
		{ .title = "STYLE" },
		{ .title = "HOW IT IS WRITTEN", .shrinks = true },
	};
	struct cli_table table = { .columns = columns,
				   .column_count = sizeof(columns) / sizeof(columns[0]) };
	size_t i;

	for (i = 0; i < sonde_format_count(); i++) {
		const struct sonde_format_info *format = sonde_format_info(sonde_format_at(i));
		const struct sonde_format_style *style = format->styles;

		for (; style && style->word; style++) {
			put_text_cell(&table, format->name);
			put_text_cell(&table, style->word);
			put_text_cell(&table, style->help);
		}
	}
	if (table.ends.count) {
		sonde_buffer_put_char(&cli->out, '\n');
		cli_table_put(cli, &table, 0);
	}
	cli_table_release(&table);
}

static int run(struct cli *cli, const void *options)
{
	const struct formats_options *formats = options;

	if (formats->matrix && formats->json)
		cli_put_matrix_json(cli);
	else if (formats->matrix)
		cli_put_matrix(cli);
	else if (formats->json)
		put_json(cli);
	if (formats->matrix || formats->json)
		return CLI_OK;
	put_table(cli);
	put_styles(cli);
	return CLI_OK;
}

const struct cli_command cmd_formats = {
	.name = "formats",
	.summary = "list the formats that are read and written",
	.usage = "sonde formats [OPTIONS]",
	.description =
		"Lists every format with its name (as --format and --to-format take it), "
		"whether it is a file or a folder, what can be done with it, and the kinds "
		"of data that it holds. Formats that can be written in several ways have "
		"words for them, which --style takes.\n"
		"\n"
		"--matrix shows what a conversion keeps: for each source and target whether all "
		"survives, and what a target has no place for. What a certain recording loses is "
		"in the loss report of its conversion.",
	.section = CLI_SECTION_LOOK,
	.options =
		(const struct cli_option_group[]){
			{ .title = "Options", .options = formats_own_options },
			CLI_COMMON_GROUP,
			{ 0 },
		},
	.examples =
		(const struct cli_example[]){
			{ "sonde formats", "what can be read, written, checked and recovered" },
			{ "sonde formats --json", "the same for a program" },
			{ "sonde formats --matrix", "what survives from where to where" },
			{ 0 },
		},
	.options_size = sizeof(struct formats_options),
	.run = run,
};
