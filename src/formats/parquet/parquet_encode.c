/* SPDX-License-Identifier: Apache-2.0 */
/* The encodings of pages: the hybrid of runs and packed bits, deltas, and bits. */
#include "formats/parquet/parquet_encode.h"

#include "base/bytes.h"
#include "formats/parquet/parquet_layout.h"
#include "formats/parquet/parquet_thrift.h"

#define GROUP 8		/* values that are packed together */
#define SHORTEST_RUN 16 /* below that a run costs more than it saves */
#define MINIBLOCK (PARQUET_DELTA_BLOCK / PARQUET_DELTA_MINIBLOCKS)
#define VARINT_LONGEST 10

/* Packs a multiple of eight values of `width` bits, 33 to 64, lowest bit first; gives the end. */
static uint8_t *pack_wide(uint8_t *place, const uint64_t *values, size_t count, unsigned int width)
{
	unsigned __int128 bits = 0;
	unsigned int held = 0;

	for (size_t i = 0; i < count; i++) {
		bits |= (unsigned __int128)values[i] << held;
		held += width;
		if (held < 64)
			continue;
		sonde_store_u64le(place, (uint64_t)bits);
		place += 8;
		bits >>= 64;
		held -= 64;
	}
	/* full bytes: the values are a multiple of eight */
	for (; held; held -= 8, bits >>= 8)
		*place++ = (uint8_t)bits;
	return place;
}

/* The same of 1 to 32 bits, for which one register holds what is not stored yet. */
static uint8_t *pack(uint8_t *place, const uint64_t *values, size_t count, unsigned int width)
{
	uint64_t bits = 0;
	unsigned int held = 0;

	if (width > 32)
		return pack_wide(place, values, count, width);
	for (size_t i = 0; i < count; i++) {
		bits |= values[i] << held;
		held += width;
		if (held < 32)
			continue;
		sonde_store_u32le(place, (uint32_t)bits);
		place += 4;
		bits >>= 32;
		held -= 32;
	}
	for (; held; held -= 8, bits >>= 8)
		*place++ = (uint8_t)bits;
	return place;
}

/* The same of values that are narrow anyway. */
static uint8_t *pack32(uint8_t *place, const uint32_t *values, size_t count, unsigned int width)
{
	uint64_t bits = 0;
	unsigned int held = 0;

	for (size_t i = 0; i < count; i++) {
		bits |= (uint64_t)values[i] << held;
		held += width;
		if (held < 32)
			continue;
		sonde_store_u32le(place, (uint32_t)bits);
		place += 4;
		bits >>= 32;
		held -= 32;
	}
	for (; held; held -= 8, bits >>= 8)
		*place++ = (uint8_t)bits;
	return place;
}

void parquet_put_run(struct sonde_buffer *out, uint32_t value, size_t count, unsigned int width)
{
	if (!count)
		return;
	thrift_put_varint(out, (uint64_t)count << 1);
	for (unsigned int i = 0; i < width; i += 8)
		sonde_buffer_put_char(out, (char)(value >> i));
}

/* Values that are no run, the last group filled with zeros. */
static void put_packed(struct sonde_buffer *out, const uint32_t *values, size_t count,
		       unsigned int width)
{
	size_t groups = (count + GROUP - 1) / GROUP, whole = count / GROUP * GROUP;
	uint32_t last[GROUP] = { 0 };
	uint8_t *place;

	if (!count)
		return;
	thrift_put_varint(out, (uint64_t)groups << 1 | 1);
	place = (uint8_t *)sonde_buffer_reserve(out, groups * width);
	if (!place || !width)
		return;
	place = pack32(place, values, whole, width);
	memcpy(last, values + whole, (count - whole) * sizeof(*last));
	if (whole < count)
		pack32(place, last, GROUP, width);
	out->size += groups * width;
}

static size_t run_length(const uint32_t *values, size_t count)
{
	size_t length = 1;

	while (length < count && values[length] == values[0])
		length++;
	return length;
}

void parquet_put_hybrid(struct sonde_buffer *out, const uint32_t *values, size_t count,
			unsigned int width)
{
	size_t from = 0; /* what is packed and not put yet starts here */

	/* a run begins where a group of those before it ends */
	for (size_t at = 0; at < count;) {
		size_t length = 0;

		if (at + 1 < count && values[at] == values[at + 1])
			length = run_length(values + at, count - at);
		if (length < SHORTEST_RUN) {
			at += GROUP;
			continue;
		}
		put_packed(out, values + from, at - from, width);
		parquet_put_run(out, values[at], length, width);
		at = from = at + length;
	}
	put_packed(out, values + from, count - from, width);
}

/* One block of differences, of which `count` count: the rest of the last miniblock is zeros. */
static void put_delta_block(struct sonde_buffer *out, uint64_t deltas[PARQUET_DELTA_BLOCK],
			    size_t count, int64_t smallest)
{
	uint8_t *place =
		(uint8_t *)sonde_buffer_reserve(out, VARINT_LONGEST + PARQUET_DELTA_MINIBLOCKS +
							     sizeof(*deltas) * PARQUET_DELTA_BLOCK);
	uint8_t *widths;

	if (!place)
		return;
	thrift_put_varint(out, thrift_zigzag(smallest));
	place = (uint8_t *)out->data + out->size;
	widths = place;
	place += PARQUET_DELTA_MINIBLOCKS;
	for (size_t i = 0; i < PARQUET_DELTA_MINIBLOCKS; i++) {
		uint64_t *part = deltas + i * MINIBLOCK, all = 0;
		size_t in = count > i * MINIBLOCK ? count - i * MINIBLOCK : 0;

		in = in < MINIBLOCK ? in : MINIBLOCK;
		for (size_t k = 0; k < in; k++) {
			part[k] -= (uint64_t)smallest;
			all |= part[k];
		}
		for (size_t k = in; k < MINIBLOCK; k++)
			part[k] = 0;
		widths[i] = (uint8_t)parquet_width(all);
		if (all)
			place = pack(place, part, MINIBLOCK, widths[i]);
	}
	out->size = (size_t)((char *)place - out->data);
}

static void put_delta_head(struct sonde_buffer *out, size_t count, int64_t first)
{
	thrift_put_varint(out, PARQUET_DELTA_BLOCK);
	thrift_put_varint(out, PARQUET_DELTA_MINIBLOCKS);
	thrift_put_varint(out, count);
	thrift_put_varint(out, thrift_zigzag(first));
}

void parquet_put_delta(struct sonde_buffer *out, const uint64_t *values, size_t count)
{
	uint64_t deltas[PARQUET_DELTA_BLOCK];

	put_delta_head(out, count, count ? (int64_t)values[0] : 0);
	for (size_t at = 1; at < count; at += PARQUET_DELTA_BLOCK) {
		size_t in = count - at < PARQUET_DELTA_BLOCK ? count - at : PARQUET_DELTA_BLOCK;
		int64_t smallest = INT64_MAX;

		for (size_t i = 0; i < in; i++) {
			deltas[i] = values[at + i] - values[at + i - 1];
			if ((int64_t)deltas[i] < smallest)
				smallest = (int64_t)deltas[i];
		}
		put_delta_block(out, deltas, in, smallest);
	}
}

void parquet_put_delta32(struct sonde_buffer *out, const uint32_t *values, size_t count)
{
	uint64_t deltas[PARQUET_DELTA_BLOCK];

	put_delta_head(out, count, count ? (int32_t)values[0] : 0);
	for (size_t at = 1; at < count; at += PARQUET_DELTA_BLOCK) {
		size_t in = count - at < PARQUET_DELTA_BLOCK ? count - at : PARQUET_DELTA_BLOCK;
		int32_t smallest = INT32_MAX;

		for (size_t i = 0; i < in; i++) {
			int32_t delta = (int32_t)(values[at + i] - values[at + i - 1]);

			deltas[i] = (uint64_t)(int64_t)delta;
			smallest = delta < smallest ? delta : smallest;
		}
		put_delta_block(out, deltas, in, smallest);
	}
}

void parquet_put_delta_run(struct sonde_buffer *out, int64_t value, size_t count)
{
	size_t blocks = count ? (count - 1 + PARQUET_DELTA_BLOCK - 1) / PARQUET_DELTA_BLOCK : 0;
	size_t size = blocks * (1 + PARQUET_DELTA_MINIBLOCKS); /* no difference, widths of 0 */
	char *place;

	put_delta_head(out, count, count ? value : 0);
	place = sonde_buffer_reserve(out, size);
	if (!place)
		return;
	memset(place, 0, size);
	out->size += size;
}

void parquet_put_bits(struct sonde_buffer *out, const uint8_t *values, size_t count)
{
	for (size_t i = 0; i < count; i += 8) {
		unsigned int bits = 0;

		for (size_t k = i; k < i + 8 && k < count; k++)
			bits |= (unsigned int)(values[k] != 0) << (k - i);
		sonde_buffer_put_char(out, (char)bits);
	}
}
