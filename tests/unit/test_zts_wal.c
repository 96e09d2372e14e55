/* SPDX-License-Identifier: Apache-2.0 */
/* Entries of a WAL: ids, escapes, whole entries and those that are not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "../random.h"
#include "base/search.h"
#include "formats/zts/zts_wal.h"
#include "zts_texts_fixture.h"

static void test_ids(void **state)
{
	static const uint32_t ids[] = { 0, 1, 9, 10, 63, 64, 4095, 4096, 1u << 30, UINT32_MAX };
	uint8_t digits[ZTS_ID_DIGITS];
	uint32_t id;

	(void)state;
	for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++) {
		size_t count = zts_id_put(ids[i], digits);

		assert_true(zts_id_parse(digits, count, &id));
		assert_int_equal(id, ids[i]);
	}
	assert_int_equal(zts_id_put(64, digits), 2);
	assert_memory_equal(digits, "10", 2);
	assert_int_equal(zts_id_put(10, digits), 1);
	assert_int_equal(digits[0], ':');
	assert_false(zts_id_parse((const uint8_t *)"", 0, &id));
	assert_false(zts_id_parse((const uint8_t *)"/", 1, &id));
	assert_false(zts_id_parse((const uint8_t *)"p", 1, &id));
	/* 2^32, and seven digits */
	assert_false(zts_id_parse((const uint8_t *)"400000", 6, &id));
	assert_false(zts_id_parse((const uint8_t *)"0000001", 7, &id));
}

static void test_escapes(void **state)
{
	static const char text[] = "a\0b\1\2\3\xff\4\b";
	struct sonde_buffer escaped = { 0 }, plain = { 0 };

	(void)state;
	zts_wal_escape(text, sizeof(text) - 1, &escaped);
	assert_int_equal(escaped.size, sizeof(text) - 1 + 5);
	assert_memory_equal(escaped.data, "a\xff\4b\xff\5\xff\6\xff\7\xff\b\4\b", escaped.size);
	assert_true(zts_wal_is_escaped((const uint8_t *)escaped.data, escaped.size));
	zts_wal_unescape((const uint8_t *)escaped.data, escaped.size, &plain);
	assert_int_equal(plain.size, sizeof(text) - 1);
	assert_memory_equal(plain.data, text, plain.size);
	assert_false(zts_wal_is_escaped((const uint8_t *)"plain", 5));
	/* What no escape is stays as it is. */
	sonde_buffer_clear(&plain);
	zts_wal_unescape((const uint8_t *)"\xff\x09x\xff", 4, &plain);
	assert_int_equal(plain.size, 4);
	assert_memory_equal(plain.data, "\xff\x09x\xff", 4);
	sonde_buffer_release(&escaped);
	sonde_buffer_release(&plain);
}

static void test_entries(void **state)
{
	static const char *const texts[] = { "", "x", "exactly8",
					     "a text that is longer than that" };
	struct sonde_buffer wal = { 0 };
	struct zts_wal_entry entry = { .next = 4 };

	(void)state;
	sonde_buffer_put(&wal, ZTS_WAL_MAGIC, 4);
	for (uint32_t i = 0; i < 4; i++)
		zts_wal_put_entry(&wal, 62 + i, texts[i], strlen(texts[i]));
	assert_memory_equal(wal.data + 4, "n\1\2n\3", 5);
	for (uint32_t i = 0; i < 4; i++) {
		assert_int_equal(
			zts_wal_at((const uint8_t *)wal.data, wal.size, entry.next, &entry, NULL),
			SONDE_OK);
		assert_int_equal(entry.id, 62 + i);
		assert_int_equal(entry.size, strlen(texts[i]));
		assert_memory_equal(entry.text, texts[i], entry.size);
	}
	assert_int_equal(entry.next, wal.size);
	assert_int_equal(zts_wal_at((const uint8_t *)wal.data, wal.size, entry.next, &entry, NULL),
			 SONDE_END);
	sonde_buffer_put(&wal, "\0\0\0\0", 4);
	assert_int_equal(zts_wal_at((const uint8_t *)wal.data, wal.size, entry.next, &entry, NULL),
			 SONDE_END);
	sonde_buffer_release(&wal);
}

static enum sonde_status status_of(const char *bytes, size_t size)
{
	struct sonde_error err = { 0 };
	struct zts_wal_entry entry;
	enum sonde_status status = zts_wal_at((const uint8_t *)bytes, size, 0, &entry, &err);

	if (status < 0) {
		assert_int_equal(err.status, status);
		assert_true(err.offset <= size);
	}
	return status;
}

static void test_faults(void **state)
{
	static const char whole[] = "12\1some text\00212\3";
	char padded[64];

	(void)state;
	assert_int_equal(status_of(whole, sizeof(whole) - 1), SONDE_OK);
	for (size_t cut = 1; cut < sizeof(whole) - 1; cut++) {
		assert_int_equal(status_of(whole, cut), SONDE_TRUNCATED);
		memset(padded, 0, sizeof(padded));
		memcpy(padded, whole, cut);
		assert_int_equal(status_of(padded, sizeof(padded)), SONDE_TRUNCATED);
	}
	assert_int_equal(status_of("12\1a\00213\3", 9), SONDE_CORRUPT);
	assert_int_equal(status_of("12\1a\0021\3", 8), SONDE_CORRUPT);
	assert_int_equal(status_of("12\1a\1\00212\3", 10), SONDE_CORRUPT);
	assert_int_equal(status_of("12\1a\3\00212\3", 10), SONDE_CORRUPT);
	assert_int_equal(status_of("\1a\2\3", 4), SONDE_CORRUPT);
	assert_int_equal(status_of("1234567\1a\0021234567\3", 18), SONDE_CORRUPT);
	assert_int_equal(status_of("1 2\1a\0021 2\3", 10), SONDE_CORRUPT);
}

/* Wherever one byte is damaged, the next entry is found. */
static void test_resync(void **state)
{
	struct sonde_buffer wal = { 0 };
	struct zts_wal_entry entry;

	(void)state;
	for (uint32_t id = 1; id <= 3; id++)
		zts_wal_put_entry(&wal, id, "text", 4);
	for (size_t i = 0; i < wal.size / 3; i++) {
		char byte = wal.data[i];

		for (int value = 0; value < 256; value++) {
			wal.data[i] = (char)value;
			if (zts_wal_at((const uint8_t *)wal.data, wal.size, 0, &entry, NULL) ==
			    SONDE_OK)
				continue;
			assert_int_equal(
				zts_wal_resync((const uint8_t *)wal.data, wal.size, 0, &entry),
				SONDE_OK);
			assert_int_equal(entry.id, 2);
		}
		wal.data[i] = byte;
	}
	assert_int_equal(zts_wal_resync((const uint8_t *)wal.data, wal.size, wal.size - 2, &entry),
			 SONDE_END);
	sonde_buffer_release(&wal);
}

static void check_search(const char *bytes, size_t size, const char *pattern, size_t pattern_size)
{
	assert_ptr_equal(sonde_search(bytes, size, pattern, pattern_size),
			 memmem(bytes, size, pattern, pattern_size));
}

static void test_search(void **state)
{
	char bytes[300], pattern[40];
	uint64_t seed = 5;

	(void)state;
	for (int round = 0; round < 20000; round++) {
		uint32_t size = next_random(&seed, sizeof(bytes));
		uint32_t pattern_size = next_random(&seed, sizeof(pattern));
		uint32_t letters = 1 + next_random(&seed, 3);

		for (uint32_t i = 0; i < size; i++)
			bytes[i] = (char)('a' + next_random(&seed, letters));
		for (uint32_t i = 0; i < pattern_size; i++)
			pattern[i] = (char)('a' + next_random(&seed, letters));
		check_search(bytes, size, pattern, pattern_size);
		/* one that is there */
		if (pattern_size < size)
			memcpy(bytes + next_random(&seed, size - pattern_size), pattern,
			       pattern_size);
		check_search(bytes, size, pattern, pattern_size);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ids),	cmocka_unit_test(test_escapes),
		cmocka_unit_test(test_entries), cmocka_unit_test(test_faults),
		cmocka_unit_test(test_resync),	cmocka_unit_test(test_search),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
