/* SPDX-License-Identifier: Apache-2.0 */
/* What is done with whole values of the JSON reader: stepping over them, copying them, numbers. */
#include <stdlib.h>

#include "base/json.h"

static bool opens(const struct sonde_json_reader *reader)
{
	return reader->token == SONDE_JSON_OBJECT_BEGIN || reader->token == SONDE_JSON_ARRAY_BEGIN;
}

enum sonde_status sonde_json_skip(struct sonde_json_reader *reader, struct sonde_error *err)
{
	enum sonde_status status;
	unsigned int depth;

	if (reader->token == SONDE_JSON_KEY) {
		status = sonde_json_next(reader, err);
		if (status < 0)
			return status;
	}
	if (!opens(reader))
		return SONDE_OK;
	depth = reader->depth;
	do {
		status = sonde_json_next(reader, err);
		if (status < 0)
			return status;
	} while (reader->depth > depth);
	return SONDE_OK;
}

static void write_token(struct sonde_json_writer *writer, const struct sonde_json_reader *reader)
{
	switch (reader->token) {
	case SONDE_JSON_OBJECT_BEGIN:
		sonde_json_object_begin(writer);
		break;
	case SONDE_JSON_OBJECT_END:
		sonde_json_object_end(writer);
		break;
	case SONDE_JSON_ARRAY_BEGIN:
		sonde_json_array_begin(writer);
		break;
	case SONDE_JSON_ARRAY_END:
		sonde_json_array_end(writer);
		break;
	case SONDE_JSON_KEY:
		sonde_json_key(writer, reader->text);
		break;
	case SONDE_JSON_STRING:
		sonde_json_string_sized(writer, reader->text, reader->length);
		break;
	case SONDE_JSON_NUMBER:
		sonde_json_raw(writer, reader->text);
		break;
	case SONDE_JSON_TRUE:
	case SONDE_JSON_FALSE:
		sonde_json_bool(writer, reader->token == SONDE_JSON_TRUE);
		break;
	case SONDE_JSON_NULL:
		sonde_json_null(writer);
		break;
	case SONDE_JSON_END:
		break;
	}
}

enum sonde_status sonde_json_copy(struct sonde_json_reader *reader, struct sonde_buffer *out,
				  struct sonde_error *err)
{
	enum sonde_status status = sonde_json_next(reader, err);
	struct sonde_json_writer writer;
	unsigned int depth;

	if (status < 0)
		return status;
	if (reader->token == SONDE_JSON_END || reader->token == SONDE_JSON_KEY ||
	    reader->token == SONDE_JSON_OBJECT_END || reader->token == SONDE_JSON_ARRAY_END)
		return SONDE_OK;
	depth = reader->depth;
	sonde_json_writer_init(&writer, out, false);
	write_token(&writer, reader);
	if (opens(reader)) {
		do {
			status = sonde_json_next(reader, err);
			if (status < 0)
				return status;
			write_token(&writer, reader);
		} while (reader->depth > depth && !out->failed);
	}
	return out->failed ? sonde_fail_nomem(err) : SONDE_OK;
}

bool sonde_json_u64(const struct sonde_json_reader *reader, uint64_t *value)
{
	uint64_t result = 0;

	if (reader->token != SONDE_JSON_NUMBER || !reader->length)
		return false;
	for (size_t i = 0; i < reader->length; i++) {
		unsigned int digit = (unsigned int)(unsigned char)reader->text[i] - '0';

		if (digit > 9 || __builtin_mul_overflow(result, 10, &result) ||
		    __builtin_add_overflow(result, digit, &result))
			return false;
	}
	*value = result;
	return true;
}
