/* SPDX-License-Identifier: Apache-2.0 */
/* A Parquet file around its row groups: magic, parts, footer. */
#include "formats/parquet/parquet_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sonde/sonde.h>

#include "base/put.h"
#include "formats/parquet/parquet_layout.h"
#include "formats/parquet/parquet_thrift.h"

int parquet_type_of(enum parquet_kind kind)
{
	switch (kind) {
	case PARQUET_U32:
		return PARQUET_TYPE_INT32;
	case PARQUET_U64:
	case PARQUET_TIMESTAMP:
		return PARQUET_TYPE_INT64;
	case PARQUET_DOUBLE:
		return PARQUET_TYPE_DOUBLE;
	case PARQUET_BOOL:
		return PARQUET_TYPE_BOOLEAN;
	case PARQUET_TEXT:
	case PARQUET_LONG_TEXT:
		break;
	}
	return PARQUET_TYPE_BYTE_ARRAY;
}

int parquet_encoding_of(enum parquet_kind kind)
{
	switch (kind) {
	case PARQUET_TEXT:
		return PARQUET_ENCODING_RLE_DICTIONARY;
	case PARQUET_U32:
	case PARQUET_U64:
	case PARQUET_TIMESTAMP:
		return PARQUET_ENCODING_DELTA_BINARY_PACKED;
	case PARQUET_DOUBLE:
	case PARQUET_BOOL:
	case PARQUET_LONG_TEXT:
		break;
	}
	return PARQUET_ENCODING_PLAIN;
}

enum sonde_status parquet_file_open(struct parquet_file *file, const struct parquet_table *table,
				    const char *folder, size_t parts, bool with_time,
				    struct sonde_error *err)
{
	struct sonde_buffer path = { 0 };
	enum sonde_status status = SONDE_OK;

	file->table = table;
	file->part_count = parts;
	while (table->columns[file->column_count].name)
		file->column_count++;
	file->column_count -= table->ends_with_time && !with_time;
	sonde_buffer_put_format(&path, "%s/%s.parquet", folder, table->name);
	if (sonde_buffer_text(&path))
		file->path = strdup(path.data);
	sonde_buffer_release(&path);
	file->groups = calloc(parts + 1, sizeof(*file->groups));
	if (!file->path || !file->groups)
		return sonde_fail_nomem(err);
	status = sonde_output_open(&file->output, file->path, err);
	if (!status)
		status = sonde_output_write(&file->output, PARQUET_MAGIC, 4, err);
	if (!status)
		status = sonde_parts_new(&file->output, parts, &file->parts, err);
	return status;
}

enum sonde_status parquet_file_add_group(struct parquet_file *file, size_t part,
					 const struct parquet_group *group, struct sonde_error *err)
{
	struct parquet_group *place = sonde_vec_push(&file->groups[part].groups);

	if (!place) {
		free(group->chunks);
		return sonde_fail_nomem(err);
	}
	*place = *group;
	return SONDE_OK;
}

uint64_t parquet_file_rows(const struct parquet_file *file)
{
	uint64_t rows = 0;

	for (size_t i = 0; i < file->part_count; i++)
		for (size_t k = 0; k < file->groups[i].groups.count; k++)
			rows += file->groups[i].groups.items[k].rows;
	return rows;
}

static size_t group_count(const struct parquet_file *file)
{
	size_t count = 0;

	for (size_t i = 0; i < file->part_count; i++)
		count += file->groups[i].groups.count;
	return count;
}

/* What the bits of a type mean. */
static void put_meaning(struct thrift_writer *writer, enum parquet_kind kind)
{
	if (kind == PARQUET_DOUBLE || kind == PARQUET_BOOL)
		return;
	if (kind == PARQUET_TEXT || kind == PARQUET_LONG_TEXT)
		thrift_put_i32(writer, PARQUET_SCHEMA_CONVERTED_TYPE, PARQUET_CONVERTED_UTF8);
	else if (kind != PARQUET_TIMESTAMP)
		thrift_put_i32(writer, PARQUET_SCHEMA_CONVERTED_TYPE,
			       kind == PARQUET_U32 ? PARQUET_CONVERTED_UINT_32 :
						     PARQUET_CONVERTED_UINT_64);
	thrift_put_struct(writer, PARQUET_SCHEMA_LOGICAL_TYPE);
	if (kind == PARQUET_TEXT || kind == PARQUET_LONG_TEXT) {
		thrift_put_struct(writer, PARQUET_LOGICAL_STRING);
	} else if (kind == PARQUET_TIMESTAMP) {
		thrift_put_struct(writer, PARQUET_LOGICAL_TIMESTAMP);
		thrift_put_bool(writer, 1, true); /* UTC */
		thrift_put_struct(writer, 2);
		thrift_put_struct(writer, PARQUET_UNIT_NANOS);
		thrift_end(writer);
		thrift_end(writer);
	} else {
		thrift_put_struct(writer, PARQUET_LOGICAL_INTEGER);
		thrift_put_i8(writer, 1, kind == PARQUET_U32 ? 32 : 64);
		thrift_put_bool(writer, 2, false); /* signed */
	}
	thrift_end(writer);
	thrift_end(writer);
}

static void put_schema(struct thrift_writer *writer, const struct parquet_file *file)
{
	thrift_put_structs(writer, PARQUET_FILE_SCHEMA, file->column_count + 1);
	thrift_item_begin(writer);
	thrift_put_text(writer, PARQUET_SCHEMA_NAME, "schema");
	thrift_put_i32(writer, PARQUET_SCHEMA_NUM_CHILDREN, (int32_t)file->column_count);
	thrift_end(writer);
	for (size_t i = 0; i < file->column_count; i++) {
		const struct parquet_column_spec *spec = &file->table->columns[i];

		thrift_item_begin(writer);
		thrift_put_i32(writer, PARQUET_SCHEMA_TYPE, parquet_type_of(spec->kind));
		thrift_put_i32(writer, PARQUET_SCHEMA_REPETITION,
			       spec->is_optional ? PARQUET_OPTIONAL : PARQUET_REQUIRED);
		thrift_put_text(writer, PARQUET_SCHEMA_NAME, spec->name);
		put_meaning(writer, spec->kind);
		thrift_end(writer);
	}
}

static void put_statistics(struct thrift_writer *writer, const struct parquet_chunk *chunk)
{
	thrift_put_struct(writer, PARQUET_COLUMN_STATISTICS);
	thrift_put_i64(writer, PARQUET_STATISTICS_NULL_COUNT, (int64_t)chunk->nulls);
	if (chunk->largest.is_known && chunk->smallest.is_known) {
		thrift_put_binary(writer, PARQUET_STATISTICS_MAX_VALUE, chunk->largest.bytes,
				  chunk->largest.size);
		thrift_put_binary(writer, PARQUET_STATISTICS_MIN_VALUE, chunk->smallest.bytes,
				  chunk->smallest.size);
	}
	thrift_end(writer);
}

static void put_chunk(struct thrift_writer *writer, const struct parquet_column_spec *spec,
		      const struct parquet_chunk *chunk, uint64_t rows, uint64_t part_offset)
{
	bool has_dictionary = chunk->dictionary_offset != UINT64_MAX;
	int32_t encodings[3] = { parquet_encoding_of(spec->kind), PARQUET_ENCODING_RLE,
				 PARQUET_ENCODING_PLAIN };
	uint64_t first = has_dictionary ? chunk->dictionary_offset : chunk->data_offset;

	thrift_item_begin(writer);
	thrift_put_i64(writer, PARQUET_CHUNK_FILE_OFFSET, (int64_t)(part_offset + first));
	thrift_put_struct(writer, PARQUET_CHUNK_META_DATA);
	thrift_put_i32(writer, PARQUET_COLUMN_TYPE, parquet_type_of(spec->kind));
	/* levels are RLE, dictionaries plain */
	thrift_put_i32s(writer, PARQUET_COLUMN_ENCODINGS, encodings, has_dictionary ? 3 : 2);
	thrift_put_texts(writer, PARQUET_COLUMN_PATH, &spec->name, 1);
	thrift_put_i32(writer, PARQUET_COLUMN_CODEC, PARQUET_CODEC_ZSTD);
	thrift_put_i64(writer, PARQUET_COLUMN_NUM_VALUES, (int64_t)rows);
	thrift_put_i64(writer, PARQUET_COLUMN_UNCOMPRESSED_SIZE, (int64_t)chunk->plain_size);
	thrift_put_i64(writer, PARQUET_COLUMN_COMPRESSED_SIZE, (int64_t)chunk->size);
	thrift_put_i64(writer, PARQUET_COLUMN_DATA_PAGE_OFFSET,
		       (int64_t)(part_offset + chunk->data_offset));
	if (has_dictionary)
		thrift_put_i64(writer, PARQUET_COLUMN_DICTIONARY_PAGE_OFFSET,
			       (int64_t)(part_offset + chunk->dictionary_offset));
	put_statistics(writer, chunk);
	thrift_end(writer);
	thrift_end(writer);
}

static void put_group(struct thrift_writer *writer, const struct parquet_file *file,
		      const struct parquet_group *group, uint64_t part_offset)
{
	uint64_t size = 0, plain_size = 0;

	thrift_item_begin(writer);
	thrift_put_structs(writer, PARQUET_GROUP_COLUMNS, file->column_count);
	for (size_t i = 0; i < file->column_count; i++) {
		put_chunk(writer, &file->table->columns[i], &group->chunks[i], group->rows,
			  part_offset);
		size += group->chunks[i].size;
		plain_size += group->chunks[i].plain_size;
	}
	thrift_put_i64(writer, PARQUET_GROUP_TOTAL_BYTE_SIZE, (int64_t)plain_size);
	thrift_put_i64(writer, PARQUET_GROUP_NUM_ROWS, (int64_t)group->rows);
	thrift_put_i64(writer, PARQUET_GROUP_FILE_OFFSET, (int64_t)(part_offset + group->offset));
	thrift_put_i64(writer, PARQUET_GROUP_TOTAL_COMPRESSED_SIZE, (int64_t)size);
	thrift_end(writer);
}

static void put_groups(struct thrift_writer *writer, const struct parquet_file *file)
{
	thrift_put_structs(writer, PARQUET_FILE_ROW_GROUPS, group_count(file));
	for (size_t i = 0; i < file->part_count; i++) {
		uint64_t offset = sonde_parts_offset(file->parts, i);

		for (size_t k = 0; k < file->groups[i].groups.count; k++)
			put_group(writer, file, &file->groups[i].groups.items[k], offset);
	}
}

static void put_key_values(struct thrift_writer *writer, const struct parquet_key_value *pairs,
			   size_t count)
{
	thrift_put_structs(writer, PARQUET_FILE_KEY_VALUES, count);
	for (size_t i = 0; i < count; i++) {
		thrift_item_begin(writer);
		thrift_put_text(writer, 1, pairs[i].key);
		thrift_put_text(writer, 2, pairs[i].value);
		thrift_end(writer);
	}
}

/* Without the order of a column its smallest and largest values mean nothing. */
static void put_orders(struct thrift_writer *writer, size_t count)
{
	thrift_put_structs(writer, PARQUET_FILE_COLUMN_ORDERS, count);
	for (size_t i = 0; i < count; i++) {
		thrift_item_begin(writer);
		thrift_put_struct(writer, 1); /* as the type has it */
		thrift_end(writer);
		thrift_end(writer);
	}
}

enum sonde_status parquet_file_close(struct parquet_file *file,
				     const struct parquet_key_value *pairs, size_t pair_count,
				     struct sonde_error *err)
{
	struct sonde_buffer footer = { 0 };
	struct thrift_writer writer;
	enum sonde_status status;
	char creator[64];
	size_t size;

	snprintf(creator, sizeof(creator), "sonde version %s", sonde_version());
	thrift_begin(&writer, &footer);
	thrift_put_i32(&writer, PARQUET_FILE_VERSION, PARQUET_VERSION);
	put_schema(&writer, file);
	thrift_put_i64(&writer, PARQUET_FILE_NUM_ROWS, (int64_t)parquet_file_rows(file));
	put_groups(&writer, file);
	put_key_values(&writer, pairs, pair_count);
	thrift_put_text(&writer, PARQUET_FILE_CREATED_BY, creator);
	put_orders(&writer, file->column_count);
	thrift_end(&writer);
	size = footer.size;
	sonde_put_u32le(&footer, (uint32_t)size);
	sonde_buffer_put(&footer, PARQUET_MAGIC, 4);
	if (footer.failed)
		status = sonde_fail_nomem(err);
	else if (size > INT32_MAX)
		status = sonde_fail(err, SONDE_LIMIT, SONDE_NO_OFFSET,
				    "%s has more row groups than a footer can list; convert fewer "
				    "tracks at a time",
				    file->path);
	else
		status = sonde_output_write(&file->output, footer.data, footer.size, err);
	if (!status)
		status = sonde_output_close(&file->output, err);
	sonde_buffer_release(&footer);
	return status;
}

void parquet_file_release(struct parquet_file *file)
{
	for (size_t i = 0; file->groups && i < file->part_count; i++) {
		for (size_t k = 0; k < file->groups[i].groups.count; k++)
			free(file->groups[i].groups.items[k].chunks);
		sonde_vec_release(&file->groups[i].groups);
	}
	free(file->groups);
	sonde_parts_free(file->parts);
	sonde_output_release(&file->output);
	free(file->path);
	*file = (struct parquet_file){ .output.fd = -1 };
}
