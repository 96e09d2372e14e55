/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The compact protocol of Thrift, as far as footers and page headers need it: written only, into a
 * buffer that keeps failures. Fields of a struct come in the order of their numbers.
 */
#ifndef SONDE_FORMATS_PARQUET_THRIFT_H
#define SONDE_FORMATS_PARQUET_THRIFT_H

#include "base/buffer.h"

#define THRIFT_DEPTH 8

struct thrift_writer {
	struct sonde_buffer *out;
	unsigned int depth; /* of structs in each other */
	int last[THRIFT_DEPTH + 1];
};

/* Starts with a struct that is not a field: the message itself. */
void thrift_begin(struct thrift_writer *writer, struct sonde_buffer *out);
/* Ends the innermost struct. */
void thrift_end(struct thrift_writer *writer);

void thrift_put_i8(struct thrift_writer *writer, int field, int8_t value);
void thrift_put_i32(struct thrift_writer *writer, int field, int32_t value);
void thrift_put_i64(struct thrift_writer *writer, int field, int64_t value);
void thrift_put_bool(struct thrift_writer *writer, int field, bool value);
void thrift_put_binary(struct thrift_writer *writer, int field, const void *data, size_t size);
void thrift_put_text(struct thrift_writer *writer, int field, const char *text);
/* A struct as a field; thrift_end() ends it. */
void thrift_put_struct(struct thrift_writer *writer, int field);

/* Lists: the head, then `count` items. Structs in them begin and end by themselves. */
void thrift_put_structs(struct thrift_writer *writer, int field, size_t count);
void thrift_item_begin(struct thrift_writer *writer);
void thrift_put_i32s(struct thrift_writer *writer, int field, const int32_t *values, size_t count);
void thrift_put_texts(struct thrift_writer *writer, int field, const char *const *texts,
		      size_t count);

/* Varints of 7 bits a byte, also for encodings. */
void thrift_put_varint(struct sonde_buffer *out, uint64_t value);

/* Signed numbers so that small ones stay small. */
static inline uint64_t thrift_zigzag(int64_t value)
{
	return (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0);
}

#endif
