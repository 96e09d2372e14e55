/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The call trees in the bytes of chunks: bytes made by hand for every item that stores and agents
 * have, and faults at every place. Whatever is decoded is decoded in both ways there are.
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
#include "formats/zts/zts_tree_private.h"
#include "zts_bytes.h"

static uint8_t input[4096];
static uint8_t *decoded; /* what the last tree was made of */

/*
 * Decodes from memory that ends where the bytes do, so that a sanitizer sees more; both ways, with
 * the same outcome, and with what always holds.
 */
static enum sonde_status decode_bytes(struct zts_tree *tree, const uint8_t *bytes, size_t size,
				      struct sonde_error *err)
{
	struct sonde_error first = { 0 }, second = { 0 };
	struct zts_tree again = { 0 };
	enum sonde_status status;

	free(decoded);
	decoded = malloc(size ? size : 1);
	memcpy(decoded, bytes, size);
	status = zts_tree_decode(tree, decoded, size, &first);
	assert_int_equal(zts_tree_decode_slowly(&again, decoded, size, &second), status);
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
	free(decoded);
	decoded = NULL;
	zts_tree_release(tree);
}

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
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
