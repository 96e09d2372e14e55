/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compression, chunks and call trees of trace stores with each allocation and each reading system
 * call failing in turn. Allocations inside the compression libraries are not reached from here.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <lz4frame.h>
#include <string.h>
#include <zlib.h>

#include "../unit/scratch.h"
#include "base/crc.h"
#include "codec/codec.h"
#include "fault.h"
#include "formats/zts/zts_chunks.h"
#include "formats/zts/zts_tree.h"

#define PLAIN_SIZE 20000

static uint8_t plain[PLAIN_SIZE];

static int make_plain(void **state)
{
	for (size_t i = 0; i < PLAIN_SIZE; i++)
		plain[i] = (uint8_t)(i * i / 100);
	return make_scratch(state);
}

static enum sonde_status round_trip(void *user, struct sonde_error *err)
{
	static uint8_t again[PLAIN_SIZE];
	struct sonde_codec_state state = { 0 };
	struct sonde_buffer packed = { 0 };
	enum sonde_status status = SONDE_OK;

	(void)user;
	for (int codec = SONDE_CODEC_NONE; status >= 0 && codec <= SONDE_CODEC_LZ4; codec++) {
		sonde_buffer_clear(&packed);
		status = sonde_codec_compress(&state, (enum sonde_codec)codec, plain, PLAIN_SIZE,
					      &packed, err);
		if (status >= 0)
			status = sonde_codec_decompress(&state, (enum sonde_codec)codec,
							packed.data, packed.size, again, PLAIN_SIZE,
							err);
		if (status >= 0 && memcmp(plain, again, PLAIN_SIZE) != 0)
			status = sonde_fail(err, SONDE_CORRUPT, 0, "other bytes");
	}
	sonde_buffer_release(&packed);
	sonde_codec_state_release(&state);
	return status;
}

static void test_round_trip(void **state)
{
	(void)state;
	assert_true(fault_run_all(FAULT_ALLOCATION, &(struct fault_case){ .run = round_trip }) > 2);
}

struct body {
	enum sonde_packing packing;
	uint8_t bytes[PLAIN_SIZE * 2];
	size_t size;
};

static enum sonde_status unpack(void *user, struct sonde_error *err)
{
	const struct body *body = user;
	struct sonde_buffer out = { 0 };
	enum sonde_status status =
		sonde_unpack(body->packing, body->bytes, body->size, PLAIN_SIZE, &out, err);

	if (status >= 0 && (out.size != PLAIN_SIZE || memcmp(out.data, plain, PLAIN_SIZE) != 0))
		status = sonde_fail(err, SONDE_CORRUPT, 0, "other bytes");
	sonde_buffer_release(&out);
	return status;
}

static void test_unpack(void **state)
{
	static struct body body;
	struct sonde_codec_state codec = { 0 };
	struct sonde_buffer packed = { 0 };
	uLongf size = sizeof(body.bytes);

	(void)state;
	body.packing = SONDE_PACKING_ZLIB;
	assert_int_equal(compress(body.bytes, &size, plain, PLAIN_SIZE), Z_OK);
	body.size = size;
	assert_true(fault_run_all(FAULT_ALLOCATION,
				  &(struct fault_case){ .run = unpack, .user = &body }) > 1);
	body.packing = SONDE_PACKING_LZ4_FRAME;
	body.size = LZ4F_compressFrame(body.bytes, sizeof(body.bytes), plain, PLAIN_SIZE, NULL);
	assert_true(fault_run_all(FAULT_ALLOCATION,
				  &(struct fault_case){ .run = unpack, .user = &body }) > 1);
	body.packing = SONDE_PACKING_LZ4_BLOCK;
	sonde_codec_compress(&codec, SONDE_CODEC_LZ4, plain, PLAIN_SIZE, &packed, NULL);
	memcpy(body.bytes, packed.data, packed.size);
	body.size = packed.size;
	assert_int_equal(fault_run_all(FAULT_ALLOCATION,
				       &(struct fault_case){ .run = unpack, .user = &body }),
			 1);
	sonde_buffer_release(&packed);
	sonde_codec_state_release(&codec);
}

/* Traces with one of everything that takes memory, often enough for arrays to grow. */
static void put_traces(struct sonde_buffer *bytes)
{
	static const char trace[] = "\xc8\x9f\xce\xa1\x0c\x05\xce\xa1\x0e\x02\xce\xa1\x05\x18\x64"
				    "\xce\xa1\x07\x03\xc9\xa1\xc6\x01\xc6\x02\xc9\xbf\x01\x02\xff"
				    "\xd8\x22\x80\xd8\x26\x82\x01\xa0\xc8\x9f\xff\xff";

	for (int i = 0; i < 20; i++)
		sonde_buffer_put(bytes, trace, sizeof(trace) - 1);
}

static void put_chunk(struct sonde_buffer *file, struct sonde_codec_state *codec,
		      const struct sonde_buffer *content, bool right)
{
	struct sonde_buffer packed = { 0 };
	struct zts_chunk chunk = { .size = (uint32_t)content->size };
	uint8_t header[16];

	sonde_codec_compress(codec, SONDE_CODEC_DEFLATE, content->data, content->size, &packed,
			     NULL);
	chunk.stored_size = (uint32_t)packed.size;
	zts_put_chunk_header(header, &chunk);
	header[0] = right ? 'Z' : 'X';
	sonde_buffer_put(file, header, sizeof(header));
	sonde_buffer_put(file, packed.data, packed.size);
	sonde_buffer_release(&packed);
}

/* Two chunks with a damaged one between them, without checksums. */
static void put_data_file(const char *path)
{
	struct sonde_buffer file = { 0 }, content = { 0 };
	struct sonde_codec_state codec = { 0 };
	uint8_t header[16];

	put_traces(&content);
	zts_put_data_header(header, 1);
	sonde_buffer_put(&file, header, sizeof(header));
	put_chunk(&file, &codec, &content, true);
	put_chunk(&file, &codec, &content, false);
	put_chunk(&file, &codec, &content, true);
	put_bytes(path, file.data, file.size);
	sonde_buffer_release(&content);
	sonde_buffer_release(&file);
	sonde_codec_state_release(&codec);
}

static enum sonde_status count_attributes(const struct zts_tree *tree, unsigned int *count,
					  struct sonde_error *err)
{
	for (uint32_t i = 0; i < tree->records.count; i++) {
		struct zts_attribute_cursor cursor = { .tree = tree, .record = i };
		enum sonde_status status;

		while (!(status = zts_attribute_next(&cursor, err)))
			++*count;
		if (status < 0)
			return status;
	}
	return SONDE_OK;
}

static enum sonde_status read_all(void *user, struct sonde_error *err)
{
	struct sonde_codec_state codec = { 0 };
	struct sonde_buffer content = { 0 };
	struct zts_tree tree = { 0 };
	struct zts_chunks chunks;
	struct zts_chunk chunk;
	unsigned int found = 0, attributes = 0;
	uint64_t offset = 0;
	enum sonde_status status = zts_chunks_open(&chunks, user, err);

	while (status == SONDE_OK) {
		status = zts_chunks_resync(&chunks, &codec, offset, &chunk, err);
		if (status)
			break;
		offset = zts_chunk_next(&chunk);
		sonde_buffer_clear(&content);
		status = zts_chunks_read(&chunks, &codec, &chunk, &content, err);
		if (status < 0)
			break;
		status = zts_tree_decode(&tree, (const uint8_t *)content.data, content.size, err);
		if (status < 0)
			break;
		found += (unsigned int)tree.records.count;
		status = count_attributes(&tree, &attributes, err);
	}
	if (status >= 0 && (found != 80 || attributes != 80))
		status = sonde_fail(err, SONDE_CORRUPT, 0, "other traces");
	zts_tree_release(&tree);
	sonde_buffer_release(&content);
	sonde_codec_state_release(&codec);
	zts_chunks_release(&chunks);
	return status;
}

static void test_chunks_and_trees(void **state)
{
	static char path[256];
	struct fault_case fault_case = { .run = read_all, .user = path };
	struct sonde_error err;

	(void)state;
	strncpy(path, scratch_path("traces.dat"), sizeof(path) - 1);
	put_data_file(path);
	assert_int_equal(read_all(path, &err), SONDE_END);
	assert_true(fault_run_all(FAULT_ALLOCATION, &fault_case) > 15);
	assert_int_equal(fault_run_all(FAULT_INPUT, &fault_case), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_unpack),
		cmocka_unit_test(test_chunks_and_trees),
	};

	return cmocka_run_group_tests(tests, make_plain, remove_scratch);
}
