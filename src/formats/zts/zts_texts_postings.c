/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Postings of the metadata index: which slots have which ids. A few ids are searched for; many are
 * met by going over all lines once.
 */
#include "base/bytes.h"
#include "base/search.h"
#include "formats/zts/zts_texts_private.h"

/* So many searches take as long as going over everything. */
#define SEARCHED_MAX 16
/* A search in an FMI takes as long as unpacking so many bytes. */
#define BYTES_PER_SEARCH 50

struct posting_search {
	const struct zts_set *ids;
	uint8_t mark; /* ZTS_META_DEEP or ZTS_META_SHALLOW */
	struct zts_set *slots;
};

/* `05 id 07`; returns its size. */
static size_t put_pattern(uint8_t pattern[ZTS_ID_DIGITS + 2], uint32_t id, uint8_t mark)
{
	size_t digits = zts_id_put(id, pattern + 1);

	pattern[0] = ZTS_META_ID_MARK;
	pattern[digits + 1] = mark;
	return digits + 2;
}

static bool take_slot(void *context, const uint8_t *digits, size_t count)
{
	const struct posting_search *search = context;
	uint32_t slot;

	if (zts_id_parse(digits, count, &slot))
		zts_set_add(search->slots, slot);
	return true;
}

/* In the bytes of WAL entries: the digits before each place of the pattern are the slot. */
static void search_entries(const struct texts_source *source, uint32_t id,
			   const struct posting_search *search)
{
	const uint8_t *start = source->bytes + 4, *end = source->bytes + source->parsed;
	uint8_t pattern[ZTS_ID_DIGITS + 2];
	size_t size = put_pattern(pattern, id, search->mark);

	for (const uint8_t *place = start;
	     place < end && (place = sonde_search(place, (size_t)(end - place), pattern, size));
	     place += size) {
		size_t digits = 0;

		while (digits <= ZTS_ID_DIGITS && digits < (size_t)(place - start) &&
		       place[-1 - (ptrdiff_t)digits] >= ZTS_ID_DIGIT)
			digits++;
		if (digits < (size_t)(place - start) &&
		    place[-1 - (ptrdiff_t)digits] == search->mark)
			take_slot((void *)search, place - digits, digits);
	}
}

/* The number at `text`, up to a byte that is no digit; how many digits. */
static inline size_t take_number(const uint8_t *text, const uint8_t *end, uint64_t *number)
{
	const uint8_t *start = text;

	*number = 0;
	while (text < end && *text - (unsigned int)ZTS_ID_DIGIT < 64) {
		*number = *number << 6 | (*text - (unsigned int)ZTS_ID_DIGIT);
		text++;
	}
	return (size_t)(text - start);
}

/* The slot that postings begin with, with the mark behind it: in a line it is always the same. */
struct line_slot {
	uint64_t slot;
	uint64_t bytes,
		mask; /* as the lowest bytes of a word; the mask is 0 before the first posting */
	size_t size;
};

/* `slot 05`; the size of it, 0 where it is something else. */
static size_t take_slot_digits(const uint8_t *text, const uint8_t *end, struct line_slot *slot)
{
	size_t digits = take_number(text, end, &slot->slot);

	slot->mask = 0;
	if (!digits || digits > ZTS_ID_DIGITS || text + digits == end ||
	    text[digits] != ZTS_META_ID_MARK)
		return 0;
	slot->size = digits + 1;
	if (end - text < 8)
		return slot->size;
	slot->mask = ~0ull >> (64 - 8 * slot->size);
	slot->bytes = sonde_load_u64le(text) & slot->mask;
	return slot->size;
}

/* One line: `07 (slot 05 id 07)*`. What is not like that ends it. */
static void read_line(const struct posting_search *search, const uint8_t *text, size_t size)
{
	const uint8_t *end = text + size;
	struct line_slot slot = { 0 };
	uint64_t id;
	size_t digits;

	if (!size || *text++ != search->mark)
		return;
	while (text < end) {
		bool is_same = slot.mask && end - text >= 8 &&
			       (sonde_load_u64le(text) & slot.mask) == slot.bytes;

		if (!is_same && !take_slot_digits(text, end, &slot))
			return;
		text += slot.size;
		digits = take_number(text, end, &id);
		if (!digits || digits > ZTS_ID_DIGITS || text + digits == end ||
		    text[digits] != search->mark)
			return;
		text += digits + 1;
		if (zts_set_has(search->ids, id))
			zts_set_add(search->slots, slot.slot);
	}
}

static void read_lines(const struct texts_source *source, const struct posting_search *search)
{
	struct zts_wal_entry entry;

	for (size_t i = 0; i < source->places.count; i++) {
		uint32_t place = source->places.items[i];

		if (place &&
		    zts_wal_at(source->bytes, source->size, place, &entry, NULL) == SONDE_OK)
			read_line(search, entry.text, entry.size);
	}
}

static bool add_slot(void *context, uint32_t slot)
{
	zts_set_add(context, slot);
	return true;
}

/* In an FMI that is not unpacked. SONDE_LIMIT: unpacking it is faster. */
static enum sonde_status search_indexed(const struct texts_source *source,
					const struct posting_search *search, size_t id_count,
					struct sonde_error *err)
{
	/* A slot has entries of its own, so it is below their number. */
	uint32_t most = source->end_id;
	uint8_t pattern[ZTS_ID_DIGITS + 2];

	if (id_count > SEARCHED_MAX && id_count > zts_fmi_text_size(source->fmi) / BYTES_PER_SEARCH)
		return SONDE_LIMIT;
	for (size_t id = zts_set_next(search->ids, 0); id != SIZE_MAX;
	     id = zts_set_next(search->ids, id + 1)) {
		size_t size = put_pattern(pattern, (uint32_t)id, search->mark);
		enum sonde_status status = zts_fmi_numbers_before(source->fmi, pattern, size,
								  search->mark, most, add_slot,
								  search->slots, err);

		if (status < 0)
			return status;
	}
	return SONDE_OK;
}

static enum sonde_status search_source(struct texts_source *source,
				       const struct posting_search *search, size_t id_count,
				       struct sonde_error *err)
{
	enum sonde_status status;

	if (!texts_has_entries(source)) {
		status = search_indexed(source, search, id_count, err);
		if (status != SONDE_LIMIT)
			return status;
		status = texts_unpack(source, err);
		if (status < 0)
			return status;
	}
	if (id_count > SEARCHED_MAX) {
		read_lines(source, search);
		return SONDE_OK;
	}
	for (size_t id = zts_set_next(search->ids, 0); id != SIZE_MAX;
	     id = zts_set_next(search->ids, id + 1))
		search_entries(source, (uint32_t)id, search);
	return SONDE_OK;
}

enum sonde_status zts_texts_postings(struct zts_texts *meta, const struct zts_set *ids, bool deep,
				     struct zts_set *slots, struct sonde_error *err)
{
	struct posting_search search = { .ids = ids,
					 .mark = deep ? ZTS_META_DEEP : ZTS_META_SHALLOW,
					 .slots = slots };
	size_t id_count = zts_set_count(ids);

	for (size_t i = 0; id_count && i < meta->sources.count; i++) {
		struct texts_source *source = meta->sources.items[i];
		enum sonde_status status = SONDE_OK;

		if (!source->replaced)
			status = search_source(source, &search, id_count, err);
		if (status < 0 && status != SONDE_CORRUPT)
			return status;
	}
	return SONDE_OK;
}
