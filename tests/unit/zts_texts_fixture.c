/* SPDX-License-Identifier: Apache-2.0 */
/* Made-up texts and postings; bytes that must be escaped are among them. */
#include <stdio.h>

#include "../random.h"
#include "formats/zts/zts_layout.h"
#include "formats/zts/zts_wal.h"
#include "zts_texts_fixture.h"

static void put_ids(struct sonde_buffer *text, int marker, size_t count, uint64_t *state,
		    uint32_t below)
{
	sonde_buffer_put_char(text, (char)marker);
	for (size_t i = 0; i < count; i++) {
		zts_id_append(next_random(state, below), text);
		sonde_buffer_put_char(text, (char)marker);
	}
}

static void put_words(struct sonde_buffer *text, uint64_t *state, uint32_t number)
{
	static const char *const words[] = { "java", "util",   "Map", "run",   "select * from t",
					     "a",    "zażółć", "200", "Order", "\xff\x01",
					     "find" };

	for (uint32_t i = 0; i < 1 + number % 4; i++)
		sonde_buffer_put_text(text,
				      words[next_random(state, sizeof(words) / sizeof(*words))]);
	if (number % 5)
		sonde_buffer_put_u64(text, number);
}

static void make_text(struct sonde_buffer *text, uint32_t id, uint64_t *state)
{
	static const uint8_t markers[] = { 0, ZTS_TEXT_KEYWORD, ZTS_TEXT_CLASS,
					   ZTS_TEXT_METHOD_NAME, ZTS_TEXT_SIGNATURE };
	uint32_t kind = next_random(state, 12);

	sonde_buffer_clear(text);
	if (kind < sizeof(markers)) {
		if (markers[kind])
			sonde_buffer_put_char(text, (char)markers[kind]);
		put_words(text, state, id);
		if (markers[kind])
			sonde_buffer_put_char(text, (char)markers[kind]);
	} else if (kind == 5) {
		put_ids(text, ZTS_TEXT_KEY_LITERAL, 1, state, id);
		sonde_buffer_put_u64(text, next_random(state, 1000));
		sonde_buffer_put_char(text, ZTS_TEXT_KEY_LITERAL);
	} else if (kind == 6) {
		put_ids(text, ZTS_TEXT_KEY_VALUE, 2, state, id);
	} else if (kind == 7) {
		put_ids(text, ZTS_TEXT_METHOD, 3, state, id);
	} else if (kind == 8) {
		put_ids(text, ZTS_TEXT_EXCEPTION, 4, state, id);
	} else if (kind == 9) {
		put_ids(text, ZTS_TEXT_STACK, 1 + id % 20, state, id);
	} else if (kind == 10) {
		put_ids(text, ZTS_TEXT_FRAME, 4, state, id);
	} else {
		/* a string that begins like a pair */
		sonde_buffer_put_text(text, "\tat ");
		put_words(text, state, id);
	}
}

void make_texts(struct sonde_buffer *wal, uint32_t first, uint32_t count)
{
	struct sonde_buffer text = { 0 };
	uint64_t state = first;

	sonde_buffer_put(wal, ZTS_WAL_MAGIC, 4);
	for (uint32_t i = 0; i < count; i++) {
		make_text(&text, first + i, &state);
		zts_wal_put_entry(wal, first + i, text.data, text.size);
	}
	sonde_buffer_release(&text);
}

static void put_line(struct sonde_buffer *text, int mark, uint32_t slot, uint32_t ids,
		     uint32_t step, uint64_t *state)
{
	sonde_buffer_clear(text);
	sonde_buffer_put_char(text, (char)mark);
	for (uint32_t id = next_random(state, step); id < ids; id += 1 + next_random(state, step)) {
		zts_id_append(slot, text);
		sonde_buffer_put_char(text, ZTS_META_ID_MARK);
		zts_id_append(id, text);
		sonde_buffer_put_char(text, (char)mark);
	}
}

void make_postings(struct sonde_buffer *wal, uint32_t slots, uint32_t ids)
{
	struct sonde_buffer text = { 0 };
	uint64_t state = slots;

	sonde_buffer_put(wal, ZTS_WAL_MAGIC, 4);
	for (uint32_t slot = 0; slot < slots; slot++) {
		sonde_buffer_clear(&text);
		zts_id_append(slot, &text);
		sonde_buffer_put_format(&text, "%c%08x-0000-0000-0000-%012x%c", ZTS_META_SLOT_MARK,
					slot, slot * 7u, ZTS_META_UUID_END);
		zts_wal_put_entry(wal, 1 + 3 * slot, text.data, text.size);
		put_line(&text, ZTS_META_DEEP, slot, ids, ids / 16 + 1, &state);
		zts_wal_put_entry(wal, 2 + 3 * slot, text.data, text.size);
		put_line(&text, ZTS_META_SHALLOW, slot, ids, ids / 3 + 1, &state);
		zts_wal_put_entry(wal, 3 + 3 * slot, text.data, text.size);
	}
	sonde_buffer_release(&text);
}
