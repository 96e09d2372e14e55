/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The small parts of src/base: errors, bytes, buffers, arena, vec, table, maps, sort, loser tree,
 * CRC and UTF-8. JSON, files and threads have tests of their own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sonde/status.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/bytes.h"
#include "base/crc.h"
#include "base/loser_tree.h"
#include "base/map.h"
#include "base/sort.h"
#include "base/table.h"
#include "base/utf8.h"
#include "base/vec.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* The same sequence in every run. */
static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void test_error_fail(void **state)
{
	struct sonde_error err;
	char text[200];

	(void)state;
	memset(&err, 'x', sizeof(err));
	assert_int_equal(sonde_fail(&err, SONDE_CORRUPT, 17, "version %d", 3), SONDE_CORRUPT);
	assert_int_equal(err.status, SONDE_CORRUPT);
	assert_int_equal(err.offset, 17);
	assert_string_equal(err.message, "version 3");
	assert_string_equal(err.file, "");
	assert_string_equal(err.cause, "");
	assert_int_equal(sonde_error_set_file(&err, "a.bin"), SONDE_CORRUPT);
	assert_int_equal(sonde_error_set_file(&err, "other"), SONDE_CORRUPT);
	assert_int_equal(sonde_error_because(&err, "cannot open %s", "session"), SONDE_CORRUPT);
	assert_int_equal(sonde_error_format(&err, text, sizeof(text)), 49);
	assert_string_equal(text, "a.bin: offset 17: cannot open session (version 3)");

	assert_int_equal(sonde_fail(NULL, SONDE_LIMIT, 0, "nobody asks"), SONDE_LIMIT);
	assert_int_equal(sonde_error_set_file(NULL, "x"), SONDE_OK);
	assert_int_equal(sonde_error_because(NULL, "x"), SONDE_OK);
	assert_int_equal(sonde_fail_nomem(NULL), SONDE_NOMEM);
}

static void test_error_errno(void **state)
{
	struct sonde_error err;
	char text[200];

	(void)state;
	errno = ENOENT;
	assert_int_equal(sonde_fail_errno(&err, "f", "cannot be opened"), SONDE_IO);
	sonde_error_format(&err, text, sizeof(text));
	assert_string_equal(text, "f: cannot be opened (No such file or directory)");
	errno = ENOMEM;
	assert_int_equal(sonde_fail_errno(&err, NULL, "x"), SONDE_NOMEM);
	assert_string_equal(err.file, "");
	assert_int_equal(err.offset, SONDE_NO_OFFSET);
}

static void test_error_texts(void **state)
{
	struct sonde_error err = { .status = SONDE_TRUNCATED, .offset = SONDE_NO_OFFSET };
	char text[40];

	(void)state;
	assert_string_equal(sonde_status_text(SONDE_OK), "ok");
	assert_string_equal(sonde_status_text(SONDE_CANCELLED), "cancelled");
	assert_string_equal(sonde_status_text((enum sonde_status)99), "unknown status");
	sonde_error_format(&err, text, sizeof(text));
	assert_string_equal(text, "data ends too early");
}

/* A message may be made of the one before; long texts are cut between characters. */
static void test_error_long(void **state)
{
	char path[1200], message[600];
	struct sonde_error err;

	(void)state;
	for (size_t i = 0; i + 2 < sizeof(message); i += 2)
		memcpy(message + i, "\xC3\xA4", 3);
	sonde_fail(&err, SONDE_IO, 0, "%s", message);
	assert_int_equal(strlen(err.message), sizeof(err.message) - 2);
	assert_true(sonde_utf8_valid(err.message, strlen(err.message)));
	sonde_error_because(&err, "over: %.5s", err.message);
	assert_string_equal(err.message, "over: \xC3\xA4\xC3\xA4\xC3");
	assert_int_equal(strlen(err.cause), sizeof(err.cause) - 2);

	memset(path, 'p', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	memcpy(path + sizeof(path) - 7, "/x.bin", 6);
	sonde_fail(&err, SONDE_IO, 0, "m");
	sonde_error_set_file(&err, path);
	assert_int_equal(strlen(err.file), sizeof(err.file) - 1);
	assert_string_equal(err.file + strlen(err.file) - 6, "/x.bin");
}

static void test_bytes(void **state)
{
	static const uint8_t data[] = { 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08,
					0x11, 0x12, 0x13, 0x14, 0x21, 0x22, 0x31, 0x41 };
	struct sonde_bytes bytes = sonde_bytes_of(data, sizeof(data));

	(void)state;
	assert_true(sonde_bytes_u64le(&bytes) == 0x0807060504030201u);
	assert_int_equal(sonde_bytes_u32le(&bytes), 0x14131211);
	assert_int_equal(sonde_bytes_u16le(&bytes), 0x2221);
	assert_int_equal(sonde_bytes_u8(&bytes), 0x31);
	assert_int_equal(sonde_bytes_left(&bytes), 1);
	assert_false(bytes.overrun);
	assert_int_equal(sonde_bytes_u16le(&bytes), 0);
	assert_true(bytes.overrun);
	/* What would still fit is not given out any more. */
	assert_int_equal(sonde_bytes_u8(&bytes), 0);
	assert_int_equal(bytes.position, 15);

	bytes = sonde_bytes_of(data, sizeof(data));
	assert_null(sonde_bytes_take(&bytes, SIZE_MAX));
	assert_true(bytes.overrun);
	bytes = sonde_bytes_of(NULL, 0);
	assert_non_null(sonde_bytes_take(&bytes, 0));
	assert_false(bytes.overrun);
	assert_int_equal(sonde_bytes_u32le(&bytes), 0);
	assert_true(bytes.overrun);
}

static void test_bytes_store(void **state)
{
	uint8_t space[8];

	(void)state;
	sonde_store_u64le(space, 0x1122334455667788u);
	assert_int_equal(space[0], 0x88);
	assert_int_equal(space[7], 0x11);
	assert_true(sonde_load_u64le(space) == 0x1122334455667788u);
	sonde_store_u32le(space, 0xDDCCBBAAu);
	assert_int_equal(sonde_load_u32le(space), 0xDDCCBBAAu);
	assert_int_equal(sonde_load_u16le(space + 2), 0xDDCC);
}

static void test_buffer_numbers(void **state)
{
	struct sonde_buffer buffer = { 0 };

	(void)state;
	sonde_buffer_put_u64(&buffer, 0);
	sonde_buffer_put_char(&buffer, ' ');
	sonde_buffer_put_u64(&buffer, 10);
	sonde_buffer_put_char(&buffer, ' ');
	sonde_buffer_put_u64(&buffer, 999);
	sonde_buffer_put_char(&buffer, ' ');
	sonde_buffer_put_u64(&buffer, UINT64_MAX);
	assert_string_equal(sonde_buffer_text(&buffer), "0 10 999 18446744073709551615");
	sonde_buffer_clear(&buffer);
	sonde_buffer_put_u64_wide(&buffer, 7, 3, '0');
	sonde_buffer_put_u64_wide(&buffer, 12345, 3, ' ');
	sonde_buffer_put_u64_wide(&buffer, 0, 40, '.');
	assert_string_equal(sonde_buffer_text(&buffer),
			    "00712345.......................................0");
	sonde_buffer_clear(&buffer);
	sonde_buffer_put_hex(&buffer, 0, 0);
	sonde_buffer_put_hex(&buffer, 0xABC, 5);
	sonde_buffer_put_hex(&buffer, UINT64_MAX, 1);
	sonde_buffer_put_hex(&buffer, 1, 18);
	assert_string_equal(sonde_buffer_text(&buffer), "000abcffffffffffffffff000000000000000001");
	sonde_buffer_release(&buffer);
	sonde_buffer_release(&buffer);
}

static void test_buffer_every_digit_count(void **state)
{
	struct sonde_buffer buffer = { 0 };
	uint64_t power = 1;
	char expected[32];

	(void)state;
	for (int digits = 1; digits <= 20; digits++, power *= 10) {
		for (int less = 0; less < 2; less++) {
			sonde_buffer_clear(&buffer);
			sonde_buffer_put_u64(&buffer, power - (uint64_t)less);
			snprintf(expected, sizeof(expected), "%llu",
				 (unsigned long long)(power - (uint64_t)less));
			assert_string_equal(sonde_buffer_text(&buffer), expected);
		}
	}
	sonde_buffer_release(&buffer);
}

static void test_buffer_growth(void **state)
{
	struct sonde_buffer buffer = { 0 };
	char text[300];

	(void)state;
	assert_string_equal(sonde_buffer_text(&buffer), "");
	for (int i = 0; i < 100000; i++)
		sonde_buffer_put_char(&buffer, (char)('a' + i % 26));
	assert_int_equal(buffer.size, 100000);
	for (int i = 0; i < 100000; i++)
		assert_int_equal(buffer.data[i], 'a' + i % 26);
	sonde_buffer_clear(&buffer);
	memset(text, 'z', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	sonde_buffer_put_format(&buffer, "%d %s", 5, text);
	assert_int_equal(buffer.size, 301);
	assert_memory_equal(sonde_buffer_text(&buffer), "5 zzz", 5);
	sonde_buffer_release(&buffer);
	/* A format longer than the first room has to be made twice. */
	sonde_buffer_put_format(&buffer, "%s%s", text, text);
	assert_int_equal(buffer.size, 598);
	assert_int_equal(strlen(sonde_buffer_text(&buffer)), 598);
	sonde_buffer_release(&buffer);
}

static void test_buffer_failure(void **state)
{
	struct sonde_buffer buffer = { 0 };

	(void)state;
	sonde_buffer_put_text(&buffer, "kept");
	assert_null(sonde_buffer_reserve(&buffer, SIZE_MAX - 2));
	assert_true(buffer.failed);
	sonde_buffer_put_text(&buffer, "not taken");
	sonde_buffer_put_u64(&buffer, 5);
	assert_int_equal(buffer.size, 4);
	assert_null(sonde_buffer_text(&buffer));
	sonde_buffer_clear(&buffer);
	sonde_buffer_put_text(&buffer, "again");
	assert_string_equal(sonde_buffer_text(&buffer), "again");
	sonde_buffer_release(&buffer);
}

static void test_arena(void **state)
{
	struct sonde_arena arena = { 0 };
	char *texts[5000], *large;
	uint64_t *numbers[5000];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		char text[16];

		snprintf(text, sizeof(text), "text %zu", i);
		texts[i] = sonde_arena_copy_text(&arena, text, strlen(text));
		numbers[i] = sonde_arena_take(&arena, sizeof(uint64_t));
		assert_int_equal((uintptr_t)numbers[i] % 16, 0);
		*numbers[i] = i;
		if (i == 2500) {
			large = sonde_arena_take(&arena, 10 << 20);
			memset(large, 'L', 10 << 20);
		}
	}
	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		char text[16];

		snprintf(text, sizeof(text), "text %zu", i);
		assert_string_equal(texts[i], text);
		assert_int_equal(*numbers[i], i);
	}
	assert_true(arena.bytes > (10 << 20));
	assert_string_equal(sonde_arena_copy_text(&arena, NULL, 0), "");
	assert_string_equal(sonde_arena_copy_text(&arena, "abc", 2), "ab");
	assert_non_null(sonde_arena_take(&arena, 0));
	assert_null(sonde_arena_take(&arena, SIZE_MAX));
	assert_null(sonde_arena_take(&arena, SIZE_MAX - 8));
	assert_null(sonde_arena_copy_text(&arena, "", SIZE_MAX));
	sonde_arena_release(&arena);
	assert_int_equal(arena.bytes, 0);
}

static void test_vec(void **state)
{
	SONDE_VEC(uint32_t) vec = { 0 };

	(void)state;
	for (uint32_t i = 0; i < 1000; i++) {
		uint32_t *item = sonde_vec_push(&vec);

		assert_non_null(item);
		if (item)
			*item = i * 3;
	}
	assert_int_equal(vec.count, 1000);
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(vec.items[i], i * 3);
	assert_true(sonde_vec_reserve(&vec, 5000));
	assert_true(vec.capacity >= 6000);
	assert_false(sonde_vec_reserve(&vec, SIZE_MAX));
	assert_false(sonde_vec_reserve(&vec, SIZE_MAX / 4));
	assert_int_equal(vec.items[999], 2997);
	sonde_vec_release(&vec);
	assert_null(vec.items);
}

struct wide {
	uint64_t number;
	char text[17];
};

static void test_table(void **state)
{
	const uint32_t count = 64 * 31 + 5; /* into the sixth chunk */
	struct sonde_table table;
	const void **addresses = calloc(count, sizeof(const void *));

	(void)state;
	assert_non_null(addresses);
	sonde_table_init(&table, sizeof(struct wide));
	assert_null(sonde_table_at(&table, 0));
	for (uint32_t i = 0; i < count; i++) {
		struct wide item = { .number = i };

		assert_int_equal(sonde_table_add(&table, &item), i);
		addresses[i] = sonde_table_at(&table, i);
	}
	assert_int_equal(sonde_table_count(&table), count);
	for (uint32_t i = 0; i < count; i++) {
		assert_ptr_equal(sonde_table_at(&table, i), addresses[i]);
		assert_int_equal(((const struct wide *)addresses[i])->number, i);
	}
	assert_null(sonde_table_at(&table, count));
	assert_null(sonde_table_at(&table, UINT32_MAX));
	sonde_table_release(&table);
	assert_int_equal(sonde_table_count(&table), 0);
	free(addresses);
}

static void *read_table(void *argument)
{
	const struct sonde_table *table = argument;
	uint32_t count;

	do {
		count = sonde_table_count(table);
		for (uint32_t i = count > 100 ? count - 100 : 0; i < count; i++) {
			if (*(uint64_t *)sonde_table_at(table, i) != i * 7ul)
				return (void *)1;
		}
	} while (count < 100000);
	return NULL;
}

static void test_table_beside_reader(void **state)
{
	struct sonde_table table;
	pthread_t thread;
	void *result;

	(void)state;
	sonde_table_init(&table, sizeof(uint64_t));
	assert_int_equal(pthread_create(&thread, NULL, read_table, &table), 0);
	for (uint64_t i = 0; i < 100000; i++)
		sonde_table_add(&table, &(uint64_t){ i * 7 });
	pthread_join(thread, &result);
	assert_null(result);
	sonde_table_release(&table);
}

static void test_key_map(void **state)
{
	struct sonde_key_map map = { NULL };
	uint64_t random = 42;

	(void)state;
	assert_int_equal(sonde_key_map_find(&map, 0), UINT32_MAX);
	assert_true(sonde_key_map_add(&map, UINT64_MAX, 1));
	assert_int_equal(sonde_key_map_find(&map, 0), UINT32_MAX);
	assert_true(sonde_key_map_add(&map, 0, 0));
	for (uint32_t i = 2; i < 20000; i++)
		assert_true(sonde_key_map_add(&map, next_random(&random), i));
	assert_int_equal(sonde_key_map_find(&map, 0), 0);
	assert_int_equal(sonde_key_map_find(&map, UINT64_MAX), 1);
	random = 42;
	for (uint32_t i = 2; i < 20000; i++)
		assert_int_equal(sonde_key_map_find(&map, next_random(&random)), i);
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(sonde_key_map_find(&map, next_random(&random)), UINT32_MAX);
	sonde_key_map_release(&map);
	assert_int_equal(sonde_key_map_find(&map, 0), UINT32_MAX);
}

/* Keys that all want the last slot of the present array, so that runs wrap around its end. */
static void test_key_map_collisions(void **state)
{
	struct sonde_key_map map = { NULL };
	uint64_t keys[200], key = 0;
	struct sonde_key_view view;

	(void)state;
	for (uint32_t i = 0; i < 300; i++)
		assert_true(sonde_key_map_add(&map, (uint64_t)1 << 40 | i, i));
	view = sonde_key_map_view(&map);
	assert_true(view.size >= 2 * (300 + COUNT_OF(keys)));
	for (uint32_t i = 0; i < COUNT_OF(keys); i++) {
		while (sonde_key_hash(key, view.slots, view.size) != view.size - 1)
			key++;
		keys[i] = key++;
		assert_true(sonde_key_map_add(&map, keys[i], i));
	}
	assert_ptr_equal(sonde_key_map_view(&map).slots, view.slots);
	for (uint32_t i = 0; i < COUNT_OF(keys); i++)
		assert_int_equal(sonde_key_map_find(&map, keys[i]), i);
	for (uint32_t i = 0; i < 300; i++)
		assert_int_equal(sonde_key_map_find(&map, (uint64_t)1 << 40 | i), i);
	assert_int_equal(sonde_key_map_find(&map, key), UINT32_MAX);
	sonde_key_map_release(&map);
}

/* A view finds what was there when it was taken, also when the map has grown since. */
static void test_key_map_view(void **state)
{
	struct sonde_key_map map = { NULL };
	struct sonde_key_view empty = sonde_key_map_view(&map), view;

	(void)state;
	assert_int_equal(sonde_key_view_find(empty, 0), UINT32_MAX);
	assert_int_equal(sonde_key_view_find(empty, UINT64_MAX), UINT32_MAX);
	for (uint32_t i = 0; i < 7; i++)
		assert_true(sonde_key_map_add(&map, i, i + 50));
	view = sonde_key_map_view(&map);
	for (uint32_t i = 7; i < 1000; i++)
		assert_true(sonde_key_map_add(&map, i, i + 50));
	for (uint32_t i = 0; i < 7; i++)
		assert_int_equal(sonde_key_view_find(view, i), i + 50);
	assert_int_equal(sonde_key_view_find(view, 999), UINT32_MAX);
	assert_int_equal(sonde_key_map_find(&map, 999), 1049);
	sonde_key_map_release(&map);
}

#define SHARED_KEYS 200000u

/* Every key found has its own value, and a key once found stays. */
static void *find_keys(void *argument)
{
	const struct sonde_key_map *map = argument;
	uint32_t known = 0;

	while (known < SHARED_KEYS) {
		uint32_t value = sonde_key_map_find(map, known * 0x100000001u + 5);

		if (value == known) {
			known++;
			if (sonde_key_map_find(map, known / 2 * 0x100000001u + 5) != known / 2)
				return (void *)1;
		} else if (value != UINT32_MAX) {
			return (void *)2;
		}
	}
	return NULL;
}

static void test_key_map_beside_finder(void **state)
{
	struct sonde_key_map map = { NULL };
	pthread_t thread;
	void *result;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, find_keys, &map), 0);
	for (uint32_t i = 0; i < SHARED_KEYS; i++)
		assert_true(sonde_key_map_add(&map, i * 0x100000001u + 5, i));
	pthread_join(thread, &result);
	assert_null(result);
	sonde_key_map_release(&map);
}

static void test_text_map(void **state)
{
	static char texts[5000][24];
	struct sonde_text_map map = { 0 };

	(void)state;
	assert_int_equal(sonde_text_map_find(&map, "", 0), UINT32_MAX);
	for (uint32_t i = 0; i < COUNT_OF(texts); i++) {
		snprintf(texts[i], sizeof(texts[i]), "%.*s%u", (int)(i % 13), "abcdefghijklm", i);
		assert_int_equal(sonde_text_map_find(&map, texts[i], strlen(texts[i])), UINT32_MAX);
		assert_true(sonde_text_map_add(&map, texts[i], strlen(texts[i]), i));
	}
	assert_true(sonde_text_map_add(&map, "", 0, 7777));
	for (uint32_t i = 0; i < COUNT_OF(texts); i++)
		assert_int_equal(sonde_text_map_find(&map, texts[i], strlen(texts[i])), i);
	assert_int_equal(sonde_text_map_find(&map, "", 0), 7777);
	/* The length counts, not a NUL. */
	assert_int_equal(sonde_text_map_find(&map, "a14", 3), 14);
	assert_int_equal(sonde_text_map_find(&map, "a14x", 3), 14);
	assert_int_equal(sonde_text_map_find(&map, "a14", 4), UINT32_MAX);
	sonde_text_map_release(&map);
	assert_int_equal(sonde_text_map_find(&map, "a14", 3), UINT32_MAX);
}

/* Texts that are the start of each other, all in one piece of memory. */
static void test_text_map_prefixes(void **state)
{
	struct sonde_text_map map = { 0 };
	char text[2000];

	(void)state;
	memset(text, 'a', sizeof(text));
	for (uint32_t i = 0; i < sizeof(text); i += 2)
		assert_true(sonde_text_map_add(&map, text, i, i));
	for (uint32_t i = 0; i < sizeof(text); i++)
		assert_int_equal(sonde_text_map_find(&map, text, i), i % 2 ? UINT32_MAX : i);
	sonde_text_map_release(&map);
}

static int compare_items(const void *a, const void *b)
{
	const struct sonde_sort_item *left = a, *right = b;

	if (left->key != right->key)
		return left->key < right->key ? -1 : 1;
	return left->number < right->number ? -1 : left->number > right->number;
}

/* Numbers ascend before the sort, so that stable and "by key, then number" are the same. */
static void check_sort(size_t count, uint64_t mask, unsigned int shift, bool sorted)
{
	struct sonde_sort_item *items = calloc(count + 1, sizeof(*items));
	struct sonde_sort_item *expected = calloc(count + 1, sizeof(*items));
	uint64_t random = count + mask + 1;

	assert_non_null(items);
	assert_non_null(expected);
	for (size_t i = 0; i < count; i++) {
		items[i].key = sorted ? i : (next_random(&random) & mask) << shift;
		items[i].number = i;
	}
	memcpy(expected, items, count * sizeof(*items));
	qsort(expected, count, sizeof(*items), compare_items);
	assert_true(sonde_sort(items, count));
	assert_memory_equal(items, expected, (count + 1) * sizeof(*items));
	free(items);
	free(expected);
}

static void test_sort(void **state)
{
	static const size_t counts[] = { 0, 1, 2, 47, 48, 49, 50, 1000, 30000 };

	(void)state;
	for (size_t i = 0; i < COUNT_OF(counts); i++) {
		check_sort(counts[i], UINT64_MAX, 0, false);
		check_sort(counts[i], 0, 0, false);
		check_sort(counts[i], 0xF, 0, false);
		check_sort(counts[i], 0x3, 62, false);
		check_sort(counts[i], 0xFFFFFF, 15, false);
		check_sort(counts[i], 0, 0, true);
	}
}

/* Merges with the tree and by looking at all streams each time; both take the same. */
static void check_merge(uint32_t streams, uint64_t seed)
{
	uint64_t lists[17][40], random = seed;
	size_t lengths[17], tree_at[17] = { 0 }, naive_at[17] = { 0 };
	struct sonde_loser_tree tree;

	for (uint32_t s = 0; s < streams; s++) {
		uint64_t key = 0;

		lengths[s] = next_random(&random) % 4 ? next_random(&random) % 40 : 0;
		for (size_t i = 0; i < lengths[s]; i++)
			lists[s][i] = key += next_random(&random) % 3;
	}
	assert_true(sonde_loser_tree_init(&tree, streams));
	for (uint32_t s = 0; s < streams; s++)
		sonde_loser_tree_set(&tree, s, lengths[s] ? lists[s][0] : 0, lengths[s] > 0);
	sonde_loser_tree_build(&tree);
	for (;;) {
		uint32_t best = UINT32_MAX, second = UINT32_MAX;

		for (uint32_t s = 0; s < streams; s++) {
			if (naive_at[s] == lengths[s])
				continue;
			if (best == UINT32_MAX ||
			    lists[s][naive_at[s]] < lists[best][naive_at[best]]) {
				second = best;
				best = s;
			} else if (second == UINT32_MAX ||
				   lists[s][naive_at[s]] < lists[second][naive_at[second]]) {
				second = s;
			}
		}
		assert_int_equal(sonde_loser_tree_winner(&tree), best);
		assert_int_equal(sonde_loser_tree_second(&tree), second);
		if (best == UINT32_MAX)
			break;
		/* At equal keys the lower stream goes first. */
		assert_true(sonde_loser_tree_run_bound(&tree) ==
			    (second == UINT32_MAX ?
				     UINT64_MAX :
				     lists[second][naive_at[second]] - (second < best)));
		naive_at[best]++;
		tree_at[best]++;
		sonde_loser_tree_replace_winner(
			&tree, tree_at[best] < lengths[best] ? lists[best][tree_at[best]] : 0,
			tree_at[best] < lengths[best]);
	}
	sonde_loser_tree_release(&tree);
}

static void test_loser_tree(void **state)
{
	struct sonde_loser_tree tree;

	(void)state;
	for (uint32_t streams = 1; streams <= 17; streams++) {
		for (uint64_t seed = 1; seed <= 50; seed++)
			check_merge(streams, seed * 1000 + streams);
	}
	assert_true(sonde_loser_tree_init(&tree, 0));
	sonde_loser_tree_build(&tree);
	assert_int_equal(sonde_loser_tree_winner(&tree), UINT32_MAX);
	assert_int_equal(sonde_loser_tree_second(&tree), UINT32_MAX);
	sonde_loser_tree_release(&tree);
	assert_false(sonde_loser_tree_init(&tree, UINT32_MAX));
	sonde_loser_tree_release(&tree);
}

/* A live stream may have the largest key there is; it still comes before an exhausted one. */
static void test_loser_tree_largest_key(void **state)
{
	struct sonde_loser_tree tree;

	(void)state;
	assert_true(sonde_loser_tree_init(&tree, 3));
	sonde_loser_tree_set(&tree, 0, 0, false);
	sonde_loser_tree_set(&tree, 1, UINT64_MAX, true);
	sonde_loser_tree_set(&tree, 2, UINT64_MAX, true);
	sonde_loser_tree_build(&tree);
	assert_int_equal(sonde_loser_tree_winner(&tree), 1);
	assert_int_equal(sonde_loser_tree_second(&tree), 2);
	sonde_loser_tree_replace_winner(&tree, 0, false);
	assert_int_equal(sonde_loser_tree_winner(&tree), 2);
	sonde_loser_tree_release(&tree);
}

static void test_crc(void **state)
{
	(void)state;
	assert_int_equal(sonde_crc32(0, "123456789", 9), 0xCBF43926u);
	assert_int_equal(sonde_crc32(sonde_crc32(0, "1234", 4), "56789", 5), 0xCBF43926u);
	assert_int_equal(sonde_crc32(0x1234, NULL, 0), 0x1234);
	assert_int_equal(sonde_crc32_undo(0xCBF43926u, "56789", 5), sonde_crc32(0, "1234", 4));
	assert_int_equal(sonde_crc32_undo(0xCBF43926u, "123456789", 9), 0);
	assert_int_equal(sonde_crc32_undo(0x1234, NULL, 0), 0x1234);
}

static void test_utf8_length(void **state)
{
	static const struct {
		const char *text;
		size_t size, length;
	} cases[] = {
		{ "a", 1, 1 },
		{ "\0", 1, 1 },
		{ "\x7F", 1, 1 },
		{ "\xC2\x80", 2, 2 },
		{ "\xDF\xBF", 2, 2 },
		{ "\xE0\xA0\x80", 3, 3 },
		{ "\xED\x9F\xBF", 3, 3 },
		{ "\xEE\x80\x80", 3, 3 },
		{ "\xEF\xBF\xBF", 3, 3 },
		{ "\xF0\x90\x80\x80", 4, 4 },
		{ "\xF4\x8F\xBF\xBF", 4, 4 },
		{ "\x80", 1, 0 },
		{ "\xBF", 1, 0 },
		{ "\xC0\x80", 2, 0 },	      /* overlong NUL */
		{ "\xC1\xBF", 2, 0 },	      /* overlong */
		{ "\xE0\x9F\xBF", 3, 0 },     /* overlong */
		{ "\xF0\x8F\xBF\xBF", 4, 0 }, /* overlong */
		{ "\xED\xA0\x80", 3, 0 },     /* U+D800 */
		{ "\xED\xBF\xBF", 3, 0 },     /* U+DFFF */
		{ "\xF4\x90\x80\x80", 4, 0 }, /* U+110000 */
		{ "\xF5\x80\x80\x80", 4, 0 },
		{ "\xFF", 1, 0 },
		{ "\xC2", 1, 0 }, /* cut */
		{ "\xE2\x82", 2, 0 },
		{ "\xF0\x9F\x98", 3, 0 },
		{ "\xC2 ", 2, 0 }, /* no continuation */
		{ "\xE2\x82 ", 3, 0 },
		{ "\xF0\x9F\x98 ", 4, 0 },
		{ "\xE2 \x82", 3, 0 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		char text[24];
		size_t ascii = 13;

		assert_int_equal(sonde_utf8_length(cases[i].text, cases[i].size), cases[i].length);
		/* The same after some ASCII, where the fast path runs first. */
		memset(text, 'x', ascii);
		memcpy(text + ascii, cases[i].text, cases[i].size);
		assert_int_equal(sonde_utf8_valid(text, ascii + cases[i].size),
				 cases[i].length == cases[i].size);
	}
	assert_true(sonde_utf8_valid("", 0));
}

/* Every code point goes there and back. */
static void test_utf8_encode(void **state)
{
	char out[4];

	(void)state;
	for (uint32_t c = 0; c <= 0x10FFFF; c++) {
		size_t length = sonde_utf8_encode(c, out);

		if (c >= 0xD800 && c <= 0xDFFF)
			assert_memory_equal(out, "\xEF\xBF\xBD", 3);
		if (sonde_utf8_length(out, length) != length)
			fail_msg("code point %x", c);
	}
	assert_int_equal(sonde_utf8_encode(0x20AC, out), 3);
	assert_memory_equal(out, "\xE2\x82\xAC", 3);
	assert_int_equal(sonde_utf8_encode(0x1F600, out), 4);
	assert_memory_equal(out, "\xF0\x9F\x98\x80", 4);
	assert_int_equal(sonde_utf8_encode(0x110000, out), 3);
	assert_memory_equal(out, "\xEF\xBF\xBD", 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_error_fail),
		cmocka_unit_test(test_error_errno),
		cmocka_unit_test(test_error_texts),
		cmocka_unit_test(test_error_long),
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_bytes_store),
		cmocka_unit_test(test_buffer_numbers),
		cmocka_unit_test(test_buffer_every_digit_count),
		cmocka_unit_test(test_buffer_growth),
		cmocka_unit_test(test_buffer_failure),
		cmocka_unit_test(test_arena),
		cmocka_unit_test(test_vec),
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_table_beside_reader),
		cmocka_unit_test(test_key_map),
		cmocka_unit_test(test_key_map_collisions),
		cmocka_unit_test(test_key_map_view),
		cmocka_unit_test(test_key_map_beside_finder),
		cmocka_unit_test(test_text_map),
		cmocka_unit_test(test_text_map_prefixes),
		cmocka_unit_test(test_sort),
		cmocka_unit_test(test_loser_tree),
		cmocka_unit_test(test_loser_tree_largest_key),
		cmocka_unit_test(test_crc),
		cmocka_unit_test(test_utf8_length),
		cmocka_unit_test(test_utf8_encode),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
