/* SPDX-License-Identifier: Apache-2.0 */
/* A table on the screen: columns as wide as their cells, one of them giving way to the screen. */
#ifndef SONDE_CLI_TABLE_H
#define SONDE_CLI_TABLE_H

#include "base/vec.h"
#include "cli/cli.h"

struct cli_column {
	const char *title;
	bool right;   /* numbers */
	bool shrinks; /* may be cut where the screen is too narrow */
};

/* Put the text of a cell into `text`, then end the cell; row by row. Zeroed but for columns. */
struct cli_table {
	const struct cli_column *columns;
	size_t column_count;
	struct sonde_buffer text;
	SONDE_VEC(size_t) ends; /* of the cells in `text` */
};

void cli_table_release(struct cli_table *table);
void cli_table_end_cell(struct cli_table *table);

/* Prints it with a line of titles; a column whose cells are all empty is left out. */
void cli_table_put(struct cli *cli, const struct cli_table *table, size_t indent);

#endif
