/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One event as JSON. Every value is written so that it is read back to the same bits; where no
 * plain value is, the slots themselves are written.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/utf8.h"
#include "formats/cff/cff_json_events.h"
#include "formats/cff/cff_put.h"

static void put_quoted(struct sonde_buffer *out, const char *text, size_t length)
{
	struct sonde_json_writer writer;

	sonde_json_writer_init(&writer, out, false);
	sonde_json_string_sized(&writer, text, length);
}

static void put_signed(struct sonde_buffer *out, int64_t value)
{
	if (value < 0)
		sonde_buffer_put_char(out, '-');
	sonde_buffer_put_u64(out, (uint64_t)(value < 0 ? -value : value));
}

static void put_raw(struct sonde_buffer *out, const uint8_t *slots, size_t size)
{
	sonde_buffer_put_text(out, "{\"" CFF_JSON_RAW "\":[");
	for (size_t i = 0; i < size; i += 4) {
		if (i)
			sonde_buffer_put_char(out, ',');
		sonde_buffer_put_u64(out, sonde_load_u32le(slots + i));
	}
	sonde_buffer_put_text(out, "]}");
}

/* Only a text that is found again as this ordinal is written as text. */
static void put_text(struct sonde_buffer *out, uint32_t ordinal, struct cff_texts *texts)
{
	const struct cff_text *text = cff_texts_at(texts, ordinal);

	if (ordinal == CFF_STRING_NULL) {
		sonde_buffer_put_text(out, "null");
	} else if (ordinal == CFF_STRING_EMPTY) {
		sonde_buffer_put_text(out, "\"\"");
	} else if (text && sonde_utf8_valid(text->text, text->length) &&
		   cff_texts_find(texts, text->text, text->length) == ordinal) {
		put_quoted(out, text->text, text->length);
	} else {
		sonde_buffer_put_text(out, "{\"" CFF_JSON_ORDINAL "\":");
		sonde_buffer_put_u64(out, ordinal);
		sonde_buffer_put_char(out, '}');
	}
	cff_texts_use(texts, ordinal);
}

static bool put_float(struct sonde_buffer *out, uint32_t bits)
{
	char text[32];
	float value;

	memcpy(&value, &bits, sizeof(value));
	if (!isfinite(value))
		return false;
	if (value == floorf(value) && fabsf(value) < 1e6F && (value != 0 || !bits)) {
		put_signed(out, (int64_t)value);
		return true;
	}
	for (int digits = 6; digits <= 9; digits++) {
		float again;

		snprintf(text, sizeof(text), "%.*g", digits, (double)value);
		again = strtof(text, NULL);
		if (again == value)
			break;
	}
	sonde_buffer_put_text(out, text);
	return true;
}

static bool is_character(enum sonde_argument_type type)
{
	return type == SONDE_ARGUMENT_CHAR || type == SONDE_ARGUMENT_WCHAR;
}

/* A character that can stand alone in a JSON string. */
static bool is_plain(uint32_t code)
{
	return code && (code < 0xD800 || code > 0xDFFF);
}

/* A number or character of so many bytes; false where JSON has none that gives the same bits. */
static bool put_item(struct sonde_buffer *out, enum sonde_argument_type type, uint32_t bits)
{
	char space[4];

	if (type == SONDE_ARGUMENT_FLOAT32)
		return put_float(out, bits);
	if (type == SONDE_ARGUMENT_BOOL)
		sonde_buffer_put_text(out, bits ? "true" : "false");
	else if (is_character(type) && is_plain(bits))
		put_quoted(out, space, sonde_utf8_encode(bits, space));
	else if (type == SONDE_ARGUMENT_INT8)
		put_signed(out, (int8_t)bits);
	else if (type == SONDE_ARGUMENT_INT16)
		put_signed(out, (int16_t)bits);
	else if (type == SONDE_ARGUMENT_INT32)
		put_signed(out, (int32_t)bits);
	else
		sonde_buffer_put_u64(out, bits);
	return true;
}

/* Whether a slot holds nothing but the value of its type. */
static bool is_canonical(enum sonde_argument_type type, uint32_t word)
{
	switch (type) {
	case SONDE_ARGUMENT_BOOL:
		return word <= 1;
	case SONDE_ARGUMENT_INT8: /* without its sign, as the existing program writes it */
	case SONDE_ARGUMENT_UINT8:
	case SONDE_ARGUMENT_CHAR:
		return word <= UINT8_MAX;
	case SONDE_ARGUMENT_INT16:
	case SONDE_ARGUMENT_UINT16:
	case SONDE_ARGUMENT_WCHAR:
		return word <= UINT16_MAX;
	default:
		return true;
	}
}

static uint32_t load_item(const uint8_t *items, size_t index, size_t size)
{
	const uint8_t *p = items + index * size;

	if (size == 1)
		return *p;
	return size == 2 ? sonde_load_u16le(p) : sonde_load_u32le(p);
}

/* Characters as one string; false where one of them cannot stand in it. */
static bool put_characters(struct sonde_buffer *out, const uint8_t *items, size_t count,
			   size_t size)
{
	struct sonde_buffer text = { 0 };
	bool is_good = true;
	char space[4];

	for (size_t i = 0; i < count && is_good; i++) {
		uint32_t code = load_item(items, i, size);
		uint32_t low = i + 1 < count ? load_item(items, i + 1, size) : 0;

		if (code >= 0xD800 && code <= 0xDBFF && low >= 0xDC00 && low <= 0xDFFF) {
			code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
			i++;
		}
		is_good = is_plain(code);
		sonde_buffer_put(&text, space, sonde_utf8_encode(code, space));
	}
	out->failed |= text.failed;
	if (is_good)
		put_quoted(out, text.data, text.size);
	sonde_buffer_release(&text);
	return is_good;
}

static bool put_items(struct sonde_buffer *out, enum sonde_argument_type type, const uint8_t *items,
		      size_t count, size_t size)
{
	if (is_character(type) && put_characters(out, items, count, size))
		return true;
	sonde_buffer_put_char(out, '[');
	for (size_t i = 0; i < count; i++) {
		if (i)
			sonde_buffer_put_char(out, ',');
		if (!put_item(out, type, load_item(items, i, size)))
			return false;
	}
	sonde_buffer_put_char(out, ']');
	return true;
}

/* An array; gives the bytes that it takes. */
static size_t put_array(struct sonde_buffer *out, enum sonde_argument_type type,
			const uint8_t *slots)
{
	uint32_t count = sonde_load_u32le(slots);
	size_t size = sonde_argument_type_size(type), bytes = count * size, start = out->size;
	size_t padded = cff_padded(bytes);
	bool is_good = true;

	if (count == CFF_ARRAY_NULL) {
		sonde_buffer_put_text(out, "null");
		return 4;
	}
	for (size_t i = bytes; i < padded; i++)
		is_good = is_good && !slots[4 + i];
	if (!is_good || !put_items(out, type, slots + 4, count, size)) {
		out->size = start;
		put_raw(out, slots, 4 + padded);
	}
	return 4 + padded;
}

/* One argument; gives the bytes that it takes. */
static size_t put_argument(struct sonde_buffer *out, const struct sonde_argument_spec *spec,
			   const uint8_t *slots, struct cff_texts *texts)
{
	uint32_t word = sonde_load_u32le(slots);

	if (spec->is_array)
		return put_array(out, spec->type, slots);
	if (sonde_argument_type_is_text(spec->type))
		put_text(out, word, texts);
	else if (!is_canonical(spec->type, word) || !put_item(out, spec->type, word))
		put_raw(out, slots, 4);
	return 4;
}

static void put_arguments(struct sonde_buffer *out, const struct cff_type *type,
			  const uint8_t *slots, struct cff_texts *texts, bool named)
{
	size_t count = sonde_signature_count(type->signature);

	for (size_t i = 0; i < count; i++) {
		const struct sonde_argument_spec *spec = sonde_signature_at(type->signature, i);

		if (i || !named)
			sonde_buffer_put_char(out, ',');
		if (named) {
			put_quoted(out, spec->name, strlen(spec->name));
			sonde_buffer_put_char(out, ':');
		}
		slots += put_argument(out, spec, slots, texts);
	}
}

/* Whether a first value in an object of its own would be taken for a list of names. */
static bool is_ambiguous(const struct cff_type *type)
{
	size_t count = sonde_signature_count(type->signature);

	for (size_t i = 0; i < count && count <= CFF_JSON_NAMED_LIMIT; i++) {
		const char *name = sonde_signature_at(type->signature, i)->name;

		if (!strcmp(name, CFF_JSON_RAW) || !strcmp(name, CFF_JSON_ORDINAL))
			return true;
	}
	return false;
}

void cff_json_event_write(struct sonde_buffer *out, const struct cff_type *type,
			  const uint8_t *event, struct cff_texts *texts)
{
	uint32_t next = texts->next;
	size_t start;

	sonde_buffer_put_char(out, '[');
	sonde_buffer_put_u64(out, sonde_load_u32le(event + CFF_EVENT_WIRE));
	sonde_buffer_put_char(out, ',');
	sonde_buffer_put_u64(out, sonde_load_u32le(event + CFF_EVENT_TIME));
	start = out->size;
	put_arguments(out, type, event + CFF_EVENT_SIZE, texts, false);
	if (out->size > start + 1 && !out->failed && out->data[start + 1] == '{' &&
	    is_ambiguous(type)) {
		out->size = start;
		texts->next = next;
		sonde_buffer_put_text(out, ",{");
		put_arguments(out, type, event + CFF_EVENT_SIZE, texts, true);
		sonde_buffer_put_char(out, '}');
	}
	sonde_buffer_put_char(out, ']');
}
