/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Items of call trees in any form that CBOR allows, and the rarer ones: those of agents and those
 * in the document's spelling. Slower than zts_tree.c, which takes the usual ones.
 */
#include <inttypes.h>

#include "formats/zts/zts_tree_private.h"

#define WORD_SIZE 8
#define TICKS_BITS 40

static struct sonde_bytes cursor_at(const struct zts_decoder *decoder)
{
	struct sonde_bytes bytes = sonde_bytes_of(decoder->tree->bytes, decoder->tree->size);

	bytes.position = decoder->position;
	return bytes;
}

static enum sonde_status unexpected(struct zts_decoder *decoder, size_t offset,
				    const char *expected)
{
	return sonde_fail(decoder->err, SONDE_CORRUPT, offset,
			  "expected %s, found something else in the bytes of a trace", expected);
}

static enum sonde_status too_short(struct zts_decoder *decoder, size_t offset)
{
	return sonde_fail(decoder->err, SONDE_TRUNCATED, offset,
			  "expected more of a trace, found the end of its bytes in an item");
}

/* An item that must be there. */
static enum sonde_status next_item(struct zts_decoder *decoder, struct sonde_bytes *bytes,
				   struct sonde_cbor_item *item)
{
	enum sonde_status status = sonde_cbor_next(bytes, item, decoder->err);

	return status == SONDE_END ? too_short(decoder, bytes->position) : status;
}

static enum sonde_status skip_item(struct zts_decoder *decoder, struct sonde_bytes *bytes)
{
	enum sonde_status status = sonde_cbor_skip(bytes, SONDE_CBOR_MAX_DEPTH, decoder->err);

	return status == SONDE_END ? too_short(decoder, bytes->position) : status;
}

/* Whether what stands at the position belongs to no record: remembered, and passed over. */
static bool is_stray(struct zts_decoder *decoder)
{
	if (decoder->current != SONDE_NONE)
		return false;
	if (decoder->first_stray == SIZE_MAX)
		decoder->first_stray = decoder->position;
	return true;
}

static enum sonde_status set_id(struct zts_decoder *decoder, uint32_t *id, uint64_t value)
{
	if (value > UINT32_MAX)
		return sonde_fail(decoder->err, SONDE_CORRUPT, decoder->position,
				  "expected a number of 32 bits, found %" PRIu64, value);
	*id = (uint32_t)value;
	return SONDE_OK;
}

static struct zts_identity *identity_of(struct zts_decoder *decoder)
{
	struct zts_tree *tree = decoder->tree;
	struct zts_identity *identity;

	if (decoder->record->identity != SONDE_NONE)
		return &tree->identities.items[decoder->record->identity];
	identity = sonde_vec_push(&tree->identities);
	if (!identity)
		return NULL;
	decoder->record->identity = (uint32_t)(tree->identities.count - 1);
	*identity = (struct zts_identity){ .record = decoder->current };
	return identity;
}

/* The trace start of the innermost record says what its identity says. */
static void copy_identity(struct zts_decoder *decoder)
{
	const struct zts_record *record = decoder->record;
	const struct zts_identity *identity;
	struct zts_trace_start *trace;

	if (record->trace == SONDE_NONE || record->identity == SONDE_NONE)
		return;
	identity = &decoder->tree->identities.items[record->identity];
	trace = &decoder->tree->traces.items[record->trace];
	trace->type = identity->type;
	trace->has_type = identity->has_type;
	trace->span = identity->span;
	trace->has_span = identity->has_span;
	trace->parent = identity->parent;
}

static enum sonde_status begin_trace(struct zts_decoder *decoder, uint64_t timestamp_ms)
{
	struct zts_tree *tree = decoder->tree;
	struct zts_trace_start *trace;
	uint32_t *open;

	if (decoder->record->trace != SONDE_NONE) {
		tree->traces.items[decoder->record->trace].timestamp_ms = timestamp_ms;
		return SONDE_OK;
	}
	open = sonde_vec_push(&tree->stack);
	if (!open)
		return sonde_fail_nomem(decoder->err);
	*open = decoder->current;
	trace = sonde_vec_push(&tree->traces);
	if (!trace) {
		tree->stack.count--;
		return sonde_fail_nomem(decoder->err);
	}
	*trace = (struct zts_trace_start){ .record = decoder->current,
					   .timestamp_ms = timestamp_ms };
	decoder->record->trace = (uint32_t)(tree->traces.count - 1);
	copy_identity(decoder);
	return SONDE_OK;
}

static enum sonde_status set_identity(struct zts_decoder *decoder, uint64_t key, uint64_t value)
{
	struct zts_identity *identity = identity_of(decoder);
	enum sonde_status status = SONDE_OK;

	if (!identity)
		return sonde_fail_nomem(decoder->err);
	if (key == ZTS_INFO_TYPE) {
		status = set_id(decoder, &identity->type, value);
		identity->has_type = true;
	} else if (key == ZTS_INFO_SPAN) {
		identity->span = value;
		identity->has_span = true;
	} else {
		identity->parent = value;
	}
	copy_identity(decoder);
	return status;
}

enum sonde_status zts_decode_info(struct zts_decoder *decoder, uint64_t key, uint64_t value)
{
	struct zts_record *record = decoder->record;

	if (is_stray(decoder))
		return SONDE_OK;
	switch (key) {
	case ZTS_INFO_START:
		record->start = value;
		return SONDE_OK;
	case ZTS_INFO_STOP:
		record->stop = value;
		return SONDE_OK;
	case ZTS_INFO_CALLS:
		record->calls = value;
		return SONDE_OK;
	case ZTS_INFO_METHOD:
		return set_id(decoder, &record->method, value);
	case ZTS_INFO_FLAGS:
		record->flags |= (uint32_t)value;
		return SONDE_OK;
	case ZTS_INFO_TIMESTAMP:
		return begin_trace(decoder, value);
	case ZTS_INFO_TYPE:
	case ZTS_INFO_SPAN:
	case ZTS_INFO_PARENT:
		return set_identity(decoder, key, value);
	default:
		return SONDE_OK;
	}
}

/*
 * A number, also one marked as a text id; *found is false (and the item passed over) where there is
 * something else. Ids of spans may be signed.
 */
static enum sonde_status read_number(struct zts_decoder *decoder, struct sonde_bytes *bytes,
				     uint64_t *value, bool *found)
{
	size_t start = bytes->position;
	struct sonde_cbor_item item;
	enum sonde_status status;

	do {
		status = next_item(decoder, bytes, &item);
		if (status < 0)
			return status;
	} while (item.type == SONDE_CBOR_TAG);
	*found = item.type == SONDE_CBOR_UINT || item.type == SONDE_CBOR_NEGATIVE;
	*value = item.type == SONDE_CBOR_NEGATIVE ? ~item.value : item.value;
	if (*found)
		return SONDE_OK;
	bytes->position = start;
	return skip_item(decoder, bytes);
}

static enum sonde_status need_number(struct zts_decoder *decoder, struct sonde_bytes *bytes,
				     uint64_t *value)
{
	size_t start = bytes->position;
	bool found;
	enum sonde_status status = read_number(decoder, bytes, value, &found);

	if (status < 0 || found)
		return status;
	return unexpected(decoder, start, "a number");
}

/*
 * One turn over the items of an array or map that was opened: SONDE_END behind the last one. `left`
 * counts what is to come where that is known.
 */
static enum sonde_status has_more(struct zts_decoder *decoder, struct sonde_bytes *bytes,
				  const struct sonde_cbor_item *container, uint64_t *left)
{
	if (!container->indefinite)
		return (*left)-- ? SONDE_OK : SONDE_END;
	if (!sonde_bytes_left(bytes))
		return too_short(decoder, bytes->position);
	if (bytes->data[bytes->position] != 0xff)
		return SONDE_OK;
	bytes->position++;
	return SONDE_END;
}

static enum sonde_status decode_info_map(struct zts_decoder *decoder, struct sonde_bytes *bytes)
{
	size_t start = bytes->position;
	struct sonde_cbor_item map;
	enum sonde_status status = next_item(decoder, bytes, &map);
	uint64_t left = map.value;

	if (status < 0)
		return status;
	if (map.type != SONDE_CBOR_MAP)
		return unexpected(decoder, start, "a map of method call info");
	while (!(status = has_more(decoder, bytes, &map, &left))) {
		uint64_t key, value;
		bool known, found;

		status = read_number(decoder, bytes, &key, &known);
		if (status >= 0)
			status = read_number(decoder, bytes, &value, &found);
		if (status >= 0 && known && found)
			status = zts_decode_info(decoder, key, value);
		if (status < 0)
			return status;
	}
	return status < 0 ? status : SONDE_OK;
}

enum sonde_status zts_add_attributes(struct zts_decoder *decoder, uint32_t record, size_t offset,
				     size_t size)
{
	struct zts_attribute_map *map = sonde_vec_push(&decoder->tree->attributes);

	if (!map)
		return sonde_fail_nomem(decoder->err);
	*map = (struct zts_attribute_map){
		.record = record,
		.next = SONDE_NONE,
		.offset = (uint32_t)offset,
		.size = (uint32_t)size,
	};
	return SONDE_OK;
}

static enum sonde_status decode_attributes(struct zts_decoder *decoder, struct sonde_bytes *bytes,
					   uint32_t record)
{
	size_t start = bytes->position;
	enum sonde_status status = skip_item(decoder, bytes);

	if (status < 0)
		return status;
	if (bytes->data[start] >> 5 != SONDE_CBOR_MAP)
		return unexpected(decoder, start, "a map of attributes");
	if (is_stray(decoder))
		return SONDE_OK;
	return zts_add_attributes(decoder, record, start, bytes->position - start);
}

static enum sonde_status need_array(struct zts_decoder *decoder, struct sonde_bytes *bytes,
				    struct sonde_cbor_item *array)
{
	size_t start = bytes->position;
	enum sonde_status status = next_item(decoder, bytes, array);

	if (status < 0)
		return status;
	return array->type == SONDE_CBOR_ARRAY ? SONDE_OK : unexpected(decoder, start, "an array");
}

/* [trace id, attributes]: for the nearest record that begins a trace, or else the outermost. */
static enum sonde_status decode_upward(struct zts_decoder *decoder, struct sonde_bytes *bytes)
{
	const struct zts_tree *tree = decoder->tree;
	uint32_t record = decoder->root;
	struct sonde_cbor_item array;
	enum sonde_status status = need_array(decoder, bytes, &array);
	uint64_t left = array.value, number = 0;

	if (tree->stack.count)
		record = tree->stack.items[tree->stack.count - 1];
	for (; status >= 0; number++) {
		status = has_more(decoder, bytes, &array, &left);
		if (status)
			break;
		status = number == 1 ? decode_attributes(decoder, bytes, record) :
				       skip_item(decoder, bytes);
	}
	return status < 0 ? status : SONDE_OK;
}

/*
 * [clock ms, span or type, parent]. Agents that know spans say three, or two with a span of 64
 * random bits; older ones say two with the type.
 */
static enum sonde_status decode_begin(struct zts_decoder *decoder, struct sonde_bytes *bytes)
{
	uint64_t values[3] = { 0 }, left, count = 0;
	struct sonde_cbor_item array;
	enum sonde_status status = need_array(decoder, bytes, &array);
	bool is_type;

	left = array.value;
	while (status >= 0) {
		status = has_more(decoder, bytes, &array, &left);
		if (status)
			break;
		if (count < 3)
			status = need_number(decoder, bytes, &values[count]);
		else
			status = skip_item(decoder, bytes);
		count++;
	}
	if (status < 0)
		return status;
	if (!count)
		return unexpected(decoder, decoder->position, "the time of a trace");
	status = zts_decode_info(decoder, ZTS_INFO_TIMESTAMP, values[0]);
	is_type = count == 2 && values[1] <= UINT32_MAX;
	if (status >= 0 && count > 1)
		status = zts_decode_info(decoder, is_type ? ZTS_INFO_TYPE : ZTS_INFO_SPAN,
					 values[1]);
	if (status >= 0 && count > 2)
		status = zts_decode_info(decoder, ZTS_INFO_PARENT, values[2]);
	return status;
}

static enum sonde_status decode_inline_exception(struct zts_decoder *decoder,
						 struct sonde_bytes *bytes)
{
	struct zts_inline_exception *exception;
	size_t start = bytes->position;
	enum sonde_status status = skip_item(decoder, bytes);

	if (status < 0)
		return status;
	if (bytes->data[start] >> 5 != SONDE_CBOR_ARRAY)
		return unexpected(decoder, start, "an array");
	if (is_stray(decoder))
		return SONDE_OK;
	exception = sonde_vec_push(&decoder->tree->exceptions);
	if (!exception)
		return sonde_fail_nomem(decoder->err);
	*exception = (struct zts_inline_exception){
		.offset = (uint32_t)start,
		.size = (uint32_t)(bytes->position - start),
	};
	decoder->record->inline_exception = (uint32_t)(decoder->tree->exceptions.count - 1);
	return SONDE_OK;
}

static uint64_t load_word(const uint8_t *p, bool big)
{
	return big ? sonde_load_u64be(p) : sonde_load_u64le(p);
}

/* Prolog (one word) and epilog (one or two) are strings of bytes. */
static enum sonde_status decode_words(struct zts_decoder *decoder, struct sonde_bytes *bytes,
				      uint64_t tag)
{
	bool big = tag == ZTS_TAG_PROLOG_BIG || tag == ZTS_TAG_EPILOG_BIG;
	bool prolog = tag == ZTS_TAG_PROLOG_BIG || tag == ZTS_TAG_PROLOG_LITTLE;
	size_t start = bytes->position;
	struct sonde_cbor_item item;
	enum sonde_status status = next_item(decoder, bytes, &item);
	uint64_t ticks, above;

	if (status < 0)
		return status;
	if (item.type != SONDE_CBOR_BYTES || item.indefinite ||
	    (item.value != WORD_SIZE && (prolog || item.value != 2 * WORD_SIZE)))
		return unexpected(decoder, start, "8 bytes of prolog, or 8 or 16 of epilog");
	ticks = load_word(item.bytes, big);
	above = ticks >> TICKS_BITS;
	ticks &= (1ull << TICKS_BITS) - 1;
	if (item.value == 2 * WORD_SIZE)
		above = load_word(item.bytes + WORD_SIZE, big);
	status = zts_decode_info(decoder, prolog ? ZTS_INFO_START : ZTS_INFO_STOP, ticks);
	if (status < 0)
		return status;
	return zts_decode_info(decoder, prolog ? ZTS_INFO_METHOD : ZTS_INFO_CALLS, above);
}

static enum sonde_status decode_record(struct zts_decoder *decoder, struct sonde_bytes *bytes)
{
	size_t start = bytes->position;
	struct sonde_cbor_item item;
	enum sonde_status status = next_item(decoder, bytes, &item);

	if (status < 0)
		return status;
	if (item.type != SONDE_CBOR_ARRAY || !item.indefinite)
		return unexpected(decoder, start, "the array of a record");
	if (!zts_open_record(decoder, decoder->position, 0, 0))
		return sonde_fail_nomem(decoder->err);
	return SONDE_OK;
}

static enum sonde_status decode_number(struct zts_decoder *decoder, struct sonde_bytes *bytes,
				       uint64_t tag)
{
	uint64_t value;
	enum sonde_status status = need_number(decoder, bytes, &value);

	if (status < 0)
		return status;
	if (tag == ZTS_TAG_FLAGS)
		return zts_decode_info(decoder, ZTS_INFO_FLAGS, value);
	return is_stray(decoder) ? SONDE_OK : set_id(decoder, &decoder->record->exception, value);
}

static enum sonde_status decode_tagged(struct zts_decoder *decoder, struct sonde_bytes *bytes,
				       uint64_t tag)
{
	switch (tag) {
	case ZTS_TAG_RECORD:
		return decode_record(decoder, bytes);
	case ZTS_TAG_INFO_DOCUMENT:
		decoder->tree->document_spelling = true;
		return decode_info_map(decoder, bytes);
	case ZTS_TAG_INFO:
		return decode_info_map(decoder, bytes);
	case ZTS_TAG_ATTRIBUTES_DOCUMENT:
		decoder->tree->document_spelling = true;
		return decode_attributes(decoder, bytes, decoder->current);
	case ZTS_TAG_ATTRIBUTES:
		return decode_attributes(decoder, bytes, decoder->current);
	case ZTS_TAG_PROLOG_BIG:
	case ZTS_TAG_PROLOG_LITTLE:
	case ZTS_TAG_EPILOG_BIG:
	case ZTS_TAG_EPILOG_LITTLE:
		return decode_words(decoder, bytes, tag);
	case ZTS_TAG_FLAGS:
	case ZTS_TAG_EXCEPTION_REF:
		return decode_number(decoder, bytes, tag);
	case ZTS_TAG_BEGIN:
		return decode_begin(decoder, bytes);
	case ZTS_TAG_EXCEPTION:
		return decode_inline_exception(decoder, bytes);
	case ZTS_TAG_UPWARD:
		return decode_upward(decoder, bytes);
	default:
		decoder->tree->unknown++;
		return skip_item(decoder, bytes);
	}
}

static void decode_break(struct zts_decoder *decoder)
{
	if (is_stray(decoder))
		decoder->tree->unopened++;
	else
		zts_close_record(decoder);
}

enum sonde_status zts_decode_item(struct zts_decoder *decoder)
{
	struct sonde_bytes bytes = cursor_at(decoder);
	struct sonde_cbor_item item;
	enum sonde_status status = next_item(decoder, &bytes, &item);

	if (status < 0)
		return status;
	if (item.type == SONDE_CBOR_BREAK)
		decode_break(decoder);
	else if (item.type == SONDE_CBOR_TAG)
		status = decode_tagged(decoder, &bytes, item.value);
	else
		status = unexpected(decoder, decoder->position, "an item with a tag");
	if (status >= 0)
		decoder->position = bytes.position;
	return status < 0 ? status : SONDE_OK;
}
