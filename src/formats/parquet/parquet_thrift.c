/* SPDX-License-Identifier: Apache-2.0 */
/* Thrift's compact protocol, written. */
#include "formats/parquet/parquet_thrift.h"

/* Types in heads of fields and lists. */
enum {
	TYPE_TRUE = 1,
	TYPE_FALSE = 2,
	TYPE_I8 = 3,
	TYPE_I32 = 5,
	TYPE_I64 = 6,
	TYPE_BINARY = 8,
	TYPE_LIST = 9,
	TYPE_STRUCT = 12,
};

#define LONGEST_STEP 15	 /* from one field's number to the next, in one byte */
#define LONGEST_SHORT 14 /* items of a list whose head is one byte */

void thrift_put_varint(struct sonde_buffer *out, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		sonde_buffer_put_char(out, (char)(value | 0x80));
	sonde_buffer_put_char(out, (char)value);
}

static void push(struct thrift_writer *writer)
{
	if (writer->depth < THRIFT_DEPTH)
		writer->depth++;
	else
		writer->out->failed = true; /* a mistake here, not in data: nothing nests so deep */
	writer->last[writer->depth] = 0;
}

void thrift_begin(struct thrift_writer *writer, struct sonde_buffer *out)
{
	*writer = (struct thrift_writer){ .out = out };
}

void thrift_end(struct thrift_writer *writer)
{
	sonde_buffer_put_char(writer->out, 0);
	if (writer->depth)
		writer->depth--;
}

static void put_head(struct thrift_writer *writer, int field, int type)
{
	int step = field - writer->last[writer->depth];

	writer->last[writer->depth] = field;
	if (step > 0 && step <= LONGEST_STEP) {
		sonde_buffer_put_char(writer->out, (char)(step << 4 | type));
		return;
	}
	sonde_buffer_put_char(writer->out, (char)type);
	thrift_put_varint(writer->out, thrift_zigzag(field));
}

void thrift_put_i8(struct thrift_writer *writer, int field, int8_t value)
{
	put_head(writer, field, TYPE_I8);
	sonde_buffer_put_char(writer->out, (char)value);
}

void thrift_put_i32(struct thrift_writer *writer, int field, int32_t value)
{
	put_head(writer, field, TYPE_I32);
	thrift_put_varint(writer->out, thrift_zigzag(value));
}

void thrift_put_i64(struct thrift_writer *writer, int field, int64_t value)
{
	put_head(writer, field, TYPE_I64);
	thrift_put_varint(writer->out, thrift_zigzag(value));
}

void thrift_put_bool(struct thrift_writer *writer, int field, bool value)
{
	put_head(writer, field, value ? TYPE_TRUE : TYPE_FALSE);
}

static void put_bytes(struct sonde_buffer *out, const void *data, size_t size)
{
	thrift_put_varint(out, size);
	sonde_buffer_put(out, data, size);
}

void thrift_put_binary(struct thrift_writer *writer, int field, const void *data, size_t size)
{
	put_head(writer, field, TYPE_BINARY);
	put_bytes(writer->out, data, size);
}

void thrift_put_text(struct thrift_writer *writer, int field, const char *text)
{
	thrift_put_binary(writer, field, text, strlen(text));
}

void thrift_put_struct(struct thrift_writer *writer, int field)
{
	put_head(writer, field, TYPE_STRUCT);
	push(writer);
}

static void put_list(struct thrift_writer *writer, int field, int type, size_t count)
{
	put_head(writer, field, TYPE_LIST);
	if (count <= LONGEST_SHORT) {
		sonde_buffer_put_char(writer->out, (char)(count << 4 | (size_t)type));
		return;
	}
	sonde_buffer_put_char(writer->out, (char)(0xf0 | type));
	thrift_put_varint(writer->out, count);
}

void thrift_put_structs(struct thrift_writer *writer, int field, size_t count)
{
	put_list(writer, field, TYPE_STRUCT, count);
}

void thrift_item_begin(struct thrift_writer *writer)
{
	push(writer);
}

void thrift_put_i32s(struct thrift_writer *writer, int field, const int32_t *values, size_t count)
{
	put_list(writer, field, TYPE_I32, count);
	for (size_t i = 0; i < count; i++)
		thrift_put_varint(writer->out, thrift_zigzag(values[i]));
}

void thrift_put_texts(struct thrift_writer *writer, int field, const char *const *texts,
		      size_t count)
{
	put_list(writer, field, TYPE_BINARY, count);
	for (size_t i = 0; i < count; i++)
		put_bytes(writer->out, texts[i], strlen(texts[i]));
}
