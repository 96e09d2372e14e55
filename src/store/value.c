/* SPDX-License-Identifier: Apache-2.0 */
/* Values of attributes: a walk over CBOR without recursion. */
#include "store/value.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "store/names.h"

/* An array or map that is open. */
struct level {
	uint64_t left; /* items; of a map, keys and values */
	bool is_map;
	bool indefinite;
};

/* What a walk meets: begin and end of arrays and maps, and scalars. */
enum step_kind { STEP_SCALAR, STEP_ARRAY, STEP_MAP, STEP_ARRAY_END, STEP_MAP_END, STEP_END };

struct walk {
	struct zts_texts *texts;
	struct sonde_bytes bytes;
	struct level levels[SONDE_VALUE_DEPTH];
	unsigned int depth;
	struct sonde_buffer space; /* of a text that had to be put together */
	char number[40];
	bool begun;
	struct sonde_scalar scalar;
};

static void set_scalar(struct walk *walk, enum sonde_scalar_kind kind, const char *text,
		       size_t size)
{
	walk->scalar = (struct sonde_scalar){
		.kind = kind, .text = text, .size = size, .is_nested = walk->depth > 0
	};
}

static void set_number(struct walk *walk, int length)
{
	set_scalar(walk, SONDE_SCALAR_NUMBER, walk->number, length > 0 ? (size_t)length : 0);
}

/* A text that is a tagged id; false where something else is tagged. */
static bool take_reference(struct walk *walk, uint64_t tag)
{
	struct sonde_cbor_item item;
	const char *text;
	size_t size;

	if (sonde_cbor_next(&walk->bytes, &item, NULL) != SONDE_OK ||
	    item.type != SONDE_CBOR_UINT || tag != ZTS_TAG_STRING || item.value > UINT32_MAX)
		return false;
	sonde_text_of(walk->texts, (uint32_t)item.value, &walk->space, &text, &size);
	if (walk->space.failed)
		zts_texts_set_failed(walk->texts);
	set_scalar(walk, SONDE_SCALAR_TEXT, text, size);
	return true;
}

static bool take_scalar(struct walk *walk, const struct sonde_cbor_item *item)
{
	switch (item->type) {
	case SONDE_CBOR_UINT:
		set_number(walk,
			   snprintf(walk->number, sizeof(walk->number), "%" PRIu64, item->value));
		return true;
	case SONDE_CBOR_NEGATIVE:
		if (item->value == UINT64_MAX)
			set_number(walk, snprintf(walk->number, sizeof(walk->number),
						  "-18446744073709551616"));
		else
			set_number(walk, snprintf(walk->number, sizeof(walk->number), "-%" PRIu64,
						  item->value + 1));
		return true;
	case SONDE_CBOR_FLOAT:
		set_number(walk,
			   snprintf(walk->number, sizeof(walk->number), "%.17g", item->number));
		if (!__builtin_isfinite(item->number))
			walk->scalar.kind = SONDE_SCALAR_TEXT;
		return true;
	case SONDE_CBOR_TEXT:
	case SONDE_CBOR_BYTES:
		if (item->indefinite)
			return false;
		set_scalar(walk, SONDE_SCALAR_TEXT, (const char *)item->bytes, (size_t)item->value);
		return true;
	case SONDE_CBOR_SIMPLE:
		if (item->value == 20)
			set_scalar(walk, SONDE_SCALAR_BOOL, "false", 5);
		else if (item->value == 21)
			set_scalar(walk, SONDE_SCALAR_BOOL, "true", 4);
		else
			set_scalar(walk, SONDE_SCALAR_NULL, "null", 4);
		return true;
	case SONDE_CBOR_TAG:
		return take_reference(walk, item->value);
	default:
		return false;
	}
}

static bool scalar_is(const struct sonde_scalar *scalar, const char *word)
{
	return scalar->size == strlen(word) && !memcmp(scalar->text, word, scalar->size);
}

/* {"double": text} and {"bytes": text}: as if it were the text. */
static bool take_wrapped(struct walk *walk, const struct sonde_cbor_item *map)
{
	struct sonde_bytes before = walk->bytes;
	struct sonde_cbor_item item;
	bool is_double;

	if (map->indefinite || map->value != 1)
		return false;
	if (sonde_cbor_next(&walk->bytes, &item, NULL) != SONDE_OK || !take_scalar(walk, &item) ||
	    walk->scalar.kind != SONDE_SCALAR_TEXT)
		goto fail;
	is_double = scalar_is(&walk->scalar, "double");
	if (!is_double && !scalar_is(&walk->scalar, "bytes"))
		goto fail;
	if (sonde_cbor_next(&walk->bytes, &item, NULL) != SONDE_OK || !take_scalar(walk, &item) ||
	    walk->scalar.kind != SONDE_SCALAR_TEXT)
		goto fail;
	/* JSON has no NaN and no infinity: those stay texts */
	if (is_double && walk->scalar.size && strchr("-.0123456789", walk->scalar.text[0]) &&
	    walk->scalar.text[walk->scalar.size - 1] != 'f' &&
	    walk->scalar.text[walk->scalar.size - 1] != 'y')
		walk->scalar.kind = SONDE_SCALAR_NUMBER;
	return true;
fail:
	walk->bytes = before;
	return false;
}

static enum step_kind end_level(struct walk *walk)
{
	return walk->levels[--walk->depth].is_map ? STEP_MAP_END : STEP_ARRAY_END;
}

static enum step_kind open_level(struct walk *walk, const struct sonde_cbor_item *item)
{
	bool is_map = item->type == SONDE_CBOR_MAP;

	if (walk->depth == SONDE_VALUE_DEPTH)
		return STEP_END;
	walk->levels[walk->depth++] =
		(struct level){ .left = is_map ? item->value * 2 : item->value,
				.is_map = is_map,
				.indefinite = item->indefinite };
	return is_map ? STEP_MAP : STEP_ARRAY;
}

/* The next step; after STEP_END none may be asked for. */
static enum step_kind next_step(struct walk *walk)
{
	struct level *level = walk->depth ? &walk->levels[walk->depth - 1] : NULL;
	struct sonde_cbor_item item;
	bool is_key = level && level->is_map && level->left % 2 == 0;

	if (!level && walk->begun)
		return STEP_END;
	walk->begun = true;
	if (level && !level->indefinite && !level->left)
		return end_level(walk);
	if (sonde_cbor_next(&walk->bytes, &item, NULL) != SONDE_OK)
		return STEP_END;
	if (item.type == SONDE_CBOR_BREAK)
		return level && level->indefinite ? end_level(walk) : STEP_END;
	if (level)
		level->left--;
	if (item.type == SONDE_CBOR_MAP && !is_key && take_wrapped(walk, &item))
		return STEP_SCALAR;
	if (item.type == SONDE_CBOR_MAP || item.type == SONDE_CBOR_ARRAY)
		return is_key ? STEP_END : open_level(walk, &item);
	if (!take_scalar(walk, &item))
		return STEP_END;
	if (is_key)
		walk->scalar.kind = SONDE_SCALAR_KEY;
	return STEP_SCALAR;
}

void sonde_value_walk(struct zts_texts *texts, struct sonde_bytes value,
		      bool (*found)(void *context, const struct sonde_scalar *scalar),
		      void *context)
{
	struct walk walk = { .texts = texts, .bytes = value };
	enum step_kind step;

	while ((step = next_step(&walk)) != STEP_END)
		if (step == STEP_SCALAR && !found(context, &walk.scalar))
			break;
	sonde_buffer_release(&walk.space);
}

bool sonde_value_is_plain(struct zts_texts *texts, struct sonde_bytes value)
{
	struct walk walk = { .texts = texts, .bytes = value };
	bool is_plain = next_step(&walk) == STEP_SCALAR;

	sonde_buffer_release(&walk.space);
	return is_plain;
}

static void put_scalar_json(struct sonde_json_writer *json, const struct sonde_scalar *scalar)
{
	char number[48];

	switch (scalar->kind) {
	case SONDE_SCALAR_KEY: /* see put_key() */
	case SONDE_SCALAR_TEXT:
		sonde_json_string_sized(json, scalar->text, scalar->size);
		break;
	case SONDE_SCALAR_BOOL:
		sonde_json_bool(json, scalar->size == 4);
		break;
	case SONDE_SCALAR_NUMBER:
		if (scalar->size >= sizeof(number)) {
			sonde_json_null(json);
			break;
		}
		memcpy(number, scalar->text, scalar->size);
		number[scalar->size] = '\0';
		sonde_json_raw(json, number);
		break;
	case SONDE_SCALAR_NULL:
		sonde_json_null(json);
		break;
	}
}

static void put_key(struct sonde_json_writer *json, const struct sonde_scalar *scalar)
{
	struct sonde_buffer name = { 0 };

	sonde_buffer_put(&name, scalar->text, scalar->size);
	sonde_json_key(json, sonde_buffer_text(&name) ? name.data : "");
	json->out->failed |= name.failed;
	sonde_buffer_release(&name);
}

/* What is cut off in the middle is closed, so that it stays JSON. */
static void close_levels(struct walk *walk, struct sonde_json_writer *json, bool after_key)
{
	if (after_key || !walk->depth)
		sonde_json_null(json);
	while (walk->depth) {
		if (walk->levels[--walk->depth].is_map)
			sonde_json_object_end(json);
		else
			sonde_json_array_end(json);
	}
}

void sonde_value_put_json(struct zts_texts *texts, struct sonde_bytes value,
			  struct sonde_json_writer *json)
{
	struct walk walk = { .texts = texts, .bytes = value };
	bool after_key = false, is_whole = false;
	enum step_kind step;

	while (!is_whole && (step = next_step(&walk)) != STEP_END) {
		if (step == STEP_SCALAR && walk.scalar.kind == SONDE_SCALAR_KEY)
			put_key(json, &walk.scalar);
		else if (step == STEP_SCALAR)
			put_scalar_json(json, &walk.scalar);
		else if (step == STEP_MAP)
			sonde_json_object_begin_inline(json);
		else if (step == STEP_ARRAY)
			sonde_json_array_begin_inline(json);
		else if (step == STEP_MAP_END)
			sonde_json_object_end(json);
		else
			sonde_json_array_end(json);
		after_key = step == STEP_SCALAR && walk.scalar.kind == SONDE_SCALAR_KEY;
		is_whole = !walk.depth;
	}
	if (!is_whole)
		close_levels(&walk, json, after_key);
	sonde_buffer_release(&walk.space);
}

void sonde_value_put_text(struct zts_texts *texts, struct sonde_bytes value,
			  struct sonde_buffer *out)
{
	struct walk walk = { .texts = texts, .bytes = value };
	struct sonde_json_writer json;

	if (next_step(&walk) == STEP_SCALAR) {
		sonde_buffer_put(out, walk.scalar.text, walk.scalar.size);
	} else {
		sonde_json_writer_init(&json, out, false);
		sonde_value_put_json(texts, value, &json);
	}
	sonde_buffer_release(&walk.space);
}

bool sonde_attribute_put_name(struct zts_texts *texts, const struct zts_attribute_cursor *cursor,
			      struct sonde_buffer *out)
{
	size_t begin = out->size;

	if (cursor->key_text)
		sonde_buffer_put(out, cursor->key_text, cursor->key_size);
	else
		zts_texts_put_name(texts, cursor->key, out);
	return out->size - begin != strlen(ZTS_NS_ATTRIBUTE) ||
	       memcmp(out->data + begin, ZTS_NS_ATTRIBUTE, out->size - begin) != 0;
}
