/* SPDX-License-Identifier: Apache-2.0 */
/* Files of the wtf-trace family put together byte by byte, for tests. */
#ifndef SONDE_TESTS_CFF_BYTES_H
#define SONDE_TESTS_CFF_BYTES_H

#include "base/buffer.h"
#include "formats/cff/cff_layout.h"

static inline void put_word(struct sonde_buffer *out, uint32_t value)
{
	uint8_t bytes[4] = { (uint8_t)value, (uint8_t)(value >> 8), (uint8_t)(value >> 16),
			     (uint8_t)(value >> 24) };

	sonde_buffer_put(out, bytes, sizeof(bytes));
}

static inline void put_words(struct sonde_buffer *out, const uint32_t *values, size_t count)
{
	for (size_t i = 0; i < count; i++)
		put_word(out, values[i]);
}

#define PUT_WORDS(out, ...)                                                                        \
	put_words(out, (const uint32_t[]){ __VA_ARGS__ },                                          \
		  sizeof((const uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t))

static inline void put_file_head(struct sonde_buffer *out, uint32_t wtf_version)
{
	PUT_WORDS(out, CFF_MAGIC, wtf_version, CFF_VERSION);
}

struct test_part {
	uint32_t type;
	const void *data;
	size_t size;
};

/* A chunk without times, its parts one after the other. */
static inline void put_test_chunk(struct sonde_buffer *out, uint32_t id, uint32_t type,
				  const struct test_part *parts, size_t count)
{
	size_t end = 0;

	for (size_t i = 0; i < count; i++)
		end += (parts[i].size + 3) & ~(size_t)3;
	PUT_WORDS(out, id, type, (uint32_t)(CFF_CHUNK_SIZE + count * CFF_PART_SIZE + end),
		  CFF_NO_TIME, CFF_NO_TIME, (uint32_t)count);
	end = 0;
	for (size_t i = 0; i < count; i++) {
		PUT_WORDS(out, parts[i].type, (uint32_t)end, (uint32_t)parts[i].size);
		end += (parts[i].size + 3) & ~(size_t)3;
	}
	for (size_t i = 0; i < count; i++) {
		sonde_buffer_put(out, parts[i].data, parts[i].size);
		sonde_buffer_put(out, "\0\0\0", -parts[i].size & 3);
	}
}

#endif
