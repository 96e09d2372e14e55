/* SPDX-License-Identifier: Apache-2.0 */
/* Rows become pages, pages row groups. Single values are put by parquet_values.c. */
#include "formats/parquet/parquet_rows.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "base/put.h"
#include "formats/parquet/parquet_encode.h"
#include "formats/parquet/parquet_layout.h"
#include "formats/parquet/parquet_thrift.h"

/* Beyond this a page ends, or a row group: names may be long, and arguments too. */
#define PAGE_BYTES ((size_t)4 * 1024 * 1024)
#define SIGN_BIT ((uint64_t)1 << 63)

static size_t value_size(enum parquet_kind kind)
{
	switch (kind) {
	case PARQUET_TEXT:
	case PARQUET_U32:
		return sizeof(uint32_t);
	case PARQUET_U64:
	case PARQUET_TIMESTAMP:
	case PARQUET_DOUBLE:
		return sizeof(uint64_t);
	case PARQUET_BOOL:
		return sizeof(uint8_t);
	case PARQUET_LONG_TEXT:
		break;
	}
	return 0;
}

static void dictionary_clear(struct parquet_dictionary *dictionary)
{
	sonde_text_map_release(&dictionary->codes);
	sonde_arena_clear(&dictionary->texts);
	sonde_buffer_clear(&dictionary->bytes);
	dictionary->count = 0;
	dictionary->smallest = dictionary->largest = NULL;
	dictionary->smallest_size = dictionary->largest_size = 0;
}

enum sonde_status parquet_rows_init(struct parquet_rows *rows, struct parquet_file *file,
				    struct sonde_codec_state *codec, struct sonde_error *err)
{
	rows->file = file;
	rows->codec = codec;
	rows->column_count = file->column_count;
	rows->epoch = 1;
	rows->columns = calloc(rows->column_count + 1, sizeof(*rows->columns));
	rows->levels = malloc(PARQUET_PAGE_ROWS * sizeof(*rows->levels));
	if (!rows->columns || !rows->levels)
		return sonde_fail_nomem(err);
	for (size_t i = 0; i < rows->column_count; i++) {
		struct parquet_column *column = &rows->columns[i];
		size_t size = value_size(file->table->columns[i].kind);

		column->spec = &file->table->columns[i];
		column->values = size ? malloc(PARQUET_PAGE_ROWS * size) : NULL;
		column->present = calloc(PARQUET_PAGE_ROWS, 1);
		if ((size && !column->values) || !column->present)
			return sonde_fail_nomem(err);
	}
	return SONDE_OK;
}

void parquet_rows_release(struct parquet_rows *rows)
{
	for (size_t i = 0; rows->columns && i < rows->column_count; i++) {
		struct parquet_column *column = &rows->columns[i];

		free(column->values);
		free(column->present);
		free(column->constant_text);
		sonde_buffer_release(&column->long_texts);
		sonde_buffer_release(&column->pages);
		sonde_text_map_release(&column->dictionary.codes);
		sonde_arena_release(&column->dictionary.texts);
		sonde_buffer_release(&column->dictionary.bytes);
	}
	free(rows->columns);
	free(rows->levels);
	sonde_buffer_release(&rows->plain);
	sonde_buffer_release(&rows->packed);
	sonde_buffer_release(&rows->mended);
	*rows = (struct parquet_rows){ 0 };
}

/* Everything of a row group is gone; the codes of texts change with that. */
static void begin_group(struct parquet_rows *rows)
{
	rows->group_rows = 0;
	rows->epoch++;
	for (size_t i = 0; i < rows->column_count; i++) {
		struct parquet_column *column = &rows->columns[i];

		sonde_buffer_clear(&column->pages);
		column->plain_size = column->nulls = 0;
		column->has_range = false;
		if (column->spec->kind == PARQUET_TEXT)
			dictionary_clear(&column->dictionary);
	}
}

void parquet_rows_begin(struct parquet_rows *rows, size_t part)
{
	rows->part = part;
	rows->written = 0;
	rows->page_rows = 0;
	for (size_t i = 0; i < rows->column_count; i++) {
		struct parquet_column *column = &rows->columns[i];

		free(column->constant_text);
		column->constant_text = NULL;
		column->is_constant = false;
	}
	begin_group(rows);
}

/* --- pages --- */

/* Which rows of the page have a value; gives how many, and fills the levels where some have not. */
static size_t find_levels(struct parquet_rows *rows, const struct parquet_column *column)
{
	size_t count = rows->page_rows, there = 0;
	const uint32_t *codes = column->values;

	if (column->is_constant)
		return column->spec->kind != PARQUET_TEXT || column->constant_text ? count : 0;
	if (column->spec->kind == PARQUET_TEXT) {
		bool is_null = codes[0] == PARQUET_NULL_CODE;
		size_t same = 1;

		while (same < count && (codes[same] == PARQUET_NULL_CODE) == is_null)
			same++;
		if (same == count)
			return is_null ? 0 : count;
	} else if (!memchr(column->present, column->present[0] ? 0 : 1, count)) {
		return column->present[0] ? count : 0;
	}
	for (size_t i = 0; i < count; i++) {
		rows->levels[i] = column->spec->kind == PARQUET_TEXT ?
					  codes[i] != PARQUET_NULL_CODE :
					  column->present[i];
		there += rows->levels[i];
	}
	return there;
}

/* One level for each row of an optional column; gives how many have a value. */
static size_t put_levels(struct parquet_rows *rows, const struct parquet_column *column)
{
	struct sonde_buffer *out = &rows->plain;
	size_t count = rows->page_rows, there, begin = out->size;

	if (!column->spec->is_optional)
		return count;
	there = find_levels(rows, column);
	sonde_put_u32le(out, 0);
	if (there == count || !there)
		parquet_put_run(out, there != 0, count, 1);
	else
		parquet_put_hybrid(out, rows->levels, count, 1);
	if (!out->failed)
		sonde_store_u32le((uint8_t *)out->data + begin,
				  (uint32_t)(out->size - begin - sizeof(uint32_t)));
	return there;
}

/* Values that are there, without gaps. */
static void close_gaps(struct parquet_rows *rows, const struct parquet_column *column)
{
	size_t size = value_size(column->spec->kind), used = 0;
	char *values = column->values;

	/* long texts have none anyway */
	for (size_t i = 0; size && i < rows->page_rows; i++) {
		if (rows->levels[i])
			memmove(values + used++ * size, values + i * size, size);
	}
}

static void note_range(struct parquet_column *column, uint64_t smallest, uint64_t largest)
{
	if (!column->has_range || smallest < column->smallest)
		column->smallest = smallest;
	if (!column->has_range || largest > column->largest)
		column->largest = largest;
	column->has_range = true;
}

static void find_range32(struct parquet_column *column, size_t count)
{
	const uint32_t *values = column->values;
	uint32_t smallest = values[0], largest = values[0];

	for (size_t i = 1; i < count; i++) {
		smallest = values[i] < smallest ? values[i] : smallest;
		largest = values[i] > largest ? values[i] : largest;
	}
	note_range(column, smallest, largest);
}

/* Times since 1970 are signed: with the sign turned over they are in the order of others. */
static void find_range64(struct parquet_column *column, size_t count)
{
	uint64_t turn = column->spec->kind == PARQUET_TIMESTAMP ? SIGN_BIT : 0;
	const uint64_t *values = column->values;
	uint64_t smallest = values[0] ^ turn, largest = smallest;

	for (size_t i = 1; i < count; i++) {
		uint64_t value = values[i] ^ turn;

		smallest = value < smallest ? value : smallest;
		largest = value > largest ? value : largest;
	}
	note_range(column, smallest, largest);
}

static void put_doubles(struct sonde_buffer *out, const uint64_t *values, size_t count)
{
	for (size_t i = 0; i < count; i++)
		sonde_put_u64le(out, values[i]);
}

/* `count` values of the page, which are there. */
static void put_values(struct parquet_rows *rows, struct parquet_column *column, size_t count)
{
	struct sonde_buffer *out = &rows->plain;
	unsigned int width;

	switch (column->spec->kind) {
	case PARQUET_TEXT:
		width = parquet_width(column->dictionary.count ? column->dictionary.count - 1 : 0);
		sonde_buffer_put_char(out, (char)width);
		if (column->is_constant)
			parquet_put_run(out, 0, count, width);
		else
			parquet_put_hybrid(out, column->values, count, width);
		break;
	case PARQUET_LONG_TEXT:
		sonde_buffer_put(out, column->long_texts.data, column->long_texts.size);
		out->failed |= column->long_texts.failed;
		sonde_buffer_clear(&column->long_texts);
		break;
	case PARQUET_U32:
		if (column->is_constant) {
			note_range(column, column->constant_number, column->constant_number);
			parquet_put_delta_run(out, (int32_t)column->constant_number, count);
			break;
		}
		if (count)
			find_range32(column, count);
		parquet_put_delta32(out, column->values, count);
		break;
	case PARQUET_U64:
	case PARQUET_TIMESTAMP:
		if (count)
			find_range64(column, count);
		parquet_put_delta(out, column->values, count);
		break;
	case PARQUET_DOUBLE:
		put_doubles(out, column->values, count);
		break;
	case PARQUET_BOOL:
		parquet_put_bits(out, column->values, count);
		break;
	}
}

/* Puts a page with its head behind those of the column. `count` values, nulls counted. */
static enum sonde_status put_page(struct parquet_rows *rows, struct sonde_buffer *out,
				  uint64_t *plain_size, int type, size_t count, int encoding,
				  struct sonde_error *err)
{
	struct thrift_writer writer;
	size_t begin = out->size;
	enum sonde_status status;

	if (rows->plain.failed)
		return sonde_fail_nomem(err);
	sonde_buffer_clear(&rows->packed);
	status = sonde_codec_compress(rows->codec, SONDE_CODEC_ZSTD, rows->plain.data,
				      rows->plain.size, &rows->packed, err);
	if (status)
		return status;
	thrift_begin(&writer, out);
	thrift_put_i32(&writer, PARQUET_PAGE_HEADER_TYPE, type);
	thrift_put_i32(&writer, PARQUET_PAGE_HEADER_UNCOMPRESSED_SIZE, (int32_t)rows->plain.size);
	thrift_put_i32(&writer, PARQUET_PAGE_HEADER_COMPRESSED_SIZE, (int32_t)rows->packed.size);
	thrift_put_struct(&writer, type == PARQUET_PAGE_DATA ? PARQUET_PAGE_HEADER_DATA :
							       PARQUET_PAGE_HEADER_DICTIONARY);
	thrift_put_i32(&writer, PARQUET_DATA_PAGE_NUM_VALUES, (int32_t)count);
	thrift_put_i32(&writer, PARQUET_DATA_PAGE_ENCODING, encoding);
	if (type == PARQUET_PAGE_DATA) {
		thrift_put_i32(&writer, PARQUET_DATA_PAGE_DEFINITION_ENCODING,
			       PARQUET_ENCODING_RLE);
		thrift_put_i32(&writer, PARQUET_DATA_PAGE_REPETITION_ENCODING,
			       PARQUET_ENCODING_RLE);
	}
	thrift_end(&writer);
	thrift_end(&writer);
	*plain_size += out->size - begin + rows->plain.size;
	sonde_buffer_put(out, rows->packed.data, rows->packed.size);
	return out->failed ? sonde_fail_nomem(err) : SONDE_OK;
}

static enum sonde_status end_page(struct parquet_rows *rows, struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	if (rows->failed)
		return sonde_fail_nomem(err);
	for (size_t i = 0; !status && rows->page_rows && i < rows->column_count; i++) {
		struct parquet_column *column = &rows->columns[i];
		size_t there;

		if (column->is_constant && column->constant_text && !column->dictionary.count)
			parquet_text_code(rows, i, column->constant_text);
		sonde_buffer_clear(&rows->plain);
		there = put_levels(rows, column);
		if (there && there < rows->page_rows)
			close_gaps(rows, column);
		put_values(rows, column, there);
		column->nulls += rows->page_rows - there;
		status = put_page(rows, &column->pages, &column->plain_size, PARQUET_PAGE_DATA,
				  rows->page_rows, parquet_encoding_of(column->spec->kind), err);
	}
	rows->group_rows += rows->page_rows;
	rows->page_rows = 0;
	return status;
}

/* --- row groups --- */

static void set_bound(struct parquet_bound *bound, const void *bytes, size_t size)
{
	if (size > sizeof(bound->bytes))
		return;
	bound->size = (uint8_t)size;
	bound->is_known = true;
	if (size)
		memcpy(bound->bytes, bytes, size);
}

static void set_bounds(const struct parquet_column *column, struct parquet_chunk *chunk)
{
	const struct parquet_dictionary *dictionary = &column->dictionary;
	uint64_t turn = column->spec->kind == PARQUET_TIMESTAMP ? SIGN_BIT : 0;
	size_t size = value_size(column->spec->kind);
	uint8_t bytes[8];

	if (column->spec->kind == PARQUET_TEXT && dictionary->count) {
		set_bound(&chunk->smallest, dictionary->smallest, dictionary->smallest_size);
		set_bound(&chunk->largest, dictionary->largest, dictionary->largest_size);
	} else if (column->has_range) {
		sonde_store_u64le(bytes, column->smallest ^ turn);
		set_bound(&chunk->smallest, bytes, size);
		sonde_store_u64le(bytes, column->largest ^ turn);
		set_bound(&chunk->largest, bytes, size);
	}
}

/* The dictionary of a column before its pages, then these. */
static enum sonde_status write_chunk(struct parquet_rows *rows, struct parquet_column *column,
				     struct parquet_chunk *chunk, struct sonde_error *err)
{
	struct sonde_parts *parts = rows->file->parts;
	struct sonde_buffer head = { 0 };
	enum sonde_status status = SONDE_OK;

	*chunk = (struct parquet_chunk){ .dictionary_offset = UINT64_MAX };
	if (column->spec->kind == PARQUET_TEXT) {
		sonde_buffer_clear(&rows->plain);
		sonde_buffer_put(&rows->plain, column->dictionary.bytes.data,
				 column->dictionary.bytes.size);
		rows->plain.failed |= column->dictionary.bytes.failed;
		chunk->dictionary_offset = rows->written;
		status = put_page(rows, &head, &column->plain_size, PARQUET_PAGE_DICTIONARY,
				  column->dictionary.count, PARQUET_ENCODING_PLAIN, err);
		if (!status)
			status = sonde_parts_write(parts, rows->part, head.data, head.size, err);
	}
	chunk->size = head.size + column->pages.size;
	chunk->data_offset = rows->written + head.size;
	chunk->plain_size = column->plain_size;
	chunk->nulls = column->nulls;
	set_bounds(column, chunk);
	if (!status)
		status = sonde_parts_write(parts, rows->part, column->pages.data,
					   column->pages.size, err);
	rows->written += chunk->size;
	sonde_buffer_release(&head);
	return status;
}

static enum sonde_status end_group(struct parquet_rows *rows, struct sonde_error *err)
{
	struct parquet_group group = { .offset = rows->written };
	enum sonde_status status = end_page(rows, err);

	if (status || !rows->group_rows)
		return status;
	group.rows = rows->group_rows;
	group.chunks = calloc(rows->column_count + 1, sizeof(*group.chunks));
	if (!group.chunks)
		return sonde_fail_nomem(err);
	for (size_t i = 0; !status && i < rows->column_count; i++)
		status = write_chunk(rows, &rows->columns[i], &group.chunks[i], err);
	if (status)
		free(group.chunks);
	else
		status = parquet_file_add_group(rows->file, rows->part, &group, err);
	begin_group(rows);
	return status;
}

enum sonde_status parquet_rows_end(struct parquet_rows *rows, struct sonde_error *err)
{
	enum sonde_status status = end_group(rows, err);

	return status ? status : sonde_parts_end(rows->file->parts, rows->part, err);
}

enum sonde_status parquet_rows_add(struct parquet_rows *rows, size_t count, struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;
	size_t texts = 0, names = 0, pages = 0;

	rows->page_rows += count;
	for (size_t i = 0; i < rows->column_count; i++) {
		texts += rows->columns[i].long_texts.size;
		names += rows->columns[i].dictionary.bytes.size;
		pages += rows->columns[i].pages.size;
	}
	if (rows->page_rows == PARQUET_PAGE_ROWS || texts > PAGE_BYTES)
		status = end_page(rows, err);
	if (!status && (rows->group_rows >= PARQUET_GROUP_ROWS || pages > PARQUET_GROUP_BYTES ||
			names > PAGE_BYTES))
		status = end_group(rows, err);
	return status;
}
