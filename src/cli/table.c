/* SPDX-License-Identifier: Apache-2.0 */
/* Tables on the screen. */
#include "cli/table.h"

#include <string.h>

#include "cli/text.h"

#define MOST_COLUMNS 16
#define GAP 2
#define NARROWEST 8 /* a column shrinks no further */

struct cell {
	const char *text;
	size_t size;
};

void cli_table_release(struct cli_table *table)
{
	sonde_buffer_release(&table->text);
	sonde_vec_release(&table->ends);
}

void cli_table_end_cell(struct cli_table *table)
{
	size_t *end = sonde_vec_push(&table->ends);

	if (end)
		*end = table->text.size;
	else
		table->text.failed = true;
}

static struct cell cell_at(const struct cli_table *table, size_t row, size_t column)
{
	size_t number = row * table->column_count + column;
	size_t begin = number ? table->ends.items[number - 1] : 0;

	return (struct cell){ .text = table->text.data + begin,
			      .size = table->ends.items[number] - begin };
}

static void measure(const struct cli_table *table, size_t rows, size_t widths[MOST_COLUMNS])
{
	size_t row, column;

	for (column = 0; column < table->column_count; column++) {
		widths[column] = 0;
		for (row = 0; row < rows; row++) {
			struct cell cell = cell_at(table, row, column);
			size_t width = cli_text_width(cell.text, cell.size);

			if (width > widths[column])
				widths[column] = width;
		}
		/* Only columns with something in them have a title. */
		if (widths[column] && strlen(table->columns[column].title) > widths[column])
			widths[column] = strlen(table->columns[column].title);
	}
}

static void shrink(const struct cli_table *table, size_t screen, size_t indent,
		   size_t widths[MOST_COLUMNS])
{
	size_t total = indent, column;

	for (column = 0; column < table->column_count; column++)
		total += widths[column] ? widths[column] + GAP : 0;
	for (column = 0; column < table->column_count && total > screen + GAP; column++) {
		size_t excess = total - screen - GAP;

		if (!table->columns[column].shrinks || widths[column] <= NARROWEST)
			continue;
		if (excess > widths[column] - NARROWEST)
			excess = widths[column] - NARROWEST;
		widths[column] -= excess;
		total -= excess;
	}
}

static void end_line(struct sonde_buffer *out)
{
	while (out->size && out->data[out->size - 1] == ' ')
		out->size--;
	sonde_buffer_put_char(out, '\n');
}

static void put_row(struct cli *cli, const struct cli_table *table, const size_t *widths,
		    size_t indent, const struct cell *cells)
{
	size_t column;

	cli_put_spaces(&cli->out, indent);
	for (column = 0; column < table->column_count; column++) {
		if (!widths[column])
			continue;
		cli_put_column(&cli->out, cells[column].text, cells[column].size, widths[column],
			       table->columns[column].right);
		cli_put_spaces(&cli->out, GAP);
	}
	end_line(&cli->out);
}

static void put_titles(struct cli *cli, const struct cli_table *table, const size_t *widths,
		       size_t indent)
{
	struct cell titles[MOST_COLUMNS];
	size_t column;

	for (column = 0; column < table->column_count; column++) {
		const char *title = table->columns[column].title;

		titles[column] = (struct cell){ .text = title, .size = strlen(title) };
	}
	if (cli->out_colour)
		cli_put_style(&cli->out, CLI_STYLE_BOLD);
	put_row(cli, table, widths, indent, titles);
	if (cli->out_colour)
		cli_put_style_end(&cli->out, CLI_STYLE_BOLD);
}

void cli_table_put(struct cli *cli, const struct cli_table *table, size_t indent)
{
	size_t rows = table->ends.count / table->column_count, row, column;
	size_t widths[MOST_COLUMNS];
	struct cell cells[MOST_COLUMNS];

	if (table->text.failed) {
		cli->out.failed = true;
		return;
	}
	measure(table, rows, widths);
	shrink(table, cli_width(cli, 1u << 20), indent, widths);
	put_titles(cli, table, widths, indent);
	for (row = 0; row < rows; row++) {
		for (column = 0; column < table->column_count; column++)
			cells[column] = cell_at(table, row, column);
		put_row(cli, table, widths, indent, cells);
		cli_flush_when_full(cli);
	}
}
