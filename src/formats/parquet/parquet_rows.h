/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of a table on their way into a file. Values come column by column into a page; full pages are
 * encoded and compressed, and as many as make a row group are handed to the file together. So memory
 * is that of a page as it is and of a row group as it is packed, however many rows there are.
 */
#ifndef SONDE_FORMATS_PARQUET_ROWS_H
#define SONDE_FORMATS_PARQUET_ROWS_H

#include <sonde/definitions.h>

#include "base/arena.h"
#include "base/map.h"
#include "codec/codec.h"
#include "formats/parquet/parquet_file.h"

#define PARQUET_PAGE_ROWS 65536
#define PARQUET_GROUP_ROWS ((uint64_t)16 * PARQUET_PAGE_ROWS)
/* A row group ends before it is full where its long texts or names become this long. */
#define PARQUET_GROUP_BYTES ((size_t)16 * 1024 * 1024)

#define PARQUET_NULL_CODE UINT32_MAX

/* The texts of a column in a row group, each once, numbered in the order of their coming. */
struct parquet_dictionary {
	struct sonde_text_map codes;
	struct sonde_arena texts;
	struct sonde_buffer bytes; /* as they lie in the page */
	uint32_t count;
	const char *smallest, *largest;
	size_t smallest_size, largest_size;
};

struct parquet_column {
	const struct parquet_column_spec *spec;
	/* All rows of the part have this: a text (NULL: null), or a number. */
	bool is_constant;
	char *constant_text;
	uint64_t constant_number;
	void *values;			/* of the page, by row: u32 codes, u32, u64, double, u8 */
	uint8_t *present;		/* of optional numbers, by row */
	struct sonde_buffer long_texts; /* of the page, plain */
	struct parquet_dictionary dictionary;
	/* of the row group */
	struct sonde_buffer pages;
	uint64_t plain_size; /* of those pages before compression */
	uint64_t nulls;
	uint64_t smallest, largest; /* of numbers */
	bool has_range;
};

/* Texts by a number of their own, looked up once a row group. */
struct parquet_known {
	uint32_t epoch; /* of the row group in which the codes hold */
	uint32_t code;
	uint32_t second; /* of another column */
};

struct parquet_known_texts {
	struct parquet_known *items;
	size_t count, capacity;
};

struct parquet_rows {
	struct parquet_file *file;
	size_t part; /* of the file */
	struct parquet_column *columns;
	size_t column_count;
	size_t page_rows;
	uint64_t group_rows;
	uint64_t written; /* bytes of the part so far */
	uint32_t epoch;	  /* changes with each row group */
	struct sonde_codec_state *codec;
	struct sonde_buffer plain, packed, mended;
	uint32_t *levels; /* of a page; made when first needed */
	bool failed;	  /* memory; told by the next parquet_rows_add() */
};

/* For a table; `codec` stays the caller's, one thread a time. Zeroed before. */
enum sonde_status parquet_rows_init(struct parquet_rows *rows, struct parquet_file *file,
				    struct sonde_codec_state *codec, struct sonde_error *err);
void parquet_rows_release(struct parquet_rows *rows);

/* What comes now is of this part; constant columns must be set anew. */
void parquet_rows_begin(struct parquet_rows *rows, size_t part);
/* No more of this part. */
enum sonde_status parquet_rows_end(struct parquet_rows *rows, struct sonde_error *err);

/* How many rows the page has room for; never 0. They start at `page_rows` of each array of values. */
static inline size_t parquet_rows_room(const struct parquet_rows *rows)
{
	return PARQUET_PAGE_ROWS - rows->page_rows;
}

/* So many rows were put into all columns, as many as there is room for at most. */
enum sonde_status parquet_rows_add(struct parquet_rows *rows, size_t count,
				   struct sonde_error *err);

/* The code of a text in this row group. Bytes that are not UTF-8 become U+FFFD. */
uint32_t parquet_text_code(struct parquet_rows *rows, size_t column, const char *text);

/* All rows of this part have this text (NULL: null), or number, in a column. */
void parquet_set_text(struct parquet_rows *rows, size_t column, const char *text);
void parquet_set_number(struct parquet_rows *rows, size_t column, uint64_t value);

/* One value of the row that comes next, for tables that need not be fast. NULL text: null. */
void parquet_put_text(struct parquet_rows *rows, size_t column, const char *text);
void parquet_put_number(struct parquet_rows *rows, size_t column, uint64_t value);
void parquet_put_double(struct parquet_rows *rows, size_t column, double value);
void parquet_put_null(struct parquet_rows *rows, size_t column);
/* Long texts in the fast way too: for row `row` of the page, in the order of rows. */
void parquet_put_long_text(struct parquet_rows *rows, size_t column, size_t row, const char *text,
			   size_t size);

/* The place of a number's codes, made where it is not there yet; NULL where memory failed. */
struct parquet_known *parquet_known_place(struct parquet_known_texts *known, uint32_t number);

#endif
