/* SPDX-License-Identifier: Apache-2.0 */
/* Values of attributes, step by step: see zts_value.h. */
#include "formats/zts/zts_value.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "formats/zts/zts_put_value.h"

void zts_value_walk_release(struct zts_value_walk *walk)
{
	sonde_buffer_release(&walk->space);
}

static enum zts_step say(struct zts_value_walk *walk, enum zts_step step, const char *text,
			 size_t size)
{
	walk->text = text ? text : "";
	walk->size = size;
	return step;
}

static enum zts_step say_number(struct zts_value_walk *walk, enum zts_step step)
{
	return say(walk, step, walk->number, strlen(walk->number));
}

static enum zts_step take_negative(struct zts_value_walk *walk, uint64_t value)
{
	if (value == UINT64_MAX)
		snprintf(walk->number, sizeof(walk->number), "-18446744073709551616");
	else
		snprintf(walk->number, sizeof(walk->number), "-%" PRIu64, value + 1);
	return say_number(walk, ZTS_STEP_INTEGER);
}

/* The pieces of a text or of bytes up to the break, as one. */
static enum zts_step take_pieces(struct zts_value_walk *walk, enum zts_step step)
{
	struct sonde_cbor_item item;

	sonde_buffer_clear(&walk->space);
	for (;;) {
		if (sonde_cbor_next(&walk->bytes, &item, NULL) != SONDE_OK)
			return ZTS_STEP_END;
		if (item.type == SONDE_CBOR_BREAK)
			break;
		if ((item.type != SONDE_CBOR_TEXT && item.type != SONDE_CBOR_BYTES) ||
		    item.indefinite)
			return ZTS_STEP_END;
		sonde_buffer_put(&walk->space, item.bytes, (size_t)item.value);
	}
	return say(walk, step, walk->space.data, walk->space.size);
}

static enum zts_step take_text_id(struct zts_value_walk *walk)
{
	struct sonde_cbor_item item;

	if (sonde_cbor_next(&walk->bytes, &item, NULL) != SONDE_OK ||
	    item.type != SONDE_CBOR_UINT || item.value > UINT32_MAX)
		return ZTS_STEP_END;
	zts_texts_plain(walk->texts, (uint32_t)item.value, &walk->space, &walk->text, &walk->size);
	return ZTS_STEP_TEXT;
}

static enum zts_step take_simple(struct zts_value_walk *walk, uint64_t value)
{
	if (value == 20)
		return say(walk, ZTS_STEP_BOOL, "false", 5);
	if (value == 21)
		return say(walk, ZTS_STEP_BOOL, "true", 4);
	return say(walk, ZTS_STEP_NULL, "null", 4);
}

static enum zts_step take_scalar(struct zts_value_walk *walk, const struct sonde_cbor_item *item)
{
	switch (item->type) {
	case SONDE_CBOR_UINT:
		snprintf(walk->number, sizeof(walk->number), "%" PRIu64, item->value);
		return say_number(walk, ZTS_STEP_INTEGER);
	case SONDE_CBOR_NEGATIVE:
		return take_negative(walk, item->value);
	case SONDE_CBOR_FLOAT:
		zts_format_double(item->number, walk->number);
		return say_number(walk, ZTS_STEP_DOUBLE);
	case SONDE_CBOR_TEXT:
		return item->indefinite ? take_pieces(walk, ZTS_STEP_TEXT) :
					  say(walk, ZTS_STEP_TEXT, (const char *)item->bytes,
					      (size_t)item->value);
	case SONDE_CBOR_BYTES:
		return item->indefinite ? take_pieces(walk, ZTS_STEP_BYTES) :
					  say(walk, ZTS_STEP_BYTES, (const char *)item->bytes,
					      (size_t)item->value);
	case SONDE_CBOR_SIMPLE:
		return take_simple(walk, item->value);
	case SONDE_CBOR_TAG:
		return item->value == ZTS_TAG_STRING ? take_text_id(walk) : ZTS_STEP_END;
	default:
		return ZTS_STEP_END;
	}
}

static bool take_text(struct zts_value_walk *walk)
{
	struct sonde_cbor_item item;

	return sonde_cbor_next(&walk->bytes, &item, NULL) == SONDE_OK &&
	       take_scalar(walk, &item) == ZTS_STEP_TEXT;
}

static bool text_is(const struct zts_value_walk *walk, const char *word)
{
	return walk->size == strlen(word) && !memcmp(walk->text, word, walk->size);
}

/* {"double": text} and {"bytes": text}; ZTS_STEP_END, with nothing taken, where it is no such. */
static enum zts_step take_wrapped(struct zts_value_walk *walk, const struct sonde_cbor_item *map)
{
	struct sonde_bytes before = walk->bytes;
	enum zts_step step = ZTS_STEP_END;

	if (map->indefinite || map->value != 1)
		return ZTS_STEP_END;
	if (take_text(walk)) {
		if (text_is(walk, "double"))
			step = ZTS_STEP_DOUBLE;
		else if (text_is(walk, "bytes"))
			step = ZTS_STEP_BASE64;
	}
	if (step == ZTS_STEP_END || !take_text(walk)) {
		walk->bytes = before;
		return ZTS_STEP_END;
	}
	return step;
}

static enum zts_step end_level(struct zts_value_walk *walk)
{
	return walk->levels[--walk->depth].is_map ? ZTS_STEP_MAP_END : ZTS_STEP_ARRAY_END;
}

static enum zts_step open_level(struct zts_value_walk *walk, const struct sonde_cbor_item *item)
{
	bool is_map = item->type == SONDE_CBOR_MAP;

	if (walk->depth == ZTS_VALUE_DEPTH)
		return ZTS_STEP_END;
	walk->levels[walk->depth++] = (struct zts_value_level){
		.left = is_map ? item->value * 2 : item->value,
		.is_map = is_map,
		.indefinite = item->indefinite,
	};
	return is_map ? ZTS_STEP_MAP : ZTS_STEP_ARRAY;
}

static enum zts_step take_value(struct zts_value_walk *walk, const struct sonde_cbor_item *item)
{
	enum zts_step step;

	if (item->type == SONDE_CBOR_MAP) {
		step = take_wrapped(walk, item);
		if (step != ZTS_STEP_END)
			return step;
	}
	if (item->type == SONDE_CBOR_MAP || item->type == SONDE_CBOR_ARRAY)
		return open_level(walk, item);
	return take_scalar(walk, item);
}

/* The next item; tags that say nothing to us are passed over. */
static bool next_item(struct zts_value_walk *walk, struct sonde_cbor_item *item)
{
	do {
		if (sonde_cbor_next(&walk->bytes, item, NULL) != SONDE_OK)
			return false;
	} while (item->type == SONDE_CBOR_TAG && item->value != ZTS_TAG_STRING);
	return true;
}

enum zts_step zts_value_next(struct zts_value_walk *walk)
{
	struct zts_value_level *level = walk->depth ? &walk->levels[walk->depth - 1] : NULL;
	bool is_key = level && level->is_map && level->left % 2 == 0;
	struct sonde_cbor_item item;

	if (!level && walk->has_begun)
		return ZTS_STEP_END;
	walk->has_begun = true;
	if (level && !level->indefinite && !level->left)
		return end_level(walk);
	if (!next_item(walk, &item))
		return ZTS_STEP_END;
	if (item.type == SONDE_CBOR_BREAK)
		return level && level->indefinite ? end_level(walk) : ZTS_STEP_END;
	if (level)
		level->left--;
	if (is_key)
		return take_scalar(walk, &item) == ZTS_STEP_END ? ZTS_STEP_END : ZTS_STEP_KEY;
	return take_value(walk, &item);
}
