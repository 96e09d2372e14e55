/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Annotations as typed arguments. Where sonde wrote the file it says beside their names what they were;
 * else integers, doubles, text and truth are what they are, and all that is nested becomes JSON.
 */
#include <stdio.h>
#include <string.h>

#include "base/put.h"
#include "base/utf8.h"
#include "formats/perfetto/perfetto_read.h"
#include "model/arguments.h"

/* Values inside of each other; deeper ones are null. */
#define DEEPEST 30

/* The value of an annotation: the field that it is in, as it came. 0: none. */
struct value {
	uint32_t field;
	uint64_t number;
	struct sonde_bytes bytes;
};

static bool is_value(uint32_t field)
{
	return (field >= ANNOTATION_BOOL && field <= ANNOTATION_JSON) ||
	       field == ANNOTATION_ENTRY || field == ANNOTATION_ITEM ||
	       field == ANNOTATION_STRING_IID;
}

/* The text that an iid stands for takes the place of the iid. */
static void resolve_text(struct perfetto_reader *reader, const struct perfetto_sequence *sequence,
			 struct value *value)
{
	uint32_t string;
	const char *text;

	if (value->field != ANNOTATION_STRING_IID)
		return;
	string = perfetto_resolve(reader, sequence, PERFETTO_ANNOTATION_STRINGS, value->number);
	text = sonde_definitions_string(reader->recording->definitions, string);
	value->field = ANNOTATION_STRING;
	value->bytes = sonde_bytes_of(text, strlen(text));
}

static enum sonde_status read_annotation(struct sonde_bytes bytes, struct value *value,
					 uint64_t *name_iid, struct sonde_bytes *name,
					 struct sonde_error *err)
{
	struct sonde_protobuf_field field;
	enum sonde_status status;

	*value = (struct value){ .bytes = sonde_bytes_of(NULL, 0) };
	while (!(status = sonde_protobuf_next(&bytes, &field, err))) {
		if (is_value(field.number))
			*value = (struct value){ field.number, field.value, field.bytes };
		else if (field.number == ANNOTATION_NAME_IID)
			*name_iid = field.value;
		else if (field.number == ANNOTATION_NAME)
			*name = field.bytes;
	}
	return status == SONDE_END ? SONDE_OK : status;
}

/* JSON of what is nested. */
struct nesting {
	struct perfetto_reader *reader;
	const struct perfetto_sequence *sequence;
	struct sonde_json_writer json;
	unsigned int depth;
};

static enum sonde_status put_json(struct nesting *nesting, struct sonde_bytes bytes,
				  struct sonde_error *err);

static enum sonde_status put_nested(struct nesting *nesting, struct sonde_bytes bytes,
				    struct sonde_error *err);

static void put_signed(struct sonde_json_writer *json, int64_t number)
{
	char text[32];

	snprintf(text, sizeof(text), "%lld", (long long)number);
	sonde_json_raw(json, text);
}

static void put_key(struct nesting *nesting, const char *text, size_t length)
{
	struct sonde_buffer key = { 0 };

	sonde_buffer_put_utf8(&key, text, length);
	sonde_json_key(&nesting->json, sonde_buffer_text(&key) ? key.data : "");
	sonde_buffer_release(&key);
}

static void put_entry_key(struct nesting *nesting, uint64_t iid, struct sonde_bytes name)
{
	struct perfetto_reader *reader = nesting->reader;
	uint32_t number =
		perfetto_resolve(reader, nesting->sequence, PERFETTO_ANNOTATION_NAMES, iid);
	const char *text;

	if (number == SONDE_NONE) {
		put_key(nesting, (const char *)name.data, name.size);
		return;
	}
	text = sonde_definitions_string(reader->recording->definitions,
					reader->annotation_names.items[number].name);
	put_key(nesting, text, strlen(text));
}

/* All items of an array, or entries of a dictionary. */
static enum sonde_status put_list(struct nesting *nesting, struct sonde_bytes bytes, uint32_t which,
				  struct sonde_error *err)
{
	bool is_array = which == ANNOTATION_ITEM;
	struct sonde_protobuf_field field;
	enum sonde_status status = SONDE_OK;

	if (is_array)
		sonde_json_array_begin(&nesting->json);
	else
		sonde_json_object_begin(&nesting->json);
	while (!status && !(status = sonde_protobuf_next(&bytes, &field, err))) {
		struct sonde_bytes name = sonde_bytes_of(NULL, 0);
		struct value ignored;
		uint64_t iid = 0;

		if (field.number != which || !perfetto_is_bytes(&field))
			continue;
		if (!is_array) {
			status = read_annotation(field.bytes, &ignored, &iid, &name, err);
			put_entry_key(nesting, iid, name);
		}
		if (!status)
			status = put_json(nesting, field.bytes, err);
	}
	if (is_array)
		sonde_json_array_end(&nesting->json);
	else
		sonde_json_object_end(&nesting->json);
	return status == SONDE_END ? SONDE_OK : status;
}

/* JSON text as it is, where it is some. */
static void put_raw(struct nesting *nesting, struct sonde_bytes bytes)
{
	struct sonde_json_reader reader;
	struct sonde_buffer copy = { 0 };
	enum sonde_status status;

	sonde_json_reader_init(&reader, (const char *)bytes.data, bytes.size, NULL, NULL);
	status = sonde_json_copy(&reader, &copy, NULL);
	if (!status)
		status = sonde_json_next(&reader, NULL);
	/* memory that failed does not tell what the text is */
	if (status == SONDE_NOMEM || !sonde_buffer_text(&copy))
		nesting->json.out->failed = true;
	else if (nesting->depth <= 1 && !status && copy.size && reader.token == SONDE_JSON_END)
		sonde_json_raw(&nesting->json, copy.data);
	else
		sonde_json_string_sized(&nesting->json, (const char *)bytes.data, bytes.size);
	sonde_json_reader_release(&reader);
	sonde_buffer_release(&copy);
}

static enum sonde_status put_value(struct nesting *nesting, const struct value *value,
				   struct sonde_bytes whole, struct sonde_error *err)
{
	struct sonde_json_writer *json = &nesting->json;

	switch (value->field) {
	case ANNOTATION_BOOL:
		sonde_json_bool(json, value->number);
		return SONDE_OK;
	case ANNOTATION_UINT:
	case ANNOTATION_POINTER:
		sonde_json_number_u64(json, value->number);
		return SONDE_OK;
	case ANNOTATION_INT:
		put_signed(json, (int64_t)value->number);
		return SONDE_OK;
	case ANNOTATION_DOUBLE:
		sonde_json_number_double(json, perfetto_double(value->number));
		return SONDE_OK;
	case ANNOTATION_STRING:
		sonde_json_string_sized(json, (const char *)value->bytes.data, value->bytes.size);
		return SONDE_OK;
	case ANNOTATION_JSON:
		put_raw(nesting, value->bytes);
		return SONDE_OK;
	case ANNOTATION_ITEM:
	case ANNOTATION_ENTRY:
		return put_list(nesting, whole, value->field, err);
	case ANNOTATION_NESTED:
		return put_nested(nesting, value->bytes, err);
	default:
		sonde_json_null(json);
		return SONDE_OK;
	}
}

static enum sonde_status put_json(struct nesting *nesting, struct sonde_bytes bytes,
				  struct sonde_error *err)
{
	struct sonde_bytes name = sonde_bytes_of(NULL, 0);
	struct value value;
	uint64_t iid = 0;
	enum sonde_status status = read_annotation(bytes, &value, &iid, &name, err);

	if (status || nesting->depth >= DEEPEST) {
		sonde_json_null(&nesting->json);
		return status;
	}
	resolve_text(nesting->reader, nesting->sequence, &value);
	nesting->depth++;
	status = put_value(nesting, &value, bytes, err);
	nesting->depth--;
	return status;
}

/* The old form of nested values: keys and values of a dictionary lie apart. */
static enum sonde_status put_members(struct nesting *nesting, struct sonde_bytes bytes,
				     bool is_array, struct sonde_error *err)
{
	struct sonde_bytes keys = bytes;
	struct sonde_protobuf_field field, key;
	enum sonde_status status = SONDE_OK;

	while (!status && !(status = sonde_protobuf_next(&bytes, &field, err))) {
		if (field.number != (is_array ? NESTED_ITEM : NESTED_ENTRY) ||
		    !perfetto_is_bytes(&field))
			continue;
		while (!is_array && !status) {
			status = sonde_protobuf_next(&keys, &key, err);
			if (!status && key.number == NESTED_KEY && perfetto_is_bytes(&key))
				break;
		}
		if (status)
			break;
		if (!is_array)
			put_key(nesting, perfetto_text(&key), key.bytes.size);
		status = put_nested(nesting, field.bytes, err);
	}
	return status == SONDE_END ? SONDE_OK : status;
}

static enum sonde_status put_leaf(struct nesting *nesting, struct sonde_bytes bytes,
				  struct sonde_error *err)
{
	struct sonde_protobuf_field field, last = { 0 };
	enum sonde_status status;

	while (!(status = sonde_protobuf_next(&bytes, &field, err)))
		if (field.number >= NESTED_INT && field.number <= NESTED_STRING)
			last = field;
	if (last.number == NESTED_INT)
		put_signed(&nesting->json, (int64_t)last.value);
	else if (last.number == NESTED_DOUBLE)
		sonde_json_number_double(&nesting->json, perfetto_double(last.value));
	else if (last.number == NESTED_BOOL)
		sonde_json_bool(&nesting->json, last.value);
	else if (last.number == NESTED_STRING && perfetto_is_bytes(&last))
		sonde_json_string_sized(&nesting->json, perfetto_text(&last), last.bytes.size);
	else
		sonde_json_null(&nesting->json);
	return status == SONDE_END ? SONDE_OK : status;
}

static enum sonde_status put_nested(struct nesting *nesting, struct sonde_bytes bytes,
				    struct sonde_error *err)
{
	struct sonde_bytes again = bytes;
	struct sonde_protobuf_field field;
	enum sonde_status status;
	uint64_t type = 0;

	while (!(status = sonde_protobuf_next(&bytes, &field, err)))
		if (field.number == NESTED_TYPE)
			type = field.value;
	if (status != SONDE_END || nesting->depth >= DEEPEST) {
		sonde_json_null(&nesting->json);
		return status == SONDE_END ? SONDE_OK : status;
	}
	nesting->depth++;
	if (type == NESTED_TYPE_ARRAY) {
		sonde_json_array_begin(&nesting->json);
		status = put_members(nesting, again, true, err);
		sonde_json_array_end(&nesting->json);
	} else if (type == NESTED_TYPE_DICTIONARY) {
		sonde_json_object_begin(&nesting->json);
		status = put_members(nesting, again, false, err);
		sonde_json_object_end(&nesting->json);
	} else {
		status = put_leaf(nesting, again, err);
	}
	nesting->depth--;
	return status;
}

/* A character that was written as text. */
static uint64_t first_character(struct sonde_bytes bytes)
{
	size_t length = bytes.size ? sonde_utf8_length((const char *)bytes.data, bytes.size) : 0;
	uint32_t code = length ? bytes.data[0] : 0;

	if (length > 1) {
		code &= 0x7fu >> length;
		for (size_t i = 1; i < length; i++)
			code = code << 6 | (bytes.data[i] & 0x3f);
	}
	return code;
}

/* The number of a type that sonde wrote; false where the value is none. */
static bool number_of(const struct value *value, enum sonde_argument_type type,
		      union sonde_argument_value *number)
{
	bool is_character = type == SONDE_ARGUMENT_CHAR || type == SONDE_ARGUMENT_WCHAR;

	number->u64 = value->number;
	if (is_character && value->field == ANNOTATION_STRING) {
		number->u64 = first_character(value->bytes);
		return true;
	}
	if (sonde_argument_type_is_text(type))
		return false;
	if (sonde_argument_type_is_float(type)) {
		number->f64 = perfetto_double(value->number);
		return value->field == ANNOTATION_DOUBLE;
	}
	if (type == SONDE_ARGUMENT_BOOL)
		return value->field == ANNOTATION_BOOL;
	return value->field ==
	       (sonde_argument_type_is_signed(type) ? ANNOTATION_INT : ANNOTATION_UINT);
}

static void put_item(struct sonde_buffer *out, enum sonde_argument_type type,
		     union sonde_argument_value value)
{
	size_t size = sonde_argument_type_size(type);
	uint64_t bits = value.u64;

	if (type == SONDE_ARGUMENT_FLOAT32) {
		float narrow = (float)value.f64;
		uint32_t half;

		memcpy(&half, &narrow, sizeof(half));
		bits = half;
	}
	bits = htole64(bits);
	sonde_buffer_put(out, &bits, size);
}

/* The items of an array of ours, packed; false where one of them is something else. */
static bool gather_items(struct perfetto_reader *reader, struct sonde_bytes bytes,
			 enum sonde_argument_type type, size_t *count)
{
	struct sonde_protobuf_field field;

	*count = 0;
	sonde_buffer_clear(&reader->text);
	while (!sonde_protobuf_next(&bytes, &field, NULL)) {
		struct sonde_bytes name;
		union sonde_argument_value number;
		struct value value;
		uint64_t iid;

		if (field.number != ANNOTATION_ITEM || !perfetto_is_bytes(&field))
			continue;
		if (read_annotation(field.bytes, &value, &iid, &name, NULL) ||
		    !number_of(&value, type, &number))
			return false;
		put_item(&reader->text, type, number);
		(*count)++;
	}
	return !reader->text.failed;
}

static void put_text(struct perfetto_reader *reader, struct sonde_bytes bytes)
{
	sonde_buffer_clear(&reader->text);
	sonde_buffer_put_utf8(&reader->text, (const char *)bytes.data, bytes.size);
	sonde_arguments_put_text(&reader->arguments,
				 sonde_buffer_text(&reader->text) ? reader->text.data : "",
				 reader->text.size);
}

/* As the type that sonde wrote beside the name; false where that does not fit. */
static bool put_typed(struct perfetto_reader *reader, const struct perfetto_annotation_name *name,
		      const struct value *value, struct sonde_bytes whole)
{
	union sonde_argument_value number;
	size_t count;

	if (name->is_array) {
		if (value->field && value->field != ANNOTATION_ITEM &&
		    value->field != ANNOTATION_NESTED)
			return false;
		if (!gather_items(reader, whole, name->type, &count))
			return false;
		sonde_arguments_put_array(
			&reader->arguments, name->type,
			value->field ? (reader->text.size ? reader->text.data : "") : NULL, count);
		return true;
	}
	if (sonde_argument_type_is_text(name->type)) {
		if (value->field == ANNOTATION_STRING || value->field == ANNOTATION_JSON)
			put_text(reader, value->bytes);
		else if (!value->field)
			sonde_arguments_put_text(&reader->arguments, NULL, 0);
		return !value->field || value->field == ANNOTATION_STRING ||
		       value->field == ANNOTATION_JSON;
	}
	if (!number_of(value, name->type, &number))
		return false;
	sonde_arguments_put_number(&reader->arguments, name->type, number);
	return true;
}

static enum sonde_argument_type plain_type(uint32_t field)
{
	switch (field) {
	case ANNOTATION_BOOL:
		return SONDE_ARGUMENT_BOOL;
	case ANNOTATION_UINT:
	case ANNOTATION_POINTER:
		return SONDE_ARGUMENT_UINT64;
	case ANNOTATION_INT:
		return SONDE_ARGUMENT_INT64;
	case ANNOTATION_DOUBLE:
		return SONDE_ARGUMENT_FLOAT64;
	case ANNOTATION_STRING:
		return SONDE_ARGUMENT_UTF8;
	default:
		return SONDE_ARGUMENT_ANY;
	}
}

static enum sonde_status put_plain(struct perfetto_reader *reader,
				   const struct perfetto_sequence *sequence,
				   const struct value *value, struct sonde_bytes whole,
				   struct sonde_error *err)
{
	enum sonde_argument_type type = plain_type(value->field);
	union sonde_argument_value number = { .u64 = value->number };
	struct nesting nesting = { .reader = reader, .sequence = sequence };
	enum sonde_status status;

	if (type == SONDE_ARGUMENT_UTF8) {
		put_text(reader, value->bytes);
		return SONDE_OK;
	}
	if (type != SONDE_ARGUMENT_ANY) {
		if (type == SONDE_ARGUMENT_FLOAT64)
			number.f64 = perfetto_double(value->number);
		sonde_arguments_put_number(&reader->arguments, type, number);
		return SONDE_OK;
	}
	sonde_buffer_clear(&reader->text);
	sonde_json_writer_init(&nesting.json, &reader->text, false);
	status = put_value(&nesting, value, whole, err);
	sonde_arguments_put_text(&reader->arguments, reader->text.size ? reader->text.data : "null",
				 reader->text.size ? reader->text.size : 4);
	return status;
}

static void put_spec(struct perfetto_reader *reader, enum sonde_argument_type type, bool is_array,
		     uint32_t name)
{
	struct sonde_buffer *out = &reader->signature;

	sonde_buffer_put_text(out, out->size ? ", " : "");
	sonde_buffer_put_text(out, sonde_argument_type_name(type));
	sonde_buffer_put_text(out, is_array ? "[] " : " ");
	/* an entry may have an id and no name */
	sonde_buffer_put_text(
		out, name ? sonde_definitions_string(reader->recording->definitions, name) : "_");
}

enum sonde_status perfetto_take_annotation(struct perfetto_reader *reader,
					   const struct perfetto_sequence *sequence,
					   struct sonde_bytes bytes, struct sonde_error *err)
{
	struct perfetto_annotation_name name = { 0 };
	struct sonde_bytes text = sonde_bytes_of(NULL, 0);
	struct value value;
	uint64_t iid = 0;
	uint32_t number;
	size_t before = reader->arguments.size;
	enum sonde_status status = read_annotation(bytes, &value, &iid, &text, err);

	if (status)
		return status;
	number = perfetto_resolve(reader, sequence, PERFETTO_ANNOTATION_NAMES, iid);
	if (number != SONDE_NONE)
		name = reader->annotation_names.items[number];
	else
		status = perfetto_argument_name(reader, (const char *)text.data, text.size,
						&name.name, err);
	if (status)
		return status;
	resolve_text(reader, sequence, &value);
	if (name.has_type && put_typed(reader, &name, &value, bytes)) {
		put_spec(reader, name.type, name.is_array, name.name);
	} else {
		reader->arguments.size = before;
		put_spec(reader, plain_type(value.field), false, name.name);
		status = put_plain(reader, sequence, &value, bytes, err);
	}
	if (!status &&
	    (reader->arguments.failed || reader->signature.failed || reader->text.failed))
		status = sonde_fail_nomem(err);
	return status;
}

bool perfetto_annotation_number(struct sonde_bytes bytes, double *number)
{
	struct sonde_bytes name;
	struct value value;
	uint64_t iid;

	if (read_annotation(bytes, &value, &iid, &name, NULL))
		return false;
	switch (value.field) {
	case ANNOTATION_UINT:
		*number = (double)value.number;
		return true;
	case ANNOTATION_INT:
		*number = (double)(int64_t)value.number;
		return true;
	case ANNOTATION_DOUBLE:
		*number = perfetto_double(value.number);
		return true;
	default:
		return false;
	}
}
