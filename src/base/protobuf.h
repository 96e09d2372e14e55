/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The protobuf wire format: one field at a time read over a bounded cursor, or appended to a buffer. Writing
 * fails as buffers do: it is remembered there, and tested once.
 */
#ifndef SONDE_BASE_PROTOBUF_H
#define SONDE_BASE_PROTOBUF_H

#include <sonde/status.h>

#include "base/buffer.h"
#include "base/bytes.h"

enum sonde_protobuf_type {
	SONDE_PROTOBUF_VARINT = 0,
	SONDE_PROTOBUF_FIXED64 = 1,
	SONDE_PROTOBUF_BYTES = 2,
	SONDE_PROTOBUF_FIXED32 = 5,
};

struct sonde_protobuf_field {
	uint32_t number;
	enum sonde_protobuf_type type;
	uint64_t value;		  /* VARINT, FIXED64, FIXED32 */
	struct sonde_bytes bytes; /* BYTES: a cursor over the content (a text, a message) */
};

/* SONDE_END after the last field; SONDE_TRUNCATED and SONDE_CORRUPT (groups too) for bad ones. */
enum sonde_status sonde_protobuf_next(struct sonde_bytes *bytes, struct sonde_protobuf_field *field,
				      struct sonde_error *err);

/* A number of packed ones; SONDE_TRUNCATED, or SONDE_CORRUPT for one of more than 64 bits. */
enum sonde_status sonde_protobuf_varint(struct sonde_bytes *bytes, uint64_t *value);

/* Bytes that a number of 64 bits takes at most, and a field of one with its tag. */
#define SONDE_PROTOBUF_VARINT_SIZE 10
#define SONDE_PROTOBUF_FIELD_SIZE 15

static inline uint32_t sonde_protobuf_tag(uint32_t number, enum sonde_protobuf_type type)
{
	return number << 3 | type;
}

/* sint32 and sint64: small numbers of either sign are short. */
static inline uint64_t sonde_protobuf_zigzag(int64_t value)
{
	return (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0);
}

static inline int64_t sonde_protobuf_unzigzag(uint64_t value)
{
	return (int64_t)(value >> 1 ^ -(value & 1));
}

static inline size_t sonde_protobuf_varint_length(uint64_t value)
{
	return (70 - (size_t)__builtin_clzll(value | 1)) / 7;
}

/* For what was reserved before: writes at `place`, where there is room, and gives what comes behind. */
static inline char *sonde_protobuf_varint_at(char *place, uint64_t value)
{
	while (value >= 0x80) {
		*place++ = (char)(value | 0x80);
		value >>= 7;
	}
	*place++ = (char)value;
	return place;
}

static inline char *sonde_protobuf_uint_at(char *place, uint32_t number, uint64_t value)
{
	place = sonde_protobuf_varint_at(place, sonde_protobuf_tag(number, SONDE_PROTOBUF_VARINT));
	return sonde_protobuf_varint_at(place, value);
}

void sonde_protobuf_put_varint(struct sonde_buffer *out, uint64_t value);

/* Fields. Numbers below 0 (int32, int64, enums) are given as the 64 bits they are. */
void sonde_protobuf_put_uint(struct sonde_buffer *out, uint32_t number, uint64_t value);
void sonde_protobuf_put_fixed64(struct sonde_buffer *out, uint32_t number, uint64_t value);
void sonde_protobuf_put_double(struct sonde_buffer *out, uint32_t number, double value);
void sonde_protobuf_put_bytes(struct sonde_buffer *out, uint32_t number, const void *data,
			      size_t size);
/* A string must be UTF-8: U+FFFD for each byte that is not. */
void sonde_protobuf_put_string(struct sonde_buffer *out, uint32_t number, const char *text,
			       size_t size);

/*
 * A message (or packed numbers) within another: what is put between begin and end is its content. Ends
 * come in the reverse order of the begins, each with what its begin gave.
 */
size_t sonde_protobuf_begin(struct sonde_buffer *out, uint32_t number);
void sonde_protobuf_end(struct sonde_buffer *out, size_t start);

#endif
