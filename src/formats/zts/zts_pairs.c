/* SPDX-License-Identifier: Apache-2.0 */
/* The pairs of a store in two hash maps; where a pair was written twice the first id counts. */
#include "formats/zts/zts_pairs.h"

#include "formats/zts/zts_wal.h"

/* Ids without a text that are put up with: files may be lost, numbers may be damaged. */
#define MAX_MISSING (16u << 20)

static bool add_text(struct zts_pairs *pairs, uint32_t id, const char *text, size_t size)
{
	struct zts_typed_text typed;
	uint64_t key;

	if (!size || size > UINT32_MAX)
		return true;
	if (text[0] == ZTS_TEXT_KEY_LITERAL)
		return sonde_text_map_find(&pairs->literals, text, size) != UINT32_MAX ||
		       sonde_text_map_add(&pairs->literals, text, size, id);
	if (text[0] != ZTS_TEXT_KEY_VALUE || zts_text_parse(text, size, &typed, NULL) != SONDE_OK)
		return true;
	key = (uint64_t)typed.fields[0] << 32 | typed.fields[1];
	return sonde_key_map_find(&pairs->values, key) != UINT32_MAX ||
	       sonde_key_map_add(&pairs->values, key, id);
}

enum sonde_status zts_pairs_collect(struct zts_pairs *pairs, struct zts_texts *texts,
				    struct sonde_error *err)
{
	uint32_t end = zts_texts_end(texts), missing = 0, expected = 1;
	const char *text;
	size_t size;

	pairs->end = 1;
	for (uint32_t id = zts_texts_next(texts, 1); id < end; id = zts_texts_next(texts, id + 1)) {
		enum sonde_status status;

		if (id - expected >= MAX_MISSING - missing)
			break;
		missing += id - expected;
		expected = id + 1;
		status = zts_texts_get(texts, id, &text, &size, err);
		if (status == SONDE_NOMEM)
			return status;
		if (status == SONDE_OK && !add_text(pairs, id, text, size))
			return sonde_fail_nomem(err);
		if (status == SONDE_OK)
			pairs->end = expected;
		else if (++missing == MAX_MISSING)
			break;
	}
	return SONDE_OK;
}

void zts_pairs_release(struct zts_pairs *pairs)
{
	sonde_key_map_release(&pairs->values);
	sonde_text_map_release(&pairs->literals);
	sonde_buffer_release(&pairs->scratch);
}

uint32_t zts_pairs_value(const struct zts_pairs *pairs, uint32_t key, uint32_t value)
{
	uint32_t id = sonde_key_map_find(&pairs->values, (uint64_t)key << 32 | value);

	return id == UINT32_MAX ? 0 : id;
}

uint32_t zts_pairs_literal(struct zts_pairs *pairs, uint32_t key, const char *literal, size_t size)
{
	uint8_t digits[ZTS_ID_DIGITS];
	size_t count = zts_id_put(key, digits);
	uint32_t id;

	sonde_buffer_clear(&pairs->scratch);
	sonde_buffer_put_char(&pairs->scratch, ZTS_TEXT_KEY_LITERAL);
	sonde_buffer_put(&pairs->scratch, digits, count);
	sonde_buffer_put_char(&pairs->scratch, ZTS_TEXT_KEY_LITERAL);
	sonde_buffer_put(&pairs->scratch, literal, size);
	sonde_buffer_put_char(&pairs->scratch, ZTS_TEXT_KEY_LITERAL);
	if (pairs->scratch.failed)
		return 0;
	id = sonde_text_map_find(&pairs->literals, pairs->scratch.data, pairs->scratch.size);
	return id == UINT32_MAX ? 0 : id;
}
