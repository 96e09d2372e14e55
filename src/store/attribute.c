/* SPDX-License-Identifier: Apache-2.0 */
/* Values of attributes as searches and people take them. */
#include "store/attribute.h"

#include <string.h>

#include "formats/zts/zts_json.h"
#include "formats/zts/zts_value.h"

/* A double that is written as a number; NaN and infinity are texts, as JSON has neither. */
static bool is_number(const struct zts_value_walk *walk)
{
	char last = walk->size ? walk->text[walk->size - 1] : '\0';

	return walk->size && strchr("-.0123456789", walk->text[0]) && last != 'f' && last != 'y';
}

/* False for what is no plain value. */
static bool take_scalar(const struct zts_value_walk *walk, enum zts_step step,
			struct sonde_scalar *scalar)
{
	*scalar = (struct sonde_scalar){
		.kind = SONDE_SCALAR_TEXT,
		.text = walk->text,
		.size = walk->size,
		.is_nested = walk->depth > 0,
	};
	switch (step) {
	case ZTS_STEP_NULL:
		scalar->kind = SONDE_SCALAR_NULL;
		return true;
	case ZTS_STEP_BOOL:
		scalar->kind = SONDE_SCALAR_BOOL;
		return true;
	case ZTS_STEP_INTEGER:
		scalar->kind = SONDE_SCALAR_NUMBER;
		return true;
	case ZTS_STEP_DOUBLE:
		if (is_number(walk))
			scalar->kind = SONDE_SCALAR_NUMBER;
		return true;
	case ZTS_STEP_TEXT:
	case ZTS_STEP_BYTES:
	case ZTS_STEP_BASE64:
		return true;
	case ZTS_STEP_KEY:
		scalar->kind = SONDE_SCALAR_KEY;
		return true;
	default:
		return false;
	}
}

void sonde_value_walk(struct zts_texts *texts, struct sonde_bytes value,
		      bool (*found)(void *context, const struct sonde_scalar *scalar),
		      void *context)
{
	struct zts_value_walk walk = { .texts = texts, .bytes = value };
	struct sonde_scalar scalar;
	enum zts_step step;

	while ((step = zts_value_next(&walk)) != ZTS_STEP_END)
		if (take_scalar(&walk, step, &scalar) && !found(context, &scalar))
			break;
	zts_value_walk_release(&walk);
}

void sonde_value_put_json(struct zts_texts *texts, struct sonde_bytes value,
			  struct sonde_json_writer *json)
{
	struct sonde_buffer scratch = { 0 };

	zts_json_put_value(texts, value, ZTS_JSON_PLAIN, json, &scratch);
	sonde_buffer_release(&scratch);
}

void sonde_value_put_text(struct zts_texts *texts, struct sonde_bytes value,
			  struct sonde_buffer *out)
{
	struct zts_value_walk walk = { .texts = texts, .bytes = value };
	struct sonde_json_writer json;
	struct sonde_scalar scalar;

	if (take_scalar(&walk, zts_value_next(&walk), &scalar)) {
		sonde_buffer_put(out, walk.text, walk.size);
	} else {
		sonde_json_writer_init(&json, out, false);
		sonde_value_put_json(texts, value, &json);
	}
	zts_value_walk_release(&walk);
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
