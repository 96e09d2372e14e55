/* SPDX-License-Identifier: Apache-2.0 */
/* What spans say beside their name and time, as packed arguments: attributes as JSON, ids, exceptions. */
#include <stdio.h>
#include <stdlib.h>

#include "base/base64.h"
#include "base/uuid.h"
#include "formats/otlp/otlp_read.h"
#include "model/arguments.h"

#define STATUS_ERROR 2u

static void put_text(struct sonde_json_writer *json, struct otlp_text text)
{
	sonde_json_string_sized(json, text.size ? text.data : "", text.size);
}

static void put_key(struct sonde_json_writer *json, struct otlp_text key)
{
	char space[256], *copy = key.size < sizeof(space) ? space : malloc(key.size + 1);

	if (!copy) {
		json->out->failed = true;
		return;
	}
	memcpy(copy, key.size ? key.data : "", key.size);
	copy[key.size] = '\0';
	sonde_json_key(json, copy);
	if (copy != space)
		free(copy);
}

static void put_list(struct sonde_json_writer *json, const struct otlp_request *request,
		     const struct otlp_value *list)
{
	bool is_map = list->kind == OTLP_MAP;

	if (is_map)
		sonde_json_object_begin(json);
	else
		sonde_json_array_begin(json);
	for (uint32_t at = list->first; at != SONDE_NONE; at = request->values.items[at].next) {
		const struct otlp_value *value = &request->values.items[at];

		if (is_map)
			put_key(json, value->key);
		otlp_put_value(json, request, value);
	}
	if (is_map)
		sonde_json_object_end(json);
	else
		sonde_json_array_end(json);
}

static void put_bytes(struct sonde_json_writer *json, struct otlp_text bytes)
{
	struct sonde_buffer text = { 0 };
	size_t length = sonde_base64_length(bytes.size);
	char *place = sonde_buffer_reserve(&text, length);

	if (place)
		sonde_base64_encode(bytes.data, bytes.size, place);
	json->out->failed |= !place;
	sonde_json_string_sized(json, place ? place : "", place ? length : 0);
	sonde_buffer_release(&text);
}

/* Nests no deeper than the decoder lets it. */
void otlp_put_value(struct sonde_json_writer *json, const struct otlp_request *request,
		    const struct otlp_value *value)
{
	char number[24];

	switch (value->kind) {
	case OTLP_NULL:
		sonde_json_null(json);
		break;
	case OTLP_STRING:
		put_text(json, value->text);
		break;
	case OTLP_BOOL:
		sonde_json_bool(json, value->number != 0);
		break;
	case OTLP_INT:
		snprintf(number, sizeof(number), "%lld", (long long)value->number);
		sonde_json_raw(json, number);
		break;
	case OTLP_DOUBLE:
		sonde_json_number_double(json, value->real);
		break;
	case OTLP_ARRAY:
	case OTLP_MAP:
		put_list(json, request, value);
		break;
	case OTLP_BYTES:
		put_bytes(json, value->text);
		break;
	}
}

void otlp_put_members(struct sonde_json_writer *json, const struct otlp_request *request,
		      const struct otlp_list *list)
{
	for (uint32_t at = list->first; at != SONDE_NONE; at = request->values.items[at].next) {
		put_key(json, request->values.items[at].key);
		otlp_put_value(json, request, &request->values.items[at]);
	}
}

static void put_member_text(struct sonde_json_writer *json, const char *key, struct otlp_text text)
{
	if (!text.size)
		return;
	sonde_json_key(json, key);
	put_text(json, text);
}

static void put_member_number(struct sonde_json_writer *json, const char *key, uint64_t number)
{
	if (number)
		sonde_json_member_u64(json, key, number);
}

static void put_id(struct sonde_json_writer *json, const char *key, struct otlp_text id)
{
	char hex[2 * 16 + 1];

	for (size_t i = 0; i < id.size && i < 16; i++)
		snprintf(hex + 2 * i, 3, "%02x", (unsigned int)(uint8_t)id.data[i]);
	if (id.size)
		sonde_json_member_string(json, key, hex);
}

static void put_links(struct sonde_json_writer *json, const struct otlp_request *request,
		      const struct otlp_list *links)
{
	if (links->first == SONDE_NONE)
		return;
	sonde_json_key(json, "links");
	sonde_json_array_begin(json);
	for (uint32_t at = links->first; at != SONDE_NONE; at = request->notes.items[at].next) {
		const struct otlp_note *link = &request->notes.items[at];

		sonde_json_object_begin(json);
		put_id(json, "trace_id", link->trace_id);
		put_id(json, "span_id", link->span_id);
		put_member_text(json, "trace_state", link->trace_state);
		put_member_number(json, "flags", link->flags);
		otlp_put_members(json, request, &link->attributes);
		sonde_json_object_end(json);
	}
	sonde_json_array_end(json);
}

/* The names are those that a trace store has for the same. */
static void put_attributes(struct sonde_json_writer *json, const struct otlp_request *request,
			   const struct otlp_span *span)
{
	const struct otlp_scope *scope = &request->scopes.items[span->scope];

	sonde_json_object_begin(json);
	otlp_put_members(json, request, &span->attributes);
	if (span->status_code)
		sonde_json_member_string(json, "otel.status_code",
					 span->status_code == STATUS_ERROR ? "ERROR" : "OK");
	put_member_text(json, "otel.status_description", span->status_message);
	put_member_text(json, "otel.scope.name", scope->name);
	put_member_text(json, "otel.scope.version", scope->version);
	put_member_text(json, "otel.scope.schema_url", scope->schema_url);
	if (scope->attributes.first != SONDE_NONE) {
		sonde_json_key(json, "otel.scope.attributes");
		sonde_json_object_begin(json);
		otlp_put_members(json, request, &scope->attributes);
		sonde_json_object_end(json);
	}
	put_links(json, request, &span->links);
	put_member_text(json, "trace_state", span->trace_state);
	put_member_number(json, "flags", span->flags);
	put_member_number(json, "dropped_attributes_count", span->dropped_attributes);
	put_member_number(json, "dropped_events_count", span->dropped_events);
	put_member_number(json, "dropped_links_count", span->dropped_links);
	sonde_json_object_end(json);
}

static void put_number(struct sonde_buffer *out, enum sonde_argument_type type, uint64_t value)
{
	sonde_arguments_put_number(out, type, (union sonde_argument_value){ .u64 = value });
}

static void put_scratch(struct sonde_buffer *scratch, struct sonde_buffer *out)
{
	out->failed |= scratch->failed;
	sonde_arguments_put_text(out, scratch->size ? scratch->data : "", scratch->size);
}

void otlp_pack_call(const struct otlp_request *request, const struct otlp_span *span,
		    struct sonde_buffer *scratch, struct sonde_buffer *out)
{
	char uuid[SONDE_UUID_SIZE], space[OTLP_KIND_NAME];
	const char *kind = otlp_kind_name(span->kind, space);
	struct sonde_json_writer json;

	sonde_buffer_clear(scratch);
	sonde_json_writer_init(&json, scratch, false);
	put_attributes(&json, request, span);
	put_scratch(scratch, out);
	put_number(out, SONDE_ARGUMENT_UINT64, span->span_id);
	put_number(out, SONDE_ARGUMENT_UINT64, span->parent_id);
	sonde_uuid_format(span->trace_id, uuid);
	sonde_arguments_put_text(out, uuid, SONDE_UUID_LENGTH);
	sonde_arguments_put_text(out, kind, strlen(kind));
	put_number(out, SONDE_ARGUMENT_UINT32, 0);
	put_number(out, SONDE_ARGUMENT_UINT64, 0);
}

struct otlp_text otlp_find_text(const struct otlp_request *request, const struct otlp_list *list,
				const char *key)
{
	for (uint32_t at = list->first; at != SONDE_NONE; at = request->values.items[at].next) {
		const struct otlp_value *value = &request->values.items[at];

		if (value->kind == OTLP_STRING && otlp_text_is(&value->key, key))
			return value->text;
	}
	return (struct otlp_text){ "", 0 };
}

/* A stack as lines of text: an array of them. */
static void put_stack(struct sonde_buffer *scratch, struct otlp_text stack)
{
	struct sonde_json_writer json;
	size_t at = 0;

	sonde_buffer_clear(scratch);
	sonde_json_writer_init(&json, scratch, false);
	sonde_json_array_begin(&json);
	while (at < stack.size) {
		const char *line = stack.data + at;
		const char *newline = memchr(line, '\n', stack.size - at);
		size_t length = newline ? (size_t)(newline - line) : stack.size - at;

		sonde_json_string_sized(&json, line, length);
		at += length + 1;
	}
	sonde_json_array_end(&json);
}

bool otlp_pack_exception(const struct otlp_request *request, const struct otlp_span *span,
			 struct sonde_buffer *scratch, struct sonde_buffer *out)
{
	const struct otlp_note *found = NULL;
	struct otlp_text name, message;

	for (uint32_t at = span->events.first; at != SONDE_NONE; at = request->notes.items[at].next)
		if (otlp_text_is(&request->notes.items[at].name, "exception"))
			found = &request->notes.items[at];
	if (!found)
		return false;
	name = otlp_find_text(request, &found->attributes, "exception.type");
	message = otlp_find_text(request, &found->attributes, "exception.message");
	sonde_arguments_put_text(out, name.data, name.size);
	sonde_arguments_put_text(out, message.data, message.size);
	put_stack(scratch, otlp_find_text(request, &found->attributes, "exception.stacktrace"));
	put_scratch(scratch, out);
	sonde_arguments_put_text(out, "null", 4);
	return true;
}

void otlp_pack_note(const struct otlp_request *request, const struct otlp_note *note,
		    struct sonde_buffer *scratch, struct sonde_buffer *out)
{
	struct sonde_json_writer json;

	sonde_buffer_clear(scratch);
	sonde_json_writer_init(&json, scratch, false);
	sonde_json_object_begin(&json);
	otlp_put_members(&json, request, &note->attributes);
	put_member_number(&json, "dropped_attributes_count", note->dropped);
	sonde_json_object_end(&json);
	put_scratch(scratch, out);
}
