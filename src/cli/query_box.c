/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows in a box, or a line for each value. Widths are those of the first rows, so that a result of any
 * length takes bounded memory; where there is a screen, columns give way until the box fits.
 */
#include <string.h>

#include "cli/query_output.h"
#include "cli/text.h"

/* Rows that are waited for before widths are settled, and their bytes. */
#define ROWS_MEASURED 2000
#define BYTES_MEASURED ((size_t)4 << 20)

#define NARROWEST 8	  /* a text on a screen shrinks no further */
#define LONGEST_CELL 4096 /* bytes of a text of which a screen can show anything */
#define LONGEST_QUANTITY 24
#define NARROWEST_NUMBER 6 /* for the title of a column of small numbers */
#define NULL_TEXT "NULL"

static bool is_right(const struct query_sheet_column *column)
{
	return column->has_number && !column->has_text;
}

/* Whether a text is a number that was made readable: "1.234 ms", "12,345". Such are ordered as numbers are. */
static bool is_quantity(const char *text, size_t size)
{
	static const char allowed[] = "0123456789., %"
				      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
	size_t i = size && (text[0] == '-' || text[0] == '+');

	if (i >= size || size > LONGEST_QUANTITY || text[i] < '0' || text[i] > '9')
		return false;
	for (; i < size; i++)
		if (!memchr(allowed, text[i], sizeof(allowed) - 1))
			return false;
	return true;
}

static void note_type(struct query_sheet_column *column, int type, const char *text, size_t size)
{
	if (type == SQLITE_INTEGER || type == SQLITE_FLOAT ||
	    (type == SQLITE_TEXT && is_quantity(text, size)))
		column->has_number = true;
	else if (type != SQLITE_NULL)
		column->has_text = true;
}

/* Puts the cells of the present row behind those that wait. */
static void take_row(struct query_sheet *sheet)
{
	struct sonde_buffer value = { 0 };
	size_t i;

	for (i = 0; i < sheet->column_count; i++) {
		struct query_sheet_column *column = &sheet->columns[i];
		struct query_cell *cell = sonde_vec_push(&sheet->cells);
		size_t start = sheet->text.size, width;

		if (!cell) {
			sheet->text.failed = true;
			break;
		}
		cell->type = sqlite3_column_type(sheet->statement, (int)i);
		sonde_buffer_clear(&value);
		query_put_value(&value, sheet->statement, (int)i, true);
		if (cell->type == SQLITE_NULL)
			sonde_buffer_put_text(&value, NULL_TEXT);
		if (sheet->screen && value.size > LONGEST_CELL)
			value.size = cli_text_fit(value.data, LONGEST_CELL, LONGEST_CELL);
		cli_put_escaped_sized(&sheet->text, value.data, value.size);
		sheet->text.failed |= value.failed;
		cell->end = sheet->text.size;
		if (sheet->text.failed)
			break;
		note_type(column, cell->type, sheet->text.data + start, cell->end - start);
		width = cli_text_width(sheet->text.data + start, cell->end - start);
		if (!sheet->settled && width > column->width)
			column->width = width;
	}
	sonde_buffer_release(&value);
}

static void forget_rows(struct query_sheet *sheet)
{
	sonde_buffer_clear(&sheet->text);
	sheet->cells.count = 0;
}

static size_t box_width(const struct query_sheet *sheet)
{
	size_t width = 1, i;

	for (i = 0; i < sheet->column_count; i++)
		width += sheet->columns[i].width + 3;
	return width;
}

/* Takes columns off the widest that may give way, one after the other. */
static void shrink(struct query_sheet *sheet)
{
	size_t width = box_width(sheet), i;

	while (width > sheet->screen) {
		struct query_sheet_column *widest = NULL;

		for (i = 0; i < sheet->column_count; i++) {
			struct query_sheet_column *column = &sheet->columns[i];

			if (column->width > column->least &&
			    (!widest || column->width > widest->width))
				widest = column;
		}
		if (!widest)
			break;
		widest->width--;
		width--;
	}
	sheet->as_lines = width > sheet->screen && sheet->column_count > 1;
}

/* Numbers are never cut; texts and titles are, where there is a screen to fit. */
static void settle(struct query_sheet *sheet)
{
	size_t i;

	sheet->settled = true;
	for (i = 0; i < sheet->column_count; i++) {
		struct query_sheet_column *column = &sheet->columns[i];
		size_t title = cli_text_width(column->name, strlen(column->name));
		size_t cells = column->width;

		if (sheet->output->no_header)
			title = 0;
		if (title > column->width)
			column->width = title;
		column->least = is_right(column) ? NARROWEST_NUMBER : NARROWEST;
		if (column->least > column->width)
			column->least = column->width;
		if (is_right(column) && cells > column->least)
			column->least = cells;
	}
	if (sheet->screen)
		shrink(sheet);
}

/* What the lines of a box are drawn with: its corners and crossings from left to right. */
struct rule {
	const char *left, *middle, *right;
};

static const struct rule top_rule = { "┌", "┬", "┐" };
static const struct rule inner_rule = { "├", "┼", "┤" };
static const struct rule bottom_rule = { "└", "┴", "┘" };

/* Where the terminal does not know these characters. */
static const struct rule plain_rule = { "+", "+", "+" };

static void put_rule(struct query_sheet *sheet, const struct rule *rule)
{
	const char *dash = sheet->unicode ? "─" : "-";
	size_t i, column;

	if (!sheet->unicode)
		rule = &plain_rule;
	sonde_buffer_put_text(sheet->out, rule->left);
	for (column = 0; column < sheet->column_count; column++) {
		if (column)
			sonde_buffer_put_text(sheet->out, rule->middle);
		for (i = 0; i < sheet->columns[column].width + 2; i++)
			sonde_buffer_put_text(sheet->out, dash);
	}
	sonde_buffer_put_text(sheet->out, rule->right);
	sonde_buffer_put_char(sheet->out, '\n');
}

static void put_edge(struct query_sheet *sheet, char after)
{
	sonde_buffer_put_text(sheet->out, sheet->unicode ? "│" : "|");
	sonde_buffer_put_char(sheet->out, after);
}

/* A cell in its column; one that is wider, in a row after the measured ones, stays whole off screens. */
static void put_cell(struct query_sheet *sheet, const char *text, size_t size, size_t width,
		     bool right, enum cli_style style)
{
	bool styled = style != CLI_STYLE_NONE && sheet->output->cli->out_colour;

	put_edge(sheet, ' ');
	if (styled)
		cli_put_style(sheet->out, style);
	if (!sheet->screen && cli_text_width(text, size) > width)
		sonde_buffer_put(sheet->out, text, size);
	else
		cli_put_column(sheet->out, text, size, width, right);
	if (styled)
		cli_put_style_end(sheet->out, style);
	sonde_buffer_put_char(sheet->out, ' ');
}

static void put_box_row(struct query_sheet *sheet, size_t first)
{
	size_t i;

	for (i = 0; i < sheet->column_count; i++) {
		const struct query_sheet_column *column = &sheet->columns[i];
		const struct query_cell *cell = &sheet->cells.items[first + i];
		size_t start = first + i ? cell[-1].end : 0;

		put_cell(sheet, sheet->text.data + start, cell->end - start, column->width,
			 is_right(column),
			 cell->type == SQLITE_NULL ? CLI_STYLE_DIM : CLI_STYLE_NONE);
	}
	put_edge(sheet, '\n');
}

static void put_titles(struct query_sheet *sheet)
{
	struct sonde_buffer title = { 0 };
	size_t i;

	put_rule(sheet, &top_rule);
	if (sheet->output->no_header)
		return;
	for (i = 0; i < sheet->column_count; i++) {
		const struct query_sheet_column *column = &sheet->columns[i];

		sonde_buffer_clear(&title);
		cli_put_escaped(&title, column->name);
		put_cell(sheet, title.data, title.size, column->width, is_right(column),
			 CLI_STYLE_BOLD);
	}
	put_edge(sheet, '\n');
	put_rule(sheet, &inner_rule);
	sonde_buffer_release(&title);
}

/* The row whose cells begin at `first`, a line a column; `number` from 1. */
static void put_lines(struct query_sheet *sheet, size_t first, uint64_t number)
{
	size_t width = 0, i;

	for (i = 0; i < sheet->column_count; i++) {
		size_t title =
			cli_text_width(sheet->columns[i].name, strlen(sheet->columns[i].name));

		width = title > width ? title : width;
	}
	if (number > 1)
		sonde_buffer_put_char(sheet->out, '\n');
	for (i = 0; i < sheet->column_count; i++) {
		const struct query_cell *cell = &sheet->cells.items[first + i];
		size_t start = first + i ? cell[-1].end : 0;

		if (!sheet->output->no_header) {
			cli_put_escaped(sheet->out, sheet->columns[i].name);
			cli_put_spaces(sheet->out,
				       width - cli_text_width(sheet->columns[i].name,
							      strlen(sheet->columns[i].name)));
			sonde_buffer_put_text(sheet->out, " = ");
		}
		sonde_buffer_put(sheet->out, sheet->text.data + start, cell->end - start);
		sonde_buffer_put_char(sheet->out, '\n');
	}
}

/* Prints the rows that wait; `last` is the number of the last of them. */
static void print_waiting(struct query_sheet *sheet, uint64_t last)
{
	size_t count = sheet->cells.count / sheet->column_count, i;

	for (i = 0; i < count; i++) {
		if (sheet->as_lines)
			put_lines(sheet, i * sheet->column_count, last - count + i + 1);
		else
			put_box_row(sheet, i * sheet->column_count);
		cli_flush_when_full(sheet->output->cli);
	}
	forget_rows(sheet);
}

static void box_row(struct query_sheet *sheet)
{
	take_row(sheet);
	if (sheet->text.failed)
		return;
	if (!sheet->settled) {
		if (sheet->rows + 1 < ROWS_MEASURED && sheet->text.size < BYTES_MEASURED)
			return;
		settle(sheet);
		if (!sheet->as_lines)
			put_titles(sheet);
	}
	print_waiting(sheet, sheet->rows + 1);
}

static void box_end(struct query_sheet *sheet)
{
	if (sheet->text.failed)
		return;
	if (!sheet->settled) {
		settle(sheet);
		if (!sheet->as_lines)
			put_titles(sheet);
		print_waiting(sheet, sheet->rows);
	}
	if (!sheet->as_lines)
		put_rule(sheet, &bottom_rule);
}

static void line_row(struct query_sheet *sheet)
{
	sheet->settled = sheet->as_lines = true;
	take_row(sheet);
	if (!sheet->text.failed)
		print_waiting(sheet, sheet->rows + 1);
}

const struct query_printer query_print_box = { .row = box_row, .end = box_end };
const struct query_printer query_print_line = { .row = line_row };
