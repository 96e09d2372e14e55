/* SPDX-License-Identifier: Apache-2.0 */
/* Values of attributes and exceptions as JSON: see zts_json.h. */
#include "formats/zts/zts_json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/base64.h"
#include "formats/zts/zts_put_value.h"

/* JSON has 64 levels; some are around the value. */
#define DEPTH_MAX 40
#define CAUSES_MAX 16

struct put {
	struct zts_texts *texts;
	struct sonde_json_writer *json;
	struct sonde_buffer *scratch;
};

static void put_text_id(struct put *put, uint64_t id)
{
	sonde_buffer_clear(put->scratch);
	if (id && id <= UINT32_MAX)
		zts_texts_put_name(put->texts, (uint32_t)id, put->scratch);
	sonde_json_string_sized(put->json, put->scratch->size ? put->scratch->data : "",
				put->scratch->size);
	put->json->out->failed |= put->scratch->failed;
}

static void put_number(struct put *put, const struct sonde_cbor_item *item)
{
	char text[32];

	if (item->type == SONDE_CBOR_UINT) {
		sonde_json_number_u64(put->json, item->value);
		return;
	}
	if (item->value == UINT64_MAX)
		sonde_json_raw(put->json, "-18446744073709551616");
	else {
		snprintf(text, sizeof(text), "-%llu", (unsigned long long)item->value + 1);
		sonde_json_raw(put->json, text);
	}
}

/* A double as a JSON number that is not taken for an integer. */
static void put_double(struct put *put, double value)
{
	char text[ZTS_DOUBLE_SIZE + 2];

	if (!isfinite(value)) {
		sonde_json_null(put->json);
		return;
	}
	zts_format_double(value, text);
	if (!strpbrk(text, ".e"))
		memcpy(text + strlen(text), ".0", 3);
	sonde_json_raw(put->json, text);
}

static void put_bytes(struct put *put, const struct sonde_cbor_item *item)
{
	char *place;

	sonde_buffer_clear(put->scratch);
	place = sonde_buffer_reserve(put->scratch, sonde_base64_length((size_t)item->value));
	sonde_json_object_begin(put->json);
	sonde_json_key(put->json, "bytes");
	if (place) {
		sonde_base64_encode(item->bytes, (size_t)item->value, place);
		sonde_json_string_sized(put->json, place, sonde_base64_length((size_t)item->value));
	} else {
		put->json->out->failed = true;
	}
	sonde_json_object_end(put->json);
}

/* A string, or a reference to one, into the scratch; false for anything else. */
static bool take_text(struct put *put, struct sonde_bytes *cbor)
{
	struct sonde_cbor_item item;

	sonde_buffer_clear(put->scratch);
	if (sonde_cbor_next(cbor, &item, NULL) != SONDE_OK)
		return false;
	if (item.type == SONDE_CBOR_TEXT && !item.indefinite) {
		sonde_buffer_put(put->scratch, item.bytes, (size_t)item.value);
		return true;
	}
	if (item.type == SONDE_CBOR_TAG && item.value == ZTS_TAG_STRING &&
	    sonde_cbor_next(cbor, &item, NULL) != SONDE_OK)
		return false;
	if (item.type != SONDE_CBOR_UINT || item.value > UINT32_MAX)
		return false;
	if (item.value)
		zts_texts_put_name(put->texts, (uint32_t)item.value, put->scratch);
	return true;
}

/* {"double": "0.5"} as a number; nothing is consumed where it is something else. */
static bool put_wrapped_double(struct put *put, struct sonde_bytes *cbor)
{
	struct sonde_bytes ahead = *cbor;
	const char *text;
	double value;
	char *end;

	if (!take_text(put, &ahead) || put->scratch->size != 6 ||
	    memcmp(put->scratch->data, "double", 6) != 0)
		return false;
	if (!take_text(put, &ahead) || !put->scratch->size || put->scratch->size > 40)
		return false;
	text = sonde_buffer_text(put->scratch);
	if (!text)
		return false;
	value = strtod(text, &end);
	if (*end || !isfinite(value))
		return false;
	put_double(put, value);
	*cbor = ahead;
	return true;
}

static bool put_value(struct put *put, struct sonde_bytes *cbor, unsigned int depth);

/* False where the container ends in the middle. */
static bool put_array(struct put *put, struct sonde_bytes *cbor, const struct sonde_cbor_item *item,
		      unsigned int depth)
{
	bool is_good = true;

	sonde_json_array_begin(put->json);
	for (uint64_t i = 0; is_good && (item->indefinite || i < item->value); i++) {
		if (item->indefinite && sonde_bytes_left(cbor) &&
		    cbor->data[cbor->position] == 0xff) {
			cbor->position++;
			break;
		}
		is_good = put_value(put, cbor, depth + 1);
	}
	sonde_json_array_end(put->json);
	return is_good;
}

static void put_key(struct put *put, bool is_text)
{
	const char *text = is_text ? sonde_buffer_text(put->scratch) : "?";

	/* a NUL inside would end it early */
	for (size_t i = 0; text && is_text && i < put->scratch->size; i++) {
		if (!put->scratch->data[i])
			put->scratch->data[i] = '?';
	}
	sonde_json_key(put->json, text ? text : "");
	put->json->out->failed |= !text;
}

/* A key that is no text is shown as its number, or as a question mark. */
static bool put_pair(struct put *put, struct sonde_bytes *cbor, unsigned int depth)
{
	struct sonde_bytes key = *cbor;
	bool is_text = take_text(put, &key);

	if (is_text)
		*cbor = key;
	else if (sonde_cbor_skip(cbor, DEPTH_MAX, NULL) != SONDE_OK)
		return false;
	put_key(put, is_text);
	return put_value(put, cbor, depth + 1);
}

static bool put_map(struct put *put, struct sonde_bytes *cbor, const struct sonde_cbor_item *item,
		    unsigned int depth)
{
	bool is_good = true;

	if (!item->indefinite && item->value == 1 && put_wrapped_double(put, cbor))
		return true;
	sonde_json_object_begin(put->json);
	for (uint64_t i = 0; is_good && (item->indefinite || i < item->value); i++) {
		if (item->indefinite && sonde_bytes_left(cbor) &&
		    cbor->data[cbor->position] == 0xff) {
			cbor->position++;
			break;
		}
		is_good = put_pair(put, cbor, depth);
	}
	sonde_json_object_end(put->json);
	return is_good;
}

/* Pieces of a text up to the break, as one. */
static bool put_pieces(struct put *put, struct sonde_bytes *cbor)
{
	struct sonde_cbor_item item;
	bool is_good;

	sonde_buffer_clear(put->scratch);
	while ((is_good = sonde_cbor_next(cbor, &item, NULL) == SONDE_OK) &&
	       item.type != SONDE_CBOR_BREAK) {
		if ((item.type != SONDE_CBOR_TEXT && item.type != SONDE_CBOR_BYTES) ||
		    item.indefinite)
			break;
		sonde_buffer_put(put->scratch, item.bytes, (size_t)item.value);
	}
	sonde_json_string_sized(put->json, put->scratch->size ? put->scratch->data : "",
				put->scratch->size);
	return is_good && item.type == SONDE_CBOR_BREAK;
}

static bool put_tagged(struct put *put, struct sonde_bytes *cbor, uint64_t tag, unsigned int depth)
{
	struct sonde_bytes ahead = *cbor;
	struct sonde_cbor_item item;

	if (tag != ZTS_TAG_STRING || sonde_cbor_next(&ahead, &item, NULL) != SONDE_OK ||
	    item.type != SONDE_CBOR_UINT)
		return put_value(put, cbor, depth + 1);
	*cbor = ahead;
	put_text_id(put, item.value);
	return true;
}

static bool put_value(struct put *put, struct sonde_bytes *cbor, unsigned int depth)
{
	struct sonde_cbor_item item;

	if (depth > DEPTH_MAX || sonde_cbor_next(cbor, &item, NULL) != SONDE_OK) {
		sonde_json_null(put->json);
		return false;
	}
	switch (item.type) {
	case SONDE_CBOR_UINT:
	case SONDE_CBOR_NEGATIVE:
		put_number(put, &item);
		return true;
	case SONDE_CBOR_BYTES:
		if (item.indefinite)
			return put_pieces(put, cbor);
		put_bytes(put, &item);
		return true;
	case SONDE_CBOR_TEXT:
		if (item.indefinite)
			return put_pieces(put, cbor);
		sonde_json_string_sized(put->json, (const char *)item.bytes, (size_t)item.value);
		return true;
	case SONDE_CBOR_ARRAY:
		return put_array(put, cbor, &item, depth);
	case SONDE_CBOR_MAP:
		return put_map(put, cbor, &item, depth);
	case SONDE_CBOR_TAG:
		return put_tagged(put, cbor, item.value, depth);
	case SONDE_CBOR_FLOAT:
		put_double(put, item.number);
		return true;
	case SONDE_CBOR_SIMPLE:
		if (item.value == 20 || item.value == 21)
			sonde_json_bool(put->json, item.value == 21);
		else
			sonde_json_null(put->json);
		return true;
	default:
		sonde_json_null(put->json);
		return false;
	}
}

void zts_json_put_attributes(struct zts_texts *texts, const struct zts_tree *tree, uint32_t record,
			     uint32_t left_out, struct sonde_json_writer *json,
			     struct sonde_buffer *scratch)
{
	struct zts_attribute_cursor cursor = { .tree = tree, .record = record };
	struct put put = { texts, json, scratch };

	sonde_json_object_begin(json);
	while (tree->records.items[record].attributes != SONDE_NONE &&
	       zts_attribute_next(&cursor, NULL) == SONDE_OK) {
		if (left_out && !cursor.key_text && cursor.key == left_out)
			continue;
		sonde_buffer_clear(scratch);
		if (cursor.key_text)
			sonde_buffer_put(scratch, cursor.key_text, cursor.key_size);
		else if (cursor.key)
			zts_texts_put_name(texts, cursor.key, scratch);
		put_key(&put, true);
		put_value(&put, &cursor.value, 1);
	}
	sonde_json_object_end(json);
}

static void put_stack(struct put *put, uint32_t id)
{
	struct zts_typed_text stack;
	uint32_t frame;

	sonde_json_array_begin(put->json);
	if (id && zts_texts_typed(put->texts, id, &stack, NULL) == SONDE_OK &&
	    stack.kind == ZTS_TEXT_STACK) {
		while (zts_text_next_frame(&stack, &frame))
			put_text_id(put, frame);
	}
	sonde_json_array_end(put->json);
}

static void put_exception(struct put *put, uint32_t id, unsigned int depth)
{
	struct zts_typed_text exception;

	if (!id || depth == CAUSES_MAX) {
		sonde_json_null(put->json);
		return;
	}
	if (zts_texts_typed(put->texts, id, &exception, NULL) != SONDE_OK ||
	    exception.kind != ZTS_TEXT_EXCEPTION) {
		put_text_id(put, id);
		return;
	}
	sonde_json_object_begin(put->json);
	sonde_json_key(put->json, "class");
	put_text_id(put, exception.fields[0]);
	sonde_json_key(put->json, "message");
	put_text_id(put, exception.fields[1]);
	sonde_json_key(put->json, "stack");
	put_stack(put, exception.fields[2]);
	sonde_json_key(put->json, "cause");
	put_exception(put, exception.fields[3], depth + 1);
	sonde_json_object_end(put->json);
}

void zts_json_put_exception(struct zts_texts *texts, uint32_t id, struct sonde_json_writer *json,
			    struct sonde_buffer *scratch)
{
	struct put put = { texts, json, scratch };

	put_exception(&put, id, 0);
}

/* A field of an inline exception: a text id, tagged or not, or a text. */
static void put_field(struct put *put, struct sonde_bytes *cbor)
{
	struct sonde_bytes ahead = *cbor;
	bool is_text = take_text(put, &ahead);

	if (!is_text)
		sonde_buffer_clear(put->scratch);
	sonde_json_string_sized(put->json, put->scratch->size ? put->scratch->data : "",
				put->scratch->size);
	if (is_text)
		*cbor = ahead;
	else
		cbor->overrun |= sonde_cbor_skip(cbor, DEPTH_MAX, NULL) != SONDE_OK;
}

/* A frame [class, method, file, line] into the scratch as frames of the text index are shown. */
static void put_inline_frame(struct put *put, struct sonde_bytes *cbor)
{
	struct sonde_buffer text = { 0 };
	struct sonde_cbor_item item;

	if (sonde_cbor_next(cbor, &item, NULL) != SONDE_OK || item.type != SONDE_CBOR_ARRAY ||
	    item.indefinite || item.value != 4) {
		cbor->overrun = true;
		return;
	}
	for (int i = 0; i < 3; i++) {
		cbor->overrun |= !take_text(put, cbor);
		if (i && put->scratch->size)
			sonde_buffer_put_char(&text, i == 1 ? '.' : '(');
		sonde_buffer_put(&text, put->scratch->data, put->scratch->size);
	}
	if (sonde_cbor_next(cbor, &item, NULL) == SONDE_OK && item.type == SONDE_CBOR_UINT)
		sonde_buffer_put_format(&text, "%s:%llu)", put->scratch->size ? "" : "(",
					(unsigned long long)item.value);
	else
		cbor->overrun = true;
	sonde_json_string_sized(put->json, text.size ? text.data : "", text.size);
	put->json->out->failed |= text.failed;
	sonde_buffer_release(&text);
}

static void put_inline_stack(struct put *put, struct sonde_bytes *cbor)
{
	struct sonde_cbor_item item;

	sonde_json_array_begin(put->json);
	if (sonde_cbor_next(cbor, &item, NULL) == SONDE_OK && item.type == SONDE_CBOR_ARRAY &&
	    !item.indefinite) {
		for (uint64_t i = 0; i < item.value && !cbor->overrun; i++)
			put_inline_frame(put, cbor);
	}
	sonde_json_array_end(put->json);
}

void zts_json_put_inline_exception(struct zts_texts *texts, const struct zts_tree *tree,
				   uint32_t number, struct sonde_json_writer *json,
				   struct sonde_buffer *scratch)
{
	const struct zts_inline_exception *place = &tree->exceptions.items[number];
	struct sonde_bytes cbor = sonde_bytes_of(tree->bytes + place->offset, place->size);
	struct put put = { texts, json, scratch };
	struct sonde_cbor_item item;
	struct sonde_bytes cause;

	if (sonde_cbor_next(&cbor, &item, NULL) != SONDE_OK || item.type != SONDE_CBOR_ARRAY ||
	    sonde_cbor_skip(&cbor, DEPTH_MAX, NULL) != SONDE_OK) {
		sonde_json_null(json);
		return;
	}
	sonde_json_object_begin(json);
	sonde_json_key(json, "class");
	put_field(&put, &cbor);
	sonde_json_key(json, "message");
	put_field(&put, &cbor);
	cause = cbor;
	cbor.overrun |= sonde_cbor_skip(&cbor, DEPTH_MAX, NULL) != SONDE_OK;
	sonde_json_key(json, "stack");
	put_inline_stack(&put, &cbor);
	sonde_json_key(json, "cause");
	if (sonde_cbor_next(&cause, &item, NULL) == SONDE_OK && item.type == SONDE_CBOR_TAG)
		item.type = sonde_cbor_next(&cause, &item, NULL) == SONDE_OK ? item.type :
									       SONDE_CBOR_BREAK;
	if (item.type == SONDE_CBOR_UINT && item.value <= UINT32_MAX)
		put_exception(&put, (uint32_t)item.value, 1);
	else
		sonde_json_null(json);
	sonde_json_object_end(json);
}
