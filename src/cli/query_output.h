/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a query on their way out: a box for people; CSV, JSON and markdown for programs and pages. */
#ifndef SONDE_CLI_QUERY_OUTPUT_H
#define SONDE_CLI_QUERY_OUTPUT_H

#include <sqlite3.h>

#include "base/json.h"
#include "base/vec.h"
#include "cli/command.h"

enum query_mode {
	QUERY_BOX,
	QUERY_LINE,
	QUERY_CSV,
	QUERY_JSON,
	QUERY_JSONL,
	QUERY_MARKDOWN,
	QUERY_MODE_COUNT,
};

/* By enum query_mode; for --mode and .mode. */
extern const struct cli_choice query_modes[];

struct query_output {
	struct cli *cli;
	enum query_mode mode;
	bool no_header;
	uint64_t max_rows; /* 0: all */
};

/* What came of a statement. */
struct query_result {
	int code; /* of SQLite: SQLITE_DONE, or why it ended early */
	uint64_t rows;
	bool cut; /* there are more rows than max_rows */
};

/* Steps through a statement and prints its rows. One without columns is just run. */
struct query_result query_output_rows(const struct query_output *output, sqlite3_stmt *statement);

/* The rows of one statement as they are printed; shared by the files query_output*.c. */
struct query_cell {
	size_t end; /* in the text of the sheet */
	int type;   /* SQLITE_NULL ... */
};

struct query_sheet_column {
	const char *name; /* as shown */
	size_t width;	  /* of the widest cell so far */
	size_t least;	  /* that a box leaves it on a narrow screen */
	bool has_text, has_number;
};

struct query_sheet {
	const struct query_output *output;
	struct sonde_buffer *out;
	sqlite3_stmt *statement;
	struct query_sheet_column *columns;
	size_t column_count;
	uint64_t rows; /* so far */
	struct sonde_json_writer json;
	/* Of a box: rows that wait until widths are known, and whether they are. */
	struct sonde_buffer text;
	SONDE_VEC(struct query_cell) cells;
	bool settled;
	bool as_lines; /* it does not fit the screen at all */
	bool unicode;  /* lines may be drawn with other characters than ASCII */
	size_t screen; /* columns; 0: nothing is cut */
};

/* How a mode prints. Members may be NULL. */
struct query_printer {
	void (*begin)(struct query_sheet *sheet);
	void (*row)(struct query_sheet *sheet);
	void (*end)(struct query_sheet *sheet);
};
extern const struct query_printer query_print_box, query_print_line;

/* A value as text in every mode but JSON; reals in full, or as few digits as a screen needs. */
void query_put_value(struct sonde_buffer *out, sqlite3_stmt *statement, int column, bool shortly);

#endif
