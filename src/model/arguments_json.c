/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments as JSON, for screens and for files that are JSON. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "model/arguments.h"

/* Digits that always survive, so that fewer need not be tried; the smallest numbers have fewer. */
static int fewest_digits(double value, bool is_single)
{
	if (fabs(value) < (is_single ? (double)FLT_MIN : DBL_MIN))
		return 1;
	return is_single ? FLT_DIG : DBL_DIG;
}

/* With as few digits as it takes to read the same number back. */
static void put_float(struct sonde_json_writer *json, double value, bool is_single)
{
	char text[32], *comma;

	if (!isfinite(value)) {
		sonde_json_null(json);
		return;
	}
	for (int digits = fewest_digits(value, is_single); digits <= DBL_DECIMAL_DIG; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, value);
		if (is_single ? strtof(text, NULL) == (float)value : strtod(text, NULL) == value)
			break;
	}
	/* The program around the library may have a locale that writes 0,5. */
	comma = strchr(text, ',');
	if (comma)
		*comma = '.';
	sonde_json_raw(json, text);
}

static void put_signed(struct sonde_json_writer *json, int64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%lld", (long long)value);
	sonde_json_raw(json, text);
}

static void put_number(struct sonde_json_writer *json, enum sonde_argument_type type,
		       union sonde_argument_value value)
{
	if (type == SONDE_ARGUMENT_BOOL)
		sonde_json_bool(json, value.u64);
	else if (sonde_argument_type_is_float(type))
		put_float(json, value.f64, type == SONDE_ARGUMENT_FLOAT32);
	else if (sonde_argument_type_is_signed(type))
		put_signed(json, value.i64);
	else
		sonde_json_number_u64(json, value.u64);
}

/* Code units as a string: Latin-1, or UTF-16 with its pairs; half a pair becomes U+FFFD. */
static void put_characters(struct sonde_json_writer *json, const struct sonde_argument *argument,
			   size_t count)
{
	struct sonde_buffer text = { 0 };
	char space[4];

	for (size_t i = 0; i < count; i++) {
		uint32_t code = (uint32_t)(argument->bytes ? sonde_argument_item(argument, i).u64 :
							     argument->value.u64);

		if (code >= 0xD800 && code < 0xDC00 && i + 1 < count) {
			uint32_t low = (uint32_t)sonde_argument_item(argument, i + 1).u64;

			if (low >= 0xDC00 && low < 0xE000) {
				code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
				i++;
			}
		}
		sonde_buffer_put(&text, space, sonde_utf8_encode(code, space));
	}
	json->out->failed |= text.failed;
	sonde_json_string_sized(json, text.data ? text.data : "", text.size);
	sonde_buffer_release(&text);
}

static bool is_character(enum sonde_argument_type type)
{
	return type == SONDE_ARGUMENT_CHAR || type == SONDE_ARGUMENT_WCHAR;
}

static void put_array(struct sonde_json_writer *json, const struct sonde_argument *argument)
{
	sonde_json_array_begin_inline(json);
	for (size_t i = 0; i < argument->count; i++)
		put_number(json, argument->spec->type, sonde_argument_item(argument, i));
	sonde_json_array_end(json);
}

/* JSON text as the value that it is, if it is one. */
static void put_any(struct sonde_json_writer *json, const char *text, size_t length)
{
	struct sonde_json_reader reader;
	struct sonde_buffer value = { 0 };
	enum sonde_status status;

	sonde_json_reader_init(&reader, text, length, NULL, NULL);
	status = sonde_json_copy(&reader, &value, NULL);
	if (!status)
		status = sonde_json_next(&reader, NULL);
	/* memory that failed does not tell what the text is */
	if (status == SONDE_NOMEM || !sonde_buffer_text(&value))
		json->out->failed = true;
	else if (!status && value.size && reader.token == SONDE_JSON_END)
		sonde_json_raw(json, value.data);
	else
		sonde_json_string_sized(json, text, length);
	sonde_json_reader_release(&reader);
	sonde_buffer_release(&value);
}

void sonde_argument_put_json(struct sonde_json_writer *json, const struct sonde_argument *argument)
{
	enum sonde_argument_type type = argument->spec->type;

	if (argument->is_null)
		sonde_json_null(json);
	else if (is_character(type))
		put_characters(json, argument, argument->spec->is_array ? argument->count : 1);
	else if (argument->spec->is_array)
		put_array(json, argument);
	else if (type == SONDE_ARGUMENT_ANY)
		put_any(json, (const char *)argument->bytes, argument->count);
	else if (sonde_argument_type_is_text(type))
		sonde_json_string_sized(json, (const char *)argument->bytes, argument->count);
	else
		put_number(json, type, argument->value);
}

enum sonde_status sonde_arguments_put_json(struct sonde_json_writer *json,
					   const struct sonde_signature *signature,
					   const uint8_t *bytes, size_t size,
					   struct sonde_error *err)
{
	struct sonde_arguments arguments = { signature, bytes, size, 0, 0 };
	struct sonde_argument argument;
	enum sonde_status status;

	sonde_json_object_begin_inline(json);
	while ((status = sonde_arguments_next(&arguments, &argument, err)) == SONDE_OK) {
		sonde_json_key(json, argument.spec->name);
		sonde_argument_put_json(json, &argument);
	}
	sonde_json_object_end(json);
	return status == SONDE_END ? SONDE_OK : status;
}
