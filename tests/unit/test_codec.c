/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compression: what goes in comes out in every codec, streams as existing stores have them, blocks
 * that are not what they say, and bodies with limits. Bodies are packed by the libraries
 * themselves.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <lz4.h>
#include <lz4frame.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "codec/codec.h"

#define LARGEST 200000

static uint8_t plain[LARGEST];

/* Compressible, but not all the same. */
static int make_plain(void **state)
{
	uint32_t random = 1;

	(void)state;
	for (size_t i = 0; i < LARGEST; i++) {
		random = random * 1103515245 + 12345;
		plain[i] = (uint8_t)(i % 7 ? i / 97 : random >> 24);
	}
	return 0;
}

static const size_t sizes[] = { 0, 1, 2, 12, 13, 64, 430, 4096, 65535, 65536, 65537, LARGEST };

#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

static void check_round_trip(struct sonde_codec_state *codec, enum sonde_codec kind,
			     const uint8_t *data, size_t size)
{
	struct sonde_buffer packed = { 0 };
	uint8_t *again = malloc(size + 1);

	sonde_buffer_put(&packed, "before", 6);
	assert_int_equal(sonde_codec_compress(codec, kind, data, size, &packed, NULL), SONDE_OK);
	assert_memory_equal(packed.data, "before", 6);
	assert_int_equal(sonde_codec_decompress(codec, kind, packed.data + 6, packed.size - 6,
						again, size, NULL),
			 SONDE_OK);
	assert_memory_equal(again, data, size);
	free(again);
	sonde_buffer_release(&packed);
}

/* The states are used again and again: one block leaves nothing behind for the next. */
static void test_round_trip(void **state)
{
	struct sonde_codec_state codec = { 0 };

	(void)state;
	for (size_t round = 0; round < 3; round++)
		for (int kind = SONDE_CODEC_NONE; kind <= SONDE_CODEC_ZSTD; kind++)
			for (size_t i = 0; i < SIZES; i++)
				check_round_trip(&codec, (enum sonde_codec)kind, plain + round,
						 sizes[i] > round ? sizes[i] - round : sizes[i]);
	sonde_codec_state_release(&codec);
}

/* The block must give this and take all. */
static void check_exact(enum sonde_codec kind, const void *packed, size_t stored, size_t expected)
{
	struct sonde_codec_state codec = { 0 };
	uint8_t *again = malloc(expected + 1), *copy = malloc(stored + 1);
	struct sonde_error err;

	memcpy(copy, packed, stored);
	copy[stored] = 0xff;
	assert_int_equal(sonde_codec_decompress(&codec, kind, copy, stored, again, expected, &err),
			 SONDE_OK);
	assert_memory_equal(again, plain, expected);
	assert_int_equal(
		sonde_codec_decompress(&codec, kind, copy, stored, again, expected + 1, &err),
		SONDE_CORRUPT);
	if (expected)
		assert_int_equal(sonde_codec_decompress(&codec, kind, copy, stored, again,
							expected - 1, &err),
				 SONDE_CORRUPT);
	assert_int_equal(
		sonde_codec_decompress(&codec, kind, copy, stored + 1, again, expected, &err),
		SONDE_CORRUPT);
	if (expected >= 64)
		assert_true(sonde_codec_decompress(&codec, kind, copy, stored / 2, again, expected,
						   &err) < 0);
	free(again);
	free(copy);
	sonde_codec_state_release(&codec);
}

static size_t deflate_with(int window, size_t size, int flush, uint8_t *out, size_t room)
{
	z_stream stream = { 0 };

	stream.next_in = plain;
	stream.avail_in = (uInt)size;
	stream.next_out = out;
	stream.avail_out = (uInt)room;
	assert_int_equal(deflateInit2(&stream, 6, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY), Z_OK);
	assert_int_not_equal(deflate(&stream, flush), Z_STREAM_ERROR);
	deflateEnd(&stream);
	return stream.total_out;
}

/* Streams that end at a flush point without a final block, as existing stores have them. */
static void test_deflate_without_end(void **state)
{
	static const int flushes[] = { Z_FULL_FLUSH, Z_SYNC_FLUSH, Z_FINISH };
	uint8_t *packed = malloc(LARGEST * 2);

	(void)state;
	for (size_t i = 1; i < SIZES; i++)
		for (size_t flush = 0; flush < 3; flush++) {
			size_t size = deflate_with(-15, sizes[i], flushes[flush], packed,
						   (size_t)LARGEST * 2);

			check_exact(SONDE_CODEC_DEFLATE, packed, size, sizes[i]);
		}
	/* one block that is not marked as the last, and no flush behind it */
	for (size_t i = 1; sizes[i] <= 4096; i++) {
		size_t size = deflate_with(-15, sizes[i], Z_FINISH, packed, (size_t)LARGEST * 2);

		assert_true(packed[0] & 1);
		packed[0] &= 0xfe;
		check_exact(SONDE_CODEC_DEFLATE, packed, size, sizes[i]);
	}
	free(packed);
}

/* A wrapped stream is not what the stores have. */
static void test_deflate_wrapped(void **state)
{
	struct sonde_codec_state codec = { 0 };
	uint8_t packed[2000], again[430];
	size_t size = deflate_with(15, 430, Z_FINISH, packed, sizeof(packed));

	(void)state;
	assert_int_equal(
		sonde_codec_decompress(&codec, SONDE_CODEC_DEFLATE, packed, size, again, 430, NULL),
		SONDE_CORRUPT);
	sonde_codec_state_release(&codec);
}

static void test_lz4_exact(void **state)
{
	char *packed = malloc(LARGEST * 2);

	(void)state;
	for (size_t i = 1; i < SIZES; i++) {
		int size = LZ4_compress_default((const char *)plain, packed, (int)sizes[i],
						LARGEST * 2);

		check_exact(SONDE_CODEC_LZ4, packed, (size_t)size, sizes[i]);
	}
	free(packed);
}

static void test_zstd_exact(void **state)
{
	struct sonde_codec_state codec = { 0 };
	struct sonde_buffer packed = { 0 };

	(void)state;
	for (size_t i = 1; i < SIZES; i++) {
		sonde_buffer_clear(&packed);
		assert_int_equal(sonde_codec_compress(&codec, SONDE_CODEC_ZSTD, plain, sizes[i],
						      &packed, NULL),
				 SONDE_OK);
		check_exact(SONDE_CODEC_ZSTD, packed.data, packed.size, sizes[i]);
	}
	sonde_buffer_release(&packed);
	sonde_codec_state_release(&codec);
}

struct body {
	enum sonde_packing packing;
	int window; /* of zlib */
};

static const struct body bodies[] = {
	{ SONDE_PACKING_GZIP, 31 },	{ SONDE_PACKING_ZLIB, 15 },	{ SONDE_PACKING_ZLIB, -15 },
	{ SONDE_PACKING_LZ4_FRAME, 0 }, { SONDE_PACKING_LZ4_BLOCK, 0 },
};

#define BODIES (sizeof(bodies) / sizeof(bodies[0]))

static size_t pack(const struct body *body, size_t size, uint8_t *out, size_t room)
{
	if (body->packing == SONDE_PACKING_LZ4_FRAME)
		return LZ4F_compressFrame(out, room, plain, size, NULL);
	if (body->packing == SONDE_PACKING_LZ4_BLOCK)
		return (size_t)LZ4_compress_default((const char *)plain, (char *)out, (int)size,
						    (int)room);
	return deflate_with(body->window, size, Z_FINISH, out, room);
}

/* At the limit all is well; one byte less is too little, and no more is taken. */
static void test_unpack(void **state)
{
	uint8_t *packed = malloc(LARGEST * 2);

	(void)state;
	for (size_t i = 0; i < BODIES; i++)
		for (size_t j = 0; j < SIZES; j++) {
			size_t size = pack(&bodies[i], sizes[j], packed, (size_t)LARGEST * 2);
			struct sonde_buffer out = { 0 };
			struct sonde_error err;

			assert_int_equal(
				sonde_unpack(bodies[i].packing, packed, size, sizes[j], &out, &err),
				SONDE_OK);
			assert_int_equal(out.size, sizes[j]);
			assert_true(out.capacity <= (sizes[j] ? sizes[j] : 1));
			if (sizes[j])
				assert_memory_equal(out.data, plain, sizes[j]);
			sonde_buffer_release(&out);
			if (!sizes[j])
				continue;
			assert_int_equal(sonde_unpack(bodies[i].packing, packed, size, sizes[j] - 1,
						      &out, &err),
					 SONDE_LIMIT);
			assert_int_equal(out.size, 0);
			assert_true(out.capacity < sizes[j]);
			sonde_buffer_release(&out);
		}
	free(packed);
}

/* Behind what is there already, and with room that is there already. */
static void test_unpack_appends(void **state)
{
	uint8_t packed[3000];

	(void)state;
	for (size_t i = 0; i < BODIES; i++) {
		size_t size = pack(&bodies[i], 1000, packed, sizeof(packed));
		struct sonde_buffer out = { 0 };

		sonde_buffer_put(&out, "before", 6);
		assert_non_null(sonde_buffer_reserve(&out, 300));
		assert_int_equal(sonde_unpack(bodies[i].packing, packed, size, 5000, &out, NULL),
				 SONDE_OK);
		assert_int_equal(out.size, 1006);
		assert_memory_equal(out.data, "before", 6);
		assert_memory_equal(out.data + 6, plain, 1000);
		assert_int_equal(sonde_unpack(bodies[i].packing, packed, size, 999, &out, NULL),
				 SONDE_LIMIT);
		assert_int_equal(out.size, 1006);
		sonde_buffer_release(&out);
	}
}

/* Cut anywhere; the bytes end where the memory does. */
static void test_unpack_cut(void **state)
{
	uint8_t packed[3000];

	(void)state;
	for (size_t i = 0; i < BODIES; i++) {
		size_t size = pack(&bodies[i], 1000, packed, sizeof(packed));

		for (size_t cut = 0; cut < size; cut++) {
			struct sonde_buffer out = { 0 };
			uint8_t *copy = malloc(cut + 1);
			struct sonde_error err;
			enum sonde_status status;

			memcpy(copy, packed, cut);
			status = sonde_unpack(bodies[i].packing, copy, cut, 5000, &out, &err);
			/* a bare block may be cut at the end of a sequence */
			if (bodies[i].packing == SONDE_PACKING_LZ4_BLOCK)
				assert_true(status == SONDE_CORRUPT || out.size < 1000);
			else
				assert_int_equal(status, SONDE_TRUNCATED);
			sonde_buffer_release(&out);
			free(copy);
		}
	}
}

static void test_unpack_behind_the_end(void **state)
{
	uint8_t packed[3000];

	(void)state;
	for (size_t i = 0; i < BODIES; i++) {
		size_t size = pack(&bodies[i], 1000, packed, sizeof(packed));
		struct sonde_buffer out = { 0 };

		memcpy(packed + size, "garbage", 7);
		assert_int_equal(
			sonde_unpack(bodies[i].packing, packed, size + 7, 5000, &out, NULL),
			SONDE_CORRUPT);
		assert_int_equal(out.size, 0);
		sonde_buffer_release(&out);
	}
}

/* Of gzip and of LZ4 several may follow each other; the limit is for all of them. */
static void test_unpack_members(void **state)
{
	static const struct body repeated[] = { { SONDE_PACKING_GZIP, 31 },
						{ SONDE_PACKING_LZ4_FRAME, 0 } };
	uint8_t packed[9000];

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct sonde_buffer out = { 0 };
		size_t size = 0;

		for (int member = 0; member < 3; member++)
			size += pack(&repeated[i], 1000, packed + size, sizeof(packed) - size);
		assert_int_equal(sonde_unpack(repeated[i].packing, packed, size, 3000, &out, NULL),
				 SONDE_OK);
		assert_int_equal(out.size, 3000);
		assert_memory_equal(out.data + 2000, plain, 1000);
		sonde_buffer_clear(&out);
		assert_int_equal(sonde_unpack(repeated[i].packing, packed, size, 2999, &out, NULL),
				 SONDE_LIMIT);
		sonde_buffer_release(&out);
	}
}

/* A bomb takes no more memory than the limit. */
static void test_unpack_bomb(void **state)
{
	size_t size = (size_t)64 << 20;
	uint8_t *zeros = calloc(1, size), *packed = malloc(size);
	struct sonde_buffer out = { 0 };
	uLongf packed_size = size;

	(void)state;
	assert_int_equal(compress(packed, &packed_size, zeros, size), Z_OK);
	assert_true(packed_size < 100000);
	assert_int_equal(sonde_unpack(SONDE_PACKING_ZLIB, packed, packed_size, 100000, &out, NULL),
			 SONDE_LIMIT);
	assert_true(out.capacity <= 100000);
	packed_size =
		(uLongf)LZ4_compress_default((char *)zeros, (char *)packed, (int)size, (int)size);
	assert_int_equal(
		sonde_unpack(SONDE_PACKING_LZ4_BLOCK, packed, packed_size, 100000, &out, NULL),
		SONDE_LIMIT);
	assert_true(out.capacity <= 100000);
	sonde_buffer_release(&out);
	free(zeros);
	free(packed);
}

/* Offsets of matches before the start, and a length that goes on for ever. */
static void test_lz4_hostile(void **state)
{
	static const struct {
		const char *bytes;
		size_t size;
	} blocks[] = {
		{ "", 0 },
		{ "\x10", 1 },
		{ "\xf0\xff\xff\xff", 4 },
		{ "\x14x\x05\x00\x50xxxxx", 10 },
		{ "\x1fx\x01\x00\xff\xff\xff", 7 },
		{ "\x14x\x01", 3 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++) {
		struct sonde_buffer out = { 0 };

		assert_int_equal(sonde_unpack(SONDE_PACKING_LZ4_BLOCK, blocks[i].bytes,
					      blocks[i].size, 5000, &out, NULL),
				 SONDE_CORRUPT);
		sonde_buffer_release(&out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_deflate_without_end),
		cmocka_unit_test(test_deflate_wrapped),
		cmocka_unit_test(test_lz4_exact),
		cmocka_unit_test(test_zstd_exact),
		cmocka_unit_test(test_unpack),
		cmocka_unit_test(test_unpack_appends),
		cmocka_unit_test(test_unpack_cut),
		cmocka_unit_test(test_unpack_behind_the_end),
		cmocka_unit_test(test_unpack_members),
		cmocka_unit_test(test_unpack_bomb),
		cmocka_unit_test(test_lz4_hostile),
	};

	return cmocka_run_group_tests(tests, make_plain, NULL);
}
