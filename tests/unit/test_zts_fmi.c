/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packed indexes: what was packed comes back whole, text by text, and is found; and damaged ones
 * are refused or leave the rest readable. With $SONDE_CORPUS also those of another program.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../random.h"
#include "base/bytes.h"
#include "base/crc.h"
#include "formats/zts/zts_fmi.h"
#include "formats/zts/zts_layout.h"
#include "formats/zts/zts_wal.h"
#include "zts_texts_fixture.h"

static const uint8_t *bytes_of(const struct sonde_buffer *buffer)
{
	return (const uint8_t *)buffer->data;
}

static void pack(const struct sonde_buffer *wal, struct sonde_buffer *packed)
{
	struct zts_wal_bytes bytes = { .bytes = bytes_of(wal), .size = wal->size };

	sonde_buffer_clear(packed);
	assert_int_equal(zts_fmi_pack(&bytes, 1, packed, NULL), SONDE_OK);
}

static struct zts_fmi *open_packed(const struct sonde_buffer *packed)
{
	struct sonde_error err = { 0 };
	struct zts_fmi *fmi;

	if (zts_fmi_of(bytes_of(packed), packed->size, "packed", &fmi, &err) != SONDE_OK)
		fail_msg("%s", err.message);
	return fmi;
}

/* Every text by its id, and all of them at once. */
static void check_texts(const struct zts_fmi *fmi, const struct sonde_buffer *wal)
{
	struct sonde_buffer text = { 0 }, unpacked = { 0 };
	struct zts_wal_entry entry = { .next = 4 };

	while (zts_wal_at(bytes_of(wal), wal->size, entry.next, &entry, NULL) == SONDE_OK) {
		sonde_buffer_clear(&text);
		assert_int_equal(zts_fmi_text(fmi, entry.id, &text, NULL), SONDE_OK);
		assert_int_equal(text.size, entry.size);
		assert_true(!text.size || !memcmp(text.data, entry.text, text.size));
	}
	assert_int_equal(zts_fmi_text(fmi, zts_fmi_first_id(fmi) + zts_fmi_words(fmi), &text, NULL),
			 SONDE_END);
	assert_int_equal(zts_fmi_unpack(fmi, &unpacked, NULL), SONDE_OK);
	assert_int_equal(unpacked.size, wal->size);
	assert_memory_equal(unpacked.data, wal->data, wal->size);
	sonde_buffer_release(&text);
	sonde_buffer_release(&unpacked);
}

struct counts {
	uint32_t *by_id;
	size_t all;
};

static bool count_id(void *context, uint32_t id, uint8_t first)
{
	struct counts *counts = context;

	(void)first;
	counts->by_id[id]++;
	counts->all++;
	return true;
}

/*
 * How often a pattern is in each text, the hard way. What is found very often is not found to the
 * end.
 */
#define STEPS 500000
static void check_find(const struct zts_fmi *fmi, const struct sonde_buffer *wal,
		       const char *pattern, size_t size)
{
	uint32_t end = zts_fmi_first_id(fmi) + zts_fmi_words(fmi);
	struct counts counts = { .by_id = calloc(end, sizeof(uint32_t)) };
	struct zts_wal_entry entry = { .next = 4 };
	enum sonde_status status = zts_fmi_find_within(fmi, (const uint8_t *)pattern, size, STEPS,
						       count_id, &counts, NULL);

	assert_true(status == SONDE_OK || status == SONDE_LIMIT);
	while (zts_wal_at(bytes_of(wal), wal->size, entry.next, &entry, NULL) == SONDE_OK) {
		const uint8_t *place = entry.text - 1, *last = entry.text + entry.size;
		uint32_t count = 0;

		for (; place <= last && place + size <= bytes_of(wal) + entry.next; place++)
			count += !memcmp(place, pattern, size);
		if (status == SONDE_OK)
			assert_int_equal(counts.by_id[entry.id], count);
		else
			assert_true(counts.by_id[entry.id] <= count);
	}
	free(counts.by_id);
}

static void check_patterns(const struct zts_fmi *fmi, const struct sonde_buffer *wal)
{
	static const char *const patterns[] = { "java", "a",	  "zażółć", "nowhere",	  "\1java",
						"200",	"\5java", "\0131",  "find\006\2", "\2" };

	for (size_t i = 0; i < sizeof(patterns) / sizeof(*patterns); i++)
		check_find(fmi, wal, patterns[i], strlen(patterns[i]));
}

static void test_sizes(void **state)
{
	static const uint32_t sizes[] = { 0, 1, 2, 10, 100, 1000, 5000 };
	struct sonde_buffer wal = { 0 }, packed = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct zts_fmi *fmi;

		sonde_buffer_clear(&wal);
		make_texts(&wal, 1 + (uint32_t)i * 1000, sizes[i]);
		pack(&wal, &packed);
		fmi = open_packed(&packed);
		assert_int_equal(zts_fmi_words(fmi), sizes[i]);
		assert_true(zts_fmi_header_is_whole(fmi));
		assert_int_equal(zts_fmi_verify(fmi, NULL), SONDE_OK);
		check_texts(fmi, &wal);
		if (sizes[i])
			check_patterns(fmi, &wal);
		zts_fmi_free(fmi);
	}
	sonde_buffer_release(&wal);
	sonde_buffer_release(&packed);
}

/* Long runs of one character, texts of all bytes, a text far longer than a block. */
static void test_odd_texts(void **state)
{
	static char run[100000], bytes[256 * 64];
	struct sonde_buffer wal = { 0 }, packed = { 0 };
	uint64_t seed = 9;
	struct zts_fmi *fmi;

	(void)state;
	memset(run, 'r', sizeof(run));
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)next_random(&seed, 256);
	sonde_buffer_put(&wal, ZTS_WAL_MAGIC, 4);
	for (uint32_t id = 1; id <= 400; id++)
		zts_wal_put_entry(&wal, id, id % 2 ? run : bytes, id == 399 ? sizeof(run) : id);
	zts_wal_put_entry(&wal, 401, bytes, sizeof(bytes));
	pack(&wal, &packed);
	fmi = open_packed(&packed);
	assert_int_equal(zts_fmi_verify(fmi, NULL), SONDE_OK);
	check_texts(fmi, &wal);
	check_find(fmi, &wal, "rrr", 3);
	check_find(fmi, &wal, "\xff\x04", 2);
	zts_fmi_free(fmi);
	sonde_buffer_release(&wal);
	sonde_buffer_release(&packed);
}

/* WALs that follow each other give one index; those that do not are refused. */
static void test_several_wals(void **state)
{
	struct sonde_buffer first = { 0 }, second = { 0 }, joined = { 0 }, packed = { 0 };
	struct zts_wal_bytes wals[2];
	struct zts_fmi *fmi;

	(void)state;
	make_texts(&first, 1, 500);
	make_texts(&second, 501, 300);
	sonde_buffer_put(&joined, first.data, first.size);
	sonde_buffer_put(&joined, second.data + 4, second.size - 4);
	/* A writer may have died in the middle of an entry. */
	sonde_buffer_put_text(&second, "=5\1unfinish");
	wals[0] = (struct zts_wal_bytes){ bytes_of(&first), first.size };
	wals[1] = (struct zts_wal_bytes){ bytes_of(&second), second.size };
	assert_int_equal(zts_fmi_pack(wals, 2, &packed, NULL), SONDE_OK);
	fmi = open_packed(&packed);
	check_texts(fmi, &joined);
	zts_fmi_free(fmi);
	wals[1] = wals[0];
	assert_int_equal(zts_fmi_pack(wals, 2, &packed, NULL), SONDE_CORRUPT);
	wals[1] = (struct zts_wal_bytes){ (const uint8_t *)"no WAL", 6 };
	assert_int_equal(zts_fmi_pack(wals, 2, &packed, NULL), SONDE_FORMAT);
	sonde_buffer_release(&first);
	sonde_buffer_release(&second);
	sonde_buffer_release(&joined);
	sonde_buffer_release(&packed);
}

static bool take_number(void *context, uint32_t slot)
{
	++((uint32_t *)context)[slot];
	return true;
}

/* The hard way: the pattern in the bytes, and the digits before it. */
static void count_postings(const struct sonde_buffer *wal, const uint8_t *pattern, size_t size,
			   uint32_t *slots)
{
	const uint8_t *place = bytes_of(wal), *end = place + wal->size;
	uint32_t slot;

	while ((place = memmem(place, (size_t)(end - place), pattern, size))) {
		const uint8_t *start = place;

		while (start[-1] != ZTS_META_DEEP)
			start--;
		assert_true(zts_id_parse(start, (size_t)(place - start), &slot));
		slots[slot]++;
		place += size;
	}
}

static void test_numbers_before(void **state)
{
	enum { SLOTS = 5000, IDS = 120 };
	struct sonde_buffer wal = { 0 }, packed = { 0 };
	struct zts_fmi *fmi;

	(void)state;
	make_postings(&wal, SLOTS, IDS);
	pack(&wal, &packed);
	fmi = open_packed(&packed);
	for (uint32_t id = 0; id < IDS; id++) {
		uint8_t pattern[ZTS_ID_DIGITS + 2] = { ZTS_META_ID_MARK };
		size_t size = 1 + zts_id_put(id, pattern + 1);
		uint32_t numbers[SLOTS] = { 0 }, expected[SLOTS] = { 0 };

		pattern[size++] = ZTS_META_DEEP;
		assert_int_equal(zts_fmi_numbers_before(fmi, pattern, size, ZTS_META_DEEP,
							SLOTS - 1, take_number, numbers, NULL),
				 SONDE_OK);
		count_postings(&wal, pattern, size, expected);
		assert_memory_equal(numbers, expected, sizeof(numbers));
	}
	zts_fmi_free(fmi);
	sonde_buffer_release(&wal);
	sonde_buffer_release(&packed);
}

/* Files without full rank maps, as a writer might leave them out, are searched all the same. */
static void test_without_full_ranks(void **state)
{
	struct sonde_buffer wal = { 0 }, packed = { 0 };
	struct zts_fmi *fmi;
	uint8_t *bytes;
	uint32_t blocks;

	(void)state;
	make_texts(&wal, 1, 6000);
	pack(&wal, &packed);
	bytes = (uint8_t *)packed.data;
	blocks = sonde_load_u32le(bytes + 4);
	assert_true(blocks > 100);
	for (uint32_t i = 1; i < blocks; i++)
		bytes[32 + 1024 + 14 * i + 13] &= (uint8_t)~ZTS_FMI_FULL_RANKS;
	fmi = open_packed(&packed);
	assert_false(zts_fmi_header_is_whole(fmi));
	check_patterns(fmi, &wal);
	zts_fmi_free(fmi);
	sonde_buffer_release(&wal);
	sonde_buffer_release(&packed);
}

/* Uses everything; whatever comes, it must end and stay within bounds. */
static enum sonde_status use(const uint8_t *bytes, size_t size)
{
	struct sonde_buffer out = { 0 };
	enum sonde_status status;
	struct zts_fmi *fmi;

	status = zts_fmi_of(bytes, size, "damaged", &fmi, NULL);
	if (status == SONDE_OK) {
		status = zts_fmi_verify(fmi, NULL);
		zts_fmi_text(fmi, 3, &out, NULL);
		zts_fmi_count(fmi, (const uint8_t *)"java", 4);
		zts_fmi_unpack(fmi, &out, NULL);
	}
	zts_fmi_free(fmi);
	sonde_buffer_release(&out);
	return status;
}

/* Every bit of a small file turned: each time something is found wrong. */
static void test_damage(void **state)
{
	struct sonde_buffer wal = { 0 }, packed = { 0 };

	(void)state;
	make_texts(&wal, 1, 20);
	pack(&wal, &packed);
	assert_int_equal(use(bytes_of(&packed), packed.size), SONDE_OK);
	for (size_t i = 0; i < packed.size; i++) {
		packed.data[i] ^= 1 << i % 8;
		if (use(bytes_of(&packed), packed.size) == SONDE_OK)
			fail_msg("byte %zu", i);
		packed.data[i] ^= 1 << i % 8;
	}
	for (size_t size = 0; size < packed.size; size++)
		assert_true(use(bytes_of(&packed), size) < 0);
	sonde_buffer_release(&wal);
	sonde_buffer_release(&packed);
}

/* A damaged block: texts that do not lead through it are still there. */
static void test_rest_of_damage(void **state)
{
	struct sonde_buffer wal = { 0 }, packed = { 0 }, text = { 0 };
	size_t whole = 0;
	struct zts_fmi *fmi;

	(void)state;
	make_texts(&wal, 1, 3000);
	pack(&wal, &packed);
	memset(packed.data + packed.size - 5, 0xee, 5);
	fmi = open_packed(&packed);
	assert_true(zts_fmi_header_is_whole(fmi));
	assert_int_equal(zts_fmi_verify(fmi, NULL), SONDE_CORRUPT);
	for (uint32_t id = 1; id <= 3000; id++) {
		sonde_buffer_clear(&text);
		whole += zts_fmi_text(fmi, id, &text, NULL) == SONDE_OK;
	}
	assert_true(whole > 2000 && whole <= 3000);
	zts_fmi_free(fmi);
	sonde_buffer_release(&wal);
	sonde_buffer_release(&packed);
	sonde_buffer_release(&text);
}

/*
 * An index of another program: it unpacks, and packs again with the same blocks and no more bytes.
 */
static void check_foreign(const char *corpus, const char *name, uint32_t words)
{
	struct sonde_buffer wal = { 0 }, packed = { 0 };
	struct sonde_mapped_file file;
	struct zts_fmi *fmi;
	char path[512];
	uint32_t blocks;

	snprintf(path, sizeof(path), "%s/zts/v1-small-archived/000000/%s", corpus, name);
	assert_int_equal(zts_fmi_open(path, &fmi, NULL), SONDE_OK);
	assert_int_equal(zts_fmi_words(fmi), words);
	assert_int_equal(zts_fmi_verify(fmi, NULL), SONDE_OK);
	assert_int_equal(zts_fmi_unpack(fmi, &wal, NULL), SONDE_OK);
	check_texts(fmi, &wal);
	check_patterns(fmi, &wal);
	zts_fmi_free(fmi);
	pack(&wal, &packed);
	assert_int_equal(sonde_mapped_file_open(&file, path, NULL), SONDE_OK);
	assert_true(packed.size <= file.size);
	/* Header but for the checksum, counts, and where the blocks begin. */
	assert_memory_equal(packed.data, file.data, 24);
	assert_memory_equal(packed.data + 28, file.data + 28, 4 + 1024);
	blocks = sonde_load_u32le(file.data + 4);
	for (uint32_t i = 0; i < blocks; i++)
		assert_memory_equal(packed.data + 1056 + 14 * i + 4, file.data + 1056 + 14 * i + 4,
				    4);
	sonde_mapped_file_release(&file);
	sonde_buffer_release(&wal);
	sonde_buffer_release(&packed);
}

static void test_corpus(void **state)
{
	const char *corpus = getenv("SONDE_CORPUS");

	(void)state;
	if (!corpus)
		return;
	check_foreign(corpus, "text-00000001-0000055b.fmi", 1371);
	check_foreign(corpus, "meta-00000001-000001ab.fmi", 427);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_odd_texts),
		cmocka_unit_test(test_several_wals),
		cmocka_unit_test(test_numbers_before),
		cmocka_unit_test(test_without_full_ranks),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_rest_of_damage),
		cmocka_unit_test(test_corpus),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
