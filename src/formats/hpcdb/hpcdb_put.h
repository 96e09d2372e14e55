/* SPDX-License-Identifier: Apache-2.0 */
/* Little-endian numbers and records at the end of a buffer, for what is written of a database. */
#ifndef SONDE_HPCDB_PUT_H
#define SONDE_HPCDB_PUT_H

#include "base/buffer.h"
#include "base/bytes.h"
#include "base/put.h"
#include "formats/hpcdb/hpcdb_layout.h"

/* The text with its NUL. */
static inline void hpcdb_put_string(struct sonde_buffer *out, const char *text)
{
	sonde_buffer_put(out, text, strlen(text) + 1);
}

static inline void hpcdb_put_zeros(struct sonde_buffer *out, size_t count)
{
	char *place = sonde_buffer_reserve(out, count);

	if (!place || !count)
		return;
	memset(place, 0, count);
	out->size += count;
}

static inline uint64_t hpcdb_aligned(uint64_t offset, unsigned int alignment)
{
	return (offset + alignment - 1) / alignment * alignment;
}

static inline void hpcdb_put_alignment(struct sonde_buffer *out, unsigned int alignment)
{
	hpcdb_put_zeros(out, hpcdb_aligned(out->size, alignment) - out->size);
}

/* Overwrites what was put before; nothing where memory failed meanwhile. */
static inline void hpcdb_patch_u64(struct sonde_buffer *out, size_t offset, uint64_t value)
{
	if (!out->failed)
		sonde_store_u64le((uint8_t *)out->data + offset, value);
}

static inline void hpcdb_store_double(uint8_t *place, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	sonde_store_u64le(place, bits);
}

static inline double hpcdb_load_double(const uint8_t *place)
{
	uint64_t bits = sonde_load_u64le(place);
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

/* Magic and version at the start of a file; `format` has four letters. */
static inline void hpcdb_put_magic(struct sonde_buffer *out, const char *format)
{
	sonde_buffer_put(out, HPCDB_MAGIC, HPCDB_MAGIC_SIZE);
	sonde_buffer_put(out, format, 4);
	sonde_buffer_put_char(out, HPCDB_MAJOR_VERSION);
	sonde_buffer_put_char(out, HPCDB_MINOR_VERSION);
}

#endif
