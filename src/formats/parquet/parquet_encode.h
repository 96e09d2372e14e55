/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How values lie in a page: Encodings.md of the Parquet format. Each appends to a buffer, which keeps
 * failures.
 */
#ifndef SONDE_FORMATS_PARQUET_ENCODE_H
#define SONDE_FORMATS_PARQUET_ENCODE_H

#include "base/buffer.h"

/* Bits that numbers up to this one need. */
static inline unsigned int parquet_width(uint64_t largest)
{
	return largest ? 64 - (unsigned int)__builtin_clzll(largest) : 0;
}

/* Runs of equal values, and values packed by `width` bits, at most 32, in groups of eight. */
void parquet_put_hybrid(struct sonde_buffer *out, const uint32_t *values, size_t count,
			unsigned int width);

/* The same of one value over and over. */
void parquet_put_run(struct sonde_buffer *out, uint32_t value, size_t count, unsigned int width);

/* DELTA_BINARY_PACKED. Differences are modulo 2^64, or modulo 2^32 of the second. */
void parquet_put_delta(struct sonde_buffer *out, const uint64_t *values, size_t count);
void parquet_put_delta32(struct sonde_buffer *out, const uint32_t *values, size_t count);
/* The same of one value over and over. */
void parquet_put_delta_run(struct sonde_buffer *out, int64_t value, size_t count);

/* One bit each; what is not 0 is true. */
void parquet_put_bits(struct sonde_buffer *out, const uint8_t *values, size_t count);

#endif
