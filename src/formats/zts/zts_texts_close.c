/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which composed texts hold an id: methods of a class, stacks of a frame, and so on. What they
 * hold is listed once for each file; in FMIs that are not unpacked a few ids are searched for
 * instead.
 */
#include "formats/zts/zts_texts_private.h"

#define FOLLOWED_KINDS                                                                             \
	(1u << ZTS_TEXT_KEY_VALUE | 1u << ZTS_TEXT_METHOD | 1u << ZTS_TEXT_EXCEPTION |             \
	 1u << ZTS_TEXT_STACK | 1u << ZTS_TEXT_FRAME)
/* Beyond so many ids an FMI is unpacked instead of searched. */
#define SEARCHED_MAX 256

static bool is_composed(uint8_t first)
{
	return first >= ZTS_TEXT_KEY_LITERAL && first <= ZTS_TEXT_FRAME;
}

/* How many of the fields are ids: the last of a frame is its line. */
static size_t id_count(enum zts_text_kind kind)
{
	switch (kind) {
	case ZTS_TEXT_KEY_LITERAL:
		return 1;
	case ZTS_TEXT_KEY_VALUE:
		return 2;
	case ZTS_TEXT_METHOD:
	case ZTS_TEXT_FRAME:
		return 3;
	case ZTS_TEXT_EXCEPTION:
		return 4;
	default:
		return 0;
	}
}

/* Appends id, kind, the number of ids, the ids. False: no memory. */
static bool list_entry(struct texts_source *source, const struct zts_wal_entry *entry)
{
	/* Texts with ids have no escapes: what has is no such text, or a literal with one field. */
	struct zts_typed_text typed;
	size_t start = source->composed.count, count;
	uint32_t id;

	if (zts_text_parse((const char *)entry->text, entry->size, &typed, NULL) != SONDE_OK)
		return true;
	if (!sonde_vec_reserve(&source->composed, 3 + ZTS_TEXT_FIELDS + entry->size))
		return false;
	source->composed.items[start] = entry->id;
	source->composed.items[start + 1] = typed.kind;
	count = start + 3;
	for (size_t i = 0; i < id_count(typed.kind); i++)
		source->composed.items[count++] = typed.fields[i];
	while (typed.kind == ZTS_TEXT_STACK && zts_text_next_frame(&typed, &id))
		source->composed.items[count++] = id;
	source->composed.items[start + 2] = (uint32_t)(count - start - 3);
	for (size_t i = start + 3; i < count; i++)
		if (source->composed.items[i] >= entry->id)
			source->composed_backwards = true;
	source->composed.count = count;
	return true;
}

/* Lists what was not listed yet. */
static bool list_composed(struct texts_source *source)
{
	struct zts_wal_entry entry;

	for (; source->composed_listed < source->places.count; source->composed_listed++) {
		uint32_t place = source->places.items[source->composed_listed];

		if (place &&
		    zts_wal_at(source->bytes, source->size, place, &entry, NULL) == SONDE_OK &&
		    entry.size && is_composed(entry.text[0]) && !list_entry(source, &entry))
			return false;
	}
	return true;
}

/* Adds from the list of one source; whether anything was added. */
static bool add_listed(const struct texts_source *source, unsigned int kinds, struct zts_set *ids)
{
	bool added = false;

	for (size_t place = 0; place < source->composed.count;) {
		const uint32_t *item = source->composed.items + place;
		uint32_t id = item[0], kind = item[1], count = item[2];

		item += 3;
		if (kinds >> kind & 1 && !zts_set_has(ids, id)) {
			uint32_t i = 0;

			while (i < count && !zts_set_has(ids, item[i]))
				i++;
			if (i < count && id < ids->size) {
				zts_set_add(ids, id);
				added = true;
			}
		}
		place += 3 + (size_t)count;
	}
	return added;
}

struct holders {
	struct zts_texts *texts;
	uint32_t held;
	unsigned int kinds;
	struct zts_set *ids;
	SONDE_VEC(uint32_t) added;
	bool failed;
};

/* A text in which an id was found between markers: whether it is one of its ids. */
static bool take_holder(void *context, uint32_t id, uint8_t first)
{
	struct holders *holders = context;
	struct zts_typed_text typed;
	uint32_t frame = 0;
	bool holds = false;

	(void)first;
	if (zts_set_has(holders->ids, id) || id >= holders->ids->size ||
	    zts_texts_typed(holders->texts, id, &typed, NULL) != SONDE_OK ||
	    !(holders->kinds >> typed.kind & 1))
		return true;
	for (size_t i = 0; i < id_count(typed.kind); i++)
		holds |= typed.fields[i] == holders->held;
	while (typed.kind == ZTS_TEXT_STACK && !holds && zts_text_next_frame(&typed, &frame))
		holds = frame == holders->held;
	if (!holds)
		return true;
	if (!sonde_vec_reserve(&holders->added, 1)) {
		holders->failed = true;
		return false;
	}
	zts_set_add(holders->ids, id);
	holders->added.items[holders->added.count++] = id;
	return true;
}

/* The texts of an FMI that hold an id. SONDE_LIMIT: unpacking it is faster. */
static enum sonde_status find_holders(const struct texts_source *source, struct holders *holders,
				      struct sonde_error *err)
{
	uint64_t budget = texts_step_budget(source) / 16;
	uint8_t pattern[ZTS_ID_DIGITS + 2];
	size_t digits = zts_id_put(holders->held, pattern + 1);

	for (unsigned int kind = ZTS_TEXT_KEY_LITERAL; kind <= ZTS_TEXT_FRAME; kind++) {
		enum sonde_status status;

		if (!(holders->kinds >> kind & 1))
			continue;
		pattern[0] = pattern[digits + 1] = (uint8_t)kind;
		status = zts_fmi_find_within(source->fmi, pattern, digits + 2, budget, take_holder,
					     holders, err);
		if (holders->failed)
			return sonde_fail_nomem(err);
		if (status != SONDE_OK)
			return status;
	}
	return SONDE_OK;
}

/* By search, from each id in turn, those that were added too. SONDE_LIMIT: too many. */
static enum sonde_status add_searched(struct zts_texts *texts, const struct texts_source *source,
				      unsigned int kinds, struct zts_set *ids, bool *added,
				      struct sonde_error *err)
{
	struct holders holders = { .texts = texts, .kinds = kinds, .ids = ids };
	enum sonde_status status = SONDE_OK;
	size_t given = 0;

	for (size_t id = zts_set_next(ids, 0); id != SIZE_MAX; id = zts_set_next(ids, id + 1)) {
		uint32_t *place;

		if (holders.added.count == SEARCHED_MAX) {
			status = SONDE_LIMIT;
			break;
		}
		place = sonde_vec_push(&holders.added);
		if (!place) {
			status = sonde_fail_nomem(err);
			break;
		}
		*place = (uint32_t)id;
		given++;
	}
	for (size_t i = 0; status == SONDE_OK && holders.added.items && i < holders.added.count;
	     i++) {
		holders.held = holders.added.items[i];
		status = i < SEARCHED_MAX ? find_holders(source, &holders, err) : SONDE_LIMIT;
	}
	*added |= holders.added.count > given;
	sonde_vec_release(&holders.added);
	return status;
}

static enum sonde_status close_in(struct zts_texts *texts, struct texts_source *source,
				  unsigned int kinds, struct zts_set *ids, bool *added,
				  struct sonde_error *err)
{
	enum sonde_status status;

	if (!texts_has_entries(source)) {
		status = add_searched(texts, source, kinds, ids, added, err);
		if (status != SONDE_LIMIT)
			return status;
		*added = true;
		status = texts_unpack(source, err);
		if (status < 0)
			return status;
	}
	if (!list_composed(source))
		return sonde_fail_nomem(err);
	/* Texts hold earlier ones, mostly; then one pass in their order finds all. */
	while (add_listed(source, kinds, ids)) {
		*added = true;
		if (!source->composed_backwards)
			break;
	}
	return SONDE_OK;
}

enum sonde_status zts_texts_close(struct zts_texts *texts, unsigned int kinds, struct zts_set *ids,
				  struct sonde_error *err)
{
	bool added = true;

	if (!kinds)
		kinds = FOLLOWED_KINDS;
	/* One source may add what another one's texts hold. */
	while (added) {
		added = false;
		for (size_t i = 0; i < texts->sources.count; i++) {
			struct texts_source *source = texts->sources.items[i];
			enum sonde_status status = SONDE_OK;

			if (!source->replaced)
				status = close_in(texts, source, kinds, ids, &added, err);
			if (status < 0 && status != SONDE_CORRUPT)
				return status;
		}
		if (texts->sources.count == 1)
			break;
	}
	return SONDE_OK;
}
