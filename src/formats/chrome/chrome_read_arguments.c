/* SPDX-License-Identifier: Apache-2.0 */
/*
 * "args" as packed arguments. In files that we wrote an event names its type, and values follow its signature;
 * elsewhere a signature is made of the members and what they are.
 */
#include <math.h>

#include "base/hex.h"
#include "base/put.h"
#include "base/utf8.h"
#include "formats/chrome/chrome_read.h"
#include "model/arguments.h"

/* Of a name, the keys of its arguments, and what they are: more is no type of its own. */
#define LONGEST_SHAPE ((size_t)64 << 10)

/* Four digits behind \u; -1 where there are none. */
static int32_t take_code(const char *at, const char *end)
{
	int32_t code = 0;

	if (end - at < 4)
		return -1;
	for (int i = 0; i < 4; i++) {
		int digit = sonde_hex_digit((unsigned char)at[i]);

		if (digit < 0)
			return -1;
		code = code * 16 + digit;
	}
	return code;
}

/* Behind a \u; gives what follows. */
static const char *unescape_code(struct sonde_buffer *out, const char *at, const char *end)
{
	int32_t code = take_code(at, end), low;
	char space[4] = { 0 };

	at += code < 0 ? 0 : 4;
	if (code >= 0xD800 && code < 0xDC00 && end - at >= 6 && at[0] == '\\' && at[1] == 'u') {
		low = take_code(at + 2, end);
		if (low >= 0xDC00 && low < 0xE000) {
			code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
			at += 6;
		}
	}
	/* a NUL, and half a pair, become U+FFFD */
	sonde_buffer_put(out, space, sonde_utf8_encode(code > 0 ? (uint32_t)code : 0xFFFD, space));
	return at;
}

void chrome_unescape(struct sonde_buffer *out, const struct chrome_text *text)
{
	static const char letters[256] = {
		['"'] = '"',  ['\\'] = '\\', ['/'] = '/',  ['b'] = '\b',
		['f'] = '\f', ['n'] = '\n',  ['r'] = '\r', ['t'] = '\t',
	};
	const char *at = text->length ? text->text : "", *end = at + text->length;

	while (at < end) {
		const char *backslash = text->has_escapes ? memchr(at, '\\', (size_t)(end - at)) :
							    NULL;

		sonde_buffer_put_utf8(out, at, (size_t)((backslash ? backslash : end) - at));
		if (!backslash || end - backslash < 2)
			return;
		at = backslash + 2;
		if (backslash[1] == 'u')
			at = unescape_code(out, at, end);
		else if (letters[(unsigned char)backslash[1]])
			sonde_buffer_put_char(out, letters[(unsigned char)backslash[1]]);
		else
			sonde_buffer_put_char(out, backslash[1]);
	}
}

/* A text as an argument: its length goes in when it is known. */
static void put_text(struct chrome_reader *reader, const struct chrome_text *text)
{
	sonde_buffer_clear(&reader->text);
	chrome_unescape(&reader->text, text);
	if (reader->text.failed)
		reader->packed.failed = true;
	sonde_arguments_put_text(&reader->packed, reader->text.data ? reader->text.data : "",
				 reader->text.size);
}

/* JSON as it stands, with its quotes. */
static void put_json(struct chrome_reader *reader, const struct chrome_value *value)
{
	size_t quotes = value->kind == CHROME_KIND_TEXT;

	sonde_arguments_put_text(&reader->packed, value->text.text - quotes,
				 value->text.length + 2 * quotes);
}

static double double_of(const struct chrome_value *value)
{
	if (!chrome_value_is_number(value))
		return NAN;
	return chrome_double(value->text.text, value->text.length);
}

/* Numbers up to 2^64, of which those beyond 2^63 are not INT64. */
static bool unsigned_of(const struct chrome_value *value, uint64_t *number)
{
	*number = (uint64_t)value->integer;
	if (value->kind == CHROME_KIND_INT64)
		return true;
	if (value->kind != CHROME_KIND_ANY || value->text.length > 20)
		return false;
	*number = 0;
	for (uint32_t i = 0; i < value->text.length; i++) {
		int digit = value->text.text[i] - '0';

		if (digit < 0 || digit > 9 || __builtin_mul_overflow(*number, 10, number) ||
		    __builtin_add_overflow(*number, (uint64_t)digit, number))
			return false;
	}
	return true;
}

/* The number that a value stands for in a signature; false where it is none of that type. */
static bool number_of(const struct chrome_value *value, enum sonde_argument_type type,
		      union sonde_argument_value *number)
{
	bool is_null = value->kind == CHROME_KIND_ANY && *value->text.text == 'n';

	if (type == SONDE_ARGUMENT_BOOL) {
		number->u64 = value->integer != 0;
		return value->kind == CHROME_KIND_BOOL;
	}
	if (sonde_argument_type_is_float(type)) {
		number->f64 = double_of(value);
		return is_null || chrome_value_is_number(value);
	}
	return unsigned_of(value, &number->u64);
}

/* The characters of a text as units of a type, packed as an array or as one. */
static bool put_characters(struct chrome_reader *reader, const struct chrome_value *value,
			   const struct sonde_argument_spec *spec)
{
	bool is_wide = spec->type == SONDE_ARGUMENT_WCHAR;
	size_t position = 0, units = 0;

	if (value->kind != CHROME_KIND_TEXT)
		return false;
	sonde_buffer_clear(&reader->text);
	sonde_buffer_clear(&reader->shape);
	chrome_unescape(&reader->text, &value->text);
	while (position < reader->text.size) {
		const uint8_t *bytes = (const uint8_t *)reader->text.data + position;
		size_t length =
			sonde_utf8_length((const char *)bytes, reader->text.size - position);
		uint32_t code = length == 1 ? bytes[0] : bytes[0] & (0x7Fu >> length);

		if (!length)
			return false;
		for (size_t i = 1; i < length; i++)
			code = code << 6 | (bytes[i] & 0x3Fu);
		position += length;
		units++;
		if (!is_wide) {
			sonde_buffer_put_char(&reader->shape, (char)code);
		} else if (code < 0x10000) {
			sonde_put_u16le(&reader->shape, (uint16_t)code);
		} else {
			sonde_put_u16le(&reader->shape, (uint16_t)(0xD7C0 + (code >> 10)));
			sonde_put_u16le(&reader->shape, (uint16_t)(0xDC00 + (code & 0x3FF)));
			units++;
		}
	}
	reader->packed.failed |= reader->text.failed | reader->shape.failed;
	if (spec->is_array)
		sonde_arguments_put_array(&reader->packed, spec->type,
					  reader->shape.data ? reader->shape.data : "", units);
	else if (units == 1 && !reader->shape.failed)
		sonde_arguments_put_number(
			&reader->packed, spec->type,
			(union sonde_argument_value){
				.u64 = (uint8_t)reader->shape.data[0] |
				       (is_wide ? (uint64_t)(uint8_t)reader->shape.data[1] << 8 :
						  0) });
	else
		return false;
	return true;
}

static void put_item(struct sonde_buffer *out, enum sonde_argument_type type,
		     union sonde_argument_value number)
{
	float single = (float)number.f64;
	uint64_t bits = number.u64;
	uint32_t single_bits;

	if (type == SONDE_ARGUMENT_FLOAT32) {
		memcpy(&single_bits, &single, sizeof(single_bits));
		bits = single_bits;
	}
	switch (sonde_argument_type_size(type)) {
	case 1:
		sonde_buffer_put_char(out, (char)bits);
		break;
	case 2:
		sonde_put_u16le(out, (uint16_t)bits);
		break;
	case 4:
		sonde_put_u32le(out, (uint32_t)bits);
		break;
	default:
		sonde_put_u64le(out, bits);
		break;
	}
}

/* The items of a list of numbers. */
static bool put_list(struct chrome_reader *reader, const struct chrome_value *value,
		     enum sonde_argument_type type)
{
	const char *at = value->text.text + 1, *end = value->text.text + value->text.length - 1;
	size_t count = 0;

	if (value->kind != CHROME_KIND_ANY || *value->text.text != '[')
		return false;
	sonde_buffer_clear(&reader->shape);
	while (at < end) {
		const char *comma = memchr(at, ',', (size_t)(end - at));
		struct chrome_value item = { 0 };
		union sonde_argument_value number = { 0 };

		if (!chrome_scan_item(at, comma ? comma : end, &item) ||
		    !number_of(&item, type, &number))
			return false;
		put_item(&reader->shape, type, number);
		count++;
		at = comma ? comma + 1 : end;
	}
	reader->packed.failed |= reader->shape.failed;
	sonde_arguments_put_array(&reader->packed, type,
				  reader->shape.data ? reader->shape.data : "", count);
	return true;
}

/* One value after its place in a signature; false where it does not fit there. */
static bool put_as(struct chrome_reader *reader, const struct chrome_value *value,
		   const struct sonde_argument_spec *spec)
{
	bool is_null = value->kind == CHROME_KIND_ANY && *value->text.text == 'n';
	union sonde_argument_value number = { 0 };

	if (is_null && (spec->is_array || sonde_argument_type_is_text(spec->type))) {
		if (spec->is_array)
			sonde_arguments_put_array(&reader->packed, spec->type, NULL, 0);
		else
			sonde_arguments_put_text(&reader->packed, NULL, 0);
		return true;
	}
	if (spec->type == SONDE_ARGUMENT_CHAR || spec->type == SONDE_ARGUMENT_WCHAR)
		return put_characters(reader, value, spec);
	if (spec->is_array)
		return put_list(reader, value, spec->type);
	if (spec->type == SONDE_ARGUMENT_ANY) {
		put_json(reader, value);
		return true;
	}
	if (sonde_argument_type_is_text(spec->type)) {
		if (value->kind != CHROME_KIND_TEXT)
			return false;
		put_text(reader, &value->text);
		return true;
	}
	if (!number_of(value, spec->type, &number))
		return false;
	sonde_arguments_put_number(&reader->packed, spec->type, number);
	return true;
}

static bool is_key(struct chrome_reader *reader, const struct chrome_text *key, const char *name)
{
	if (!key->has_escapes)
		return strlen(name) == key->length && !memcmp(name, key->text, key->length);
	sonde_buffer_clear(&reader->text);
	chrome_unescape(&reader->text, key);
	return !reader->text.failed && strlen(name) == reader->text.size &&
	       !memcmp(name, reader->text.data, reader->text.size);
}

/* All values after a signature that we wrote; false where they do not follow it. */
static bool put_typed(struct chrome_reader *reader, const struct sonde_signature *signature)
{
	const struct chrome_event *event = &reader->event;
	size_t count = sonde_signature_count(signature);
	const struct sonde_argument_spec *spec = sonde_signature_at(signature, 0);

	if (count == 1 && spec->type == SONDE_ARGUMENT_ANY &&
	    !strcmp(spec->name, CHROME_ARGUMENTS)) {
		sonde_arguments_put_text(&reader->packed, event->arguments.text,
					 event->arguments.length);
		return true;
	}
	if (count != event->argument_count)
		return false;
	for (size_t i = 0; i < count; i++) {
		const struct chrome_member *member = &event->argument_list[i];

		spec = sonde_signature_at(signature, i);
		if (!is_key(reader, &member->key, spec->name) ||
		    !put_as(reader, &member->value, spec))
			return false;
	}
	return true;
}

/* The types of values as signatures have them. */
static const char *const words[] = {
	[CHROME_KIND_TEXT] = "utf8",	   [CHROME_KIND_INT64] = "int64",
	[CHROME_KIND_FLOAT64] = "float64", [CHROME_KIND_BOOL] = "bool",
	[CHROME_KIND_ANY] = "any",
};

/* A key that can stand in a signature. */
static bool is_plain_key(const struct chrome_text *key)
{
	if (!key->length || key->has_escapes || !sonde_utf8_valid(key->text, key->length))
		return false;
	for (uint32_t i = 0; i < key->length; i++) {
		if ((unsigned char)key->text[i] <= ' ' || strchr(",[]<>", key->text[i]))
			return false;
	}
	return true;
}

static bool are_plain_keys(const struct chrome_event *event)
{
	for (size_t i = 0; i < event->argument_count; i++) {
		if (!is_plain_key(&event->argument_list[i].key))
			return false;
	}
	return true;
}

/* Name, kinds and keys: what makes two events the same type. */
static void make_shape(struct chrome_reader *reader)
{
	const struct chrome_event *event = &reader->event;
	struct sonde_buffer *shape = &reader->shape;

	sonde_buffer_clear(shape);
	sonde_buffer_put(shape, event->name.text, event->name.length);
	for (size_t i = 0; i < event->argument_count; i++) {
		const struct chrome_member *member = &event->argument_list[i];

		sonde_buffer_put_char(shape, '\0');
		sonde_buffer_put_char(shape, (char)member->value.kind);
		sonde_buffer_put(shape, member->key.text, member->key.length);
	}
}

/* A signature for the arguments at hand; those with odd keys are kept as they stand. */
static enum sonde_status define_shape(struct chrome_reader *reader, uint32_t *event_type,
				      bool *is_whole, struct sonde_error *err)
{
	const struct chrome_event *event = &reader->event;
	struct sonde_buffer *signature = &reader->shape;

	sonde_buffer_clear(signature);
	*is_whole = !are_plain_keys(event);
	reader->shape_count++;
	for (size_t i = 0; !*is_whole && i < event->argument_count; i++) {
		const struct chrome_member *member = &event->argument_list[i];

		if (i)
			sonde_buffer_put(signature, ", ", 2);
		sonde_buffer_put_text(signature, words[member->value.kind]);
		sonde_buffer_put_char(signature, ' ');
		sonde_buffer_put(signature, member->key.text, member->key.length);
	}
	if (*is_whole)
		sonde_buffer_put_text(signature, CHROME_ANY_SIGNATURE);
	sonde_buffer_clear(&reader->text);
	chrome_unescape(&reader->text, &event->name);
	if (reader->text.failed || !sonde_buffer_text(signature))
		return sonde_fail_nomem(err);
	return sonde_intake_event_type(reader->intake, reader->text.data, reader->text.size,
				       signature->data, event_type, err);
}

/* The type of the arguments at hand; *is_whole: they are one value, as they stand. */
static enum sonde_status find_shape(struct chrome_reader *reader, uint32_t *event_type,
				    bool *is_whole, struct sonde_error *err)
{
	bool may_add = reader->shape_count < CHROME_MOST_SHAPES, is_new = false;
	struct chrome_name_entry *entry = NULL;
	enum sonde_status status;

	make_shape(reader);
	if (reader->shape.failed)
		return sonde_fail_nomem(err);
	if (reader->event.argument_count <= CHROME_MOST_ARGUMENTS &&
	    reader->shape.size <= LONGEST_SHAPE) {
		entry = chrome_names_find(&reader->names, CHROME_GROUP_SHAPES, reader->shape.data,
					  (uint32_t)reader->shape.size, may_add ? &is_new : NULL);
		if (!entry && may_add)
			return sonde_fail_nomem(err);
	}
	if (!entry) {
		*is_whole = true;
		return sonde_intake_event_type(reader->intake, CHROME_ARGUMENTS,
					       sizeof(CHROME_ARGUMENTS) - 1, CHROME_ANY_SIGNATURE,
					       event_type, err);
	}
	if (is_new) {
		status = define_shape(reader, &entry->value, &entry->is_shared, err);
		if (status)
			return status;
	}
	*event_type = entry->value;
	*is_whole = entry->is_shared;
	return SONDE_OK;
}

static void put_guessed(struct chrome_reader *reader)
{
	for (size_t i = 0; i < reader->event.argument_count; i++) {
		const struct chrome_value *value = &reader->event.argument_list[i].value;
		union sonde_argument_value number = { .i64 = value->integer };

		switch (value->kind) {
		case CHROME_KIND_TEXT:
			put_text(reader, &value->text);
			break;
		case CHROME_KIND_INT64:
			sonde_arguments_put_number(&reader->packed, SONDE_ARGUMENT_INT64, number);
			break;
		case CHROME_KIND_BOOL:
			sonde_arguments_put_number(&reader->packed, SONDE_ARGUMENT_BOOL, number);
			break;
		case CHROME_KIND_FLOAT64:
			number.f64 = double_of(value);
			sonde_arguments_put_number(&reader->packed, SONDE_ARGUMENT_FLOAT64, number);
			break;
		default:
			put_json(reader, value);
			break;
		}
	}
}

/* The type that an event of ours names; NULL where it names none. */
static const struct chrome_type *type_of(const struct chrome_reader *reader)
{
	const struct chrome_value *type = &reader->event.type;

	if (type->kind != CHROME_KIND_INT64 || type->integer < 0 ||
	    (uint64_t)type->integer >= reader->types.count)
		return NULL;
	return &reader->types.items[type->integer];
}

enum sonde_status chrome_read_arguments(struct chrome_reader *reader, uint32_t *event_type,
					struct sonde_error *err)
{
	const struct chrome_type *type = type_of(reader);
	const struct chrome_event *event = &reader->event;
	enum sonde_status status;
	bool is_whole = false;

	*event_type = SONDE_NONE;
	sonde_buffer_clear(&reader->packed);
	if (!event->arguments.text || (!event->argument_count && !type))
		return SONDE_OK;
	if (type && type->signature && put_typed(reader, type->signature)) {
		*event_type = type->event_type;
		return reader->packed.failed ? sonde_fail_nomem(err) : SONDE_OK;
	}
	sonde_buffer_clear(&reader->packed);
	status = find_shape(reader, event_type, &is_whole, err);
	if (status)
		return status;
	if (is_whole)
		sonde_arguments_put_text(&reader->packed, event->arguments.text,
					 event->arguments.length);
	else
		put_guessed(reader);
	return reader->packed.failed ? sonde_fail_nomem(err) : SONDE_OK;
}

enum sonde_status chrome_read_type(struct chrome_reader *reader, uint32_t *event_type,
				   struct sonde_error *err)
{
	const struct chrome_type *type = type_of(reader);
	const struct chrome_text *name = &reader->event.name;
	struct chrome_name_entry *entry;
	bool is_new;

	if (type) {
		*event_type = type->event_type;
		return SONDE_OK;
	}
	entry = chrome_names_find(&reader->names, CHROME_GROUP_TYPES, name->text, name->length,
				  &is_new);
	if (!entry)
		return sonde_fail_nomem(err);
	if (is_new) {
		enum sonde_status status;

		sonde_buffer_clear(&reader->text);
		chrome_unescape(&reader->text, name);
		status = reader->text.failed ?
				 sonde_fail_nomem(err) :
				 sonde_intake_event_type(reader->intake, reader->text.data,
							 reader->text.size, "", &entry->value, err);
		if (status)
			return status;
	}
	*event_type = entry->value;
	return SONDE_OK;
}
