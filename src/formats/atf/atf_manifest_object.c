/* SPDX-License-Identifier: Apache-2.0 */
/* Reads one object of a manifest by its table of fields. What the objects mean is elsewhere. */
#include "formats/atf/atf_manifest_object.h"

#include <stdlib.h>
#include <string.h>

#include "formats/atf/atf_findings.h"

static enum sonde_status intern(struct manifest_reader *reader, const char *text, size_t length,
				uint32_t *id, struct sonde_error *err)
{
	return sonde_definitions_add_string(reader->definitions, text, length, id, err);
}

/* The hexadecimal text of a token as a number; false where it is none. */
static bool parse_hex(const struct sonde_json_reader *json, uint64_t *value)
{
	char *end;

	if (json->token == SONDE_JSON_NUMBER)
		return sonde_json_u64(json, value);
	if (json->token != SONDE_JSON_STRING || json->length < 3 || json->length > 18 ||
	    json->text[0] != '0' || (json->text[1] | 0x20) != 'x')
		return false;
	*value = strtoull(json->text + 2, &end, 16);
	return *end == '\0' && json->text[2] != '-' && json->text[2] != '+' && json->text[2] != ' ';
}

enum sonde_status atf_manifest_reject(struct manifest_reader *reader, const char *name,
				      const char *expected, struct sonde_error *err)
{
	struct sonde_json_reader *json = &reader->json;

	ATF_FIND(reader->diagnostics, MANIFEST_VALUE, reader->manifest->path, json->offset,
		 "\"%s\": %s\tsomething else", name, expected);
	return sonde_json_skip(json, err);
}

static enum sonde_status read_objects(struct manifest_reader *reader,
				      const struct manifest_field *field, struct sonde_error *err)
{
	struct sonde_json_reader *json = &reader->json;
	enum sonde_status status;

	if (json->token != SONDE_JSON_ARRAY_BEGIN)
		return atf_manifest_reject(reader, field->name, "an array", err);
	if (reader->threads_only && !field->of_every_part)
		return sonde_json_skip(json, err);
	if (field->needs_modules && !reader->modules_seen) {
		reader->symbols_late = true;
		return sonde_json_skip(json, err);
	}
	for (;;) {
		status = sonde_json_next(json, err);
		if (status < 0)
			return status;
		if (json->token == SONDE_JSON_ARRAY_END)
			return SONDE_OK;
		if (json->token == SONDE_JSON_OBJECT_BEGIN)
			status = field->each(reader, err);
		else
			status = atf_manifest_reject(reader, field->name, "an array of objects",
						     err);
		if (status < 0)
			return status;
	}
}

/* The value of a known field, at its first token, into `object`. */
static enum sonde_status read_field(struct manifest_reader *reader,
				    const struct manifest_field *table, unsigned int number,
				    struct manifest_object *object, struct sonde_error *err)
{
	static const char *const expected[] = { "a number",	 "a string",
						"true or false", "a hexadecimal string",
						"an array",	 "an object" };
	const struct manifest_field *field = &table[number];
	struct sonde_json_reader *json = &reader->json;
	uint64_t *value = &object->value[number];
	bool good = false;

	switch (field->type) {
	case FIELD_OBJECTS:
		return read_objects(reader, field, err);
	case FIELD_OBJECT:
		if (json->token == SONDE_JSON_OBJECT_BEGIN)
			return field->each(reader, err);
		break;
	case FIELD_NUMBER:
		good = json->token == SONDE_JSON_NUMBER && sonde_json_u64(json, value);
		break;
	case FIELD_HEX:
		good = parse_hex(json, value);
		break;
	case FIELD_BOOL:
		good = json->token == SONDE_JSON_TRUE || json->token == SONDE_JSON_FALSE;
		*value = json->token == SONDE_JSON_TRUE;
		break;
	case FIELD_TEXT:
		good = json->token == SONDE_JSON_STRING;
		if (good) {
			uint32_t id;
			enum sonde_status status =
				intern(reader, json->text, json->length, &id, err);

			if (status < 0)
				return status;
			*value = id;
		}
		break;
	}
	if (!good)
		return atf_manifest_reject(reader, field->name, expected[field->type], err);
	object->present |= 1u << number;
	return SONDE_OK;
}

/* A key nobody knows: kept with its value as JSON text. The reader stands at the value. */
static enum sonde_status read_extra(struct manifest_reader *reader, uint32_t name,
				    struct manifest_object *object, struct sonde_error *err)
{
	struct atf_extra *extra;
	enum sonde_status status;
	const char *text;

	sonde_buffer_clear(&reader->text);
	status = sonde_json_copy(&reader->json, &reader->text, err);
	if (status < 0)
		return status;
	text = sonde_buffer_text(&reader->text);
	extra = sonde_vec_push(&object->extras);
	if (!text || !extra)
		return sonde_fail_nomem(err);
	extra->name = name;
	extra->value = 0;
	return intern(reader, text, reader->text.size, &extra->value, err);
}

enum sonde_status atf_manifest_object(struct manifest_reader *reader,
				      const struct manifest_field *table,
				      struct manifest_object *object, struct sonde_error *err)
{
	struct sonde_json_reader *json = &reader->json;
	enum sonde_status status;
	unsigned int number;
	uint32_t name;

	for (;;) {
		status = sonde_json_next(json, err);
		if (status < 0 || json->token == SONDE_JSON_OBJECT_END)
			return status;
		for (number = 0; table[number].name; number++)
			if (strcmp(table[number].name, json->text) == 0)
				break;
		if (!table[number].name) {
			status = intern(reader, json->text, json->length, &name, err);
			if (status == SONDE_OK)
				status = read_extra(reader, name, object, err);
		} else {
			status = sonde_json_next(json, err);
			if (status == SONDE_OK)
				status = read_field(reader, table, number, object, err);
		}
		if (status < 0)
			return status;
	}
}
