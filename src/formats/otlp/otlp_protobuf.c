/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OTLP trace requests in protobuf (opentelemetry-proto, trace/v1). Fields that are not known here
 * are passed over; a field of another wire type than its own is one of those.
 */
#include "base/protobuf.h"
#include "formats/otlp/otlp.h"

/* Field numbers, by message. */
enum { REQUEST_RESOURCE_SPANS = 1 };
enum { GROUP_HEAD = 1, GROUP_ITEMS = 2, GROUP_SCHEMA_URL = 3 }; /* ResourceSpans and ScopeSpans */
enum { RESOURCE_ATTRIBUTES = 1, RESOURCE_DROPPED = 2 };
enum { SCOPE_NAME = 1, SCOPE_VERSION = 2, SCOPE_ATTRIBUTES = 3, SCOPE_DROPPED = 4 };
enum {
	SPAN_TRACE_ID = 1,
	SPAN_ID = 2,
	SPAN_TRACE_STATE = 3,
	SPAN_PARENT_ID = 4,
	SPAN_NAME = 5,
	SPAN_KIND = 6,
	SPAN_START = 7,
	SPAN_END = 8,
	SPAN_ATTRIBUTES = 9,
	SPAN_DROPPED_ATTRIBUTES = 10,
	SPAN_EVENTS = 11,
	SPAN_DROPPED_EVENTS = 12,
	SPAN_LINKS = 13,
	SPAN_DROPPED_LINKS = 14,
	SPAN_STATUS = 15,
	SPAN_FLAGS = 16,
};
enum { EVENT_TIME = 1, EVENT_NAME = 2, EVENT_ATTRIBUTES = 3, EVENT_DROPPED = 4 };
enum {
	LINK_TRACE_ID = 1,
	LINK_SPAN_ID = 2,
	LINK_TRACE_STATE = 3,
	LINK_ATTRIBUTES = 4,
	LINK_DROPPED = 5,
	LINK_FLAGS = 6,
};
enum { STATUS_MESSAGE = 2, STATUS_CODE = 3 };
enum { PAIR_KEY = 1, PAIR_VALUE = 2 };
enum {
	VALUE_STRING = 1,
	VALUE_BOOL = 2,
	VALUE_INT = 3,
	VALUE_DOUBLE = 4,
	VALUE_ARRAY = 5,
	VALUE_MAP = 6,
	VALUE_BYTES = 7,
};
enum { LIST_VALUES = 1 }; /* ArrayValue and KeyValueList */

/* A field and its wire type as one number, so that one switch tells both. */
#define FIELD(number, type) ((uint64_t)(number) << 3 | (type))
#define BYTES_FIELD(number) FIELD(number, SONDE_PROTOBUF_BYTES)
#define VARINT_FIELD(number) FIELD(number, SONDE_PROTOBUF_VARINT)
#define FIXED64_FIELD(number) FIELD(number, SONDE_PROTOBUF_FIXED64)
#define FIXED32_FIELD(number) FIELD(number, SONDE_PROTOBUF_FIXED32)

static uint64_t field_key(const struct sonde_protobuf_field *field)
{
	return FIELD(field->number, field->type);
}

static struct otlp_text raw_text(const struct sonde_protobuf_field *field)
{
	return (struct otlp_text){ (const char *)field->bytes.data, field->bytes.size };
}

static enum sonde_status read_text(struct otlp_request *request,
				   const struct sonde_protobuf_field *field, struct otlp_text *text,
				   struct sonde_error *err)
{
	*text = raw_text(field);
	return otlp_clean_text(request, text, err);
}

/* SONDE_END is the ordinary end of a message. */
static enum sonde_status whole(enum sonde_status status)
{
	return status == SONDE_END ? SONDE_OK : status;
}

static enum sonde_status read_pair(struct otlp_request *request, struct sonde_bytes bytes,
				   uint32_t position, unsigned int depth, struct sonde_error *err);
static enum sonde_status read_value(struct otlp_request *request, struct sonde_bytes bytes,
				    uint32_t position, unsigned int depth, struct sonde_error *err);

/* The values of an array, or the pairs of a map, into the value at `position`. */
static enum sonde_status read_list(struct otlp_request *request, struct sonde_bytes bytes,
				   uint32_t position, bool has_keys, unsigned int depth,
				   struct sonde_error *err)
{
	struct otlp_list list = OTLP_EMPTY_LIST;
	struct sonde_protobuf_field field;
	enum sonde_status status;
	uint32_t item;

	if (depth == OTLP_NESTING)
		return sonde_fail(err, SONDE_LIMIT, SONDE_NO_OFFSET,
				  "a value with more than %u arrays and maps in each other",
				  OTLP_NESTING);
	while ((status = sonde_protobuf_next(&bytes, &field, err)) == SONDE_OK) {
		if (field_key(&field) != BYTES_FIELD(LIST_VALUES))
			continue;
		status = otlp_add_value(request, &list, &item, err);
		if (status >= 0 && has_keys)
			status = read_pair(request, field.bytes, item, depth + 1, err);
		else if (status >= 0)
			status = read_value(request, field.bytes, item, depth + 1, err);
		if (status < 0)
			return status;
	}
	request->values.items[position].kind = has_keys ? OTLP_MAP : OTLP_ARRAY;
	request->values.items[position].first = list.first;
	return whole(status);
}

/* Of several, the last counts, as protobuf has it for a "oneof". */
static enum sonde_status read_value_field(struct otlp_request *request,
					  const struct sonde_protobuf_field *field,
					  uint32_t position, unsigned int depth,
					  struct sonde_error *err)
{
	struct otlp_value *value = &request->values.items[position];

	switch (field_key(field)) {
	case BYTES_FIELD(VALUE_STRING):
		value->kind = OTLP_STRING;
		return read_text(request, field, &value->text, err);
	case VARINT_FIELD(VALUE_BOOL):
		value->kind = OTLP_BOOL;
		value->number = field->value != 0;
		return SONDE_OK;
	case VARINT_FIELD(VALUE_INT):
		value->kind = OTLP_INT;
		value->number = (int64_t)field->value;
		return SONDE_OK;
	case FIXED64_FIELD(VALUE_DOUBLE):
		value->kind = OTLP_DOUBLE;
		memcpy(&value->real, &field->value, sizeof(value->real));
		return SONDE_OK;
	case BYTES_FIELD(VALUE_ARRAY):
		return read_list(request, field->bytes, position, false, depth, err);
	case BYTES_FIELD(VALUE_MAP):
		return read_list(request, field->bytes, position, true, depth, err);
	case BYTES_FIELD(VALUE_BYTES):
		value->kind = OTLP_BYTES;
		value->text = raw_text(field);
		otlp_limit_text(request, &value->text);
		return SONDE_OK;
	default:
		return SONDE_OK;
	}
}

static enum sonde_status read_value(struct otlp_request *request, struct sonde_bytes bytes,
				    uint32_t position, unsigned int depth, struct sonde_error *err)
{
	struct sonde_protobuf_field field;
	enum sonde_status status;

	while ((status = sonde_protobuf_next(&bytes, &field, err)) == SONDE_OK) {
		status = read_value_field(request, &field, position, depth, err);
		if (status < 0)
			return status;
	}
	return whole(status);
}

static enum sonde_status read_pair(struct otlp_request *request, struct sonde_bytes bytes,
				   uint32_t position, unsigned int depth, struct sonde_error *err)
{
	struct sonde_protobuf_field field;
	enum sonde_status status;

	while ((status = sonde_protobuf_next(&bytes, &field, err)) == SONDE_OK) {
		if (field_key(&field) == BYTES_FIELD(PAIR_KEY))
			status = read_text(request, &field, &request->values.items[position].key,
					   err);
		else if (field_key(&field) == BYTES_FIELD(PAIR_VALUE))
			status = read_value(request, field.bytes, position, depth, err);
		if (status < 0)
			return status;
	}
	return whole(status);
}

static enum sonde_status read_attribute(struct otlp_request *request,
					const struct sonde_protobuf_field *field,
					struct otlp_list *list, struct sonde_error *err)
{
	enum sonde_status status;
	uint32_t position;

	status = otlp_add_value(request, list, &position, err);
	return status < 0 ? status : read_pair(request, field->bytes, position, 0, err);
}

static enum sonde_status read_event(struct otlp_request *request, struct sonde_bytes bytes,
				    struct otlp_note *note, struct sonde_error *err)
{
	struct sonde_protobuf_field field;
	enum sonde_status status;

	while ((status = sonde_protobuf_next(&bytes, &field, err)) == SONDE_OK) {
		switch (field_key(&field)) {
		case FIXED64_FIELD(EVENT_TIME):
			note->time_ns = field.value;
			break;
		case BYTES_FIELD(EVENT_NAME):
			status = read_text(request, &field, &note->name, err);
			break;
		case BYTES_FIELD(EVENT_ATTRIBUTES):
			status = read_attribute(request, &field, &note->attributes, err);
			break;
		case VARINT_FIELD(EVENT_DROPPED):
			note->dropped = (uint32_t)field.value;
			break;
		default:
			break;
		}
		if (status < 0)
			return status;
	}
	return whole(status);
}

static enum sonde_status read_link(struct otlp_request *request, struct sonde_bytes bytes,
				   struct otlp_note *note, struct sonde_error *err)
{
	struct sonde_protobuf_field field;
	enum sonde_status status;

	while ((status = sonde_protobuf_next(&bytes, &field, err)) == SONDE_OK) {
		switch (field_key(&field)) {
		case BYTES_FIELD(LINK_TRACE_ID):
			note->trace_id = raw_text(&field);
			break;
		case BYTES_FIELD(LINK_SPAN_ID):
			note->span_id = raw_text(&field);
			break;
		case BYTES_FIELD(LINK_TRACE_STATE):
			status = read_text(request, &field, &note->trace_state, err);
			break;
		case BYTES_FIELD(LINK_ATTRIBUTES):
			status = read_attribute(request, &field, &note->attributes, err);
			break;
		case VARINT_FIELD(LINK_DROPPED):
			note->dropped = (uint32_t)field.value;
			break;
		case FIXED32_FIELD(LINK_FLAGS):
			note->flags = (uint32_t)field.value;
			break;
		default:
			break;
		}
		if (status < 0)
			return status;
	}
	return whole(status);
}

/* An event or a link of a span, whose list it joins. */
static enum sonde_status read_note(struct otlp_request *request,
				   const struct sonde_protobuf_field *field,
				   enum otlp_note_kind kind, struct otlp_list *list,
				   struct sonde_error *err)
{
	enum sonde_status status;
	uint32_t position;

	status = otlp_add_note(request, list, &position, err);
	if (status < 0)
		return status;
	/* no other note is added meanwhile, so it does not move */
	return kind == OTLP_EVENT ?
		       read_event(request, field->bytes, &request->notes.items[position], err) :
		       read_link(request, field->bytes, &request->notes.items[position], err);
}

static enum sonde_status read_span_status(struct otlp_request *request, struct sonde_bytes bytes,
					  struct otlp_span *span, struct sonde_error *err)
{
	struct sonde_protobuf_field field;
	enum sonde_status status;

	while ((status = sonde_protobuf_next(&bytes, &field, err)) == SONDE_OK) {
		if (field_key(&field) == BYTES_FIELD(STATUS_MESSAGE))
			status = read_text(request, &field, &span->status_message, err);
		else if (field_key(&field) == VARINT_FIELD(STATUS_CODE))
			span->status_code = (uint32_t)field.value;
		if (status < 0)
			return status;
	}
	return whole(status);
}

/* Fields that are numbers; false for others. */
static bool read_span_number(struct otlp_span *span, const struct sonde_protobuf_field *field)
{
	switch (field_key(field)) {
	case VARINT_FIELD(SPAN_KIND):
		span->kind = (uint32_t)field->value;
		return true;
	case FIXED64_FIELD(SPAN_START):
		span->start_ns = field->value;
		return true;
	case FIXED64_FIELD(SPAN_END):
		span->end_ns = field->value;
		return true;
	case VARINT_FIELD(SPAN_DROPPED_ATTRIBUTES):
		span->dropped_attributes = (uint32_t)field->value;
		return true;
	case VARINT_FIELD(SPAN_DROPPED_EVENTS):
		span->dropped_events = (uint32_t)field->value;
		return true;
	case VARINT_FIELD(SPAN_DROPPED_LINKS):
		span->dropped_links = (uint32_t)field->value;
		return true;
	case FIXED32_FIELD(SPAN_FLAGS):
		span->flags = (uint32_t)field->value;
		return true;
	default:
		return false;
	}
}

static enum sonde_status read_span_field(struct otlp_request *request, struct otlp_span *span,
					 struct otlp_span_ids *ids,
					 const struct sonde_protobuf_field *field,
					 struct sonde_error *err)
{
	if (read_span_number(span, field))
		return SONDE_OK;
	switch (field_key(field)) {
	case BYTES_FIELD(SPAN_TRACE_ID):
		ids->trace = raw_text(field);
		return SONDE_OK;
	case BYTES_FIELD(SPAN_ID):
		ids->span = raw_text(field);
		return SONDE_OK;
	case BYTES_FIELD(SPAN_PARENT_ID):
		ids->parent = raw_text(field);
		return SONDE_OK;
	case BYTES_FIELD(SPAN_TRACE_STATE):
		return read_text(request, field, &span->trace_state, err);
	case BYTES_FIELD(SPAN_NAME):
		return read_text(request, field, &span->name, err);
	case BYTES_FIELD(SPAN_ATTRIBUTES):
		return read_attribute(request, field, &span->attributes, err);
	case BYTES_FIELD(SPAN_EVENTS):
		return read_note(request, field, OTLP_EVENT, &span->events, err);
	case BYTES_FIELD(SPAN_LINKS):
		return read_note(request, field, OTLP_LINK, &span->links, err);
	case BYTES_FIELD(SPAN_STATUS):
		return read_span_status(request, field->bytes, span, err);
	default:
		return SONDE_OK;
	}
}

static enum sonde_status read_span(struct otlp_request *request, struct sonde_bytes bytes,
				   uint32_t scope, struct sonde_error *err)
{
	struct otlp_span span = {
		.scope = scope,
		.attributes = OTLP_EMPTY_LIST,
		.events = OTLP_EMPTY_LIST,
		.links = OTLP_EMPTY_LIST,
	};
	struct otlp_span_ids ids = { 0 };
	struct sonde_protobuf_field field;
	enum sonde_status status;

	status = otlp_check_texts(request, err);
	if (status < 0)
		return status;
	while ((status = sonde_protobuf_next(&bytes, &field, err)) == SONDE_OK) {
		status = read_span_field(request, &span, &ids, &field, err);
		if (status < 0)
			return status;
	}
	status = whole(status);
	return status < 0 ? status : otlp_add_span(request, &span, &ids, err);
}

static enum sonde_status read_scope(struct otlp_request *request, struct sonde_bytes bytes,
				    struct otlp_scope *scope, struct sonde_error *err)
{
	struct sonde_protobuf_field field;
	enum sonde_status status;

	while ((status = sonde_protobuf_next(&bytes, &field, err)) == SONDE_OK) {
		if (field_key(&field) == BYTES_FIELD(SCOPE_NAME))
			status = read_text(request, &field, &scope->name, err);
		else if (field_key(&field) == BYTES_FIELD(SCOPE_VERSION))
			status = read_text(request, &field, &scope->version, err);
		else if (field_key(&field) == BYTES_FIELD(SCOPE_ATTRIBUTES))
			status = read_attribute(request, &field, &scope->attributes, err);
		else if (field_key(&field) == VARINT_FIELD(SCOPE_DROPPED))
			scope->dropped = (uint32_t)field.value;
		if (status < 0)
			return status;
	}
	return whole(status);
}

static enum sonde_status read_scope_spans(struct otlp_request *request, struct sonde_bytes bytes,
					  uint32_t resource, struct sonde_error *err)
{
	struct sonde_protobuf_field field;
	enum sonde_status status;
	uint32_t scope;

	status = otlp_add_scope(request, resource, &scope, err);
	if (status < 0)
		return status;
	while ((status = sonde_protobuf_next(&bytes, &field, err)) == SONDE_OK) {
		struct otlp_scope *place = &request->scopes.items[scope];

		if (field_key(&field) == BYTES_FIELD(GROUP_HEAD))
			status = read_scope(request, field.bytes, place, err);
		else if (field_key(&field) == BYTES_FIELD(GROUP_ITEMS))
			status = read_span(request, field.bytes, scope, err);
		else if (field_key(&field) == BYTES_FIELD(GROUP_SCHEMA_URL))
			status = read_text(request, &field, &place->schema_url, err);
		if (status < 0)
			return status;
	}
	return whole(status);
}

static enum sonde_status read_resource(struct otlp_request *request, struct sonde_bytes bytes,
				       struct otlp_resource *resource, struct sonde_error *err)
{
	struct sonde_protobuf_field field;
	enum sonde_status status;

	while ((status = sonde_protobuf_next(&bytes, &field, err)) == SONDE_OK) {
		if (field_key(&field) == BYTES_FIELD(RESOURCE_ATTRIBUTES))
			status = read_attribute(request, &field, &resource->attributes, err);
		else if (field_key(&field) == VARINT_FIELD(RESOURCE_DROPPED))
			resource->dropped = (uint32_t)field.value;
		if (status < 0)
			return status;
	}
	return whole(status);
}

static enum sonde_status read_resource_spans(struct otlp_request *request, struct sonde_bytes bytes,
					     struct sonde_error *err)
{
	struct sonde_protobuf_field field;
	enum sonde_status status;
	uint32_t resource;

	status = otlp_add_resource(request, &resource, err);
	if (status < 0)
		return status;
	while ((status = sonde_protobuf_next(&bytes, &field, err)) == SONDE_OK) {
		struct otlp_resource *place = &request->resources.items[resource];

		if (field_key(&field) == BYTES_FIELD(GROUP_HEAD))
			status = read_resource(request, field.bytes, place, err);
		else if (field_key(&field) == BYTES_FIELD(GROUP_ITEMS))
			status = read_scope_spans(request, field.bytes, resource, err);
		else if (field_key(&field) == BYTES_FIELD(GROUP_SCHEMA_URL))
			status = read_text(request, &field, &place->schema_url, err);
		if (status < 0)
			return status;
	}
	return whole(status);
}

enum sonde_status otlp_read_protobuf(struct otlp_request *request, const void *body, size_t size,
				     struct sonde_error *err)
{
	struct sonde_bytes bytes = sonde_bytes_of(body, size);
	struct sonde_protobuf_field field;
	enum sonde_status status;

	while ((status = sonde_protobuf_next(&bytes, &field, err)) == SONDE_OK) {
		if (field_key(&field) != BYTES_FIELD(REQUEST_RESOURCE_SPANS))
			continue;
		status = read_resource_spans(request, field.bytes, err);
		if (status < 0)
			return status;
	}
	status = whole(status);
	return status < 0 ? status : otlp_check_texts(request, err);
}
