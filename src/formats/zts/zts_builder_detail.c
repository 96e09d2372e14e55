/* SPDX-License-Identifier: Apache-2.0 */
/* What details say of calls and exceptions, for traces: see zts_builder.h. */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "formats/zts/zts_builder.h"
#include "formats/zts/zts_json.h"
#include "formats/zts/zts_put_value.h"
#include "formats/zts/zts_read.h"

#define CAUSES_MAX 16

/* An event type, understood when first met. */
static enum sonde_status type_of(struct zts_builder *builder, uint32_t number,
				 const struct zts_builder_type **type, struct sonde_error *err)
{
	const struct sonde_event_type *definition =
		sonde_definitions_event_type(builder->definitions, number);
	struct zts_builder_type *place;
	const char *name, *arguments;

	*type = NULL;
	if (!definition)
		return SONDE_OK;
	while (builder->types.count <= number) {
		place = sonde_vec_push(&builder->types);
		if (!place)
			return sonde_fail_nomem(err);
		*place = (struct zts_builder_type){ 0 };
	}
	place = &builder->types.items[number];
	*type = place;
	if (place->kind != ZTS_TYPE_UNKNOWN)
		return SONDE_OK;
	name = sonde_definitions_string(builder->definitions, definition->name);
	arguments = sonde_definitions_string(builder->definitions, definition->arguments);
	if (sonde_signature_parse(arguments, &place->signature, err) == SONDE_NOMEM)
		return SONDE_NOMEM;
	place->kind = ZTS_TYPE_OTHER;
	if (!strcmp(name, SONDE_SPAN_CALL_TYPE) && !strcmp(arguments, SONDE_SPAN_CALL_SIGNATURE))
		place->kind = ZTS_TYPE_CALL;
	if (!strcmp(name, SONDE_SPAN_EXCEPTION_TYPE) &&
	    !strcmp(arguments, SONDE_SPAN_EXCEPTION_SIGNATURE))
		place->kind = ZTS_TYPE_EXCEPTION;
	return SONDE_OK;
}

/* The values of one of our own types; false where there are fewer. */
static bool take_values(const struct zts_builder_type *type, const struct sonde_detail *detail,
			struct sonde_argument *values, size_t count)
{
	struct sonde_arguments arguments = {
		.signature = type->signature,
		.bytes = detail->bytes,
		.size = detail->size,
	};

	for (size_t i = 0; i < count; i++) {
		if (sonde_arguments_next(&arguments, &values[i], NULL) != SONDE_OK)
			return false;
		if (values[i].is_null)
			values[i].count = 0;
	}
	return true;
}

enum sonde_status zts_builder_take_detail(struct zts_builder *builder,
					  const struct sonde_batch *batch,
					  const struct sonde_event *event,
					  struct sonde_detail *detail, struct zts_call_detail *call,
					  struct sonde_error *err)
{
	enum sonde_status status;

	*call = (struct zts_call_detail){ 0 };
	if (!sonde_event_has_detail(event))
		return SONDE_OK;
	status = sonde_batch_detail(batch, event, detail, err);
	if (status)
		return status < 0 ? status : SONDE_OK;
	if (detail->kind != SONDE_DETAIL_ARGUMENTS) {
		builder->lost[ZTS_LOSS_DETAILS]++;
		return SONDE_OK;
	}
	status = type_of(builder, detail->event_type, &call->type, err);
	if (status < 0)
		return status;
	if (!call->type || !call->type->signature ||
	    (call->type->kind == ZTS_TYPE_CALL &&
	     !take_values(call->type, detail, call->values, 7))) {
		builder->lost[ZTS_LOSS_DETAILS]++;
		call->type = NULL;
		return SONDE_OK;
	}
	call->detail = detail;
	return SONDE_OK;
}

static void put_attribute(struct zts_builder *builder, const char *name, size_t size,
			  const struct zts_value *value)
{
	zts_writer_attribute(builder->writer,
			     zts_writer_text(builder->writer, ZTS_TEXT_STRING, name, size), value);
}

/* Whether a NUL is among the strings of a JSON text: the reader makes U+FFFD of it. */
static bool has_nul(const void *json, size_t size)
{
	const char *start = json, *at = start, *end = start + size;

	while ((at = memmem(at, (size_t)(end - at), "\\u0000", 6))) {
		const char *slash = at;

		while (slash > start && slash[-1] == '\\')
			slash--;
		if ((at - slash) % 2 == 0)
			return true;
		at += 6; /* a backslash, and the text u0000 */
	}
	return false;
}

/* The members of an object; what is no JSON was damaged on its way and is left out. */
static enum sonde_status put_object(struct zts_builder *builder, const struct sonde_argument *of,
				    struct sonde_error *err)
{
	struct sonde_json_reader json;
	struct zts_value value;
	enum sonde_status status;

	builder->lost[ZTS_LOSS_NULS] += has_nul(of->bytes, of->count);
	sonde_json_reader_init(&json, (const char *)of->bytes, of->count, NULL, NULL);
	status = sonde_json_next(&json, err);
	while (status == SONDE_OK && json.token != SONDE_JSON_END) {
		status = sonde_json_next(&json, err);
		if (status < 0 || json.token != SONDE_JSON_KEY)
			break;
		sonde_buffer_clear(&builder->text);
		sonde_buffer_put(&builder->text, json.text, json.length);
		status = sonde_json_next(&json, err);
		if (status == SONDE_OK)
			status = zts_json_read_value(&json, builder->writer, &builder->cbor, &value,
						     err);
		if (status == SONDE_OK && builder->text.failed)
			status = sonde_fail_nomem(err);
		if (status == SONDE_OK)
			put_attribute(builder, builder->text.data, builder->text.size, &value);
	}
	sonde_json_reader_release(&json);
	if (status < 0 && status != SONDE_NOMEM) {
		builder->lost[ZTS_LOSS_DETAILS]++;
		return SONDE_OK;
	}
	return status;
}

static void put_scalar_cbor(struct zts_builder *builder, enum sonde_argument_type type,
			    union sonde_argument_value value)
{
	if (type == SONDE_ARGUMENT_BOOL)
		sonde_cbor_put_simple(&builder->cbor, value.u64 ? 21 : 20);
	else if (sonde_argument_type_is_float(type))
		zts_put_double(builder->writer, &builder->cbor, value.f64);
	else if (sonde_argument_type_is_signed(type))
		sonde_cbor_put_int(&builder->cbor, value.i64);
	else
		sonde_cbor_put_head(&builder->cbor, SONDE_CBOR_UINT, value.u64);
}

static struct zts_value cbor_value(const struct zts_builder *builder)
{
	return (struct zts_value){
		.kind = ZTS_VALUE_CBOR,
		.cbor = (const uint8_t *)builder->cbor.data,
		.size = builder->cbor.size,
	};
}

static struct zts_value array_value(struct zts_builder *builder,
				    const struct sonde_argument *argument)
{
	sonde_cbor_put_head(&builder->cbor, SONDE_CBOR_ARRAY, argument->count);
	for (size_t i = 0; i < argument->count; i++)
		put_scalar_cbor(builder, argument->spec->type, sonde_argument_item(argument, i));
	return cbor_value(builder);
}

static struct zts_value number_value(struct zts_builder *builder,
				     const struct sonde_argument *argument)
{
	enum sonde_argument_type type = argument->spec->type;

	if (type == SONDE_ARGUMENT_BOOL)
		return (struct zts_value){ .kind = ZTS_VALUE_BOOL,
					   .number = argument->value.u64 != 0 };
	if (!sonde_argument_type_is_float(type) &&
	    (sonde_argument_type_is_signed(type) || argument->value.u64 <= INT64_MAX))
		return (struct zts_value){ .kind = ZTS_VALUE_INT, .number = argument->value.i64 };
	put_scalar_cbor(builder, type, argument->value);
	return cbor_value(builder);
}

/* JSON as the value that it is; as a string where it is none. */
static enum sonde_status any_value(struct zts_builder *builder,
				   const struct sonde_argument *argument, struct zts_value *value,
				   struct sonde_error *err)
{
	struct sonde_json_reader json;
	enum sonde_status status;

	sonde_json_reader_init(&json, (const char *)argument->bytes, argument->count, NULL, NULL);
	status = sonde_json_next(&json, err);
	if (status == SONDE_OK)
		status = zts_json_read_value(&json, builder->writer, &builder->cbor, value, err);
	sonde_json_reader_release(&json);
	builder->lost[ZTS_LOSS_NULS] += status == SONDE_OK &&
					has_nul(argument->bytes, argument->count);
	if (status < 0 && status != SONDE_NOMEM) {
		*value = (struct zts_value){
			.kind = ZTS_VALUE_STRING,
			.string = zts_writer_text(builder->writer, ZTS_TEXT_STRING,
						  (const char *)argument->bytes, argument->count),
		};
		return SONDE_OK;
	}
	return status;
}

static enum sonde_status put_argument(struct zts_builder *builder,
				      const struct sonde_argument *argument,
				      struct sonde_error *err)
{
	struct zts_value value = { .kind = ZTS_VALUE_NULL };
	enum sonde_argument_type type = argument->spec->type;
	enum sonde_status status = SONDE_OK;

	sonde_buffer_clear(&builder->cbor);
	if (argument->spec->is_array && !argument->is_null)
		value = array_value(builder, argument);
	else if (type == SONDE_ARGUMENT_ANY && !argument->is_null)
		status = any_value(builder, argument, &value, err);
	else if (sonde_argument_type_is_text(type) && !argument->is_null)
		value = (struct zts_value){
			.kind = ZTS_VALUE_STRING,
			.string = zts_writer_text(builder->writer, ZTS_TEXT_STRING,
						  (const char *)argument->bytes, argument->count),
		};
	else if (!argument->is_null)
		value = number_value(builder, argument);
	if (status < 0)
		return status;
	if (builder->cbor.failed)
		return sonde_fail_nomem(err);
	put_attribute(builder, argument->spec->name, strlen(argument->spec->name), &value);
	return SONDE_OK;
}

enum sonde_status zts_builder_put_attributes(struct zts_builder *builder,
					     const struct zts_call_detail *call,
					     struct sonde_error *err)
{
	struct sonde_arguments arguments = {
		.signature = call->type->signature,
		.bytes = call->detail->bytes,
		.size = call->detail->size,
	};
	struct sonde_argument argument;
	enum sonde_status status;

	if (call->type->kind == ZTS_TYPE_CALL)
		return put_object(builder, &call->values[0], err);
	while ((status = sonde_arguments_next(&arguments, &argument, err)) == SONDE_OK) {
		status = put_argument(builder, &argument, err);
		if (status < 0)
			return status;
	}
	if (status < 0)
		builder->lost[ZTS_LOSS_DETAILS]++; /* its bytes end too early */
	return SONDE_OK;
}

bool zts_builder_find_string(struct zts_builder *builder, const struct sonde_argument *json,
			     const char *name)
{
	struct sonde_json_reader reader;
	bool is_found = false;

	/* few have it: looked for in the text first */
	if (!json->count || !memmem(json->bytes, json->count, name, strlen(name)))
		return false;
	sonde_json_reader_init(&reader, (const char *)json->bytes, json->count, NULL, NULL);
	if (sonde_json_next(&reader, NULL) == SONDE_OK && reader.token == SONDE_JSON_OBJECT_BEGIN) {
		while (!is_found && sonde_json_next(&reader, NULL) == SONDE_OK &&
		       reader.token == SONDE_JSON_KEY) {
			bool is_it = !strcmp(reader.text, name);

			if (!is_it && sonde_json_skip(&reader, NULL) != SONDE_OK)
				break;
			if (is_it && sonde_json_next(&reader, NULL) != SONDE_OK)
				break;
			is_found = is_it && reader.token == SONDE_JSON_STRING;
			if (is_it && !is_found)
				break;
		}
	}
	sonde_buffer_clear(&builder->text);
	if (is_found)
		sonde_buffer_put(&builder->text, reader.text, reader.length);
	sonde_json_reader_release(&reader);
	return is_found && !builder->text.failed;
}

/* "class.method(file:line)" as a frame; anything else as a method's name alone. */
static uint32_t intern_frame(struct zts_writer *writer, const char *text, size_t size)
{
	const char *open = size ? memrchr(text, '(', size) : NULL;
	const char *colon = open ? memrchr(open, ':', size - (size_t)(open - text)) : NULL;
	const char *dot = open ? memrchr(text, '.', (size_t)(open - text)) : NULL;
	uint32_t class_id, name, file, line = 0;

	if (!colon || !dot || text[size - 1] != ')' || memchr(text, ' ', size))
		return zts_writer_frame(
			writer, 0, zts_writer_text(writer, ZTS_TEXT_METHOD_NAME, text, size), 0, 0);
	for (const char *c = colon + 1; *c >= '0' && *c <= '9'; c++)
		line = line * 10 + (uint32_t)(*c - '0');
	class_id = zts_writer_text(writer, ZTS_TEXT_CLASS, text, (size_t)(dot - text));
	name = zts_writer_text(writer, ZTS_TEXT_METHOD_NAME, dot + 1, (size_t)(open - dot - 1));
	file = zts_writer_text(writer, ZTS_TEXT_STRING, open + 1, (size_t)(colon - open - 1));
	return zts_writer_frame(writer, class_id, name, file, line);
}

/* The array of frames that comes next in the reader. */
static enum sonde_status read_stack(struct zts_builder *builder, struct sonde_json_reader *json,
				    uint32_t *stack, struct sonde_error *err)
{
	SONDE_VEC(uint32_t) frames = { 0 };
	enum sonde_status status = sonde_json_next(json, err);

	*stack = 0;
	if (status == SONDE_OK && json->token != SONDE_JSON_ARRAY_BEGIN)
		return sonde_json_skip(json, err);
	while (status == SONDE_OK) {
		uint32_t *frame;

		status = sonde_json_next(json, err);
		if (status < 0 || json->token != SONDE_JSON_STRING)
			break;
		frame = sonde_vec_push(&frames);
		if (frame)
			*frame = intern_frame(builder->writer, json->text, json->length);
		else
			status = sonde_fail_nomem(err);
	}
	if (status == SONDE_OK && frames.count)
		*stack = zts_writer_stack(builder->writer, frames.items, frames.count);
	sonde_vec_release(&frames);
	return status;
}

static enum sonde_status read_text(struct zts_builder *builder, struct sonde_json_reader *json,
				   enum zts_text_kind kind, uint32_t *id, struct sonde_error *err)
{
	enum sonde_status status = sonde_json_next(json, err);

	*id = 0;
	if (status == SONDE_OK && json->token == SONDE_JSON_STRING && json->length)
		*id = zts_writer_text(builder->writer, kind, json->text, json->length);
	return status;
}

/* An object with class, message, stack and cause, whose first token is the present one. */
static enum sonde_status read_exception(struct zts_builder *builder, struct sonde_json_reader *json,
					unsigned int depth, uint32_t *id, struct sonde_error *err)
{
	uint32_t class_id = 0, message = 0, stack = 0, cause = 0;
	enum sonde_status status = SONDE_OK;

	*id = 0;
	if (json->token != SONDE_JSON_OBJECT_BEGIN || depth == CAUSES_MAX)
		return sonde_json_skip(json, err);
	while (status == SONDE_OK) {
		status = sonde_json_next(json, err);
		if (status < 0 || json->token != SONDE_JSON_KEY)
			break;
		if (!strcmp(json->text, "class"))
			status = read_text(builder, json, ZTS_TEXT_CLASS, &class_id, err);
		else if (!strcmp(json->text, "message"))
			status = read_text(builder, json, ZTS_TEXT_STRING, &message, err);
		else if (!strcmp(json->text, "stack"))
			status = read_stack(builder, json, &stack, err);
		else if (!strcmp(json->text, "cause")) {
			status = sonde_json_next(json, err);
			if (status == SONDE_OK)
				status = read_exception(builder, json, depth + 1, &cause, err);
		} else
			status = sonde_json_skip(json, err);
	}
	if (status == SONDE_OK)
		*id = zts_writer_exception(builder->writer, class_id, message, stack, cause);
	return status;
}

static void put_member(struct sonde_json_writer *json, const char *name,
		       const struct sonde_argument *value, bool is_json)
{
	sonde_json_key(json, name);
	if (!is_json)
		sonde_json_string_sized(json, (const char *)value->bytes, value->count);
	else if (value->count) {
		/* raw text is not NUL-terminated in the detail */
		sonde_buffer_put(json->out, value->bytes, value->count);
		json->after_key = false;
	} else
		sonde_json_null(json);
}

enum sonde_status zts_builder_exception(struct zts_builder *builder,
					const struct sonde_detail *detail, uint32_t *id,
					struct sonde_error *err)
{
	const struct zts_builder_type *type = &builder->types.items[detail->event_type];
	struct sonde_argument values[4];
	struct sonde_json_writer writer;
	struct sonde_json_reader json;
	enum sonde_status status;

	*id = 0;
	if (!take_values(type, detail, values, 4)) {
		builder->lost[ZTS_LOSS_DETAILS]++;
		*id = zts_writer_exception(builder->writer, 0, 0, 0, 0);
		return SONDE_OK;
	}
	/* as one object, which causes are too */
	sonde_buffer_clear(&builder->text);
	sonde_json_writer_init(&writer, &builder->text, false);
	sonde_json_object_begin(&writer);
	put_member(&writer, "class", &values[0], false);
	put_member(&writer, "message", &values[1], false);
	put_member(&writer, "stack", &values[2], true);
	put_member(&writer, "cause", &values[3], true);
	sonde_json_object_end(&writer);
	if (builder->text.failed)
		return sonde_fail_nomem(err);
	builder->lost[ZTS_LOSS_NULS] += has_nul(builder->text.data, builder->text.size);
	sonde_json_reader_init(&json, builder->text.data, builder->text.size, NULL, NULL);
	status = sonde_json_next(&json, err);
	if (status == SONDE_OK)
		status = read_exception(builder, &json, 0, id, err);
	sonde_json_reader_release(&json);
	if (status < 0 && status != SONDE_NOMEM) {
		builder->lost[ZTS_LOSS_DETAILS]++;
		*id = zts_writer_exception(builder->writer, 0, 0, 0, 0);
		return SONDE_OK;
	}
	return status;
}
