/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text index over WALs, FMIs and both: every search is compared with a naive one over all
 * texts. With $SONDE_CORPUS the names are those that another program shows.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/zts/zts_fmi.h"
#include "formats/zts/zts_texts.h"
#include "formats/zts/zts_wal.h"
#include "scratch.h"
#include "zts_texts_fixture.h"

static void pack_file(const char *name, const struct sonde_buffer *wal)
{
	struct zts_wal_bytes bytes = { (const uint8_t *)wal->data, wal->size };
	struct sonde_buffer packed = { 0 };

	assert_int_equal(zts_fmi_pack(&bytes, 1, &packed, NULL), SONDE_OK);
	put_bytes(name, packed.data, packed.size);
	sonde_buffer_release(&packed);
}

/* The same texts in each of these ways: WALs, FMIs, an FMI and WALs. */
enum { COUNT = 3000, WAYS = 3 };

static struct zts_texts *open_way(int way)
{
	struct sonde_diagnostics *diagnostics = sonde_diagnostics_new();
	struct sonde_buffer first = { 0 }, second = { 0 };
	struct zts_texts *texts;

	remove_tree("store");
	assert_int_equal(sonde_folder_create("store", NULL), SONDE_OK);
	make_texts(&first, 1, COUNT / 2);
	make_texts(&second, 1 + COUNT / 2, COUNT / 2);
	if (way == 0)
		put_bytes("store/text-00000001.wal", first.data, first.size);
	else
		pack_file("store/text-00000001-000005dc.fmi", &first);
	if (way == 1)
		pack_file("store/text-000005dd-000005dc.fmi", &second);
	else
		put_bytes("store/text-000005dd.wal", second.data, second.size);
	assert_int_equal(zts_texts_open("store", "text", diagnostics, &texts, NULL), SONDE_OK);
	assert_int_equal(sonde_diagnostics_count(diagnostics, SONDE_NOTE), 0);
	assert_int_equal(zts_texts_end(texts), COUNT + 1);
	sonde_diagnostics_free(diagnostics);
	sonde_buffer_release(&first);
	sonde_buffer_release(&second);
	return texts;
}

/* A second view on the same texts, which only ever gets them. */
static struct zts_texts *naive;

static int make_naive(void **state)
{
	static struct sonde_buffer wal;
	struct sonde_buffer second = { 0 };

	make_texts(&wal, 1, COUNT / 2);
	make_texts(&second, 1 + COUNT / 2, COUNT / 2);
	sonde_buffer_put(&wal, second.data + 4, second.size - 4);
	sonde_buffer_release(&second);
	if (zts_texts_of((const uint8_t *)wal.data, wal.size, &naive, NULL) != SONDE_OK)
		return -1;
	*state = &wal;
	return 0;
}

static int release_naive(void **state)
{
	zts_texts_free(naive);
	sonde_buffer_release(*state);
	return 0;
}

static void test_get(void **state)
{
	(void)state;
	for (int way = 0; way < WAYS; way++) {
		struct zts_texts *texts = open_way(way);
		const char *text, *expected;
		size_t size, expected_size;

		for (uint32_t round = 0; round < 2 * COUNT; round++) {
			uint32_t id = 1 + round * 7 % COUNT;

			assert_int_equal(zts_texts_get(texts, id, &text, &size, NULL), SONDE_OK);
			assert_int_equal(zts_texts_get(naive, id, &expected, &expected_size, NULL),
					 SONDE_OK);
			assert_int_equal(size, expected_size);
			assert_true(!size || !memcmp(text, expected, size));
		}
		assert_int_equal(zts_texts_get(texts, 0, &text, &size, NULL), SONDE_END);
		assert_int_equal(zts_texts_get(texts, COUNT + 1, &text, &size, NULL), SONDE_END);
		assert_int_equal(zts_texts_get(texts, UINT32_MAX, &text, &size, NULL), SONDE_END);
		zts_texts_free(texts);
	}
}

/* Borrowed texts stay where they are, whatever is asked for later. */
static void test_borrowed(void **state)
{
	struct zts_texts *texts = open_way(1);
	const char *texts_of[COUNT + 1];
	size_t sizes[COUNT + 1];

	(void)state;
	for (uint32_t id = 1; id <= COUNT; id++)
		assert_int_equal(zts_texts_get(texts, id, &texts_of[id], &sizes[id], NULL),
				 SONDE_OK);
	for (uint32_t id = 1; id <= COUNT; id++) {
		const char *expected;
		size_t size;

		assert_int_equal(zts_texts_get(naive, id, &expected, &size, NULL), SONDE_OK);
		assert_int_equal(sizes[id], size);
		assert_true(!size || !memcmp(texts_of[id], expected, size));
	}
	zts_texts_free(texts);
}

static bool is_match(const struct zts_typed_text *typed, unsigned int kinds, enum zts_match match,
		     const char *text, size_t size)
{
	bool composed = typed->kind > ZTS_TEXT_KEY_LITERAL && typed->kind < ZTS_TEXT_AGENT;

	if (composed || !(kinds >> typed->kind & 1) || typed->size < size)
		return false;
	if (match == ZTS_MATCH_SUBSTRING)
		return memmem(typed->text, typed->size, text, size) != NULL;
	return (match == ZTS_MATCH_PREFIX || typed->size == size) &&
	       !memcmp(typed->text, text, size);
}

static size_t check_find(struct zts_texts *texts, unsigned int kinds, enum zts_match match,
			 const char *text, size_t size)
{
	unsigned int wanted = kinds ? kinds : 0x1f1;
	struct zts_set ids = { 0 };
	size_t count;

	assert_true(zts_set_init(&ids, COUNT + 1));
	assert_int_equal(zts_texts_find(texts, kinds, match, text, size, &ids, NULL), SONDE_OK);
	for (uint32_t id = 1; id <= COUNT; id++) {
		struct zts_typed_text typed;

		zts_texts_typed(naive, id, &typed, NULL);
		if (zts_set_has(&ids, id) != is_match(&typed, wanted, match, text, size))
			fail_msg("'%s' of kinds %x, match %d: id %u", text, kinds, match, id);
	}
	count = zts_set_count(&ids);
	zts_set_release(&ids);
	return count;
}

static void test_find(void **state)
{
	static const char *const texts_sought[] = {
		"java", "a",	"7",  "200",   "zażółć", "nowhere", "select * from tMap12",
		"\5",	"\xff", "\4", "\tat ", "java7",	 ""
	};
	static const unsigned int kinds[] = { 0, 1, 1u << ZTS_TEXT_CLASS,
					      1u << ZTS_TEXT_KEY_LITERAL, 0xffff };
	size_t found = 0;

	(void)state;
	for (int way = 0; way < WAYS; way++)
		for (size_t i = 0; i < sizeof(texts_sought) / sizeof(*texts_sought); i++)
			for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds) * 3; k++) {
				/* Opened anew, so that what is packed is searched as it is. */
				struct zts_texts *texts = i % 4 ? NULL : open_way(way);
				static struct zts_texts *kept;

				if (!texts && !k)
					kept = open_way(way);
				found += check_find(texts ? texts : kept, kinds[k / 3],
						    (enum zts_match)(k % 3), texts_sought[i],
						    strlen(texts_sought[i]));
				zts_texts_free(texts);
				if (!texts && k + 1 == sizeof(kinds) / sizeof(*kinds) * 3)
					zts_texts_free(kept);
			}
	assert_true(found > 1000);
}

/* The text of every id, whole, is found as what it is. */
static void test_find_each(void **state)
{
	struct zts_texts *texts = open_way(1);

	(void)state;
	for (uint32_t id = 1; id <= COUNT; id += 17) {
		struct zts_typed_text typed;

		zts_texts_typed(naive, id, &typed, NULL);
		if (typed.kind >= ZTS_TEXT_KEY_LITERAL || !typed.size)
			continue;
		assert_true(check_find(texts, 1u << typed.kind, ZTS_MATCH_EXACT, typed.text,
				       typed.size) >= 1);
	}
	zts_texts_free(texts);
}

static bool holds_any(const struct zts_typed_text *typed, const struct zts_set *ids)
{
	static const size_t counts[16] = { [ZTS_TEXT_KEY_LITERAL] = 1,
					   [ZTS_TEXT_KEY_VALUE] = 2,
					   [ZTS_TEXT_METHOD] = 3,
					   [ZTS_TEXT_EXCEPTION] = 4,
					   [ZTS_TEXT_FRAME] = 3 };
	struct zts_typed_text rest = *typed;
	uint32_t frame;

	for (size_t i = 0; i < counts[typed->kind]; i++)
		if (zts_set_has(ids, typed->fields[i]))
			return true;
	while (typed->kind == ZTS_TEXT_STACK && zts_text_next_frame(&rest, &frame))
		if (zts_set_has(ids, frame))
			return true;
	return false;
}

static void close_naively(unsigned int kinds, struct zts_set *ids)
{
	bool added = true;

	while (added) {
		added = false;
		for (uint32_t id = 1; id <= COUNT; id++) {
			struct zts_typed_text typed;

			if (zts_set_has(ids, id) ||
			    zts_texts_typed(naive, id, &typed, NULL) != SONDE_OK ||
			    !(kinds >> typed.kind & 1) || !holds_any(&typed, ids))
				continue;
			zts_set_add(ids, id);
			added = true;
		}
	}
}

static void check_close(struct zts_texts *texts, unsigned int kinds, uint32_t first, uint32_t step)
{
	struct zts_set ids = { 0 }, expected = { 0 };

	assert_true(zts_set_init(&ids, COUNT + 1) && zts_set_init(&expected, COUNT + 1));
	for (uint32_t id = first; id <= COUNT; id += step) {
		zts_set_add(&ids, id);
		zts_set_add(&expected, id);
	}
	assert_int_equal(zts_texts_close(texts, kinds, &ids, NULL), SONDE_OK);
	close_naively(kinds ? kinds : 0x7c00, &expected);
	assert_memory_equal(ids.words, expected.words, (COUNT + 64) / 64 * 8);
	zts_set_release(&ids);
	zts_set_release(&expected);
}

static void test_close(void **state)
{
	(void)state;
	for (int way = 0; way < WAYS; way++) {
		static const uint32_t firsts[] = { 2990, 2000, 1501, 1000, 3, COUNT };

		for (size_t i = 0; i < 6; i++) {
			struct zts_texts *texts = open_way(way);

			check_close(texts, 0, firsts[i], COUNT);
			check_close(texts, 1u << ZTS_TEXT_KEY_VALUE, firsts[i], COUNT);
			check_close(texts, 1u << ZTS_TEXT_FRAME | 1u << ZTS_TEXT_KEY_LITERAL,
				    firsts[i], 700);
			check_close(texts, 0, firsts[i], 10);
			zts_texts_free(texts);
		}
	}
}

/* Texts that hold later ones: followed to the end all the same, and not for ever in a circle. */
static void test_close_backwards(void **state)
{
	static const char *const held[] = { "\v2\v0\v0\v", "\v3\v0\v0\v",    "\v4\v0\v0\v",
					    "leaf",	   "\f6\f0\f0\f0\f", "\f5\f0\f0\f0\f" };
	struct sonde_buffer wal = { 0 };
	struct zts_set ids = { 0 };
	struct zts_texts *texts;

	(void)state;
	sonde_buffer_put(&wal, ZTS_WAL_MAGIC, 4);
	for (uint32_t i = 0; i < 6; i++)
		zts_wal_put_entry(&wal, i + 1, held[i], strlen(held[i]));
	assert_int_equal(zts_texts_of((const uint8_t *)wal.data, wal.size, &texts, NULL), SONDE_OK);
	assert_true(zts_set_init(&ids, 7));
	zts_set_add(&ids, 4);
	assert_int_equal(zts_texts_close(texts, 0, &ids, NULL), SONDE_OK);
	assert_int_equal(ids.words[0], 0x1e);
	zts_set_add(&ids, 5);
	assert_int_equal(zts_texts_close(texts, 0, &ids, NULL), SONDE_OK);
	assert_int_equal(ids.words[0], 0x7e);
	zts_set_release(&ids);
	zts_texts_free(texts);
	sonde_buffer_release(&wal);
}

struct pairs {
	uint32_t key;
	size_t count;
	struct zts_set ids;
};

static bool take_pair(void *context, uint32_t pair_id, uint32_t value_id, const char *literal,
		      size_t size)
{
	struct pairs *pairs = context;
	struct zts_typed_text typed;

	assert_int_equal(zts_texts_typed(naive, pair_id, &typed, NULL), SONDE_OK);
	assert_int_equal(typed.fields[0], pairs->key);
	assert_int_equal(value_id, typed.kind == ZTS_TEXT_KEY_VALUE ? typed.fields[1] : 0);
	assert_int_equal(size, typed.size);
	assert_true(!size || !memcmp(literal, typed.text, size));
	assert_false(zts_set_has(&pairs->ids, pair_id));
	zts_set_add(&pairs->ids, pair_id);
	pairs->count++;
	return true;
}

static void test_pairs(void **state)
{
	(void)state;
	for (int way = 0; way < WAYS; way++) {
		struct zts_texts *texts = open_way(way);
		size_t all = 0, expected = 0;

		for (uint32_t key = 0; key < COUNT; key++) {
			struct pairs pairs = { .key = key };

			assert_true(zts_set_init(&pairs.ids, COUNT + 1));
			assert_int_equal(zts_texts_pairs(texts, key, take_pair, &pairs, NULL),
					 SONDE_OK);
			all += pairs.count;
			zts_set_release(&pairs.ids);
		}
		for (uint32_t id = 1; id <= COUNT; id++) {
			struct zts_typed_text typed;

			zts_texts_typed(naive, id, &typed, NULL);
			expected += typed.kind == ZTS_TEXT_KEY_LITERAL ||
				    typed.kind == ZTS_TEXT_KEY_VALUE;
		}
		assert_int_equal(all, expected);
		zts_texts_free(texts);
	}
}

static void check_postings(struct zts_texts *meta, const struct sonde_buffer *wal, uint32_t slots,
			   const struct zts_set *ids, bool deep)
{
	uint8_t mark = deep ? ZTS_META_DEEP : ZTS_META_SHALLOW;
	struct zts_set found = { 0 };

	assert_true(zts_set_init(&found, slots));
	assert_int_equal(zts_texts_postings(meta, ids, deep, &found, NULL), SONDE_OK);
	for (uint32_t slot = 0; slot < slots; slot++) {
		bool expected = false;

		for (size_t id = zts_set_next(ids, 0); id != SIZE_MAX && !expected;
		     id = zts_set_next(ids, id + 1)) {
			uint8_t posting[2 * ZTS_ID_DIGITS + 3] = { mark };
			size_t size = 1 + zts_id_put(slot, posting + 1);

			posting[size++] = ZTS_META_ID_MARK;
			size += zts_id_put((uint32_t)id, posting + size);
			posting[size++] = mark;
			expected = memmem(wal->data, wal->size, posting, size) != NULL;
		}
		assert_int_equal(zts_set_has(&found, slot), expected);
	}
	zts_set_release(&found);
}

static void test_postings(void **state)
{
	enum { SLOTS = 200, IDS = 500 };
	struct sonde_buffer wal = { 0 };

	(void)state;
	make_postings(&wal, SLOTS, IDS);
	for (int packed = 0; packed < 2; packed++) {
		struct zts_texts *meta;

		remove_tree("store");
		assert_int_equal(sonde_folder_create("store", NULL), SONDE_OK);
		if (packed)
			pack_file("store/meta-00000001-00000258.fmi", &wal);
		else
			put_bytes("store/meta-00000001.wal", wal.data, wal.size);
		assert_int_equal(zts_texts_open("store", "meta", NULL, &meta, NULL), SONDE_OK);
		for (uint32_t count = 1; count < 100; count *= 3) {
			struct zts_set ids = { 0 };

			assert_true(zts_set_init(&ids, IDS + 100));
			for (uint32_t i = 0; i < count; i++)
				zts_set_add(&ids, i * 37 % (IDS + 100));
			check_postings(meta, &wal, SLOTS, &ids, true);
			check_postings(meta, &wal, SLOTS, &ids, false);
			zts_set_release(&ids);
		}
		zts_texts_free(meta);
	}
	sonde_buffer_release(&wal);
}

static void assert_text(struct zts_texts *texts, uint32_t id, const char *expected)
{
	const char *text;
	size_t size;

	assert_int_equal(zts_texts_get(texts, id, &text, &size, NULL), SONDE_OK);
	assert_int_equal(size, strlen(expected));
	assert_memory_equal(text, expected, size);
}

/* A writer appends, begins another WAL, and packs the first ones. */
static void test_refresh(void **state)
{
	struct sonde_buffer wal = { 0 }, next = { 0 };
	struct zts_texts *texts;
	const char *borrowed;
	struct zts_set ids = { 0 };
	size_t size;

	(void)state;
	remove_tree("store");
	assert_int_equal(sonde_folder_create("store", NULL), SONDE_OK);
	assert_int_equal(zts_texts_open("store", "text", NULL, &texts, NULL), SONDE_OK);
	assert_int_equal(zts_texts_end(texts), 0);
	sonde_buffer_put(&wal, ZTS_WAL_MAGIC, 4);
	zts_wal_put_entry(&wal, 1, "one", 3);
	/* the start of the next entry */
	put_bytes("store/text-00000001.wal", wal.data, wal.size);
	assert_int_equal(zts_texts_refresh(texts, NULL), SONDE_OK);
	assert_int_equal(zts_texts_end(texts), 2);
	assert_int_equal(zts_texts_get(texts, 1, &borrowed, &size, NULL), SONDE_OK);
	zts_wal_put_entry(&wal, 2, "two", 3);
	put_bytes("store/text-00000001.wal", wal.data, wal.size - 2);
	assert_int_equal(zts_texts_refresh(texts, NULL), SONDE_OK);
	assert_int_equal(zts_texts_end(texts), 2);
	put_bytes("store/text-00000001.wal", wal.data, wal.size);
	sonde_buffer_put(&next, ZTS_WAL_MAGIC, 4);
	zts_wal_put_entry(&next, 3, "three", 5);
	put_bytes("store/text-00000003.wal", next.data, next.size);
	assert_int_equal(zts_texts_refresh(texts, NULL), SONDE_OK);
	assert_int_equal(zts_texts_end(texts), 4);
	assert_text(texts, 2, "two");
	assert_text(texts, 3, "three");
	pack_file("store/text-00000001-00000002.fmi", &wal);
	assert_int_equal(unlink("store/text-00000001.wal"), 0);
	assert_int_equal(zts_texts_refresh(texts, NULL), SONDE_OK);
	assert_int_equal(zts_texts_refresh(texts, NULL), SONDE_OK);
	assert_int_equal(zts_texts_end(texts), 4);
	assert_text(texts, 2, "two");
	assert_true(zts_set_init(&ids, 10));
	assert_int_equal(zts_texts_find(texts, 0, ZTS_MATCH_SUBSTRING, "t", 1, &ids, NULL),
			 SONDE_OK);
	assert_int_equal(zts_set_count(&ids), 2);
	assert_memory_equal(borrowed, "one", 3);
	zts_set_release(&ids);
	zts_texts_free(texts);
	sonde_buffer_release(&wal);
	sonde_buffer_release(&next);
}

static bool has_finding(const struct sonde_diagnostics *diagnostics, const char *id)
{
	const struct sonde_finding *finding;

	for (size_t i = 0; (finding = sonde_diagnostics_at(diagnostics, i)); i++)
		if (!strcmp(finding->type->id, id))
			return true;
	return false;
}

static struct zts_texts *open_damaged(const char *finding)
{
	struct sonde_diagnostics *diagnostics = sonde_diagnostics_new();
	struct zts_texts *texts;

	assert_int_equal(zts_texts_open("store", "text", diagnostics, &texts, NULL), SONDE_OK);
	if (!has_finding(diagnostics, finding))
		fail_msg("no %s", finding);
	sonde_diagnostics_free(diagnostics);
	return texts;
}

/* Damage leaves ids without a text, and says so. */
static void test_damage(void **state)
{
	struct sonde_buffer wal = { 0 }, out = { 0 };
	struct zts_texts *texts;
	size_t second, third;

	(void)state;
	remove_tree("store");
	assert_int_equal(sonde_folder_create("store", NULL), SONDE_OK);
	sonde_buffer_put(&wal, ZTS_WAL_MAGIC, 4);
	zts_wal_put_entry(&wal, 5, "five", 4);
	second = wal.size;
	zts_wal_put_entry(&wal, 6, "six", 3);
	third = wal.size;
	zts_wal_put_entry(&wal, 7, "seven", 5);
	wal.data[second] = 'x';
	put_bytes("store/text-00000005.wal", wal.data, wal.size);
	texts = open_damaged("zts-wal-entry");
	assert_text(texts, 5, "five");
	assert_text(texts, 7, "seven");
	zts_texts_put_name(texts, 6, &out);
	assert_string_equal(sonde_buffer_text(&out), "#6");
	zts_texts_free(texts);
	wal.data[second] = '6';

	put_bytes("store/text-00000005.wal", wal.data, wal.size - 3);
	texts = open_damaged("zts-wal-cut");
	assert_int_equal(zts_texts_end(texts), 7);
	zts_texts_free(texts);

	wal.size = third;
	zts_wal_put_entry(&wal, 4000000000u, "far", 3);
	put_bytes("store/text-00000005.wal", wal.data, wal.size);
	texts = open_damaged("zts-text-ids");
	assert_int_equal(zts_texts_end(texts), 7);
	zts_texts_free(texts);

	put_bytes("store/text-00000005.wal", "WAX\3....", 8);
	zts_texts_free(open_damaged("zts-wal-magic"));
	put_bytes("store/text-00000005.wal", "", 0);
	put_bytes("store/text-00000001-00000003.fmi", "nothing of the kind", 19);
	zts_texts_free(open_damaged("zts-fmi-magic"));
	put_bytes("store/text-00000001-00000003.fmi", "0MFZ and then too little", 24);
	zts_texts_free(open_damaged("zts-fmi-damaged"));
	sonde_buffer_release(&wal);
	sonde_buffer_release(&out);
}

/* Where both are there (a packing that was not finished), texts are found once. */
static void test_overlap(void **state)
{
	struct sonde_buffer wal = { 0 }, packed = { 0 };
	struct zts_set ids = { 0 };
	struct zts_texts *texts;

	(void)state;
	remove_tree("store");
	assert_int_equal(sonde_folder_create("store", NULL), SONDE_OK);
	sonde_buffer_put(&wal, ZTS_WAL_MAGIC, 4);
	zts_wal_put_entry(&wal, 1, "old", 3);
	put_bytes("store/text-00000001.wal", wal.data, wal.size);
	sonde_buffer_put(&packed, ZTS_WAL_MAGIC, 4);
	zts_wal_put_entry(&packed, 1, "new", 3);
	pack_file("store/text-00000001-00000001.fmi", &packed);
	assert_int_equal(zts_texts_open("store", "text", NULL, &texts, NULL), SONDE_OK);
	assert_text(texts, 1, "new");
	assert_true(zts_set_init(&ids, 2));
	assert_int_equal(zts_texts_find(texts, 0, ZTS_MATCH_SUBSTRING, "old", 3, &ids, NULL),
			 SONDE_OK);
	assert_int_equal(zts_set_count(&ids), 0);
	zts_set_release(&ids);
	zts_texts_free(texts);
	sonde_buffer_release(&wal);
	sonde_buffer_release(&packed);
}

static void assert_name(struct zts_texts *texts, uint32_t id, const char *expected)
{
	struct sonde_buffer out = { 0 };

	zts_texts_put_name(texts, id, &out);
	assert_string_equal(sonde_buffer_text(&out), expected);
	sonde_buffer_release(&out);
}

static void test_names(void **state)
{
	static const struct {
		const char *text, *name;
	} cases[] = {
		{ "\5com.example.Main\5", "com.example.Main" },
		{ "\6run\6", "run" },
		{ "\b(I)V\b", "(I)V" },
		{ "\v1\v2\v3\v", "void com.example.Main.run(int)" },
		{ "\b([[JLjava/util/Map$Entry;[Ljava/lang/Object;Z)[Ljava/lang/String;\b",
		  "([[JLjava/util/Map$Entry;[Ljava/lang/Object;Z)[Ljava/lang/String;" },
		{ "\v1\v2\v5\v", "String[] com.example.Main.run(long[][], Map$Entry, Object[], "
				 "boolean)" },
		{ "\b(Iq)V\b", "(Iq)V" },
		{ "\v1\v2\v7\v", "com.example.Main.run" },
		{ "\v0\v2\v0\v", "run" },
		{ "Main.java", "Main.java" },
		{ "\0161\0162\016:\016Z\016", "com.example.Main.run(Main.java:42)" },
		{ "\0161\0162\0160\0160\016", "com.example.Main.run" },
		{ "\r;\r;\r<\r", "com.example.Main.run(Main.java:42) and 2 more" },
		{ "boom", "boom" },
		{ "\f1\f>\f=\f0\f", "com.example.Main: boom" },
		{ "\t:\t547\t", "Main.java=547" },
		{ "\n:\n>\n", "Main.java=boom" },
		{ "\ttabbed", "\ttabbed" },
		{ "a\xffz", "a\xef\xbf\xbdz" },
		{ "\vn\vn\vn\v", "#62.#62" },
		{ "\v4\vn\v0\v", "#4.#62" },
	};
	struct sonde_buffer wal = { 0 };
	struct zts_texts *texts;

	(void)state;
	sonde_buffer_put(&wal, ZTS_WAL_MAGIC, 4);
	for (uint32_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		zts_wal_put_entry(&wal, i + 1, cases[i].text, strlen(cases[i].text));
	assert_int_equal(zts_texts_of((const uint8_t *)wal.data, wal.size, &texts, NULL), SONDE_OK);
	for (uint32_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_name(texts, i + 1, cases[i].name);
	assert_name(texts, 0, "");
	assert_name(texts, 1000, "#1000");
	zts_texts_free(texts);
	sonde_buffer_release(&wal);
}

static void test_parse(void **state)
{
	static const char *const bad[] = { "\4",
					   "\5a",
					   "\t8",
					   "\t\t1\t",
					   "\n1\n",
					   "\n1\n2\n3\n",
					   "\v1\v2\v3",
					   "\f1\f2\f3\f",
					   "\r1\r \r",
					   "\r",
					   "\0161\0162\0163\016",
					   "\v1\v2\v3\vx" };
	struct zts_typed_text typed;
	uint32_t frame;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct sonde_error err = { 0 };

		if (zts_text_parse(bad[i], strlen(bad[i]), &typed, &err) != SONDE_CORRUPT)
			fail_msg("case %zu", i);
		/* It may be a string that begins so. */
		assert_int_equal(typed.kind, ZTS_TEXT_STRING);
		assert_int_equal(typed.size, strlen(bad[i]));
	}
	assert_int_equal(zts_text_parse("", 0, &typed, NULL), SONDE_OK);
	assert_int_equal(zts_text_parse("\r1\r2\r10\r", 8, &typed, NULL), SONDE_OK);
	for (uint32_t i = 0; i < 3; i++) {
		assert_true(zts_text_next_frame(&typed, &frame));
		assert_int_equal(frame, i < 2 ? i + 1 : 64);
	}
	assert_false(zts_text_next_frame(&typed, &frame));
}

static void test_set(void **state)
{
	struct zts_set set = { 0 };

	(void)state;
	assert_int_equal(zts_set_next(&set, 0), SIZE_MAX);
	assert_int_equal(zts_set_count(&set), 0);
	assert_true(zts_set_init(&set, 200));
	zts_set_add(&set, 0);
	zts_set_add(&set, 63);
	zts_set_add(&set, 64);
	zts_set_add(&set, 199);
	zts_set_add(&set, 200);
	assert_int_equal(zts_set_count(&set), 4);
	assert_int_equal(zts_set_next(&set, 0), 0);
	assert_int_equal(zts_set_next(&set, 1), 63);
	assert_int_equal(zts_set_next(&set, 64), 64);
	assert_int_equal(zts_set_next(&set, 65), 199);
	assert_int_equal(zts_set_next(&set, 200), SIZE_MAX);
	assert_false(zts_set_has(&set, 200));
	zts_set_release(&set);
}

/* Every method that the other program shows in its dump is among our names. */
static void check_corpus_names(const char *corpus, const char *store, const char *part)
{
	struct sonde_buffer names = { 0 };
	struct zts_texts *texts;
	char path[512], line[4096], *name, *end;
	unsigned int records = 0;
	FILE *dump;

	snprintf(path, sizeof(path), "%s/zts/%s/%s", corpus, store, part);
	assert_int_equal(zts_texts_open(path, "text", NULL, &texts, NULL), SONDE_OK);
	sonde_buffer_put_char(&names, '\n');
	for (uint32_t id = 1; id < zts_texts_end(texts); id++) {
		zts_texts_put_name(texts, id, &names);
		sonde_buffer_put_char(&names, '\n');
	}
	snprintf(path, sizeof(path), "%s/zts/expected/%s.tree.txt", corpus, store);
	dump = fopen(path, "r");
	assert_non_null(dump);
	assert_non_null(fgets(line, sizeof(line), dump));
	name = strstr(line, "text.words=");
	assert_non_null(name);
	assert_int_equal(zts_texts_end(texts), strtoul(name + strlen("text.words="), NULL, 10) + 1);
	while (fgets(line, sizeof(line), dump)) {
		if (strncmp(line, "REC\t", 4) != 0)
			continue;
		name = strchr(line + 4, '\t');
		end = strchr(name + 1, '\t');
		*name = *end = '\n';
		end[1] = '\0';
		records++;
		if (!memmem(names.data, names.size, name, strlen(name)))
			fail_msg("%s: no %s", store, name);
	}
	assert_true(records > 1);
	fclose(dump);
	zts_texts_free(texts);
	sonde_buffer_release(&names);
}

static void test_corpus(void **state)
{
	const char *corpus = getenv("SONDE_CORPUS");

	(void)state;
	if (!corpus)
		return;
	check_corpus_names(corpus, "v1-small-archived", "000000");
	check_corpus_names(corpus, "v1-small-0x11", "000000");
	check_corpus_names(corpus, "v1-small-chunked", "000000");
	check_corpus_names(corpus, "v2-small-0x11", "000000");
	check_corpus_names(corpus, "hand-v1-minimal", "000001");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_get, enter_folder, leave_folder),
		cmocka_unit_test_setup_teardown(test_borrowed, enter_folder, leave_folder),
		cmocka_unit_test_setup_teardown(test_find, enter_folder, leave_folder),
		cmocka_unit_test_setup_teardown(test_find_each, enter_folder, leave_folder),
		cmocka_unit_test_setup_teardown(test_close, enter_folder, leave_folder),
		cmocka_unit_test(test_close_backwards),
		cmocka_unit_test_setup_teardown(test_pairs, enter_folder, leave_folder),
		cmocka_unit_test_setup_teardown(test_postings, enter_folder, leave_folder),
		cmocka_unit_test_setup_teardown(test_refresh, enter_folder, leave_folder),
		cmocka_unit_test_setup_teardown(test_damage, enter_folder, leave_folder),
		cmocka_unit_test_setup_teardown(test_overlap, enter_folder, leave_folder),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_set),
		cmocka_unit_test(test_corpus),
	};

	return cmocka_run_group_tests(tests, make_naive, release_naive);
}
