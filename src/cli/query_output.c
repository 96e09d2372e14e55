/* SPDX-License-Identifier: Apache-2.0 */
/* Running a statement and printing its rows one by one: CSV, JSON, JSON lines, markdown. */
#include "cli/query_output.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/text.h"

const struct cli_choice query_modes[] = {
	[QUERY_BOX] = { "box", "a table for people, made to fit the screen" },
	[QUERY_LINE] = { "line", "a line for each value, for rows with many columns" },
	[QUERY_CSV] = { "csv", "CSV (RFC 4180)" },
	[QUERY_JSON] = { "json", "one array of objects" },
	[QUERY_JSONL] = { "jsonl", "JSON lines: an object for each row" },
	[QUERY_MARKDOWN] = { "markdown", "a table for a page or a pull request" },
	[QUERY_MODE_COUNT] = { 0 },
};

static void put_integer(struct sonde_buffer *out, int64_t value)
{
	if (value < 0)
		sonde_buffer_put_char(out, '-');
	sonde_buffer_put_u64(out, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

/* Never as an integer: it is none. */
static void put_real(struct sonde_buffer *out, double value)
{
	size_t before = out->size;
	const char *text;

	sonde_buffer_put_double(out, value);
	text = sonde_buffer_text(out);
	if (text && !strpbrk(text + before, ".enN"))
		sonde_buffer_put_text(out, ".0");
}

/* Six digits that count, but two behind the point in any case; zeros at the end are left away. */
static void put_short_real(struct sonde_buffer *out, double value)
{
	double size = fabs(value);
	char text[64];
	char *end;
	int before;

	if (!isfinite(value) || size >= 1e15 || (size < 1e-4 && size > 0)) {
		snprintf(text, sizeof(text), "%.6g", value);
		sonde_buffer_put_text(out, text);
		return;
	}
	before = size >= 1 ? (int)log10(size) + 1 : 0;
	snprintf(text, sizeof(text), "%.*f", before < 4 ? 6 - before : 2, value);
	for (end = text + strlen(text); end[-1] == '0' && end[-2] != '.';)
		*--end = 0;
	sonde_buffer_put_text(out, text);
}

static void put_blob(struct sonde_buffer *out, sqlite3_stmt *statement, int column)
{
	const unsigned char *bytes = sqlite3_column_blob(statement, column);
	int size = sqlite3_column_bytes(statement, column), i;

	sonde_buffer_put_text(out, "x'");
	for (i = 0; i < size; i++)
		sonde_buffer_put_hex(out, bytes[i], 2);
	sonde_buffer_put_char(out, '\'');
}

void query_put_value(struct sonde_buffer *out, sqlite3_stmt *statement, int column, bool shortly)
{
	switch (sqlite3_column_type(statement, column)) {
	case SQLITE_NULL:
		return;
	case SQLITE_INTEGER:
		put_integer(out, sqlite3_column_int64(statement, column));
		return;
	case SQLITE_FLOAT:
		if (shortly)
			put_short_real(out, sqlite3_column_double(statement, column));
		else
			put_real(out, sqlite3_column_double(statement, column));
		return;
	case SQLITE_BLOB:
		put_blob(out, statement, column);
		return;
	default:
		sonde_buffer_put(out, sqlite3_column_text(statement, column),
				 (size_t)sqlite3_column_bytes(statement, column));
	}
}

static void put_csv_field(struct query_sheet *sheet, const char *text, size_t size)
{
	struct sonde_buffer harmless = { 0 };

	/* CSV has no escapes of its own: what goes to a terminal is made harmless as text is. */
	if (sheet->output->cli->out_is_terminal) {
		cli_put_escaped_sized(&harmless, text, size);
		cli_put_csv(sheet->out, harmless.data, harmless.size);
		sonde_buffer_release(&harmless);
		return;
	}
	cli_put_csv(sheet->out, text, size);
}

static void csv_begin(struct query_sheet *sheet)
{
	size_t i;

	for (i = 0; i < sheet->column_count && !sheet->output->no_header; i++) {
		const char *name = sheet->columns[i].name;

		if (i)
			sonde_buffer_put_char(sheet->out, ',');
		put_csv_field(sheet, name, strlen(name));
	}
	if (!sheet->output->no_header)
		sonde_buffer_put_text(sheet->out, "\r\n");
}

/* Nothing for NULL, a pair of quotes for an empty text. */
static void csv_row(struct query_sheet *sheet)
{
	size_t i;

	for (i = 0; i < sheet->column_count; i++) {
		int type = sqlite3_column_type(sheet->statement, (int)i);

		if (i)
			sonde_buffer_put_char(sheet->out, ',');
		sonde_buffer_clear(&sheet->text);
		query_put_value(&sheet->text, sheet->statement, (int)i, false);
		if (type == SQLITE_TEXT && !sheet->text.size)
			sonde_buffer_put_text(sheet->out, "\"\"");
		else
			put_csv_field(sheet, sheet->text.data, sheet->text.size);
	}
	sonde_buffer_put_text(sheet->out, "\r\n");
}

static void put_json_value(struct query_sheet *sheet, int column)
{
	sqlite3_stmt *statement = sheet->statement;

	sonde_buffer_clear(&sheet->text);
	switch (sqlite3_column_type(statement, column)) {
	case SQLITE_NULL:
		sonde_json_null(&sheet->json);
		return;
	case SQLITE_FLOAT:
		if (!isfinite(sqlite3_column_double(statement, column))) {
			sonde_json_null(&sheet->json);
			return;
		}
		/* fall through */
	case SQLITE_INTEGER:
		query_put_value(&sheet->text, statement, column, false);
		if (sonde_buffer_text(&sheet->text))
			sonde_json_raw(&sheet->json, sheet->text.data);
		return;
	default:
		query_put_value(&sheet->text, statement, column, false);
		sonde_json_string_sized(&sheet->json, sheet->text.data ? sheet->text.data : "",
					sheet->text.size);
	}
}

static void put_json_object(struct query_sheet *sheet)
{
	size_t i;

	sonde_json_writer_init(&sheet->json, sheet->out, false);
	sonde_json_object_begin(&sheet->json);
	for (i = 0; i < sheet->column_count; i++) {
		sonde_json_key(&sheet->json, sheet->columns[i].name);
		put_json_value(sheet, (int)i);
	}
	sonde_json_object_end(&sheet->json);
}

static void json_row(struct query_sheet *sheet)
{
	sonde_buffer_put_text(sheet->out, sheet->rows ? ",\n" : "[\n");
	put_json_object(sheet);
}

static void json_end(struct query_sheet *sheet)
{
	sonde_buffer_put_text(sheet->out, sheet->rows ? "\n]\n" : "[]\n");
}

static void jsonl_row(struct query_sheet *sheet)
{
	put_json_object(sheet);
	sonde_buffer_put_char(sheet->out, '\n');
}

/* Characters that would be taken for marks are escaped; the rest is text. */
static void put_markdown(struct query_sheet *sheet, const char *text, size_t size)
{
	struct sonde_buffer harmless = { 0 };
	size_t i;

	cli_put_escaped_sized(&harmless, text, size);
	for (i = 0; i < harmless.size; i++) {
		if (strchr("|\\`*_<>[]&", harmless.data[i]))
			sonde_buffer_put_char(sheet->out, '\\');
		sonde_buffer_put_char(sheet->out, harmless.data[i]);
	}
	sheet->out->failed |= harmless.failed;
	sonde_buffer_release(&harmless);
}

static bool is_number(int type)
{
	return type == SQLITE_INTEGER || type == SQLITE_FLOAT;
}

/* The header comes with the first row, whose types say what is a number. */
static void put_markdown_header(struct query_sheet *sheet, bool with_row)
{
	size_t i;

	for (i = 0; i < sheet->column_count; i++) {
		const char *name = sheet->columns[i].name;

		sonde_buffer_put_text(sheet->out, "| ");
		if (!sheet->output->no_header)
			put_markdown(sheet, name, strlen(name));
		sonde_buffer_put_char(sheet->out, ' ');
	}
	sonde_buffer_put_text(sheet->out, "|\n");
	for (i = 0; i < sheet->column_count; i++) {
		bool right = with_row && is_number(sqlite3_column_type(sheet->statement, (int)i));

		sonde_buffer_put_text(sheet->out, right ? "|--:" : "|---");
	}
	sonde_buffer_put_text(sheet->out, "|\n");
}

static void markdown_row(struct query_sheet *sheet)
{
	size_t i;

	if (!sheet->rows)
		put_markdown_header(sheet, true);
	for (i = 0; i < sheet->column_count; i++) {
		sonde_buffer_clear(&sheet->text);
		query_put_value(&sheet->text, sheet->statement, (int)i, true);
		sonde_buffer_put_text(sheet->out, "| ");
		put_markdown(sheet, sheet->text.data, sheet->text.size);
		sonde_buffer_put_char(sheet->out, ' ');
	}
	sonde_buffer_put_text(sheet->out, "|\n");
}

static void markdown_end(struct query_sheet *sheet)
{
	if (!sheet->rows)
		put_markdown_header(sheet, false);
}

static const struct query_printer *printer_of(enum query_mode mode)
{
	static const struct query_printer csv = { .begin = csv_begin, .row = csv_row };
	static const struct query_printer json = { .row = json_row, .end = json_end };
	static const struct query_printer jsonl = { .row = jsonl_row };
	static const struct query_printer markdown = { .row = markdown_row, .end = markdown_end };

	switch (mode) {
	case QUERY_LINE:
		return &query_print_line;
	case QUERY_CSV:
		return &csv;
	case QUERY_JSON:
		return &json;
	case QUERY_JSONL:
		return &jsonl;
	case QUERY_MARKDOWN:
		return &markdown;
	default:
		return &query_print_box;
	}
}

/* Objects have each key once: a second column of the same name becomes "name:1". */
static char *own_name(const struct query_sheet *sheet, size_t column, const char *name)
{
	unsigned int same = 0;
	char *own = NULL;
	size_t i;

	for (i = 0; i < column; i++)
		same += !strcmp(sqlite3_column_name(sheet->statement, (int)i), name);
	if (!same || (sheet->output->mode != QUERY_JSON && sheet->output->mode != QUERY_JSONL))
		return strdup(name);
	return asprintf(&own, "%s:%u", name, same) < 0 ? NULL : own;
}

static bool name_columns(struct query_sheet *sheet)
{
	size_t i;

	sheet->columns = calloc(sheet->column_count, sizeof(*sheet->columns));
	for (i = 0; sheet->columns && i < sheet->column_count; i++) {
		const char *name = sqlite3_column_name(sheet->statement, (int)i);

		sheet->columns[i].name = name ? own_name(sheet, i, name) : NULL;
		if (!sheet->columns[i].name)
			return false;
	}
	return sheet->columns != NULL;
}

static void release(struct query_sheet *sheet)
{
	size_t i;

	for (i = 0; sheet->columns && i < sheet->column_count; i++)
		free((char *)(uintptr_t)sheet->columns[i].name);
	free(sheet->columns);
	sonde_buffer_release(&sheet->text);
	sonde_vec_release(&sheet->cells);
}

/* All rows; false where nothing more can be printed. */
static bool print_rows(struct query_sheet *sheet, const struct query_printer *printer,
		       struct query_result *result)
{
	struct cli *cli = sheet->output->cli;

	while ((result->code = sqlite3_step(sheet->statement)) == SQLITE_ROW) {
		if (sheet->output->max_rows && sheet->rows == sheet->output->max_rows) {
			result->cut = true;
			result->code = SQLITE_DONE;
			return true;
		}
		printer->row(sheet);
		sheet->rows++;
		if (sheet->text.failed)
			cli->out.failed = true;
		if (!cli_flush_when_full(cli))
			return false;
	}
	return true;
}

struct query_result query_output_rows(const struct query_output *output, sqlite3_stmt *statement)
{
	const struct query_printer *printer = printer_of(output->mode);
	struct query_sheet sheet = { .output = output,
				     .out = &output->cli->out,
				     .statement = statement,
				     .column_count = (size_t)sqlite3_column_count(statement),
				     .unicode = cli_locale_is_utf8(),
				     .screen = cli_width(output->cli, 0) };
	struct query_result result = { .code = SQLITE_NOMEM };

	if (!sheet.column_count) {
		result.code = sqlite3_step(statement);
		return result;
	}
	if (name_columns(&sheet)) {
		if (printer->begin)
			printer->begin(&sheet);
		if (!print_rows(&sheet, printer, &result))
			result.code = SQLITE_DONE; /* nobody listens any more, which was told */
		/* What failed before its first row prints nothing. */
		if (printer->end && (sheet.rows || result.code == SQLITE_DONE))
			printer->end(&sheet);
	}
	result.rows = sheet.rows;
	release(&sheet);
	return result;
}
