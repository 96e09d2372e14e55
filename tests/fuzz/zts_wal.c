/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target over a WAL: the entries found one by one are those of the text index; texts are
 * searched, followed and shown; what is packed of it comes back.
 */
#include <string.h>

#include "formats/zts/zts_fmi.h"
#include "formats/zts/zts_texts.h"
#include "formats/zts/zts_wal.h"
#include "require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool count_pair(void *context, uint32_t pair_id, uint32_t value_id, const char *literal,
		       size_t size)
{
	(void)pair_id;
	(void)value_id;
	REQUIRE(!size || memchr(literal, literal[0], size));
	return ++*(size_t *)context < 100;
}

/* Each text is found by itself, as what it is. */
static void check_text(struct zts_texts *texts, uint32_t id, struct zts_set *found)
{
	struct zts_typed_text typed;

	if (zts_texts_typed(texts, id, &typed, NULL) == SONDE_END)
		return;
	/* It may be there without an escape. */
	if (typed.size && memchr(typed.text, 0xff, typed.size))
		return;
	if (typed.kind > ZTS_TEXT_KEY_LITERAL && typed.kind < ZTS_TEXT_AGENT)
		return;
	REQUIRE(zts_texts_find(texts, 1u << typed.kind, ZTS_MATCH_EXACT, typed.text, typed.size,
			       found, NULL) == SONDE_OK);
	REQUIRE(zts_set_has(found, id));
}

static void use_texts(struct zts_texts *texts)
{
	uint32_t end = zts_texts_end(texts);
	struct zts_set ids = { 0 }, slots = { 0 };
	struct sonde_buffer names = { 0 };
	size_t pairs = 0;

	REQUIRE(zts_set_init(&ids, end) && zts_set_init(&slots, 1000));
	for (uint32_t id = 0; id < end && id < 50; id++) {
		zts_texts_put_name(texts, id, &names);
		check_text(texts, id, &ids);
	}
	REQUIRE(zts_texts_find(texts, 0, ZTS_MATCH_SUBSTRING, "a", 1, &ids, NULL) == SONDE_OK);
	REQUIRE(zts_texts_close(texts, 0, &ids, NULL) == SONDE_OK);
	REQUIRE(zts_texts_pairs(texts, 1, count_pair, &pairs, NULL) == SONDE_OK);
	REQUIRE(zts_texts_postings(texts, &ids, true, &slots, NULL) == SONDE_OK);
	zts_set_release(&ids);
	zts_set_release(&slots);
	sonde_buffer_release(&names);
}

/* Entries without damage between them pack, and unpack to the same. */
static void check_packed(const uint8_t *data, size_t size)
{
	struct zts_wal_bytes wal = { data, size };
	struct sonde_buffer packed = { 0 }, unpacked = { 0 };
	struct zts_fmi *fmi;

	if (zts_fmi_pack(&wal, 1, &packed, NULL) == SONDE_OK) {
		REQUIRE(zts_fmi_of((const uint8_t *)packed.data, packed.size, "packed", &fmi,
				   NULL) == SONDE_OK);
		REQUIRE(zts_fmi_verify(fmi, NULL) == SONDE_OK);
		REQUIRE(zts_fmi_unpack(fmi, &unpacked, NULL) == SONDE_OK);
		REQUIRE(unpacked.size <= size && !memcmp(unpacked.data, data, unpacked.size));
		zts_fmi_free(fmi);
	}
	sonde_buffer_release(&packed);
	sonde_buffer_release(&unpacked);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct zts_wal_entry entry;
	struct zts_texts *texts;
	size_t offset = 4;

	if (size > 1 << 16 || zts_texts_of(data, size, &texts, NULL) != SONDE_OK)
		return 0;
	while (size >= 4 && !memcmp(data, ZTS_WAL_MAGIC, 4) &&
	       zts_wal_at(data, size, offset, &entry, NULL) == SONDE_OK) {
		REQUIRE(entry.next > offset && entry.next <= size);
		offset = entry.next;
	}
	use_texts(texts);
	zts_texts_free(texts);
	check_packed(data, size);
	return 0;
}
