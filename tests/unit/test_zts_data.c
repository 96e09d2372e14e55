/* SPDX-License-Identifier: Apache-2.0 */
/*
 * traces.dat and the call trees in it: bytes made by hand for every item that stores and agents have,
 * faults at every place, damage and what is found behind it. With SONDE_CORPUS set, the chunks and
 * records of all real stores are counted and compared with what the existing program says.
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
#include "formats/zts/zts_tree_decoder.h"
#include "scratch.h"

/* Bytes written as hexadecimal digits; anything else between them is passed over. */
static size_t from_hex(const char *text, uint8_t *out)
{
	size_t digits = 0;

	for (; *text; text++) {
		static const char all[] = "0123456789abcdef";
		const char *digit = strchr(all, *text);
		uint8_t value;

		if (!digit)
			continue;
		value = (uint8_t)(digit - all);
		out[digits / 2] = (uint8_t)(digits % 2 ? out[digits / 2] << 4 | value : value);
		digits++;
	}
	assert_int_equal(digits % 2, 0);
	return digits / 2;
}

static uint8_t input[4096];

/*
 * Decodes from memory that ends where the bytes do, so that a sanitizer sees more; both ways, with the
 * same outcome, and with what always holds.
 */
static enum sonde_status decode_bytes(struct zts_tree *tree, const uint8_t *bytes, size_t size,
				      struct sonde_error *err)
{
	uint8_t *copy = malloc(size ? size : 1);
	struct sonde_error first = { 0 }, second = { 0 };
	struct zts_tree again = { 0 };
	enum sonde_status status;

	free((void *)tree->bytes);
	memcpy(copy, bytes, size);
	status = zts_tree_decode(tree, copy, size, &first);
	assert_int_equal(zts_tree_decode_slowly(&again, copy, size, &second), status);
	assert_true(zts_same_tree(tree, &again));
	assert_true(zts_tree_is_sound(tree));
	assert_true(first.offset == second.offset);
	zts_tree_release(&again);
	if (err)
		*err = first;
	return status;
}

static enum sonde_status decode_hex(struct zts_tree *tree, const char *text,
				    struct sonde_error *err)
{
	return decode_bytes(tree, input, from_hex(text, input), err);
}

static void release(struct zts_tree *tree)
{
	free((void *)tree->bytes);
	zts_tree_release(tree);
}

/* As existing programs write it: a trace, an attribute of each kind, two calls, one with a fault. */
#define WHOLE                                                                                      \
	"c89f cea10c05 cea10e19012c cea1051b0000016a73440df6 cea10705 cea10b08"                    \
	" c9a3 c607c610 c6081901a9 c609f5"                                                         \
	"  c89f cea10c06 cea10e02 cea10d07 cea10901 ff"                                            \
	"  c89f cea10c07 cea10e03"                                                                 \
	"    c89f cea10c07 cea10e04 cea1051903e8 cea1121b0123456789abcdef cea11118ff"              \
	"    c9a1c6181ac618ff d823187b cea10d1a00010000 cea109187f ff"                             \
	"  cea10d1a00010001 cea1091880 ff"                                                         \
	" cea10d1a7ffffffe cea1091b0000000100000000 ff"

static void test_whole(void **state)
{
	struct zts_tree tree = { 0 };
	const struct zts_record *record;
	struct sonde_error err;

	(void)state;
	assert_int_equal(decode_hex(&tree, WHOLE, &err), SONDE_OK);
	assert_int_equal(tree.records.count, 4);
	assert_int_equal(tree.open, 0);
	assert_int_equal(tree.unopened, 0);
	assert_false(tree.document_spelling);
	record = &tree.records.items[0];
	assert_int_equal(record->start, 5);
	assert_int_equal(record->stop, 0x7ffffffe);
	assert_int_equal(record->calls, 0x100000000);
	assert_int_equal(record->method, 300);
	assert_int_equal(record->parent, SONDE_NONE);
	assert_int_equal(record->depth, 0);
	assert_int_equal(record->records, 4);
	assert_int_equal(record->flags, ZTS_RECORD_ERROR);
	assert_int_equal(record->exception, 0);
	assert_int_equal(record->inline_exception, SONDE_NONE);
	assert_int_equal(record->trace, 0);
	assert_int_equal(record->offset, 0);
	record = &tree.records.items[1];
	assert_int_equal(record->parent, 0);
	assert_int_equal(record->depth, 1);
	assert_int_equal(record->records, 1);
	assert_int_equal(record->stop, 7);
	assert_int_equal(record->calls, 1);
	assert_int_equal(record->trace, SONDE_NONE);
	assert_int_equal(record->attributes, SONDE_NONE);
	record = &tree.records.items[2];
	assert_int_equal(record->parent, 0);
	assert_int_equal(record->records, 2);
	record = &tree.records.items[3];
	assert_int_equal(record->parent, 2);
	assert_int_equal(record->depth, 2);
	assert_int_equal(record->exception, 123);
	assert_int_equal(record->trace, 1);
	assert_int_equal(record->stop, 65536);
	assert_int_equal(tree.bytes[record->offset], 0xc8);
	assert_int_equal(tree.traces.count, 2);
	assert_int_equal(tree.traces.items[0].timestamp_ms, 1556712001014);
	assert_int_equal(tree.traces.items[0].type, 5);
	assert_true(tree.traces.items[0].has_type);
	assert_false(tree.traces.items[0].has_span);
	assert_int_equal(tree.traces.items[1].record, 3);
	assert_int_equal(tree.traces.items[1].timestamp_ms, 1000);
	assert_int_equal(tree.traces.items[1].span, 0x0123456789abcdef);
	assert_int_equal(tree.traces.items[1].parent, 255);
	assert_true(tree.traces.items[1].has_span);
	release(&tree);
}

/* What a record's attributes are, as a text: "key=value;" with the value's bytes. */
static const char *attributes_of(const struct zts_tree *tree, uint32_t record)
{
	static char text[1024];
	struct zts_attribute_cursor cursor = { .tree = tree, .record = record };
	enum sonde_status status;
	size_t used = 0;

	text[0] = '\0';
	while (!(status = zts_attribute_next(&cursor, NULL))) {
		if (cursor.key_text)
			used += (size_t)snprintf(text + used, sizeof(text) - used,
						 "\"%.*s\"=", (int)cursor.key_size,
						 (const char *)cursor.key_text);
		else
			used += (size_t)snprintf(text + used, sizeof(text) - used,
						 "%u=", cursor.key);
		for (size_t i = 0; i < cursor.value.size; i++)
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%02x",
						 cursor.value.data[i]);
		used += (size_t)snprintf(text + used, sizeof(text) - used, ";");
	}
	assert_int_equal(status, SONDE_END);
	assert_int_equal(zts_attribute_next(&cursor, NULL), SONDE_END);
	return text;
}

static void test_attributes(void **state)
{
	struct zts_tree tree = { 0 };

	(void)state;
	assert_int_equal(decode_hex(&tree, WHOLE, NULL), SONDE_OK);
	assert_string_equal(attributes_of(&tree, 0), "7=c610;8=1901a9;9=f5;");
	assert_string_equal(attributes_of(&tree, 1), "");
	assert_string_equal(attributes_of(&tree, 3), "26=c618ff;");
	/* several maps, nesting, texts as keys, indefinite lengths, keys that are none, no tag */
	assert_int_equal(
		decode_hex(&tree,
			   "c89f c9a1c601a2c60282c603f6c604a0 c9a0"
			   " c89f c9a10b19ffff ff"
			   " c9bf 63616263 9f01c602ff  f6 01  c605 1b0102030405060708 ff"
			   " c9a1 7f6161ff 01 c9a1 6178 7820"
			   " 3030303030303030303030303030303030303030303030303030303030303030"
			   " ff",
			   NULL),
		SONDE_OK);
	assert_string_equal(attributes_of(&tree, 0),
			    "1=a2c60282c603f6c604a0;\"abc\"=9f01c602ff;5=1b0102030405060708;\"x\"="
			    "7820"
			    "3030303030303030303030303030303030303030303030303030303030303030;");
	assert_string_equal(attributes_of(&tree, 1), "11=19ffff;");
	release(&tree);
}

/* The document's tags: the same tree. */
static void test_document_spelling(void **state)
{
	struct zts_tree tree = { 0 };

	(void)state;
	assert_int_equal(decode_hex(&tree,
				    "c89f c2a40c050e c61863 0519 03e8 0707 c3a1c601c602"
				    " c89f c2a10c06 c2a10e02 c2a10d07 ff"
				    " c2bf 0d0a 0903 ff ff",
				    NULL),
			 SONDE_OK);
	assert_true(tree.document_spelling);
	assert_int_equal(tree.records.count, 2);
	assert_int_equal(tree.records.items[0].method, 99);
	assert_int_equal(tree.records.items[0].stop, 10);
	assert_int_equal(tree.records.items[0].calls, 3);
	assert_int_equal(tree.records.items[1].stop, 7);
	assert_int_equal(tree.traces.items[0].timestamp_ms, 1000);
	assert_int_equal(tree.traces.items[0].type, 7);
	assert_string_equal(attributes_of(&tree, 0), "1=c602;");
	release(&tree);
}

/* Prolog, epilog, begin, flags, exceptions and attributes for further up, as agents send them. */
static void test_agents(void **state)
{
	struct zts_tree tree = { 0 };
	const struct zts_record *records;
	struct sonde_error err = { 0 };

	(void)state;
	assert_int_equal(decode_hex(&tree,
				    "c89f ca48 00000c 0000000005 d821821903e807"
				    " c89f cb48 0600000000 0d0000 d821831903e91b0100000000000009 05"
				    "  c89f ca48 00000e 0000000007 d8268218 2a a1c601c602"
				    "   d822851801c6021861f680 cf08 d82584c1c2010203f4"
				    "   cc48 000003 0000000009 ff"
				    "  cd50 0800000000000000 0000000001000000 ff"
				    " d82682f6bf0405ff cc50 0000000000000a00 00000001 00000002 ff"
				    "c89f d821821903e81bffffffffffffffff ff"
				    "c89f d8268201a10102 ff",
				    &err),
			 SONDE_OK);
	records = tree.records.items;
	assert_int_equal(tree.records.count, 5);
	assert_int_equal(records[0].method, 12);
	assert_int_equal(records[0].start, 5);
	assert_int_equal(records[0].stop, 0xa00);
	assert_int_equal(records[0].calls, 0x100000002);
	assert_int_equal(records[1].method, 13);
	assert_int_equal(records[1].start, 6);
	assert_int_equal(records[1].stop, 8);
	assert_int_equal(records[1].calls, 0x100000000);
	assert_int_equal(records[2].method, 14);
	assert_int_equal(records[2].stop, 9);
	assert_int_equal(records[2].calls, 3);
	assert_int_equal(records[2].flags, 8);
	assert_int_equal(records[2].inline_exception, 0);
	assert_int_equal(tree.exceptions.items[0].size, 9);
	assert_int_equal(tree.bytes[tree.exceptions.items[0].offset], 0x85);
	assert_int_equal(tree.unknown, 1);
	assert_int_equal(tree.traces.count, 3);
	assert_int_equal(tree.traces.items[0].type, 7);
	assert_false(tree.traces.items[0].has_span);
	assert_int_equal(tree.traces.items[1].span, 0x0100000000000009);
	assert_int_equal(tree.traces.items[1].parent, 5);
	assert_false(tree.traces.items[1].has_type);
	assert_int_equal(tree.traces.items[2].span, UINT64_MAX);
	assert_string_equal(attributes_of(&tree, 0), "4=05;");
	assert_string_equal(attributes_of(&tree, 1), "1=c602;");
	assert_string_equal(attributes_of(&tree, 2), "");
	assert_string_equal(attributes_of(&tree, 4), "1=02;");
	release(&tree);
}

/* Type, span and parent also of records that begin no trace, in any order. */
static void test_identities(void **state)
{
	struct zts_tree tree = { 0 };
	const struct zts_identity *identity;

	(void)state;
	assert_int_equal(decode_hex(&tree,
				    "c89f cea11209 cea10704"
				    " c89f cea11107 cea11228 cea10d05 ff"
				    " cea10518c8 cea11106 ff",
				    NULL),
			 SONDE_OK);
	assert_int_equal(tree.identities.count, 2);
	identity = &tree.identities.items[tree.records.items[1].identity];
	assert_int_equal(identity->record, 1);
	assert_int_equal(identity->parent, 7);
	assert_int_equal(identity->span, (uint64_t)-9);
	assert_false(identity->has_type);
	assert_int_equal(tree.records.items[1].trace, SONDE_NONE);
	assert_int_equal(tree.traces.count, 1);
	assert_int_equal(tree.traces.items[0].timestamp_ms, 200);
	assert_int_equal(tree.traces.items[0].span, 9);
	assert_int_equal(tree.traces.items[0].type, 4);
	assert_int_equal(tree.traces.items[0].parent, 6);
	release(&tree);
}

/* What cannot stand in a trace, with the place. */
static void test_faults(void **state)
{
	static const struct {
		const char *text;
		enum sonde_status status;
		uint64_t offset;
	} faults[] = {
		{ "c89f 05 ff", SONDE_CORRUPT, 2 },
		{ "c89f a10c05 ff", SONDE_CORRUPT, 2 },
		{ "c882 cea10c05 cea10d06", SONDE_CORRUPT, 1 },
		{ "c89f ce820c05 ff", SONDE_CORRUPT, 3 },
		{ "c89f c98201 02 ff", SONDE_CORRUPT, 3 },
		{ "c89f c9a1c601ff ff", SONDE_CORRUPT, 6 },
		{ "c89f cea10e1b0000000100000000 ff", SONDE_CORRUPT, 2 },
		{ "c89f d8231b0000000100000000 ff", SONDE_CORRUPT, 2 },
		{ "c89f d823f6 ff", SONDE_CORRUPT, 4 },
		{ "c89f d82180 ff", SONDE_CORRUPT, 2 },
		{ "c89f d821816161 ff", SONDE_CORRUPT, 5 },
		{ "c89f d822a0 ff", SONDE_CORRUPT, 4 },
		{ "c89f d8268201 80 ff", SONDE_CORRUPT, 6 },
		{ "c89f ca4700000000000000 ff", SONDE_CORRUPT, 3 },
		{ "c89f ca5000000000000000000000000000000000 ff", SONDE_CORRUPT, 3 },
		{ "c89f cea10cfc ff", SONDE_CORRUPT, 5 },
		{ "c89f cea10c05 ce", SONDE_TRUNCATED, 7 },
		{ "c8", SONDE_TRUNCATED, 1 },
		{ "c89f cea10d1b00", SONDE_TRUNCATED, 5 },
		{ "c89f c9a2c601c602", SONDE_TRUNCATED, 3 },
	};
	struct zts_tree tree = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		struct sonde_error err = { 0 };
		enum sonde_status status = decode_hex(&tree, faults[i].text, &err);

		if (status != faults[i].status || err.offset != faults[i].offset)
			print_error("%s: %d at %u: %s\n", faults[i].text, status,
				    (unsigned int)err.offset, err.message);
		assert_int_equal(status, faults[i].status);
		assert_int_equal(err.status, status);
		assert_int_equal(err.offset, faults[i].offset);
		assert_true(err.message[0]);
	}
	release(&tree);
}

/* Records stay that were decoded before; open ones end where their last child does. */
static void test_kept_after_fault(void **state)
{
	struct zts_tree tree = { 0 };
	const struct zts_record *records;

	(void)state;
	assert_int_equal(decode_hex(&tree,
				    "c89f cea10c05 c89f cea10c06 c9a10102"
				    " c89f cea10c07 cea10d08 ff c89f cea10c08 cea10d09 ff 00",
				    NULL),
			 SONDE_CORRUPT);
	records = tree.records.items;
	assert_int_equal(tree.records.count, 4);
	assert_int_equal(tree.open, 2);
	assert_int_equal(records[0].records, 4);
	assert_int_equal(records[1].records, 3);
	assert_int_equal(records[0].stop, 9);
	assert_int_equal(records[1].stop, 9);
	assert_string_equal(attributes_of(&tree, 1), "1=02;");
	/* no child: no time */
	assert_int_equal(decode_hex(&tree, "c89f cea10c05 c89f cea10c06 00", NULL), SONDE_CORRUPT);
	assert_int_equal(tree.records.items[0].stop, 6);
	assert_int_equal(tree.records.items[1].stop, 6);
	release(&tree);
}

/* Bytes that end between items are those of a chunk that another one continues. */
static void test_open(void **state)
{
	struct zts_tree tree = { 0 };

	(void)state;
	assert_int_equal(
		decode_hex(&tree, "c89f cea10c05 c89f cea10c06 cea10d07 ff c89f cea10c08", NULL),
		SONDE_OK);
	assert_int_equal(tree.open, 2);
	assert_int_equal(tree.records.items[0].records, 3);
	assert_int_equal(tree.records.items[0].stop, 0);
	assert_int_equal(tree.records.items[2].stop, 0);
	assert_int_equal(tree.records.items[2].records, 1);
	assert_int_equal(decode_hex(&tree, "", NULL), SONDE_OK);
	assert_int_equal(tree.records.count, 0);
	assert_int_equal(tree.open, 0);
	release(&tree);
}

/* A chunk alone that continues others: what begins in it is there, the rest is told. */
static void test_continuation(void **state)
{
	struct zts_tree tree = { 0 };
	struct sonde_error err;

	(void)state;
	assert_int_equal(decode_hex(&tree,
				    "c89f cea10c05 ff c9a10102 cea10d07 cea10901 ff"
				    " d8230a d82280 d8268201a0 cf01 d8218101 ca480000000000000000"
				    " c89f cea10c08 c9a10304 ff ff c89f cea10c09",
				    &err),
			 SONDE_CORRUPT);
	assert_int_equal(err.offset, 7);
	assert_int_equal(tree.unopened, 2);
	assert_int_equal(tree.open, 1);
	assert_int_equal(tree.records.count, 3);
	assert_int_equal(tree.traces.count, 0);
	assert_int_equal(tree.attributes.count, 1);
	assert_int_equal(tree.records.items[1].start, 8);
	assert_int_equal(tree.records.items[1].depth, 0);
	assert_int_equal(tree.records.items[2].parent, SONDE_NONE);
	release(&tree);
}

/* Cut at every place, and with every byte changed: no read outside, and a tree that holds. */
static void test_every_fault(void **state)
{
	uint8_t bytes[512];
	size_t size = from_hex(WHOLE, bytes);
	struct zts_tree tree = { 0 };

	(void)state;
	for (size_t cut = 0; cut < size; cut++) {
		enum sonde_status status = decode_bytes(&tree, bytes, cut, NULL);

		assert_true(status == SONDE_OK || status == SONDE_TRUNCATED);
		assert_true(!cut || tree.open || status == SONDE_TRUNCATED);
	}
	for (size_t i = 0; i < size; i++)
		for (int value = 0; value < 256; value++) {
			uint8_t old = bytes[i];
			enum sonde_status status;

			bytes[i] = (uint8_t)value;
			status = decode_bytes(&tree, bytes, size, NULL);
			assert_true(status == SONDE_OK || status == SONDE_CORRUPT ||
				    status == SONDE_TRUNCATED);
			bytes[i] = old;
		}
	release(&tree);
}

/* A million levels, and as many attributes for further up from the bottom of them. */
static void test_deep(void **state)
{
	size_t levels = 1000000, upward = 100000, size = 0;
	uint8_t *bytes = malloc(levels * 3 + upward * 6);
	struct zts_tree tree = { 0 };

	(void)state;
	for (size_t i = 0; i < levels; i++) {
		bytes[size++] = 0xc8;
		bytes[size++] = 0x9f;
	}
	for (size_t i = 0; i < upward; i++) {
		memcpy(bytes + size, "\xd8\x26\x82\x01\xa0\xff", 5);
		size += 5;
	}
	memset(bytes + size, 0xff, levels);
	size += levels;
	assert_int_equal(zts_tree_decode(&tree, bytes, size, NULL), SONDE_OK);
	assert_int_equal(tree.records.count, levels);
	assert_int_equal(tree.records.items[levels - 1].depth, levels - 1);
	assert_int_equal(tree.records.items[0].records, levels);
	assert_int_equal(tree.attributes.count, upward);
	assert_int_equal(zts_tree_decode(&tree, bytes, levels * 2, NULL), SONDE_OK);
	assert_int_equal(tree.open, levels);
	zts_tree_release(&tree);
	free(bytes);
}

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
			assert_true(zts_chunks_read(&chunks, &made.codec, &chunk, &out, NULL) < 0);
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
	struct zts_tree tree = { 0 };
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
		assert_int_equal(tree.unknown, 0);
		if (tree.open)
			continue;
		walk->records += tree.records.count;
		sonde_buffer_clear(&content);
	}
	assert_int_equal(status, SONDE_END);
	walk->open += tree.open;
	zts_tree_release(&tree);
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
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_attributes),
		cmocka_unit_test(test_document_spelling),
		cmocka_unit_test(test_agents),
		cmocka_unit_test(test_identities),
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_kept_after_fault),
		cmocka_unit_test(test_open),
		cmocka_unit_test(test_continuation),
		cmocka_unit_test(test_every_fault),
		cmocka_unit_test(test_deep),
		IN_FOLDER(test_codecs),
		IN_FOLDER(test_headers),
		IN_FOLDER(test_sizes_that_lie),
		IN_FOLDER(test_resync),
		IN_FOLDER(test_resync_inside),
		IN_FOLDER(test_resync_hostile),
		cmocka_unit_test(test_corpus),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
