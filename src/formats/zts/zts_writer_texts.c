/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interning: every text of a part has one id. Strings and names are found by their bytes, composed
 * texts (methods, pairs, frames, exceptions) by the ids and numbers they are made of.
 */
#include <stdlib.h>
#include <sys/random.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/now.h"
#include "formats/zts/zts_texts.h"
#include "formats/zts/zts_wal.h"
#include "formats/zts/zts_writer_private.h"

#define FIRST_SLOTS 1024

/* What the last field of a KEY_LITERAL is in the table of composed texts. */
enum { LITERAL_NUMBER = 1, LITERAL_BOOL = 2 };

void zts_interner_init(struct zts_interner *interner)
{
	*interner = (struct zts_interner){ 0 };
	if (getrandom(&interner->seed, sizeof(interner->seed), GRND_NONBLOCK) < 0)
		interner->seed = sonde_now_ns(CLOCK_MONOTONIC) ^ (uintptr_t)interner;
}

void zts_interner_release(struct zts_interner *interner)
{
	sonde_arena_release(&interner->arena);
	sonde_vec_release(&interner->texts);
	free(interner->slots);
	free(interner->composed);
	sonde_buffer_release(&interner->scratch);
	*interner = (struct zts_interner){ 0 };
}

size_t zts_interner_memory(const struct zts_interner *interner)
{
	return interner->arena.bytes + interner->texts.capacity * sizeof(*interner->texts.items) +
	       interner->slot_count * sizeof(*interner->slots) +
	       interner->composed_count * sizeof(*interner->composed);
}

static uint64_t load_tail(const uint8_t *p, size_t size)
{
	if (size >= 4)
		return (uint64_t)sonde_load_u32le(p) << 32 | sonde_load_u32le(p + size - 4);
	if (size)
		return (uint64_t)p[0] << 16 | (uint64_t)p[size / 2] << 8 | p[size - 1];
	return 0;
}

static uint64_t hash_text(uint64_t seed, uint32_t kind, const void *text, size_t size)
{
	const uint8_t *p = text;
	uint64_t hash = seed ^ (size * SONDE_HASH_FACTOR_1 + kind);
	size_t left = size;

	for (; left > 16; left -= 16, p += 16)
		hash = sonde_hash_fold(sonde_load_u64le(p) ^ SONDE_HASH_FACTOR_1,
				       sonde_load_u64le(p + 8) ^ hash);
	if (left >= 8)
		hash = sonde_hash_fold(sonde_load_u64le(p) ^ SONDE_HASH_FACTOR_1,
				       sonde_load_u64le(p + left - 8) ^ hash);
	else
		hash = sonde_hash_fold(load_tail(p, left) ^ SONDE_HASH_FACTOR_1,
				       hash ^ SONDE_HASH_FACTOR_2);
	return sonde_hash_fold(hash, SONDE_HASH_FACTOR_2);
}

static uint64_t hash_fields(uint64_t seed, uint32_t kind, const uint32_t fields[4])
{
	uint64_t low = (uint64_t)fields[0] << 32 | fields[1];
	uint64_t high = (uint64_t)fields[2] << 32 | fields[3];

	return sonde_hash_fold(sonde_hash_fold(low ^ seed, SONDE_HASH_FACTOR_1) ^ high ^ kind,
			       SONDE_HASH_FACTOR_2);
}

/* Makes room in the table of texts for one more. */
static bool grow_slots(struct zts_interner *interner)
{
	size_t count = interner->slot_count ? interner->slot_count * 2 : FIRST_SLOTS;
	uint64_t *slots;

	if (interner->used < interner->slot_count / 4 * 3)
		return true;
	slots = calloc(count, sizeof(*slots));
	if (!slots)
		return false;
	for (size_t i = 0; i < interner->slot_count; i++) {
		uint64_t slot = interner->slots[i];
		size_t place = (size_t)(slot >> 32) & (count - 1);

		if (!slot)
			continue;
		while (slots[place])
			place = (place + 1) & (count - 1);
		slots[place] = slot;
	}
	free(interner->slots);
	interner->slots = slots;
	interner->slot_count = count;
	return true;
}

static size_t composed_place(const struct zts_interner *interner, uint32_t kind,
			     const uint32_t fields[4])
{
	size_t mask = interner->composed_count - 1;
	size_t place = (size_t)hash_fields(interner->seed, kind, fields) & mask;

	for (;; place = (place + 1) & mask) {
		const struct zts_composed *slot = &interner->composed[place];

		if (!slot->id ||
		    (slot->kind == kind && !memcmp(slot->fields, fields, sizeof(slot->fields))))
			return place;
	}
}

static bool grow_composed(struct zts_interner *interner)
{
	struct zts_interner larger = *interner;

	if (interner->composed_used < interner->composed_count / 4 * 3)
		return true;
	larger.composed_count = interner->composed_count ? interner->composed_count * 2 :
							   FIRST_SLOTS;
	larger.composed = calloc(larger.composed_count, sizeof(*larger.composed));
	if (!larger.composed)
		return false;
	for (size_t i = 0; i < interner->composed_count; i++) {
		const struct zts_composed *slot = &interner->composed[i];

		if (slot->id)
			larger.composed[composed_place(&larger, slot->kind, slot->fields)] = *slot;
	}
	free(interner->composed);
	interner->composed = larger.composed;
	interner->composed_count = larger.composed_count;
	return true;
}

/* The id of a text, 0 where it is not there; *place is where it goes. */
static uint32_t find_text(const struct zts_interner *interner, uint64_t hash, uint32_t kind,
			  const void *text, size_t size, size_t *place)
{
	size_t mask = interner->slot_count - 1, marked = kind ? 1 : 0;

	for (*place = (size_t)(hash >> 32) & mask;; *place = (*place + 1) & mask) {
		uint64_t slot = interner->slots[*place];
		const struct zts_interned *known;

		if (!slot)
			return 0;
		if (slot >> 32 != hash >> 32)
			continue;
		known = &interner->texts.items[(uint32_t)slot];
		if (known->size == size + 2 * marked &&
		    (!marked || (uint8_t)known->bytes[0] == kind) &&
		    !memcmp(known->bytes + marked, text, size))
			return (uint32_t)slot;
	}
}

/* Keeps a text with its markers as the next id; 0 where memory failed. */
static uint32_t keep(struct zts_interner *interner, uint32_t kind, const void *text, size_t size)
{
	struct sonde_buffer *scratch = &interner->scratch;
	size_t marked = kind ? 1 : 0;
	struct zts_interned *added;
	const char *bytes;

	if (!interner->texts.count) {
		added = sonde_vec_push(&interner->texts);
		if (!added)
			return 0;
		*added = (struct zts_interned){ .bytes = "" };
	}
	if (!sonde_vec_reserve(&interner->texts, 1))
		return 0;
	if (marked) {
		sonde_buffer_clear(scratch);
		sonde_buffer_put_char(scratch, (char)kind);
		sonde_buffer_put(scratch, text, size);
		sonde_buffer_put_char(scratch, (char)kind);
		if (scratch->failed)
			return 0;
		text = scratch->data;
	}
	bytes = sonde_arena_copy_text(&interner->arena, text, size + 2 * marked);
	if (!bytes)
		return 0;
	interner->texts.items[interner->texts.count] =
		(struct zts_interned){ .bytes = bytes, .size = (uint32_t)(size + 2 * marked) };
	return (uint32_t)interner->texts.count++;
}

/* Appends the WAL entry of the text with the highest id. */
static bool put_entry(struct zts_writer *writer, uint32_t id)
{
	const struct zts_interned *text = &writer->texts.texts.items[id];
	struct sonde_buffer *pending = &writer->text_wal.file.pending;
	size_t start = pending->size;
	struct sonde_error err;

	zts_wal_put_entry(pending, id, text->bytes, text->size);
	if (pending->failed) {
		zts_writer_fail_nomem(writer);
		return false;
	}
	if (zts_wal_out_entry(writer, &writer->text_wal, start, id, &err) < 0) {
		zts_writer_fail(writer, &err);
		return false;
	}
	if (id >= writer->index.id_limit)
		writer->index.id_limit = 2 * id;
	return true;
}

/* Whether there may be one more text of this size. */
static bool may_add(struct zts_writer *writer, size_t size)
{
	struct sonde_error err;

	if (writer->failure.status < 0)
		return false;
	if (size <= ZTS_MAX_TEXT_SIZE && zts_interner_end(&writer->texts) <= ZTS_MAX_TEXT_ID)
		return true;
	writer->is_full = writer->is_full || size <= ZTS_MAX_TEXT_SIZE;
	sonde_fail(&err, SONDE_LIMIT, SONDE_NO_OFFSET,
		   size > ZTS_MAX_TEXT_SIZE ? "a text is longer than 1 GiB" :
					      "the part has no text ids left: begin a new one");
	zts_writer_fail(writer, &err);
	return false;
}

/* A text whose bytes are found in the table; `kind` 0 for those whose markers are in them. */
static uint32_t intern(struct zts_writer *writer, uint32_t kind, const void *text, size_t size)
{
	struct zts_interner *interner = &writer->texts;
	uint64_t hash = hash_text(interner->seed, kind, text, size);
	uint32_t id = 0;
	size_t place;

	if (interner->slot_count) {
		id = find_text(interner, hash, kind, text, size, &place);
		if (id)
			return id;
	}
	if (!may_add(writer, size))
		return 0;
	if (!grow_slots(interner)) {
		zts_writer_fail_nomem(writer);
		return 0;
	}
	find_text(interner, hash, kind, text, size, &place);
	id = keep(interner, kind, text, size);
	if (!id) {
		zts_writer_fail_nomem(writer);
		return 0;
	}
	interner->slots[place] = hash >> 32 << 32 | id;
	interner->used++;
	return put_entry(writer, id) ? id : 0;
}

uint32_t zts_writer_text(struct zts_writer *writer, enum zts_text_kind kind, const char *text,
			 size_t size)
{
	if (!size && kind == ZTS_TEXT_STRING)
		return 0;
	/* an empty text may come without any bytes */
	return intern(writer, kind, size ? text : "", size);
}

/* Known already, or 0 and room in the table for one more. */
static uint32_t find_composed(struct zts_writer *writer, uint32_t kind, const uint32_t fields[4])
{
	struct zts_interner *interner = &writer->texts;

	if (interner->composed_count) {
		uint32_t id = interner->composed[composed_place(interner, kind, fields)].id;

		if (id)
			return id;
	}
	if (may_add(writer, 0) && !grow_composed(interner))
		zts_writer_fail_nomem(writer);
	return 0;
}

static void remember_composed(struct zts_interner *interner, uint32_t kind,
			      const uint32_t fields[4], uint32_t id)
{
	struct zts_composed *slot = &interner->composed[composed_place(interner, kind, fields)];

	interner->composed_used += !slot->id;
	memcpy(slot->fields, fields, sizeof(slot->fields));
	slot->kind = kind;
	slot->id = id;
}

/* Adds a composed text whose bytes between the outer markers are given. */
static uint32_t add_composed(struct zts_writer *writer, uint32_t kind, const uint32_t fields[4],
			     const uint8_t *inside, size_t size)
{
	uint32_t id;

	if (writer->failure.status < 0)
		return 0;
	id = keep(&writer->texts, kind, inside, size);
	if (!id) {
		zts_writer_fail_nomem(writer);
		return 0;
	}
	remember_composed(&writer->texts, kind, fields, id);
	return put_entry(writer, id) ? id : 0;
}

/* A text of ids with the marker between them. */
static uint32_t compose_ids(struct zts_writer *writer, uint32_t kind, const uint32_t fields[4],
			    size_t count)
{
	uint8_t inside[4 * (ZTS_ID_DIGITS + 1)];
	uint32_t id = find_composed(writer, kind, fields);
	size_t size = 0;

	if (id)
		return id;
	for (size_t i = 0; i < count; i++) {
		if (i)
			inside[size++] = (uint8_t)kind;
		size += zts_id_put(fields[i], inside + size);
	}
	return add_composed(writer, kind, fields, inside, size);
}

uint32_t zts_writer_method(struct zts_writer *writer, uint32_t class_id, uint32_t name,
			   uint32_t signature)
{
	return compose_ids(writer, ZTS_TEXT_METHOD, (uint32_t[4]){ class_id, name, signature }, 3);
}

uint32_t zts_writer_frame(struct zts_writer *writer, uint32_t class_id, uint32_t name,
			  uint32_t file, uint32_t line)
{
	return compose_ids(writer, ZTS_TEXT_FRAME, (uint32_t[4]){ class_id, name, file, line }, 4);
}

uint32_t zts_writer_exception(struct zts_writer *writer, uint32_t class_id, uint32_t message,
			      uint32_t stack, uint32_t cause)
{
	return compose_ids(writer, ZTS_TEXT_EXCEPTION,
			   (uint32_t[4]){ class_id, message, stack, cause }, 4);
}

uint32_t zts_writer_pair(struct zts_writer *writer, uint32_t key, uint32_t value)
{
	return compose_ids(writer, ZTS_TEXT_KEY_VALUE, (uint32_t[4]){ key, value }, 2);
}

uint32_t zts_writer_stack(struct zts_writer *writer, const uint32_t *frames, size_t count)
{
	struct sonde_buffer text = { 0 };
	uint32_t id = 0;

	sonde_buffer_put_char(&text, ZTS_TEXT_STACK);
	for (size_t i = 0; i < count; i++) {
		zts_id_append(frames[i], &text);
		sonde_buffer_put_char(&text, ZTS_TEXT_STACK);
	}
	if (text.failed)
		zts_writer_fail_nomem(writer);
	else
		id = intern(writer, 0, text.data, text.size);
	sonde_buffer_release(&text);
	return id;
}

static uint32_t literal_pair(struct zts_writer *writer, const uint32_t fields[4],
			     const char *literal, size_t size)
{
	uint8_t inside[ZTS_ID_DIGITS + 1 + ZTS_INDEX_LITERAL_SIZE];
	size_t used = zts_id_put(fields[0], inside);

	inside[used++] = ZTS_TEXT_KEY_LITERAL;
	memcpy(inside + used, literal, size);
	return add_composed(writer, ZTS_TEXT_KEY_LITERAL, fields, inside, used + size);
}

static void number_fields(uint32_t fields[4], uint32_t key, int64_t number)
{
	fields[0] = key;
	fields[1] = (uint32_t)((uint64_t)number >> 32);
	fields[2] = (uint32_t)number;
	fields[3] = LITERAL_NUMBER;
}

uint32_t zts_writer_number_pair(struct zts_writer *writer, uint32_t key, int64_t number)
{
	char literal[ZTS_INDEX_LITERAL_SIZE];
	uint32_t fields[4], id;
	size_t size;

	number_fields(fields, key, number);
	id = find_composed(writer, ZTS_TEXT_KEY_LITERAL, fields);
	if (id)
		return id;
	zts_index_literal(number, literal, &size);
	return literal_pair(writer, fields, literal, size);
}

uint32_t zts_writer_bool_pair(struct zts_writer *writer, uint32_t key, bool value)
{
	const uint32_t fields[4] = { key, value, 0, LITERAL_BOOL };
	uint32_t id = find_composed(writer, ZTS_TEXT_KEY_LITERAL, fields);

	if (id)
		return id;
	return value ? literal_pair(writer, fields, "true", 4) :
		       literal_pair(writer, fields, "false", 5);
}

/* What the table of composed texts has for a literal; false where it is none of ours. */
static bool literal_fields(const struct zts_typed_text *typed, uint32_t fields[4])
{
	char text[ZTS_INDEX_LITERAL_SIZE], back[ZTS_INDEX_LITERAL_SIZE];
	size_t size = typed->size, back_size;

	if (size >= sizeof(text) || !size)
		return false;
	memcpy(text, typed->text, size);
	text[size] = '\0';
	if (!strcmp(text, "true") || !strcmp(text, "false")) {
		fields[0] = typed->fields[0];
		fields[1] = text[0] == 't';
		fields[2] = 0;
		fields[3] = LITERAL_BOOL;
		return true;
	}
	number_fields(fields, typed->fields[0], strtoll(text, NULL, 10));
	zts_index_literal(strtoll(text, NULL, 10), back, &back_size);
	return back_size == size && !memcmp(back, text, size);
}

/* Enters a text that is kept already into the table where it is looked for. */
static bool enter(struct zts_interner *interner, uint32_t id, const char *text, size_t size)
{
	struct zts_typed_text typed = { 0 };
	size_t place, marked;
	uint64_t hash;
	uint32_t kind;

	if (zts_text_parse(text, size, &typed, NULL) < 0)
		typed.kind = ZTS_TEXT_STRING;
	kind = typed.kind;
	if (kind == ZTS_TEXT_METHOD || kind == ZTS_TEXT_FRAME || kind == ZTS_TEXT_EXCEPTION ||
	    kind == ZTS_TEXT_KEY_VALUE || kind == ZTS_TEXT_KEY_LITERAL) {
		if (kind == ZTS_TEXT_KEY_LITERAL && !literal_fields(&typed, typed.fields))
			return true;
		if (!grow_composed(interner))
			return false;
		remember_composed(interner, kind, typed.fields, id);
		return true;
	}
	if (kind == ZTS_TEXT_STACK)
		kind = ZTS_TEXT_STRING;
	if (!grow_slots(interner))
		return false;
	marked = kind ? 1 : 0;
	if (size < 2 * marked)
		return true;
	hash = hash_text(interner->seed, kind, text + marked, size - 2 * marked);
	if (!find_text(interner, hash, kind, text + marked, size - 2 * marked, &place)) {
		interner->slots[place] = hash >> 32 << 32 | id;
		interner->used++;
	}
	return true;
}

bool zts_interner_load(struct zts_interner *interner, const char *text, size_t size)
{
	uint32_t id = keep(interner, 0, text, size);

	return id && enter(interner, id, interner->texts.items[id].bytes, size);
}

/*
 * Names are marked at most so many: hostile senders do not make every new part begin with theirs.
 */
#define MOST_NAMES 4096

struct zts_writer_names {
	struct sonde_buffer bytes; /* texts, one after another */
	SONDE_VEC(uint32_t) sizes;
};

void zts_writer_mark_name(struct zts_writer *writer, uint32_t id)
{
	if (id <= ZTS_MAX_NAME_ID)
		writer->names[id / 64] |= 1ull << (id % 64);
}

void zts_writer_names_free(struct zts_writer_names *names)
{
	if (!names)
		return;
	sonde_buffer_release(&names->bytes);
	sonde_vec_release(&names->sizes);
	free(names);
}

struct zts_writer_names *zts_writer_take_names(const struct zts_writer *writer)
{
	struct zts_writer_names *names = calloc(1, sizeof(*names));
	const struct zts_interner *interner = &writer->texts;

	if (!names)
		return NULL;
	for (uint32_t id = 1; id <= ZTS_MAX_NAME_ID && names->sizes.count < MOST_NAMES; id++) {
		uint32_t *size;

		if (!(writer->names[id / 64] >> (id % 64) & 1) || id >= interner->texts.count)
			continue;
		size = sonde_vec_push(&names->sizes);
		if (!size)
			break;
		*size = interner->texts.items[id].size;
		sonde_buffer_put(&names->bytes, interner->texts.items[id].bytes, *size);
	}
	if (!names->bytes.failed)
		return names;
	zts_writer_names_free(names);
	return NULL;
}

void zts_writer_put_names(struct zts_writer *writer, const struct zts_writer_names *names)
{
	size_t offset = 0;

	for (size_t i = 0; names && i < names->sizes.count; i++) {
		struct zts_typed_text typed = { 0 };
		const char *text = names->bytes.data + offset;
		size_t size = names->sizes.items[i];

		offset += size;
		if (zts_text_parse(text, size, &typed, NULL) < 0 || typed.kind == ZTS_TEXT_STRING ||
		    typed.kind > ZTS_TEXT_SIGNATURE)
			zts_writer_text(writer, ZTS_TEXT_STRING, text, size);
		else
			zts_writer_text(writer, typed.kind, typed.text, typed.size);
	}
}
