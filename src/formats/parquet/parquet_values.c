/* SPDX-License-Identifier: Apache-2.0 */
/* Single values into the columns of a row, and texts into the dictionary of a column. */
#include <stdlib.h>

#include "base/put.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "formats/parquet/parquet_rows.h"

static int compare(const char *a, size_t a_size, const char *b, size_t b_size)
{
	int order = memcmp(a, b, a_size < b_size ? a_size : b_size);

	return order ? order : (a_size > b_size) - (a_size < b_size);
}

static void note_text(struct parquet_dictionary *dictionary, const char *text, size_t size)
{
	if (!dictionary->smallest ||
	    compare(text, size, dictionary->smallest, dictionary->smallest_size) < 0) {
		dictionary->smallest = text;
		dictionary->smallest_size = size;
	}
	if (!dictionary->largest ||
	    compare(text, size, dictionary->largest, dictionary->largest_size) > 0) {
		dictionary->largest = text;
		dictionary->largest_size = size;
	}
}

/* UTF-8 as it is, anything else mended. */
static const char *mend(struct parquet_rows *rows, const char *text, size_t *size)
{
	if (sonde_utf8_valid(text, *size))
		return text;
	sonde_buffer_clear(&rows->mended);
	sonde_buffer_put_utf8(&rows->mended, text, *size);
	rows->failed |= rows->mended.failed;
	*size = rows->mended.size;
	return rows->mended.failed ? "" : rows->mended.data;
}

uint32_t parquet_text_code(struct parquet_rows *rows, size_t column, const char *text)
{
	struct parquet_dictionary *dictionary = &rows->columns[column].dictionary;
	size_t size = strlen(text);
	uint32_t code;
	char *copy;

	text = mend(rows, text, &size);
	if (rows->failed)
		return 0;
	code = sonde_text_map_find(&dictionary->codes, text, size);
	if (code != SONDE_NONE)
		return code;
	copy = sonde_arena_copy_text(&dictionary->texts, text, size);
	if (!copy || !sonde_text_map_add(&dictionary->codes, copy, size, dictionary->count)) {
		rows->failed = true;
		return 0;
	}
	sonde_put_u32le(&dictionary->bytes, (uint32_t)size);
	sonde_buffer_put(&dictionary->bytes, copy, size);
	note_text(dictionary, copy, size);
	return dictionary->count++;
}

void parquet_set_text(struct parquet_rows *rows, size_t column, const char *text)
{
	struct parquet_column *target = &rows->columns[column];

	free(target->constant_text);
	target->is_constant = true;
	target->constant_text = text ? strdup(text) : NULL;
	rows->failed |= text && !target->constant_text;
}

void parquet_set_number(struct parquet_rows *rows, size_t column, uint64_t value)
{
	rows->columns[column].is_constant = true;
	rows->columns[column].constant_number = value;
}

void parquet_put_long_text(struct parquet_rows *rows, size_t column, size_t row, const char *text,
			   size_t size)
{
	struct parquet_column *target = &rows->columns[column];

	target->present[row] = text != NULL;
	if (!text)
		return;
	text = mend(rows, text, &size);
	sonde_put_u32le(&target->long_texts, (uint32_t)size);
	sonde_buffer_put(&target->long_texts, text, size);
	rows->failed |= target->long_texts.failed;
}

void parquet_put_text(struct parquet_rows *rows, size_t column, const char *text)
{
	struct parquet_column *target = &rows->columns[column];

	if (target->spec->kind == PARQUET_LONG_TEXT)
		parquet_put_long_text(rows, column, rows->page_rows, text, text ? strlen(text) : 0);
	else
		((uint32_t *)target->values)[rows->page_rows] =
			text ? parquet_text_code(rows, column, text) : PARQUET_NULL_CODE;
}

void parquet_put_number(struct parquet_rows *rows, size_t column, uint64_t value)
{
	struct parquet_column *target = &rows->columns[column];
	size_t row = rows->page_rows;

	target->present[row] = 1;
	if (target->spec->kind == PARQUET_BOOL)
		((uint8_t *)target->values)[row] = value != 0;
	else if (target->spec->kind == PARQUET_U32)
		((uint32_t *)target->values)[row] = (uint32_t)value;
	else
		((uint64_t *)target->values)[row] = value;
}

void parquet_put_double(struct parquet_rows *rows, size_t column, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	parquet_put_number(rows, column, bits);
}

void parquet_put_null(struct parquet_rows *rows, size_t column)
{
	struct parquet_column *target = &rows->columns[column];

	target->present[rows->page_rows] = 0;
	if (target->spec->kind == PARQUET_TEXT)
		((uint32_t *)target->values)[rows->page_rows] = PARQUET_NULL_CODE;
}

struct parquet_known *parquet_known_place(struct parquet_known_texts *known, uint32_t number)
{
	size_t more;

	if (number < known->count)
		return &known->items[number];
	more = number + (size_t)1 - known->count;
	if (!sonde_vec_reserve(known, more))
		return NULL;
	memset(known->items + known->count, 0, more * sizeof(*known->items));
	known->count += more;
	return &known->items[number];
}
