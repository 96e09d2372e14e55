/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ids of texts: in WALs by looking for the bytes and seeing which entry they are in, in FMIs by
 * their index, or like WALs where so much is found that unpacking them is faster.
 */
#include "base/search.h"
#include "formats/zts/zts_texts_private.h"

#define NAME_KINDS                                                                                 \
	(1u << ZTS_TEXT_STRING | 1u << ZTS_TEXT_KEYWORD | 1u << ZTS_TEXT_CLASS |                   \
	 1u << ZTS_TEXT_METHOD_NAME | 1u << ZTS_TEXT_UUID | 1u << ZTS_TEXT_SIGNATURE)

struct query {
	unsigned int kinds;
	enum zts_match match;
	const char *text;
	size_t size;
	struct zts_set *ids;
};

/* Whether a text is what is looked for: of the kind, and the words where they must be. */
static bool matches(const struct query *query, const char *text, size_t size)
{
	struct zts_typed_text typed;

	/* What begins with a marker by chance is a string: see zts_text_parse(). */
	zts_text_parse(text, size, &typed, NULL);
	if (!(query->kinds >> typed.kind & 1))
		return false;
	/* Composed ones have digits of ids and no text. */
	if (typed.kind > ZTS_TEXT_KEY_LITERAL && typed.kind < ZTS_TEXT_AGENT)
		return false;
	if (typed.size < query->size ||
	    (query->match == ZTS_MATCH_EXACT && typed.size != query->size))
		return false;
	if (!query->size)
		return true;
	if (query->match == ZTS_MATCH_SUBSTRING)
		return sonde_search(typed.text, typed.size, query->text, query->size) != NULL;
	return !memcmp(typed.text, query->text, query->size);
}

/* The entry whose text is behind the mark at `mark`; false where that is none of the index. */
static bool entry_at_mark(const struct texts_source *source, size_t mark,
			  struct zts_wal_entry *entry)
{
	uint32_t id;

	for (size_t digits = 1; digits <= ZTS_ID_DIGITS && digits + 4 <= mark; digits++) {
		size_t start = mark - digits;

		if (zts_id_parse(source->bytes + start, digits, &id) && id >= source->first_id &&
		    id - source->first_id < source->places.count &&
		    source->places.items[id - source->first_id] == start)
			return zts_wal_at(source->bytes, source->parsed, start, entry, NULL) ==
			       SONDE_OK;
	}
	return false;
}

enum sonde_status texts_each_hit(struct zts_texts *texts, const struct texts_source *source,
				 const uint8_t *pattern, size_t size,
				 bool (*hit)(void *context, const struct zts_wal_entry *entry,
					     const char *text, size_t text_size),
				 void *context, struct sonde_error *err)
{
	const uint8_t *bytes = source->bytes, *end = bytes + source->parsed, *place = bytes + 4;
	struct zts_wal_entry entry;
	const char *text;
	size_t text_size;

	while (place < end && (place = sonde_search(place, (size_t)(end - place), pattern, size))) {
		const uint8_t *mark = place;

		/* Back to the mark before the text; a pattern may begin with the mark itself. */
		while (mark > bytes + 4 && *mark > ZTS_WAL_END_MARK)
			mark--;
		if (*mark != ZTS_WAL_TEXT_MARK ||
		    !entry_at_mark(source, (size_t)(mark - bytes), &entry)) {
			/*
			 * In the digits of an id, or in what is damaged: on behind the next mark.
			 */
			place++;
			while (place < end && place[-1] > ZTS_WAL_END_MARK)
				place++;
			continue;
		}
		place = bytes + entry.next;
		if (!texts_plain(&entry, &texts->scratch, &text, &text_size))
			return sonde_fail_nomem(err);
		if (!hit(context, &entry, text, text_size))
			return SONDE_OK;
	}
	return SONDE_OK;
}

static bool take_hit(void *context, const struct zts_wal_entry *entry, const char *text,
		     size_t size)
{
	const struct query *query = context;

	if (!zts_set_has(query->ids, entry->id) && matches(query, text, size))
		zts_set_add(query->ids, entry->id);
	return true;
}

/* All texts of a source against the query. */
static enum sonde_status match_all(struct zts_texts *texts, const struct texts_source *source,
				   const struct query *query, struct sonde_error *err)
{
	struct zts_wal_entry entry;
	const char *text;
	size_t size;

	for (size_t i = 0; i < source->places.count; i++) {
		if (!source->places.items[i] ||
		    zts_wal_at(source->bytes, source->parsed, source->places.items[i], &entry,
			       NULL) != SONDE_OK)
			continue;
		if (!texts_plain(&entry, &texts->scratch, &text, &size))
			return sonde_fail_nomem(err);
		if (matches(query, text, size))
			zts_set_add(query->ids, entry.id);
	}
	return SONDE_OK;
}

/* Hits in an FMI: what they are in is clear from the first byte, or is looked at afterwards. */
struct fmi_hits {
	const struct query *query;
	/* the pattern has nothing that markers and escapes have, and all its marks */
	bool is_certain;
	bool no_digits; /* it has a byte that is not in composed texts */
	struct zts_set unsure;
	size_t unsure_count;
};

static bool is_certain(const struct fmi_hits *hits, uint8_t first)
{
	bool strings = hits->query->kinds >> ZTS_TEXT_STRING & 1;

	if (!hits->is_certain || !strings)
		return false;
	if (first < ZTS_TEXT_KEYWORD || first > ZTS_TEXT_AGENT)
		return true;
	/*
	 * Of a kind that is wanted, or, where it only looks like it, a string, which is wanted
	 * too.
	 */
	if (first <= ZTS_TEXT_SIGNATURE)
		return hits->query->kinds >> first & 1;
	return hits->no_digits && first > ZTS_TEXT_KEY_LITERAL && first < ZTS_TEXT_AGENT;
}

static bool take_fmi_hit(void *context, uint32_t id, uint8_t first)
{
	struct fmi_hits *hits = context;

	if (zts_set_has(hits->query->ids, id) || zts_set_has(&hits->unsure, id))
		return true;
	if (is_certain(hits, first)) {
		zts_set_add(hits->query->ids, id);
	} else {
		zts_set_add(&hits->unsure, id);
		hits->unsure_count++;
	}
	return true;
}

/* Texts that hits are in, one by one. */
static enum sonde_status match_unsure(struct zts_texts *texts, const struct fmi_hits *hits,
				      struct sonde_error *err)
{
	for (size_t id = zts_set_next(&hits->unsure, 0); id != SIZE_MAX;
	     id = zts_set_next(&hits->unsure, id + 1)) {
		const char *text;
		size_t size;
		enum sonde_status status = zts_texts_get(texts, (uint32_t)id, &text, &size, err);

		if (status < 0)
			return status;
		if (status == SONDE_OK && matches(hits->query, text, size))
			zts_set_add(hits->query->ids, id);
	}
	return SONDE_OK;
}

/* How many steps in an FMI take as long as unpacking it, and about how many a text takes. */
uint64_t texts_step_budget(const struct texts_source *source)
{
	return zts_fmi_text_size(source->fmi) / 8 + 1024;
}

#define STEPS_PER_TEXT 32

/* Bytes that are in composed texts: digits of ids, and markers. */
static bool is_digit(uint8_t byte)
{
	return byte >= ZTS_ID_DIGIT && byte < ZTS_ID_DIGIT + 64;
}

static void look_at_pattern(struct fmi_hits *hits, const struct query *query)
{
	hits->is_certain = query->match == ZTS_MATCH_SUBSTRING;
	for (size_t i = 0; i < query->size; i++) {
		uint8_t byte = (uint8_t)query->text[i];

		if (byte <= ZTS_TEXT_AGENT)
			hits->is_certain = false;
		else if (!is_digit(byte))
			hits->no_digits = true;
	}
}

/* The pattern with the marks around it that a text of this kind has. */
static void put_marked(struct sonde_buffer *marked, const struct sonde_buffer *pattern,
		       unsigned int kind, enum zts_match match)
{
	sonde_buffer_clear(marked);
	/* In front of a literal there is its key. */
	if (kind != ZTS_TEXT_KEY_LITERAL)
		sonde_buffer_put_char(marked, ZTS_WAL_TEXT_MARK);
	if (kind)
		sonde_buffer_put_char(marked, (char)kind);
	sonde_buffer_put(marked, pattern->data, pattern->size);
	if (match == ZTS_MATCH_PREFIX)
		return;
	if (kind)
		sonde_buffer_put_char(marked, (char)kind);
	sonde_buffer_put_char(marked, ZTS_WAL_ID_MARK);
}

/* Exact texts and prefixes: for each kind its marks make hits few. */
static enum sonde_status find_marked(struct texts_source *source,
				     const struct sonde_buffer *pattern, struct fmi_hits *hits,
				     struct sonde_error *err)
{
	struct sonde_buffer marked = { 0 };
	enum sonde_status status = SONDE_OK;

	for (unsigned int kind = 0; status == SONDE_OK && kind <= ZTS_TEXT_AGENT; kind++) {
		bool has_text = kind <= ZTS_TEXT_KEY_LITERAL || kind == ZTS_TEXT_AGENT;

		if (!has_text || !(hits->query->kinds >> kind & 1))
			continue;
		put_marked(&marked, pattern, kind, hits->query->match);
		if (marked.failed)
			status = sonde_fail_nomem(err);
		else
			status = zts_fmi_find_within(source->fmi, (const uint8_t *)marked.data,
						     marked.size, texts_step_budget(source),
						     take_fmi_hit, hits, err);
	}
	sonde_buffer_release(&marked);
	return status;
}

/* Searches an FMI by its index. SONDE_LIMIT: unpacking it is faster. */
static enum sonde_status find_indexed(struct zts_texts *texts, struct texts_source *source,
				      const struct query *query, const struct sonde_buffer *pattern,
				      struct sonde_error *err)
{
	uint64_t budget = texts_step_budget(source);
	struct fmi_hits hits = { .query = query };
	enum sonde_status status;

	if (!zts_set_init(&hits.unsure, source->end_id))
		return sonde_fail_nomem(err);
	look_at_pattern(&hits, query);
	if (query->match == ZTS_MATCH_SUBSTRING)
		status = zts_fmi_find_within(source->fmi, (const uint8_t *)pattern->data,
					     pattern->size, budget, take_fmi_hit, &hits, err);
	else
		status = find_marked(source, pattern, &hits, err);
	if (status == SONDE_OK && hits.unsure_count > budget / STEPS_PER_TEXT)
		status = SONDE_LIMIT;
	if (status == SONDE_OK)
		status = match_unsure(texts, &hits, err);
	zts_set_release(&hits.unsure);
	return status;
}

static enum sonde_status find_in(struct zts_texts *texts, struct texts_source *source,
				 struct query *query, const struct sonde_buffer *pattern,
				 struct sonde_error *err)
{
	enum sonde_status status;

	if (!texts_has_entries(source)) {
		status = pattern->size ? find_indexed(texts, source, query, pattern, err) :
					 SONDE_LIMIT;
		if (status != SONDE_LIMIT)
			return status;
		status = texts_unpack(source, err);
		if (status < 0)
			return status;
	}
	if (!pattern->size)
		return match_all(texts, source, query, err);
	return texts_each_hit(texts, source, (const uint8_t *)pattern->data, pattern->size,
			      take_hit, query, err);
}

enum sonde_status zts_texts_find(struct zts_texts *texts, unsigned int kinds, enum zts_match match,
				 const char *text, size_t size, struct zts_set *ids,
				 struct sonde_error *err)
{
	struct query query = { .kinds = kinds ? kinds : NAME_KINDS,
			       .match = match,
			       .text = text,
			       .size = size,
			       .ids = ids };
	struct sonde_buffer pattern = { 0 };
	enum sonde_status status = SONDE_OK;

	zts_wal_escape(text, size, &pattern);
	if (pattern.failed)
		status = sonde_fail_nomem(err);
	for (size_t i = 0; status == SONDE_OK && i < texts->sources.count; i++) {
		struct texts_source *source = texts->sources.items[i];

		if (!source->replaced)
			status = find_in(texts, source, &query, &pattern, err);
		/* What is left of a damaged index was found. */
		if (status == SONDE_CORRUPT)
			status = SONDE_OK;
	}
	sonde_buffer_release(&pattern);
	return status;
}

struct pair_search {
	bool (*pair)(void *context, uint32_t pair_id, uint32_t value_id, const char *literal,
		     size_t size);
	void *context;
	uint32_t key;
	bool stopped;
};

static bool take_pair(struct pair_search *search, uint32_t id, const char *text, size_t size)
{
	struct zts_typed_text typed;

	if (zts_text_parse(text, size, &typed, NULL) != SONDE_OK || typed.fields[0] != search->key)
		return true;
	if (typed.kind == ZTS_TEXT_KEY_LITERAL)
		search->stopped = !search->pair(search->context, id, 0, typed.text, typed.size);
	else if (typed.kind == ZTS_TEXT_KEY_VALUE)
		search->stopped = !search->pair(search->context, id, typed.fields[1], "", 0);
	return !search->stopped;
}

static bool take_pair_hit(void *context, const struct zts_wal_entry *entry, const char *text,
			  size_t size)
{
	return take_pair(context, entry->id, text, size);
}

static bool take_id(void *context, uint32_t id, uint8_t first)
{
	(void)first;
	zts_set_add(context, id);
	return true;
}

/* Pairs by the index of an FMI, in the order of ids. SONDE_LIMIT: unpacking it is faster. */
static enum sonde_status pairs_indexed(struct zts_texts *texts, struct texts_source *source,
				       const uint8_t *pattern, size_t size,
				       struct pair_search *search, struct sonde_error *err)
{
	uint64_t budget = texts_step_budget(source);
	struct zts_set ids = { 0 };
	enum sonde_status status = SONDE_OK;
	size_t id = SIZE_MAX;

	if (zts_fmi_count(source->fmi, pattern, size) > budget / STEPS_PER_TEXT)
		return SONDE_LIMIT;
	if (!zts_set_init(&ids, source->end_id))
		return sonde_fail_nomem(err);
	status = zts_fmi_find_within(source->fmi, pattern, size, budget, take_id, &ids, err);
	if (status == SONDE_OK)
		id = zts_set_next(&ids, 0);
	while (id != SIZE_MAX && !search->stopped) {
		const char *text;
		size_t text_size;

		status = zts_texts_get(texts, (uint32_t)id, &text, &text_size, err);
		if (status < 0)
			break;
		if (status == SONDE_OK)
			take_pair(search, (uint32_t)id, text, text_size);
		status = SONDE_OK;
		id = zts_set_next(&ids, id + 1);
	}
	zts_set_release(&ids);
	return status;
}

static enum sonde_status pairs_in(struct zts_texts *texts, struct texts_source *source,
				  enum zts_text_kind kind, struct pair_search *search,
				  struct sonde_error *err)
{
	uint8_t pattern[ZTS_ID_DIGITS + 3] = { ZTS_WAL_TEXT_MARK, (uint8_t)kind };
	size_t size = 2 + zts_id_put(search->key, pattern + 2);
	enum sonde_status status;

	pattern[size++] = (uint8_t)kind;
	if (!texts_has_entries(source)) {
		status = pairs_indexed(texts, source, pattern, size, search, err);
		if (status != SONDE_LIMIT)
			return status;
		status = texts_unpack(source, err);
		if (status < 0)
			return status;
	}
	return texts_each_hit(texts, source, pattern, size, take_pair_hit, search, err);
}

enum sonde_status zts_texts_pairs(struct zts_texts *texts, uint32_t key,
				  bool (*pair)(void *context, uint32_t pair_id, uint32_t value_id,
					       const char *literal, size_t size),
				  void *context, struct sonde_error *err)
{
	static const enum zts_text_kind kinds[] = { ZTS_TEXT_KEY_LITERAL, ZTS_TEXT_KEY_VALUE };
	struct pair_search search = { .pair = pair, .context = context, .key = key };

	for (size_t i = 0; i < texts->sources.count * 2 && !search.stopped; i++) {
		struct texts_source *source = texts->sources.items[i / 2];
		enum sonde_status status;

		if (source->replaced)
			continue;
		status = pairs_in(texts, source, kinds[i % 2], &search, err);
		if (status < 0 && status != SONDE_CORRUPT)
			return status;
	}
	return SONDE_OK;
}
