/* SPDX-License-Identifier: Apache-2.0 */
/* One argument of an event as JSON, to slots. Every type says what it takes; the rest is found. */
#include <math.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/utf8.h"
#include "formats/cff/cff_findings.h"
#include "formats/cff/cff_json_events.h"
#include "formats/cff/cff_put.h"

/* What integers of each type may be; no entry where it is none. */
static const struct {
	int64_t least, most;
} ranges[] = {
	[SONDE_ARGUMENT_BOOL] = { 0, 1 },
	[SONDE_ARGUMENT_INT8] = { INT8_MIN, INT8_MAX },
	[SONDE_ARGUMENT_UINT8] = { 0, UINT8_MAX },
	[SONDE_ARGUMENT_CHAR] = { 0, UINT8_MAX },
	[SONDE_ARGUMENT_INT16] = { INT16_MIN, INT16_MAX },
	[SONDE_ARGUMENT_UINT16] = { 0, UINT16_MAX },
	[SONDE_ARGUMENT_WCHAR] = { 0, UINT16_MAX },
	[SONDE_ARGUMENT_INT32] = { INT32_MIN, INT32_MAX },
	[SONDE_ARGUMENT_UINT32] = { 0, UINT32_MAX },
	[SONDE_ARGUMENT_FLOW] = { 0, UINT32_MAX },
	[SONDE_ARGUMENT_TIME32] = { 0, UINT32_MAX },
	[SONDE_ARGUMENT_ANY] = { 0, 0 },
};

static void find_wrong(struct cff_json_events *events, const struct sonde_argument_spec *spec)
{
	const struct sonde_json_reader *json = &events->json;
	int length = json->length < 40 ? (int)json->length : 40;

	CFF_FIND(events->maker->findings, JSON_ARGUMENT, events->maker->path, json->offset,
		 "%s%s %s\t%.*s", sonde_argument_type_name(spec->type), spec->is_array ? "[]" : "",
		 spec->name, length ? length : 13, length ? json->text : "another value");
}

void cff_json_value_missing(const struct sonde_argument_spec *spec, struct sonde_buffer *out)
{
	if (spec->is_array)
		sonde_put_u32le(out, CFF_ARRAY_NULL);
	else
		sonde_put_u32le(out, sonde_argument_type_is_text(spec->type) ? CFF_STRING_NULL : 0);
}

static bool parse_integer(const struct sonde_json_reader *json, int64_t *value)
{
	bool is_negative = json->text[0] == '-';
	int64_t result = 0;
	double number;

	for (size_t i = is_negative; i < json->length; i++) {
		if (json->text[i] < '0' || json->text[i] > '9' || i > 17)
			goto other;
		result = result * 10 + (json->text[i] - '0');
	}
	*value = is_negative ? -result : result;
	return true;
other:
	number = strtod(json->text, NULL);
	if (!(fabs(number) < 9e15) || number != floor(number))
		return false;
	*value = (int64_t)number;
	return true;
}

static bool is_character(enum sonde_argument_type type)
{
	return type == SONDE_ARGUMENT_CHAR || type == SONDE_ARGUMENT_WCHAR;
}

static uint32_t decode_character(const char *text, size_t length)
{
	const uint8_t *p = (const uint8_t *)text;

	switch (length) {
	case 1:
		return p[0];
	case 2:
		return (uint32_t)(p[0] & 0x1F) << 6 | (p[1] & 0x3Fu);
	case 3:
		return (uint32_t)(p[0] & 0x0F) << 12 | (uint32_t)(p[1] & 0x3F) << 6 |
		       (p[2] & 0x3Fu);
	default:
		return (uint32_t)(p[0] & 0x07) << 18 | (uint32_t)(p[1] & 0x3F) << 12 |
		       (uint32_t)(p[2] & 0x3F) << 6 | (p[3] & 0x3Fu);
	}
}

/* The bits of one number or character, as they are in an item of an array. */
static bool read_item(const struct sonde_json_reader *json, enum sonde_argument_type type,
		      uint32_t *bits)
{
	int64_t number;
	float single;

	if (type == SONDE_ARGUMENT_FLOAT32) {
		if (json->token != SONDE_JSON_NUMBER)
			return false;
		single = strtof(json->text, NULL);
		memcpy(bits, &single, sizeof(*bits));
		return isfinite(single);
	}
	if (type == SONDE_ARGUMENT_BOOL &&
	    (json->token == SONDE_JSON_TRUE || json->token == SONDE_JSON_FALSE)) {
		*bits = json->token == SONDE_JSON_TRUE;
		return true;
	}
	if (is_character(type) && json->token == SONDE_JSON_STRING) {
		size_t length = json->length ? sonde_utf8_length(json->text, json->length) : 0;

		*bits = length ? decode_character(json->text, length) : 0;
		return length && length == json->length && *bits <= ranges[type].most;
	}
	if (json->token != SONDE_JSON_NUMBER || !parse_integer(json, &number) ||
	    number < ranges[type].least || number > ranges[type].most)
		return false;
	/* a negative number does not reach into the bytes that are not its own */
	*bits = (uint32_t)number & (UINT32_MAX >> (32 - 8 * sonde_argument_type_size(type)));
	return true;
}

static void put_item(struct sonde_buffer *out, uint32_t bits, size_t size)
{
	uint8_t bytes[4] = { (uint8_t)bits, (uint8_t)(bits >> 8), (uint8_t)(bits >> 16),
			     (uint8_t)(bits >> 24) };

	sonde_buffer_put(out, bytes, size);
}

/* Sets the count of an array that starts at `start`, and fills its last slot. */
static void end_array(struct sonde_buffer *out, size_t start, size_t item_size)
{
	size_t size = out->size - start - 4;

	if (out->failed)
		return;
	sonde_store_u32le((uint8_t *)out->data + start, (uint32_t)(size / item_size));
	sonde_buffer_put(out, "\0\0\0", -size & 3);
}

static enum sonde_status read_array(struct cff_json_events *events,
				    const struct sonde_argument_spec *spec,
				    struct sonde_buffer *out, struct sonde_error *err)
{
	size_t start = out->size, item_size = sonde_argument_type_size(spec->type);
	enum sonde_status status;

	sonde_put_u32le(out, 0);
	for (;;) {
		uint32_t bits = 0;

		status = sonde_json_next(&events->json, err);
		if (status < 0)
			return status;
		if (events->json.token == SONDE_JSON_ARRAY_END)
			break;
		if (!read_item(&events->json, spec->type, &bits)) {
			find_wrong(events, spec);
			bits = 0;
			status = sonde_json_skip(&events->json, err);
			if (status < 0)
				return status;
		}
		put_item(out, bits, item_size);
	}
	end_array(out, start, item_size);
	return SONDE_OK;
}

/* An array of characters as one string; what is beyond 16 bits becomes a pair. */
static void read_characters(struct cff_json_events *events, const struct sonde_argument_spec *spec,
			    struct sonde_buffer *out)
{
	size_t start = out->size, item_size = sonde_argument_type_size(spec->type), length;
	const struct sonde_json_reader *json = &events->json;

	sonde_put_u32le(out, 0);
	for (size_t i = 0; i < json->length; i += length) {
		uint32_t code;

		length = sonde_utf8_length(json->text + i, json->length - i);
		if (!length)
			break;
		code = decode_character(json->text + i, length);
		if (code > 0xFFFF && item_size == 2) {
			code -= 0x10000;
			put_item(out, 0xD800 + (code >> 10), item_size);
			code = 0xDC00 + (code & 0x3FF);
		} else if (code > ranges[spec->type].most) {
			find_wrong(events, spec);
			code = '?';
		}
		put_item(out, code, item_size);
	}
	end_array(out, start, item_size);
}

static enum sonde_status put_text(struct cff_json_events *events, const char *text, size_t length,
				  struct sonde_buffer *out, struct sonde_error *err)
{
	uint32_t ordinal = CFF_STRING_EMPTY;
	enum sonde_status status = SONDE_OK;

	if (length)
		status = cff_texts_get(&events->texts, text, length, &ordinal, err);
	if (status < 0)
		return status;
	cff_texts_use(&events->texts, ordinal);
	sonde_put_u32le(out, ordinal);
	return SONDE_OK;
}

/* Steps to the end of the container around the present token, whose own depth is `depth`. */
static enum sonde_status leave(struct sonde_json_reader *json, unsigned int depth,
			       struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	while (status >= 0 && json->depth > depth)
		status = sonde_json_next(json, err);
	return status;
}

/* A value that `any` holds: its text in the document, from `start` on, from a token of `depth`. */
static enum sonde_status read_any(struct cff_json_events *events, uint64_t start,
				  unsigned int depth, struct sonde_buffer *out,
				  struct sonde_error *err)
{
	enum sonde_status status = leave(&events->json, depth, err);
	uint64_t end = sonde_json_position(&events->json);

	if (status < 0)
		return status;
	return put_text(events, (const char *)events->maker->input + start, end - start, out, err);
}

/* Whether slots, given one by one, are one argument of its type. */
static bool check_raw(const struct sonde_argument_spec *spec, const uint8_t *slots, size_t size)
{
	uint64_t count, items;

	if (size < 4 || !spec->is_array)
		return size == 4;
	count = sonde_load_u32le(slots);
	items = count == CFF_ARRAY_NULL ? 0 : count * sonde_argument_type_size(spec->type);
	return size == 4 + cff_padded(items);
}

static enum sonde_status read_raw(struct cff_json_events *events,
				  const struct sonde_argument_spec *spec, unsigned int depth,
				  struct sonde_buffer *out, struct sonde_error *err)
{
	enum sonde_status status = sonde_json_next(&events->json, err);
	size_t start = out->size;
	bool is_good = true;

	while (status >= 0 && events->json.depth > depth) {
		uint64_t word = 0;

		status = sonde_json_next(&events->json, err);
		if (status < 0 || events->json.depth != depth + 2)
			continue;
		is_good = sonde_json_u64(&events->json, &word) && word <= UINT32_MAX && is_good;
		sonde_put_u32le(out, (uint32_t)word);
	}
	if (status < 0 || out->failed)
		return status < 0 ? status : sonde_fail_nomem(err);
	if (is_good && check_raw(spec, (const uint8_t *)out->data + start, out->size - start))
		return SONDE_OK;
	find_wrong(events, spec);
	out->size = start;
	cff_json_value_missing(spec, out);
	return SONDE_OK;
}

static enum sonde_status read_ordinal(struct cff_json_events *events,
				      const struct sonde_argument_spec *spec, unsigned int depth,
				      struct sonde_buffer *out, struct sonde_error *err)
{
	enum sonde_status status = sonde_json_next(&events->json, err);
	uint64_t ordinal = CFF_STRING_NULL;

	if (status < 0)
		return status;
	if (!sonde_argument_type_is_text(spec->type) || !sonde_json_u64(&events->json, &ordinal) ||
	    ordinal > UINT32_MAX) {
		find_wrong(events, spec);
		cff_json_value_missing(spec, out);
	} else {
		cff_texts_use(&events->texts, (uint32_t)ordinal);
		sonde_put_u32le(out, (uint32_t)ordinal);
	}
	return leave(&events->json, depth, err);
}

static enum sonde_status read_object(struct cff_json_events *events,
				     const struct sonde_argument_spec *spec,
				     struct sonde_buffer *out, struct sonde_error *err)
{
	struct sonde_json_reader *json = &events->json;
	unsigned int depth = json->depth;
	uint64_t start = json->offset;
	enum sonde_status status = sonde_json_next(json, err);

	if (status < 0)
		return status;
	if (json->token == SONDE_JSON_KEY && !strcmp(json->text, CFF_JSON_RAW))
		return read_raw(events, spec, depth, out, err);
	if (json->token == SONDE_JSON_KEY && !strcmp(json->text, CFF_JSON_ORDINAL))
		return read_ordinal(events, spec, depth, out, err);
	if (spec->type == SONDE_ARGUMENT_ANY && !spec->is_array)
		return read_any(events, start, depth, out, err);
	find_wrong(events, spec);
	cff_json_value_missing(spec, out);
	return leave(json, depth, err);
}

/* A value that is one token, or an array for `any`. */
static enum sonde_status read_text(struct cff_json_events *events,
				   const struct sonde_argument_spec *spec, struct sonde_buffer *out,
				   struct sonde_error *err)
{
	struct sonde_json_reader *json = &events->json;
	unsigned int depth = json->depth;
	uint64_t start = json->offset;
	enum sonde_status status;

	if (json->token == SONDE_JSON_STRING)
		return put_text(events, json->text, json->length, out, err);
	if (spec->type != SONDE_ARGUMENT_ANY) {
		find_wrong(events, spec);
		cff_json_value_missing(spec, out);
		return sonde_json_skip(json, err);
	}
	status = sonde_json_skip(json, err);
	return status < 0 ? status : read_any(events, start, depth, out, err);
}

enum sonde_status cff_json_value_read(struct cff_json_events *events,
				      const struct sonde_argument_spec *spec,
				      struct sonde_buffer *out, struct sonde_error *err)
{
	struct sonde_json_reader *json = &events->json;
	bool is_text = sonde_argument_type_is_text(spec->type);
	uint32_t bits;

	if (json->token == SONDE_JSON_OBJECT_BEGIN)
		return read_object(events, spec, out, err);
	if (json->token == SONDE_JSON_NULL && (spec->is_array || is_text)) {
		cff_json_value_missing(spec, out);
		return SONDE_OK;
	}
	if (spec->is_array && json->token == SONDE_JSON_ARRAY_BEGIN)
		return read_array(events, spec, out, err);
	if (spec->is_array && is_character(spec->type) && json->token == SONDE_JSON_STRING) {
		read_characters(events, spec, out);
		return SONDE_OK;
	}
	if (is_text && !spec->is_array)
		return read_text(events, spec, out, err);
	if (!spec->is_array && read_item(json, spec->type, &bits)) {
		sonde_put_u32le(out, bits);
		return SONDE_OK;
	}
	find_wrong(events, spec);
	cff_json_value_missing(spec, out);
	return sonde_json_skip(json, err);
}
