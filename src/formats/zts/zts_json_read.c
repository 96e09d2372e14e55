/* SPDX-License-Identifier: Apache-2.0 */
/* Values of attributes from JSON to CBOR: see zts_json.h. */
#include <stdlib.h>

#include "formats/zts/zts_json.h"
#include "formats/zts/zts_put_value.h"

/*
 * An object or array that is being put together: its head needs the count, which is known at its
 * end.
 */
struct open_container {
	size_t start; /* where its items begin in the buffer */
	uint64_t count;
	bool is_map;
};

struct reading {
	struct sonde_json_reader *json;
	struct zts_writer *writer;
	struct sonde_buffer *cbor;
	struct open_container open[SONDE_JSON_DEPTH];
	unsigned int depth;
};

static bool is_integer(const struct sonde_json_reader *json, bool *is_negative, uint64_t *value)
{
	const char *text = json->text;

	*is_negative = *text == '-';
	*value = 0;
	for (text += *is_negative; *text; text++) {
		if (*text < '0' || *text > '9' || __builtin_mul_overflow(*value, 10, value) ||
		    __builtin_add_overflow(*value, (uint64_t)(*text - '0'), value))
			return false;
	}
	return true;
}

static void put_number(struct reading *reading)
{
	bool is_negative;
	uint64_t value;

	if (!is_integer(reading->json, &is_negative, &value))
		zts_put_double(reading->writer, reading->cbor, strtod(reading->json->text, NULL));
	else if (is_negative && value)
		sonde_cbor_put_head(reading->cbor, SONDE_CBOR_NEGATIVE, value - 1);
	else
		sonde_cbor_put_head(reading->cbor, SONDE_CBOR_UINT, value);
}

static void begin_container(struct reading *reading, bool is_map)
{
	reading->open[reading->depth++] = (struct open_container){
		.start = reading->cbor->size,
		.is_map = is_map,
	};
}

/* Puts the head before the items. */
static void end_container(struct reading *reading)
{
	const struct open_container *open = &reading->open[--reading->depth];
	struct sonde_buffer *cbor = reading->cbor;
	struct sonde_buffer head = { 0 };
	size_t size = cbor->size - open->start;

	sonde_cbor_put_head(&head, open->is_map ? SONDE_CBOR_MAP : SONDE_CBOR_ARRAY, open->count);
	if (head.failed || !sonde_buffer_reserve(cbor, head.size)) {
		cbor->failed = true;
	} else {
		memmove(cbor->data + open->start + head.size, cbor->data + open->start, size);
		memcpy(cbor->data + open->start, head.data, head.size);
		cbor->size += head.size;
	}
	sonde_buffer_release(&head);
}

static void put_token(struct reading *reading)
{
	const struct sonde_json_reader *json = reading->json;
	enum sonde_json_token token = json->token;
	bool ends = token == SONDE_JSON_OBJECT_END || token == SONDE_JSON_ARRAY_END;

	if (reading->depth && !ends) {
		struct open_container *open = &reading->open[reading->depth - 1];

		open->count += !open->is_map || token == SONDE_JSON_KEY;
	}
	switch (token) {
	case SONDE_JSON_OBJECT_BEGIN:
	case SONDE_JSON_ARRAY_BEGIN:
		begin_container(reading, token == SONDE_JSON_OBJECT_BEGIN);
		break;
	case SONDE_JSON_OBJECT_END:
	case SONDE_JSON_ARRAY_END:
		end_container(reading);
		break;
	case SONDE_JSON_KEY:
	case SONDE_JSON_STRING:
		zts_put_string(reading->writer, reading->cbor, json->text, json->length);
		break;
	case SONDE_JSON_NUMBER:
		put_number(reading);
		break;
	case SONDE_JSON_TRUE:
	case SONDE_JSON_FALSE:
		sonde_cbor_put_simple(reading->cbor, token == SONDE_JSON_TRUE ? 21 : 20);
		break;
	default:
		sonde_cbor_put_simple(reading->cbor, 22);
		break;
	}
}

static bool is_simple(struct reading *reading, struct zts_value *value)
{
	const struct sonde_json_reader *json = reading->json;
	bool is_negative;
	uint64_t number;

	*value = (struct zts_value){ .kind = ZTS_VALUE_NULL };
	switch (json->token) {
	case SONDE_JSON_NULL:
		return true;
	case SONDE_JSON_TRUE:
	case SONDE_JSON_FALSE:
		value->kind = ZTS_VALUE_BOOL;
		value->number = json->token == SONDE_JSON_TRUE;
		return true;
	case SONDE_JSON_STRING:
		value->kind = ZTS_VALUE_STRING;
		value->string =
			zts_writer_text(reading->writer, ZTS_TEXT_STRING, json->text, json->length);
		return true;
	case SONDE_JSON_NUMBER:
		if (!is_integer(json, &is_negative, &number) || number > INT64_MAX)
			return false;
		value->kind = ZTS_VALUE_INT;
		value->number = is_negative ? -(int64_t)number : (int64_t)number;
		return true;
	default:
		return false;
	}
}

enum sonde_status zts_json_read_value(struct sonde_json_reader *json, struct zts_writer *writer,
				      struct sonde_buffer *cbor, struct zts_value *value,
				      struct sonde_error *err)
{
	struct reading reading = { .json = json, .writer = writer, .cbor = cbor };
	enum sonde_status status = SONDE_OK;

	if (is_simple(&reading, value))
		return SONDE_OK;
	sonde_buffer_clear(cbor);
	put_token(&reading);
	while (reading.depth && status == SONDE_OK) {
		status = sonde_json_next(json, err);
		if (status == SONDE_OK)
			put_token(&reading);
	}
	if (status < 0)
		return status;
	if (cbor->failed)
		return sonde_fail_nomem(err);
	*value = (struct zts_value){ .kind = ZTS_VALUE_CBOR,
				     .cbor = (const uint8_t *)cbor->data,
				     .size = cbor->size };
	return SONDE_OK;
}
