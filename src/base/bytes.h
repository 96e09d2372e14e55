/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bounded cursor that all input bytes are read through: explicit endianness, no unaligned
 * access, no read past the end. Running past the end sets `overrun` and yields zeros, so that a
 * decoder may read a whole struct and test once.
 */
#ifndef SONDE_BASE_BYTES_H
#define SONDE_BASE_BYTES_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct sonde_bytes {
	const uint8_t *data;
	size_t size;
	size_t position;
	bool overrun;
};

static inline struct sonde_bytes sonde_bytes_of(const void *data, size_t size)
{
	return (struct sonde_bytes){ .data = data ? data : (const uint8_t *)"", .size = size };
}

static inline size_t sonde_bytes_left(const struct sonde_bytes *bytes)
{
	return bytes->size - bytes->position;
}

/* Borrows the next `count` bytes and steps over them; NULL (and overrun) where there are fewer. */
static inline const uint8_t *sonde_bytes_take(struct sonde_bytes *bytes, size_t count)
{
	const uint8_t *start = bytes->data + bytes->position;

	if (bytes->overrun || count > sonde_bytes_left(bytes)) {
		bytes->overrun = true;
		return NULL;
	}
	bytes->position += count;
	return start;
}

static inline uint16_t sonde_load_u16le(const uint8_t *p)
{
	uint16_t value;

	memcpy(&value, p, sizeof(value));
	return le16toh(value);
}

static inline uint32_t sonde_load_u32le(const uint8_t *p)
{
	uint32_t value;

	memcpy(&value, p, sizeof(value));
	return le32toh(value);
}

static inline uint64_t sonde_load_u64le(const uint8_t *p)
{
	uint64_t value;

	memcpy(&value, p, sizeof(value));
	return le64toh(value);
}

static inline void sonde_store_u16le(uint8_t *p, uint16_t value)
{
	value = htole16(value);
	memcpy(p, &value, sizeof(value));
}

static inline void sonde_store_u32le(uint8_t *p, uint32_t value)
{
	value = htole32(value);
	memcpy(p, &value, sizeof(value));
}

static inline void sonde_store_u64le(uint8_t *p, uint64_t value)
{
	value = htole64(value);
	memcpy(p, &value, sizeof(value));
}

static inline uint32_t sonde_load_u32be(const uint8_t *p)
{
	uint32_t value;

	memcpy(&value, p, sizeof(value));
	return be32toh(value);
}

static inline uint64_t sonde_load_u64be(const uint8_t *p)
{
	uint64_t value;

	memcpy(&value, p, sizeof(value));
	return be64toh(value);
}

static inline void sonde_store_u32be(uint8_t *p, uint32_t value)
{
	value = htobe32(value);
	memcpy(p, &value, sizeof(value));
}

static inline void sonde_store_u64be(uint8_t *p, uint64_t value)
{
	value = htobe64(value);
	memcpy(p, &value, sizeof(value));
}

static inline uint8_t sonde_bytes_u8(struct sonde_bytes *bytes)
{
	const uint8_t *p = sonde_bytes_take(bytes, 1);

	return p ? *p : 0;
}

static inline uint16_t sonde_bytes_u16le(struct sonde_bytes *bytes)
{
	const uint8_t *p = sonde_bytes_take(bytes, 2);

	return p ? sonde_load_u16le(p) : 0;
}

static inline uint32_t sonde_bytes_u32le(struct sonde_bytes *bytes)
{
	const uint8_t *p = sonde_bytes_take(bytes, 4);

	return p ? sonde_load_u32le(p) : 0;
}

static inline uint64_t sonde_bytes_u64le(struct sonde_bytes *bytes)
{
	const uint8_t *p = sonde_bytes_take(bytes, 8);

	return p ? sonde_load_u64le(p) : 0;
}

#endif
