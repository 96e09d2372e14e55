/* SPDX-License-Identifier: Apache-2.0 */
/* Values of attributes and exceptions as JSON: see zts_json.h. */
#include "formats/zts/zts_json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/base64.h"
#include "formats/zts/zts_put_value.h"
#include "formats/zts/zts_value.h"

#define DEPTH_MAX 40 /* of values within exceptions, which are passed over */
#define CAUSES_MAX 16

struct put {
	struct zts_texts *texts;
	struct sonde_json_writer *json;
	struct sonde_buffer *scratch;
	enum zts_json_style style;
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

/*
 * A double as a JSON number; false where its text is no finite one. In details it must not be taken
 * for an integer.
 */
static bool put_double(struct put *put, const char *written, size_t size)
{
	char text[ZTS_DOUBLE_SIZE + 2], *end;
	double value;

	if (!size || size >= ZTS_DOUBLE_SIZE)
		return false;
	memcpy(text, written, size);
	text[size] = '\0';
	value = strtod(text, &end);
	if (*end || !isfinite(value))
		return false;
	zts_format_double(value, text);
	if (put->style == ZTS_JSON_EXACT && !strpbrk(text, ".e"))
		memcpy(text + strlen(text), ".0", 3);
	sonde_json_raw(put->json, text);
	return true;
}

/* A text that stands for something JSON lacks: {"bytes": "AP8="} in details. */
static void put_wrapped(struct put *put, const char *kind, const char *text, size_t size)
{
	if (put->style == ZTS_JSON_PLAIN) {
		sonde_json_string_sized(put->json, text, size);
		return;
	}
	sonde_json_object_begin_inline(put->json);
	sonde_json_key(put->json, kind);
	sonde_json_string_sized(put->json, text, size);
	sonde_json_object_end(put->json);
}

static void put_bytes(struct put *put, const char *bytes, size_t size)
{
	char *place;

	if (put->style == ZTS_JSON_PLAIN) {
		sonde_json_string_sized(put->json, bytes, size);
		return;
	}
	sonde_buffer_clear(put->scratch);
	place = sonde_buffer_reserve(put->scratch, sonde_base64_length(size));
	if (!place) {
		put->json->out->failed = true;
		return;
	}
	sonde_base64_encode(bytes, size, place);
	put_wrapped(put, "bytes", place, sonde_base64_length(size));
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

/* The key that is in the scratch. */
static void put_key(struct put *put)
{
	const char *text = sonde_buffer_text(put->scratch);

	/* a NUL inside would end it early */
	for (size_t i = 0; text && i < put->scratch->size; i++) {
		if (!put->scratch->data[i])
			put->scratch->data[i] = '?';
	}
	sonde_json_key(put->json, text ? text : "");
	put->json->out->failed |= !text;
}

static void put_step(struct put *put, const struct zts_value_walk *walk, enum zts_step step)
{
	switch (step) {
	case ZTS_STEP_BOOL:
	case ZTS_STEP_INTEGER:
	case ZTS_STEP_NULL:
		sonde_json_raw(put->json, walk->text);
		break;
	case ZTS_STEP_DOUBLE:
		if (!put_double(put, walk->text, walk->size))
			put_wrapped(put, "double", walk->text, walk->size);
		break;
	case ZTS_STEP_TEXT:
		sonde_json_string_sized(put->json, walk->text, walk->size);
		break;
	case ZTS_STEP_BYTES:
		put_bytes(put, walk->text, walk->size);
		break;
	case ZTS_STEP_BASE64:
		put_wrapped(put, "bytes", walk->text, walk->size);
		break;
	case ZTS_STEP_KEY:
		sonde_buffer_clear(put->scratch);
		sonde_buffer_put(put->scratch, walk->text, walk->size);
		put_key(put);
		break;
	case ZTS_STEP_ARRAY:
		sonde_json_array_begin_inline(put->json);
		break;
	case ZTS_STEP_MAP:
		sonde_json_object_begin_inline(put->json);
		break;
	case ZTS_STEP_ARRAY_END:
		sonde_json_array_end(put->json);
		break;
	case ZTS_STEP_MAP_END:
		sonde_json_object_end(put->json);
		break;
	case ZTS_STEP_END:
		break;
	}
}

/* What is cut off in the middle is closed, so that it stays JSON. */
static void close_levels(struct put *put, const struct zts_value_walk *walk, bool after_key)
{
	if (after_key || !walk->depth)
		sonde_json_null(put->json);
	for (unsigned int depth = walk->depth; depth--;) {
		if (walk->levels[depth].is_map)
			sonde_json_object_end(put->json);
		else
			sonde_json_array_end(put->json);
	}
}

static void put_value(struct put *put, struct sonde_bytes value)
{
	struct zts_value_walk walk = { .texts = put->texts, .bytes = value };
	bool after_key = false, is_whole = false;
	enum zts_step step;

	while (!is_whole && (step = zts_value_next(&walk)) != ZTS_STEP_END) {
		put_step(put, &walk, step);
		after_key = step == ZTS_STEP_KEY;
		is_whole = !walk.depth;
	}
	if (!is_whole)
		close_levels(put, &walk, after_key);
	put->json->out->failed |= walk.space.failed;
	zts_value_walk_release(&walk);
}

void zts_json_put_value(struct zts_texts *texts, struct sonde_bytes value,
			enum zts_json_style style, struct sonde_json_writer *json,
			struct sonde_buffer *scratch)
{
	struct put put = { texts, json, scratch, style };

	put_value(&put, value);
}

void zts_json_put_attributes(struct zts_texts *texts, const struct zts_tree *tree, uint32_t record,
			     uint32_t left_out, struct sonde_json_writer *json,
			     struct sonde_buffer *scratch)
{
	struct zts_attribute_cursor cursor = { .tree = tree, .record = record };
	struct put put = { texts, json, scratch, ZTS_JSON_EXACT };

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
		put_key(&put);
		put_value(&put, cursor.value);
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
	struct put put = { texts, json, scratch, ZTS_JSON_EXACT };

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
	struct put put = { texts, json, scratch, ZTS_JSON_EXACT };
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
