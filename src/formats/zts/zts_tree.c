/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call trees out of the bytes of chunks. The items that nearly all bytes consist of are taken here,
 * in one loop without calls; zts_tree_items.c does the others. Also the attributes of a record.
 */
#include "formats/zts/zts_tree_private.h"

/* Bytes as existing programs write them; the numbers are those of zts_layout.h. */
#define RECORD_BYTE (0xc0 | ZTS_TAG_RECORD)
#define ARRAY_BYTE 0x9f
#define INFO_BYTE (0xc0 | ZTS_TAG_INFO)
#define PAIR_BYTE 0xa1
#define ATTRIBUTES_BYTE (0xc0 | ZTS_TAG_ATTRIBUTES)
#define BREAK_BYTE 0xff
#define LAST_UINT 0x1b

/*
 * The most that is looked at from the start of an item on, without asking for the end: a record's
 * start with two numbers of 9 bytes, and the 8 bytes that are loaded for the next.
 */
#define LOOK_AHEAD 40

/* Where the loop works: in the bytes themselves, or in a copy of the last ones with room behind. */
struct window {
	const uint8_t *data;
	size_t origin;		    /* of data[0] in the tree's bytes */
	const uint8_t *begin_limit; /* items begin before it */
	const uint8_t *end;	    /* and end not behind it */
};

/* Up to 9 bytes are looked at. NULL: no plain number. */
static inline const uint8_t *take_number(const uint8_t *p, uint64_t *value)
{
	unsigned int head = *p, width;
	uint64_t word;

	if (head > LAST_UINT)
		return NULL;
	width = head < 0x18 ? 0 : 1u << (head - 0x18);
	word = sonde_load_u64be(p + 1);
	*value = width ? word >> (64 - 8 * width) : head;
	return p + 1 + width;
}

/* The value of one pair with this key; `p` again where there is something else. */
static inline const uint8_t *take_info(const uint8_t *p, unsigned int key, uint64_t *value)
{
	const uint8_t *next;

	if ((sonde_load_u32le(p) & 0xffffff) != (INFO_BYTE | PAIR_BYTE << 8 | key << 16))
		return p;
	next = take_number(p + 3, value);
	return next ? next : p;
}

/* All of these: behind what was taken; NULL: zts_decode_item() must have it. */

static inline const uint8_t *take_record(struct zts_decoder *decoder, const struct window *window,
					 const uint8_t *p)
{
	uint64_t start = 0, method = 0;
	const uint8_t *next;

	if (p[1] != ARRAY_BYTE)
		return NULL;
	next = take_info(p + 2, ZTS_INFO_START, &start);
	next = take_info(next, ZTS_INFO_METHOD, &method);
	if (next > window->end || method > UINT32_MAX)
		return NULL;
	if (!zts_open_record(decoder, window->origin + (size_t)(p - window->data), start,
			     (uint32_t)method))
		return NULL;
	return next;
}

/* The end of a record is mostly its time, its calls and the break. */
static inline const uint8_t *take_stop(struct zts_decoder *decoder, const struct window *window,
				       const uint8_t *p)
{
	struct zts_record *record = decoder->record;
	uint64_t stop, calls = record->calls;
	const uint8_t *next = take_info(p, ZTS_INFO_STOP, &stop);
	bool closes;

	if (next == p)
		return NULL;
	next = take_info(next, ZTS_INFO_CALLS, &calls);
	closes = *next == BREAK_BYTE;
	next += closes;
	if (next > window->end || decoder->current == SONDE_NONE)
		return NULL;
	record->stop = stop;
	record->calls = calls;
	if (closes)
		zts_close_record(decoder);
	return next;
}

static inline const uint8_t *take_pair(struct zts_decoder *decoder, const struct window *window,
				       const uint8_t *p)
{
	uint64_t value;
	const uint8_t *next;

	if (p[1] != PAIR_BYTE || p[2] >= 0x18)
		return NULL;
	if (p[2] == ZTS_INFO_STOP)
		return take_stop(decoder, window, p);
	next = take_number(p + 3, &value);
	if (!next || next > window->end || decoder->current == SONDE_NONE)
		return NULL;
	/* a value that does not fit is found again, and told, by zts_decode_item() */
	return zts_decode_info(decoder, p[2], value) < 0 ? NULL : next;
}

/* Steps over the argument of a head, and the content of a string. NULL: zts_decode_item() does. */
static inline const uint8_t *pass_rest(const uint8_t *p, const uint8_t *end, unsigned int major,
				       unsigned int info)
{
	size_t length = info < 0x18 ? 0 : (size_t)1 << (info - 0x18);

	if (major == SONDE_CBOR_BYTES || major == SONDE_CBOR_TEXT) {
		if (info > 0x18 || p == end)
			return NULL;
		length = info < 0x18 ? info : 1u + *p;
	} else if (major == 7 && info >= 0x18) {
		return NULL;
	}
	return length <= (size_t)(end - p) ? p + length : NULL;
}

/* Text ids, numbers, texts and single values: no nesting. NULL where there is something else. */
static inline const uint8_t *pass_items(const uint8_t *p, const uint8_t *end, unsigned int count)
{
	while (count) {
		unsigned int major, info;

		if (p >= end)
			return NULL;
		major = *p >> 5;
		info = *p & 0x1f;
		if (info > LAST_UINT || major == SONDE_CBOR_ARRAY || major == SONDE_CBOR_MAP)
			return NULL;
		p = pass_rest(p + 1, end, major, info);
		if (!p)
			return NULL;
		count -= major != SONDE_CBOR_TAG;
	}
	return p;
}

static inline const uint8_t *take_attributes(struct zts_decoder *decoder,
					     const struct window *window, const uint8_t *p)
{
	const uint8_t *next;
	size_t offset = window->origin + (size_t)(p + 1 - window->data);

	if (p[1] < 0xa0 || p[1] > 0xb7 || decoder->current == SONDE_NONE)
		return NULL;
	next = pass_items(p + 2, window->end, (p[1] & 0x1fu) * 2);
	if (!next || next > window->end)
		return NULL;
	if (zts_add_attributes(decoder, decoder->current, offset, (size_t)(next - p - 1)) < 0)
		return NULL;
	return next;
}

static inline const uint8_t *take_exception(struct zts_decoder *decoder,
					    const struct window *window, const uint8_t *p)
{
	const uint8_t *next;
	uint64_t value;

	if (p[1] != ZTS_TAG_EXCEPTION_REF || decoder->current == SONDE_NONE)
		return NULL;
	next = take_number(p + 2, &value);
	if (!next || next > window->end || value > UINT32_MAX)
		return NULL;
	decoder->record->exception = (uint32_t)value;
	return next;
}

static inline const uint8_t *take_item(struct zts_decoder *decoder, const struct window *window,
				       const uint8_t *p)
{
	switch (*p) {
	case RECORD_BYTE:
		return take_record(decoder, window, p);
	case INFO_BYTE:
		return take_pair(decoder, window, p);
	case ATTRIBUTES_BYTE:
		return take_attributes(decoder, window, p);
	case 0xd8:
		return take_exception(decoder, window, p);
	case BREAK_BYTE:
		if (decoder->current == SONDE_NONE)
			return NULL;
		zts_close_record(decoder);
		return p + 1;
	default:
		return NULL;
	}
}

static enum sonde_status decode_window(struct zts_decoder *decoder, const struct window *window)
{
	const uint8_t *p = window->data + (decoder->position - window->origin);

	while (p < window->begin_limit) {
		const uint8_t *next = take_item(decoder, window, p);
		enum sonde_status status;

		if (next) {
			p = next;
			continue;
		}
		decoder->position = window->origin + (size_t)(p - window->data);
		status = zts_decode_item(decoder);
		if (status < 0)
			return status;
		p = window->data + (decoder->position - window->origin);
	}
	decoder->position = window->origin + (size_t)(p - window->data);
	return SONDE_OK;
}

static enum sonde_status decode_all(struct zts_decoder *decoder)
{
	const struct zts_tree *tree = decoder->tree;
	uint8_t last[2 * LOOK_AHEAD] = { 0 };
	struct window window = { .data = tree->bytes, .end = tree->bytes + tree->size };
	size_t left;

	if (tree->size > LOOK_AHEAD) {
		enum sonde_status status;

		window.begin_limit = window.end - LOOK_AHEAD;
		status = decode_window(decoder, &window);
		if (status < 0)
			return status;
	}
	left = tree->size - decoder->position;
	if (!left)
		return SONDE_OK;
	memcpy(last, tree->bytes + decoder->position, left);
	window = (struct window){
		.data = last,
		.origin = decoder->position,
		.begin_limit = last + left,
		.end = last + left,
	};
	return decode_window(decoder, &window);
}

/* The maps of a record, in the order of the bytes, by one walk from the last map to the first. */
static void link_attributes(struct zts_tree *tree)
{
	for (size_t i = tree->attributes.count; i-- > 0;) {
		struct zts_attribute_map *map = &tree->attributes.items[i];
		struct zts_record *record = &tree->records.items[map->record];

		map->next = record->attributes;
		record->attributes = (uint32_t)i;
	}
}

static uint64_t end_of_last_child(const struct zts_tree *tree, uint32_t record)
{
	uint64_t end = 0;

	for (size_t i = (size_t)record + 1; i < tree->records.count;
	     i += tree->records.items[i].records)
		end = tree->records.items[i].stop;
	return end;
}

/* From the innermost record outwards. */
static void finish_open_records(struct zts_tree *tree, uint32_t innermost, bool fault)
{
	uint64_t end = 0;

	if (fault && innermost != SONDE_NONE)
		end = end_of_last_child(tree, innermost);
	for (uint32_t i = innermost; i != SONDE_NONE; i = tree->records.items[i].parent) {
		struct zts_record *record = &tree->records.items[i];

		record->records = (uint32_t)tree->records.count - i;
		tree->open++;
		if (fault && !record->stop)
			record->stop = end ? end : record->start;
		end = record->stop;
	}
}

static void clear(struct zts_tree *tree, const uint8_t *bytes, size_t size)
{
	tree->records.count = tree->traces.count = tree->identities.count = 0;
	tree->attributes.count = tree->exceptions.count = tree->stack.count = 0;
	tree->bytes = bytes ? bytes : (const uint8_t *)"";
	tree->size = size;
	tree->open = tree->unopened = tree->unknown = 0;
	tree->document_spelling = false;
}

/* The other way, without the loop above: for tests, which compare the two. */
static enum sonde_status decode_slowly(struct zts_decoder *decoder)
{
	enum sonde_status status = SONDE_OK;

	while (status >= 0 && decoder->position < decoder->tree->size)
		status = zts_decode_item(decoder);
	return status;
}

static enum sonde_status decode_by(enum sonde_status (*decode)(struct zts_decoder *),
				   struct zts_tree *tree, const uint8_t *bytes, size_t size,
				   struct sonde_error *err)
{
	struct zts_decoder decoder = {
		.tree = tree,
		.err = err,
		.current = SONDE_NONE,
		.root = SONDE_NONE,
		.outside = { .depth = UINT32_MAX, .trace = SONDE_NONE },
		.first_stray = SIZE_MAX,
	};
	enum sonde_status status;

	clear(tree, bytes, size);
	if (size > UINT32_MAX)
		return sonde_fail(err, SONDE_LIMIT, 0,
				  "expected less than 4 GiB of bytes of a trace, found %zu", size);
	decoder.record = &decoder.outside;
	status = decode(&decoder);
	if (status == SONDE_LIMIT)
		status = sonde_fail(err, SONDE_CORRUPT, decoder.position,
				    "expected at most %d levels in an attribute, found more",
				    SONDE_CBOR_MAX_DEPTH);
	if (status == SONDE_OK && decoder.first_stray != SIZE_MAX)
		status = sonde_fail(err, SONDE_CORRUPT, decoder.first_stray,
				    "expected a record, found the rest of one that began before");
	link_attributes(tree);
	finish_open_records(tree, decoder.current, status < 0);
	return status;
}

enum sonde_status zts_tree_decode(struct zts_tree *tree, const uint8_t *bytes, size_t size,
				  struct sonde_error *err)
{
	return decode_by(decode_all, tree, bytes, size, err);
}

enum sonde_status zts_tree_decode_slowly(struct zts_tree *tree, const uint8_t *bytes, size_t size,
					 struct sonde_error *err)
{
	return decode_by(decode_slowly, tree, bytes, size, err);
}

void zts_tree_release(struct zts_tree *tree)
{
	sonde_vec_release(&tree->records);
	sonde_vec_release(&tree->traces);
	sonde_vec_release(&tree->identities);
	sonde_vec_release(&tree->attributes);
	sonde_vec_release(&tree->exceptions);
	sonde_vec_release(&tree->stack);
	*tree = (struct zts_tree){ 0 };
}

/* Opens the map that the cursor is at. */
static enum sonde_status open_map(struct zts_attribute_cursor *cursor, struct sonde_error *err)
{
	const struct zts_attribute_map *map = &cursor->tree->attributes.items[cursor->map];
	struct sonde_cbor_item item;
	enum sonde_status status;

	cursor->bytes = sonde_bytes_of(cursor->tree->bytes + map->offset, map->size);
	status = sonde_cbor_next(&cursor->bytes, &item, err);
	if (status)
		return status < 0 ? status : SONDE_TRUNCATED;
	cursor->pairs_left = item.indefinite ? UINT64_MAX : item.value;
	return SONDE_OK;
}

static bool map_has_more(const struct zts_attribute_cursor *cursor)
{
	const struct sonde_bytes *bytes = &cursor->bytes;

	if (cursor->pairs_left != UINT64_MAX)
		return cursor->pairs_left > 0;
	return sonde_bytes_left(bytes) && bytes->data[bytes->position] != BREAK_BYTE;
}

/* SONDE_END where the key is none that is known. */
static enum sonde_status read_key(struct zts_attribute_cursor *cursor, struct sonde_error *err)
{
	size_t start = cursor->bytes.position;
	struct sonde_cbor_item item;
	enum sonde_status status;

	cursor->key = 0;
	cursor->key_text = NULL;
	cursor->key_size = 0;
	do {
		status = sonde_cbor_next(&cursor->bytes, &item, err);
		if (status)
			return status < 0 ? status : SONDE_TRUNCATED;
	} while (item.type == SONDE_CBOR_TAG);
	if (item.type == SONDE_CBOR_UINT && item.value <= UINT32_MAX) {
		cursor->key = (uint32_t)item.value;
		return SONDE_OK;
	}
	if (item.type == SONDE_CBOR_TEXT && !item.indefinite) {
		cursor->key_text = item.bytes;
		cursor->key_size = item.value;
		return SONDE_OK;
	}
	cursor->bytes.position = start;
	status = sonde_cbor_skip(&cursor->bytes, SONDE_CBOR_MAX_DEPTH, err);
	return status < 0 ? status : SONDE_END;
}

static enum sonde_status read_pair(struct zts_attribute_cursor *cursor, struct sonde_error *err)
{
	enum sonde_status key = read_key(cursor, err), status;
	size_t start = cursor->bytes.position;

	if (key < 0)
		return key;
	status = sonde_cbor_skip(&cursor->bytes, SONDE_CBOR_MAX_DEPTH, err);
	if (status)
		return status < 0 ? status : SONDE_TRUNCATED;
	cursor->value = sonde_bytes_of(cursor->bytes.data + start, cursor->bytes.position - start);
	if (cursor->pairs_left != UINT64_MAX)
		cursor->pairs_left--;
	return key;
}

enum sonde_status zts_attribute_next(struct zts_attribute_cursor *cursor, struct sonde_error *err)
{
	enum sonde_status status;

	if (!cursor->started) {
		cursor->started = true;
		cursor->map = cursor->tree->records.items[cursor->record].attributes;
		if (cursor->map == SONDE_NONE)
			return SONDE_END;
		status = open_map(cursor, err);
		if (status < 0)
			return status;
	}
	while (cursor->map != SONDE_NONE) {
		if (map_has_more(cursor)) {
			status = read_pair(cursor, err);
			if (status != SONDE_END)
				return status;
			continue;
		}
		cursor->map = cursor->tree->attributes.items[cursor->map].next;
		if (cursor->map == SONDE_NONE)
			break;
		status = open_map(cursor, err);
		if (status < 0)
			return status;
	}
	return SONDE_END;
}
