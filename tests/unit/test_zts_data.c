/* SPDX-License-Identifier: Apache-2.0 */
/*
 * traces.dat: chunks in every codec, headers that lie, damage and what is found behind it. With
 * SONDE_CORPUS set, the chunks and records of all real stores are counted and compared with what
 * the existing program says.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../zts_tree_same.h"
#include "base/crc.h"
#include "formats/zts/zts_chunks.h"
#include "formats/zts/zts_layout.h"
#include "formats/zts/zts_tree_private.h"
#include "scratch.h"
#include "zts_bytes.h"

/* A file of chunks made here. */
struct made {
	struct sonde_buffer bytes;
	struct sonde_codec_state codec;
	uint64_t offsets[16];
	size_t count;
};

static void made_begin(struct made *made, uint32_t flags)
{
	uint8_t header[16];

	*made = (struct made){ 0 };
	zts_put_data_header(header, flags);
	sonde_buffer_put(&made->bytes, header, sizeof(header));
}

static void made_add(struct made *made, enum sonde_codec codec, const void *data, size_t size,
		     bool with_crc)
{
	struct sonde_buffer packed = { 0 };
	struct zts_chunk chunk = { .size = (uint32_t)size };
	uint8_t header[16];

	assert_int_equal(sonde_codec_compress(&made->codec, codec, data, size, &packed, NULL),
			 SONDE_OK);
	chunk.stored_size = (uint32_t)packed.size;
	if (with_crc)
		chunk.crc = sonde_crc32(0, packed.data, packed.size);
	zts_put_chunk_header(header, &chunk);
	made->offsets[made->count++] = made->bytes.size;
	sonde_buffer_put(&made->bytes, header, sizeof(header));
	sonde_buffer_put(&made->bytes, packed.data, packed.size);
	sonde_buffer_release(&packed);
}

static void made_open(struct made *made, struct zts_chunks *chunks)
{
	put_bytes("traces.dat", made->bytes.data, made->bytes.size);
	assert_int_equal(zts_chunks_open(chunks, "traces.dat", NULL), SONDE_OK);
}

static void made_release(struct made *made)
{
	sonde_buffer_release(&made->bytes);
	sonde_codec_state_release(&made->codec);
}

/* All flags, with chunks of each codec: what the header says and what is there need not agree. */
static void test_codecs(void **state)
{
	static const uint32_t flags[] = { 0x00, 0x01, 0x02, 0x10, 0x11, 0x12, 0x1f };
	uint8_t bytes[512];
	size_t size = from_hex(WHOLE, bytes);

	(void)state;
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		struct zts_chunks chunks;
		struct zts_chunk chunk = { 0 };
		struct sonde_buffer out = { 0 };
		enum sonde_codec used;
		struct made made;
		uint64_t offset = 16;

		made_begin(&made, flags[i]);
		for (int codec = SONDE_CODEC_NONE; codec <= SONDE_CODEC_LZ4; codec++)
			made_add(&made, (enum sonde_codec)codec, bytes, size, flags[i] & 0x10);
		made_open(&made, &chunks);
		assert_int_equal(chunks.flags, flags[i]);
		assert_int_equal(chunks.has_crc, flags[i] >> 4);
		for (int codec = SONDE_CODEC_NONE; codec <= SONDE_CODEC_LZ4; codec++) {
			assert_int_equal(zts_chunks_at(&chunks, offset, &chunk, NULL), SONDE_OK);
			sonde_buffer_clear(&out);
			assert_int_equal(zts_chunks_read_any(&chunks, &made.codec, &chunk, &out,
							     &used, NULL),
					 SONDE_OK);
			assert_int_equal(used, codec);
			assert_int_equal(out.size, size);
			assert_memory_equal(out.data, bytes, size);
			offset = zts_chunk_next(&chunk);
		}
		assert_int_equal(zts_chunks_at(&chunks, offset, &chunk, NULL), SONDE_END);
		zts_chunks_release(&chunks);
		sonde_buffer_release(&out);
		made_release(&made);
	}
}

static void test_headers(void **state)
{
	struct zts_chunks chunks;
	struct zts_chunk chunk;
	struct sonde_error err;
	struct made made;

	(void)state;
	assert_int_equal(zts_chunks_open(&chunks, "absent", &err), SONDE_IO);
	put_file("traces.dat", "");
	assert_int_equal(zts_chunks_open(&chunks, "traces.dat", &err), SONDE_FORMAT);
	put_file("traces.dat", "ZTS1aaaabbbbcccc");
	assert_int_equal(zts_chunks_open(&chunks, "traces.dat", &err), SONDE_FORMAT);
	assert_string_equal(err.file, "traces.dat");
	made_begin(&made, 0x10);
	made_open(&made, &chunks);
	assert_int_equal(zts_chunks_at(&chunks, 16, &chunk, &err), SONDE_END);
	assert_int_equal(zts_chunks_at(&chunks, 17, &chunk, &err), SONDE_TRUNCATED);
	/* what a writer appended is seen after refresh */
	made_add(&made, SONDE_CODEC_NONE, "\xc8\x9f\xff", 3, true);
	put_bytes("traces.dat", made.bytes.data, made.bytes.size);
	assert_int_equal(zts_chunks_refresh(&chunks, &err), SONDE_OK);
	assert_int_equal(zts_chunks_at(&chunks, 16, &chunk, &err), SONDE_OK);
	assert_int_equal(chunk.size, 3);
	assert_int_equal(zts_chunks_at(&chunks, 15, &chunk, &err), SONDE_CORRUPT);
	assert_string_equal(err.file, "traces.dat");
	for (size_t cut = 17; cut < made.bytes.size; cut++) {
		put_bytes("traces.dat", made.bytes.data, cut);
		assert_int_equal(zts_chunks_refresh(&chunks, &err), SONDE_OK);
		assert_int_equal(zts_chunks_at(&chunks, 16, &chunk, &err), SONDE_TRUNCATED);
	}
	zts_chunks_release(&chunks);
	made_release(&made);
}

/* Sizes that lie take no memory, and are refused. */
static void test_sizes_that_lie(void **state)
{
	static const uint32_t wrong[] = { 0, 1, 2, 4, 100000, 0x10000001, 0xffffffff };

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		for (int codec = SONDE_CODEC_NONE; codec <= SONDE_CODEC_LZ4; codec++) {
			struct sonde_buffer out = { 0 };
			struct zts_chunks chunks;
			struct zts_chunk chunk;
			struct made made;

			made_begin(&made, (uint32_t)codec | 0x10);
			made_add(&made, (enum sonde_codec)codec, "\xc8\x9f\xff", 3, true);
			made_open(&made, &chunks);
			assert_int_equal(zts_chunks_at(&chunks, 16, &chunk, NULL), SONDE_OK);
			chunk.size = wrong[i];
			assert_int_equal(zts_chunks_read(&chunks, &made.codec, &chunk, &out, NULL),
					 wrong[i] > ZTS_CHUNK_MAX_SIZE ? SONDE_LIMIT :
									 SONDE_CORRUPT);
			assert_true(out.capacity < 10000);
			sonde_buffer_release(&out);
			zts_chunks_release(&chunks);
			made_release(&made);
		}
}

/* After damage at any byte of a chunk in the middle, the others are found. */
static void test_resync(void **state)
{
	static const uint32_t flags[] = { 0x00, 0x01, 0x02, 0x10, 0x11, 0x12 };
	static const enum sonde_codec codecs[] = { SONDE_CODEC_NONE, SONDE_CODEC_DEFLATE,
						   SONDE_CODEC_LZ4 };
	uint8_t bytes[512];
	size_t size = from_hex(WHOLE, bytes);

	(void)state;
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		struct zts_chunks chunks;
		struct zts_chunk chunk = { 0 };
		struct made made;

		made_begin(&made, flags[i]);
		for (int number = 0; number < 4; number++)
			made_add(&made, codecs[flags[i] & 3], bytes, size, flags[i] & 0x10);
		for (uint64_t hit = made.offsets[1]; hit < made.offsets[2]; hit++) {
			made.bytes.data[hit] ^= 0x55;
			made_open(&made, &chunks);
			assert_int_equal(zts_chunks_resync(&chunks, &made.codec,
							   made.offsets[1] + 1, &chunk, NULL),
					 SONDE_OK);
			assert_int_equal(chunk.offset, made.offsets[2]);
			assert_int_equal(chunk.size, size);
			assert_int_equal(zts_chunks_resync(&chunks, &made.codec,
							   made.offsets[3] + 1, &chunk, NULL),
					 SONDE_END);
			/* from the start on: the first one */
			assert_int_equal(zts_chunks_resync(&chunks, &made.codec, 0, &chunk, NULL),
					 SONDE_OK);
			assert_int_equal(chunk.offset, made.offsets[0]);
			zts_chunks_release(&chunks);
			made.bytes.data[hit] ^= 0x55;
		}
		/* cut: the last one is not whole */
		made.bytes.size--;
		made_open(&made, &chunks);
		assert_int_equal(
			zts_chunks_resync(&chunks, &made.codec, made.offsets[2] + 1, &chunk, NULL),
			SONDE_END);
		zts_chunks_release(&chunks);
		made_release(&made);
	}
}

/* A chunk with bytes inside that look like headers of others is found all the same. */
static void test_resync_inside(void **state)
{
	uint8_t content[200] = { 0xc8, 0x9f, 0xc9, 0xa1, 0x01, 0x58, 0xa0 };
	struct zts_chunks chunks;
	struct zts_chunk chunk;
	struct made made;

	(void)state;
	for (int i = 0; i < 8; i++)
		memcpy(content + 7 + 20 * i, "ZCH0\0\0\0\5\0\0\0\5", 12);
	made_begin(&made, 0x10);
	made_add(&made, SONDE_CODEC_NONE, content, sizeof(content), true);
	made_open(&made, &chunks);
	assert_int_equal(zts_chunks_resync(&chunks, &made.codec, 16, &chunk, NULL), SONDE_OK);
	assert_int_equal(chunk.offset, 16);
	zts_chunks_release(&chunks);
	made_release(&made);
}

/* A checksum that differs is told, whatever the content. */
static void test_crc(void **state)
{
	struct sonde_buffer out = { 0 };
	struct zts_chunks chunks;
	struct zts_chunk chunk;
	struct sonde_error err;
	struct made made;

	(void)state;
	made_begin(&made, 0x10);
	made_add(&made, SONDE_CODEC_NONE, "\xc8\x9f\xff", 3, true);
	made.bytes.data[made.bytes.size - 1] = 0;
	made_open(&made, &chunks);
	assert_int_equal(zts_chunks_at(&chunks, 16, &chunk, NULL), SONDE_OK);
	assert_int_equal(zts_chunks_read(&chunks, &made.codec, &chunk, &out, &err), SONDE_CORRUPT);
	assert_non_null(strstr(err.message, "checksum"));
	assert_int_equal(err.offset, 16);
	assert_int_equal(out.size, 0);
	zts_chunks_release(&chunks);
	sonde_buffer_release(&out);
	made_release(&made);
}

/* Headers that the end of the file cuts, at the end of a page; and one of a chunk without bytes. */
static void test_resync_no_chunk(void **state)
{
	struct sonde_codec_state codec = { 0 };
	uint8_t bytes[4096];
	struct zts_chunk chunk = { .size = 5 };

	(void)state;
	for (size_t left = 1; left <= 17; left++) {
		uint8_t header[17] = { 0 };
		struct zts_chunks chunks;

		memset(bytes, 'x', sizeof(bytes));
		zts_put_data_header(bytes, 0x10);
		zts_put_chunk_header(header, &chunk);
		memcpy(bytes + sizeof(bytes) - left, header, left);
		put_bytes("traces.dat", bytes, sizeof(bytes));
		assert_int_equal(zts_chunks_open(&chunks, "traces.dat", NULL), SONDE_OK);
		assert_int_equal(zts_chunks_resync(&chunks, &codec, 16, &chunk, NULL), SONDE_END);
		chunk = (struct zts_chunk){ .size = 5 };
		zts_chunks_release(&chunks);
	}
	sonde_codec_state_release(&codec);
}

/* Nothing but headers, each of which says that all the rest is its chunk: an end in linear time. */
static void test_resync_hostile(void **state)
{
	size_t size = 4 << 20;
	uint8_t *bytes = malloc(size);

	(void)state;
	for (uint32_t flags = 0; flags < 0x13; flags += flags == 2 ? 14 : 1) {
		struct sonde_codec_state codec = { 0 };
		struct zts_chunks chunks;
		struct zts_chunk chunk;
		uint64_t offset = 16;

		zts_put_data_header(bytes, flags);
		for (size_t i = 16; i < size; i += 16) {
			chunk = (struct zts_chunk){ .stored_size = (uint32_t)(size - i - 16),
						    .size = (uint32_t)(size - i - 16),
						    .crc = 1 };
			zts_put_chunk_header(bytes + i, &chunk);
		}
		put_bytes("traces.dat", bytes, size);
		assert_int_equal(zts_chunks_open(&chunks, "traces.dat", NULL), SONDE_OK);
		while (zts_chunks_resync(&chunks, &codec, offset, &chunk, NULL) == SONDE_OK)
			offset = zts_chunk_next(&chunk);
		zts_chunks_release(&chunks);
		sonde_codec_state_release(&codec);
	}
	free(bytes);
}

/* What a walk over a part of a store saw. */
struct walk {
	uint64_t chunks, stored, bytes, records, open;
};

static void walk_part(const char *path, struct walk *walk, uint32_t *flags, uint64_t *length)
{
	struct sonde_codec_state codec = { 0 };
	struct sonde_buffer content = { 0 };
	struct zts_tree tree = { 0 }, again = { 0 };
	struct zts_chunks chunks;
	struct zts_chunk chunk;
	struct sonde_error err;
	enum sonde_status status;
	uint64_t offset = 16;

	assert_int_equal(zts_chunks_open(&chunks, path, &err), SONDE_OK);
	*flags = chunks.flags;
	*length = chunks.file.size;
	while (!(status = zts_chunks_at(&chunks, offset, &chunk, &err))) {
		offset = zts_chunk_next(&chunk);
		walk->chunks++;
		walk->stored += chunk.stored_size;
		walk->bytes += chunk.size;
		assert_int_equal(zts_chunks_read(&chunks, &codec, &chunk, &content, &err),
				 SONDE_OK);
		assert_int_equal(
			zts_tree_decode(&tree, (const uint8_t *)content.data, content.size, &err),
			SONDE_OK);
		assert_true(zts_tree_is_sound(&tree));
		assert_int_equal(zts_tree_decode_slowly(&again, (const uint8_t *)content.data,
							content.size, &err),
				 SONDE_OK);
		assert_true(zts_same_tree(&tree, &again));
		assert_int_equal(tree.unknown, 0);
		if (tree.open)
			continue;
		walk->records += tree.records.count;
		sonde_buffer_clear(&content);
	}
	assert_int_equal(status, SONDE_END);
	walk->open += tree.open;
	zts_tree_release(&tree);
	zts_tree_release(&again);
	sonde_buffer_release(&content);
	sonde_codec_state_release(&codec);
	zts_chunks_release(&chunks);
}

/* The number behind `name` in a line of the dump. */
static uint64_t number_of(const char *line, const char *name)
{
	const char *place = strstr(line, name);

	assert_non_null(place);
	return strtoull(place + strlen(name), NULL, 0);
}

/* The lines FILE and WALK of the dump follow each other, part by part; WALK has totals so far. */
static void check_store(const char *folder, FILE *dump)
{
	struct walk walk = { 0 };
	char line[4096], part[64], path[512];
	uint32_t flags = 0;
	uint64_t length = 0;

	while (fgets(line, sizeof(line), dump)) {
		if (sscanf(line, "STORE\t%60s", part) == 1) {
			snprintf(path, sizeof(path), "%s/%s/traces.dat", folder, part);
			walk_part(path, &walk, &flags, &length);
		} else if (!strncmp(line, "FILE\t", 5)) {
			assert_int_equal(number_of(line, "flags="), flags);
			assert_int_equal(number_of(line, "length="), length);
		} else if (!strncmp(line, "WALK\t", 5)) {
			assert_int_equal(number_of(line, "chunks="), walk.chunks);
			assert_int_equal(number_of(line, "cbytes="), walk.stored);
			assert_int_equal(number_of(line, "lbytes="), walk.bytes);
			assert_int_equal(number_of(line, "records="), walk.records);
			assert_int_equal(number_of(line, "open="), walk.open);
		}
	}
	assert_true(walk.chunks > 0);
}

static void test_corpus(void **state)
{
	static const char *const stores[] = { "hand-v1-minimal", "v1-small-0x11",
					      "v1-small-archived", "v1-small-chunked",
					      "v2-small-0x11" };
	const char *corpus = getenv("SONDE_CORPUS");
	struct walk plain = { 0 }, packed = { 0 };
	char folder[300], path[400];
	uint32_t flags;
	uint64_t length;

	(void)state;
	if (!corpus)
		return;
	for (size_t i = 0; i < sizeof(stores) / sizeof(stores[0]); i++) {
		FILE *dump;

		snprintf(folder, sizeof(folder), "%s/zts/%s", corpus, stores[i]);
		snprintf(path, sizeof(path), "%s/zts/expected/%s.tree.txt", corpus, stores[i]);
		dump = fopen(path, "re");
		assert_non_null(dump);
		check_store(folder, dump);
		fclose(dump);
	}
	/* the same traces, without a dump of their own */
	snprintf(path, sizeof(path), "%s/zts/v1-small-0x00/000000/traces.dat", corpus);
	walk_part(path, &plain, &flags, &length);
	assert_int_equal(flags, 0);
	snprintf(path, sizeof(path), "%s/zts/v1-small-0x12/000000/traces.dat", corpus);
	walk_part(path, &packed, &flags, &length);
	assert_int_equal(flags, 0x12);
	assert_int_equal(plain.records, 343);
	assert_int_equal(packed.records, 343);
	assert_int_equal(plain.bytes, 9476);
	assert_int_equal(packed.bytes, 9476);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, enter_folder, leave_folder)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_FOLDER(test_codecs),
		IN_FOLDER(test_headers),
		IN_FOLDER(test_sizes_that_lie),
		IN_FOLDER(test_resync),
		IN_FOLDER(test_resync_inside),
		IN_FOLDER(test_resync_hostile),
		IN_FOLDER(test_crc),
		IN_FOLDER(test_resync_no_chunk),
		cmocka_unit_test(test_corpus),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
