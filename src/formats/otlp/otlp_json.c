/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OTLP trace requests in JSON: names in camelCase, ids in hexadecimal, numbers of 64 bits as texts
 * or numbers, bytes in base64. Members that are not known here are passed over.
 */
#include <errno.h>
#include <math.h>

#include "base/base64.h"
#include "base/hex.h"
#include "base/json.h"
#include "formats/otlp/otlp.h"

/*
 * Objects and arrays around a value of an attribute of an event, and those of one level of a map.
 */
#define DEPTH_AROUND 14u
#define DEPTH_OF_LEVEL 4u

struct reading {
	struct sonde_json_reader json;
	struct otlp_request *request;
	struct sonde_error *err;
};

/* What a member is read into. */
typedef enum sonde_status read_member(struct reading *reading, void *target);

static enum sonde_status next(struct reading *reading)
{
	return sonde_json_next(&reading->json, reading->err);
}

static bool key_is(const struct reading *reading, const char *name)
{
	return reading->json.length == strlen(name) &&
	       !memcmp(reading->json.text, name, reading->json.length);
}

static enum sonde_status unexpected(struct reading *reading, const char *wanted)
{
	return sonde_fail(reading->err, SONDE_CORRUPT, reading->json.offset,
			  "%s was expected in the JSON request, something else was found", wanted);
}

/*
 * The members of an object whose beginning is the present token, one call of `member` each with the
 * key as present token; it must read or skip the value.
 */
static enum sonde_status read_members(struct reading *reading, read_member *member, void *target)
{
	enum sonde_status status;

	for (;;) {
		status = next(reading);
		if (status < 0 || reading->json.token == SONDE_JSON_OBJECT_END)
			return status;
		status = member(reading, target);
		if (status < 0)
			return status;
	}
}

/* Likewise of the object that comes next. null is an object without members. */
static enum sonde_status read_object(struct reading *reading, read_member *member, void *target)
{
	enum sonde_status status = next(reading);

	if (status < 0 || reading->json.token == SONDE_JSON_NULL)
		return status;
	if (reading->json.token != SONDE_JSON_OBJECT_BEGIN)
		return unexpected(reading, "an object");
	return read_members(reading, member, target);
}

/* Every object in the array that comes next: `item` is called behind its beginning. */
static enum sonde_status read_array(struct reading *reading, read_member *item, void *target)
{
	enum sonde_status status = next(reading);

	if (status < 0 || reading->json.token == SONDE_JSON_NULL)
		return status;
	if (reading->json.token != SONDE_JSON_ARRAY_BEGIN)
		return unexpected(reading, "an array");
	for (;;) {
		status = next(reading);
		if (status < 0 || reading->json.token == SONDE_JSON_ARRAY_END)
			return status;
		if (reading->json.token != SONDE_JSON_OBJECT_BEGIN)
			return unexpected(reading, "an object");
		status = item(reading, target);
		if (status < 0)
			return status;
	}
}

static enum sonde_status skip(struct reading *reading)
{
	return sonde_json_skip(&reading->json, reading->err);
}

/* The next value, a text: *is_null where there is none. Borrowed from the body or the arena. */
static enum sonde_status read_raw_text(struct reading *reading, struct otlp_text *text)
{
	enum sonde_status status = next(reading);
	const struct sonde_json_reader *json = &reading->json;

	*text = (struct otlp_text){ "", 0 };
	if (status < 0 || json->token == SONDE_JSON_NULL)
		return status;
	if (json->token != SONDE_JSON_STRING)
		return unexpected(reading, "a text");
	*text = (struct otlp_text){ json->text, json->length };
	if (sonde_json_is_borrowed(json))
		return SONDE_OK;
	text->data = sonde_arena_copy_text(&reading->request->arena, json->text, json->length);
	return text->data ? SONDE_OK : sonde_fail_nomem(reading->err);
}

static enum sonde_status read_text(struct reading *reading, struct otlp_text *text)
{
	enum sonde_status status = read_raw_text(reading, text);

	if (status >= 0)
		otlp_limit_text(reading->request, text);
	return status;
}

/*
 * An id: its bytes; where it is no hexadecimal number, one byte, which is the wrong size for any.
 */
static enum sonde_status read_id(struct reading *reading, struct otlp_text *id)
{
	enum sonde_status status = read_raw_text(reading, id);
	struct otlp_text text = *id;
	char *bytes;

	if (status < 0 || !text.size)
		return status;
	*id = (struct otlp_text){ "", 1 };
	if (text.size > 64 || text.size % 2)
		return SONDE_OK;
	bytes = sonde_arena_copy_text(&reading->request->arena, text.data, text.size / 2);
	if (!bytes)
		return sonde_fail_nomem(reading->err);
	for (size_t i = 0; i < text.size; i += 2) {
		int high = sonde_hex_digit((unsigned char)text.data[i]);
		int low = sonde_hex_digit((unsigned char)text.data[i + 1]);

		if (high < 0 || low < 0)
			return SONDE_OK;
		bytes[i / 2] = (char)(high << 4 | low);
	}
	*id = (struct otlp_text){ bytes, text.size / 2 };
	return SONDE_OK;
}

/* --- numbers --- */

/* The next value, a number or a text with one, NUL-terminated in `space`; "" for null. */
static enum sonde_status read_digits(struct reading *reading, char *space, size_t size)
{
	enum sonde_status status = next(reading);
	const struct sonde_json_reader *json = &reading->json;

	space[0] = 0;
	if (status < 0 || json->token == SONDE_JSON_NULL)
		return status;
	if ((json->token != SONDE_JSON_STRING && json->token != SONDE_JSON_NUMBER) ||
	    !json->length || json->length >= size)
		return unexpected(reading, "a number");
	memcpy(space, json->text, json->length);
	space[json->length] = 0;
	return SONDE_OK;
}

/* "NaN", "Infinity" and "-Infinity" are texts that strtod() knows too. */
static enum sonde_status read_double(struct reading *reading, double *value)
{
	char space[512], *end;
	enum sonde_status status = read_digits(reading, space, sizeof(space));

	*value = 0;
	if (status < 0 || !space[0])
		return status;
	*value = strtod(space, &end);
	return *end || end == space ? unexpected(reading, "a number") : SONDE_OK;
}

static bool is_whole_number(const char *text)
{
	text += *text == '-';
	if (!*text)
		return false;
	while (*text >= '0' && *text <= '9')
		text++;
	return !*text;
}

static enum sonde_status read_u64(struct reading *reading, uint64_t *value)
{
	char space[64], *end;
	enum sonde_status status = read_digits(reading, space, sizeof(space));
	double real;

	*value = 0;
	if (status < 0 || !space[0])
		return status;
	if (is_whole_number(space) && space[0] != '-') {
		errno = 0;
		*value = strtoull(space, NULL, 10);
		return errno ? unexpected(reading, "a number of 64 bits") : SONDE_OK;
	}
	real = strtod(space, &end);
	if (*end || !(real >= 0 && real < 0x1p64) || real != trunc(real))
		return unexpected(reading, "a whole number that is not negative");
	*value = (uint64_t)real;
	return SONDE_OK;
}

static enum sonde_status read_u32(struct reading *reading, uint32_t *value)
{
	uint64_t number;
	enum sonde_status status = read_u64(reading, &number);

	*value = (uint32_t)number;
	if (status >= 0 && number > UINT32_MAX)
		return unexpected(reading, "a number of 32 bits");
	return status;
}

/* A number, or one of `names` (ends with NULL), whose place is the number. */
static enum sonde_status read_enum(struct reading *reading, const char *const *names,
				   uint32_t *value)
{
	struct sonde_json_reader *json = &reading->json;
	enum sonde_status status = next(reading);
	uint64_t number;

	*value = 0;
	if (status < 0 || json->token == SONDE_JSON_NULL)
		return status;
	if (json->token == SONDE_JSON_NUMBER && sonde_json_u64(json, &number) &&
	    number <= UINT32_MAX) {
		*value = (uint32_t)number;
		return SONDE_OK;
	}
	for (uint32_t i = 0; json->token == SONDE_JSON_STRING && names[i]; i++) {
		if (strlen(names[i]) == json->length &&
		    !memcmp(names[i], json->text, json->length)) {
			*value = i;
			return SONDE_OK;
		}
	}
	return unexpected(reading, "the number or the name of a kind or status");
}

/* --- values --- */

struct value_target {
	uint32_t position; /* in request->values */
	unsigned int depth;
};

static struct otlp_value *target_value(struct reading *reading, const struct value_target *target)
{
	return &reading->request->values.items[target->position];
}

struct list_target {
	struct otlp_list list;
	unsigned int depth;
	bool has_keys;
};

static enum sonde_status value_member(struct reading *reading, void *target);

/* A pair's "key" and "value". */
static enum sonde_status pair_member(struct reading *reading, void *target)
{
	struct otlp_text key;
	enum sonde_status status;

	if (key_is(reading, "value"))
		return read_object(reading, value_member, target);
	if (!key_is(reading, "key"))
		return skip(reading);
	status = read_text(reading, &key);
	target_value(reading, target)->key = key;
	return status;
}

static enum sonde_status list_item(struct reading *reading, void *target)
{
	struct list_target *list = target;
	struct value_target item = { .depth = list->depth };
	enum sonde_status status;

	status = otlp_add_value(reading->request, &list->list, &item.position, reading->err);
	if (status < 0)
		return status;
	return read_members(reading, list->has_keys ? pair_member : value_member, &item);
}

static enum sonde_status list_member(struct reading *reading, void *target)
{
	return key_is(reading, "values") ? read_array(reading, list_item, target) : skip(reading);
}

static enum sonde_status read_list(struct reading *reading, struct value_target *target,
				   bool has_keys)
{
	struct list_target list = { .list = OTLP_EMPTY_LIST,
				    .depth = target->depth + 1,
				    .has_keys = has_keys };
	enum sonde_status status;

	if (target->depth == OTLP_NESTING)
		return sonde_fail(reading->err, SONDE_LIMIT, reading->json.offset,
				  "a value with more than %u arrays and maps in each other",
				  OTLP_NESTING);
	status = read_object(reading, list_member, &list);
	if (status < 0 || reading->json.token == SONDE_JSON_NULL)
		return status;
	target_value(reading, target)->kind = has_keys ? OTLP_MAP : OTLP_ARRAY;
	target_value(reading, target)->first = list.list.first;
	return SONDE_OK;
}

/*
 * Also 1e3 and 5.0, which are whole numbers to JSON. What does not fit into 64 bits stays what it
 * is, as a double: the SDK of JavaScript sends 1e300 as an "intValue".
 */
static enum sonde_status read_int(struct reading *reading, struct otlp_value *value)
{
	char space[512], *end;
	enum sonde_status status = read_digits(reading, space, sizeof(space));

	value->kind = OTLP_INT;
	value->number = 0;
	if (status < 0 || !space[0])
		return status;
	if (is_whole_number(space)) {
		errno = 0;
		value->number = strtoll(space, NULL, 10);
		if (!errno)
			return SONDE_OK;
	}
	value->real = strtod(space, &end);
	if (*end || end == space)
		return unexpected(reading, "a number");
	if (value->real == trunc(value->real) && fabs(value->real) < 0x1p63)
		value->number = (int64_t)value->real;
	else
		value->kind = OTLP_DOUBLE;
	return SONDE_OK;
}

static enum sonde_status read_bool(struct reading *reading, int64_t *value)
{
	enum sonde_status status = next(reading);

	*value = reading->json.token == SONDE_JSON_TRUE;
	if (status < 0 || *value || reading->json.token == SONDE_JSON_FALSE ||
	    reading->json.token == SONDE_JSON_NULL)
		return status;
	return unexpected(reading, "true or false");
}

static enum sonde_status read_base64(struct reading *reading, struct otlp_text *bytes)
{
	struct otlp_text text;
	enum sonde_status status = read_raw_text(reading, &text);
	uint8_t *space;
	size_t used;

	*bytes = (struct otlp_text){ "", 0 };
	if (status < 0 || !text.size)
		return status;
	space = sonde_arena_take(&reading->request->arena, sonde_base64_size(text.data, text.size));
	if (!space)
		return sonde_fail_nomem(reading->err);
	bytes->size = sonde_base64_decode(text.data, text.size, space, &used);
	bytes->data = (const char *)space;
	if (used != text.size)
		return unexpected(reading, "base64");
	otlp_limit_text(reading->request, bytes);
	return SONDE_OK;
}

static enum sonde_status value_member(struct reading *reading, void *target)
{
	struct otlp_value read = { 0 }, *value;
	enum sonde_status status;

	if (key_is(reading, "stringValue")) {
		read.kind = OTLP_STRING;
		status = read_text(reading, &read.text);
	} else if (key_is(reading, "intValue")) {
		status = read_int(reading, &read);
	} else if (key_is(reading, "boolValue")) {
		read.kind = OTLP_BOOL;
		status = read_bool(reading, &read.number);
	} else if (key_is(reading, "doubleValue")) {
		read.kind = OTLP_DOUBLE;
		status = read_double(reading, &read.real);
	} else if (key_is(reading, "bytesValue")) {
		read.kind = OTLP_BYTES;
		status = read_base64(reading, &read.text);
	} else if (key_is(reading, "arrayValue")) {
		return read_list(reading, target, false);
	} else if (key_is(reading, "kvlistValue")) {
		return read_list(reading, target, true);
	} else {
		return skip(reading);
	}
	/* "stringValue": null says nothing */
	if (status < 0 || reading->json.token == SONDE_JSON_NULL)
		return status;
	value = target_value(reading, target);
	read.next = value->next;
	read.key = value->key;
	*value = read;
	return SONDE_OK;
}

static enum sonde_status read_attributes(struct reading *reading, struct otlp_list *attributes)
{
	struct list_target target = { .list = *attributes, .has_keys = true };
	enum sonde_status status = read_array(reading, list_item, &target);

	*attributes = target.list;
	return status;
}

/* --- spans --- */

static enum sonde_status note_id(struct reading *reading, struct otlp_text *id, size_t size)
{
	enum sonde_status status = read_id(reading, id);

	if (status < 0 || !id->size || id->size == size)
		return status;
	id->size = 0;
	otlp_say_mended(reading->request, "a link has an id of the wrong size; it was left out");
	return SONDE_OK;
}

static enum sonde_status note_member(struct reading *reading, void *target)
{
	struct otlp_note *note = target;

	if (key_is(reading, "timeUnixNano"))
		return read_u64(reading, &note->time_ns);
	if (key_is(reading, "name"))
		return read_text(reading, &note->name);
	if (key_is(reading, "traceId"))
		return note_id(reading, &note->trace_id, 16);
	if (key_is(reading, "spanId"))
		return note_id(reading, &note->span_id, 8);
	if (key_is(reading, "traceState"))
		return read_text(reading, &note->trace_state);
	if (key_is(reading, "flags"))
		return read_u32(reading, &note->flags);
	if (key_is(reading, "attributes"))
		return read_attributes(reading, &note->attributes);
	if (key_is(reading, "droppedAttributesCount"))
		return read_u32(reading, &note->dropped);
	return skip(reading);
}

static enum sonde_status note_item(struct reading *reading, void *target)
{
	enum sonde_status status;
	uint32_t position;

	status = otlp_add_note(reading->request, target, &position, reading->err);
	if (status < 0)
		return status;
	/* no other note is added meanwhile, so it does not move */
	return read_members(reading, note_member, &reading->request->notes.items[position]);
}

struct span_target {
	struct otlp_span span;
	struct otlp_span_ids ids;
};

static enum sonde_status status_member(struct reading *reading, void *target)
{
	static const char *const names[] = { "STATUS_CODE_UNSET", "STATUS_CODE_OK",
					     "STATUS_CODE_ERROR", NULL };
	struct otlp_span *span = target;

	if (key_is(reading, "message"))
		return read_text(reading, &span->status_message);
	if (key_is(reading, "code"))
		return read_enum(reading, names, &span->status_code);
	return skip(reading);
}

/* Members that count what is missing, and flags. SONDE_END where it is none of them. */
static enum sonde_status count_member(struct reading *reading, struct otlp_span *span)
{
	if (key_is(reading, "flags"))
		return read_u32(reading, &span->flags);
	if (key_is(reading, "droppedAttributesCount"))
		return read_u32(reading, &span->dropped_attributes);
	if (key_is(reading, "droppedEventsCount"))
		return read_u32(reading, &span->dropped_events);
	if (key_is(reading, "droppedLinksCount"))
		return read_u32(reading, &span->dropped_links);
	return SONDE_END;
}

static enum sonde_status span_member(struct reading *reading, void *target)
{
	static const char *const kinds[] = { "SPAN_KIND_UNSPECIFIED",
					     "SPAN_KIND_INTERNAL",
					     "SPAN_KIND_SERVER",
					     "SPAN_KIND_CLIENT",
					     "SPAN_KIND_PRODUCER",
					     "SPAN_KIND_CONSUMER",
					     NULL };
	struct span_target *span_target = target;
	struct otlp_span_ids *ids = &span_target->ids;
	struct otlp_span *span = &span_target->span;
	enum sonde_status status;

	if (key_is(reading, "traceId"))
		return read_id(reading, &ids->trace);
	if (key_is(reading, "spanId"))
		return read_id(reading, &ids->span);
	if (key_is(reading, "parentSpanId"))
		return read_id(reading, &ids->parent);
	if (key_is(reading, "name"))
		return read_text(reading, &span->name);
	if (key_is(reading, "kind"))
		return read_enum(reading, kinds, &span->kind);
	if (key_is(reading, "startTimeUnixNano"))
		return read_u64(reading, &span->start_ns);
	if (key_is(reading, "endTimeUnixNano"))
		return read_u64(reading, &span->end_ns);
	if (key_is(reading, "attributes"))
		return read_attributes(reading, &span->attributes);
	if (key_is(reading, "events"))
		return read_array(reading, note_item, &span->events);
	if (key_is(reading, "links"))
		return read_array(reading, note_item, &span->links);
	if (key_is(reading, "status"))
		return read_object(reading, status_member, span);
	if (key_is(reading, "traceState"))
		return read_text(reading, &span->trace_state);
	status = count_member(reading, span);
	return status == SONDE_END ? skip(reading) : status;
}

/* --- resources and scopes --- */

struct group_target {
	uint32_t resource, scope;
};

static enum sonde_status span_item(struct reading *reading, void *target)
{
	const struct group_target *group = target;
	struct span_target span = {
		.span = { .scope = group->scope,
			  .attributes = OTLP_EMPTY_LIST,
			  .events = OTLP_EMPTY_LIST,
			  .links = OTLP_EMPTY_LIST },
	};
	enum sonde_status status = otlp_check_texts(reading->request, reading->err);

	if (status >= 0)
		status = read_members(reading, span_member, &span);
	if (status < 0)
		return status;
	return otlp_add_span(reading->request, &span.span, &span.ids, reading->err);
}

static enum sonde_status scope_member(struct reading *reading, void *target)
{
	const struct group_target *group = target;
	struct otlp_scope *scope = &reading->request->scopes.items[group->scope];

	if (key_is(reading, "name"))
		return read_text(reading, &scope->name);
	if (key_is(reading, "version"))
		return read_text(reading, &scope->version);
	if (key_is(reading, "attributes"))
		return read_attributes(reading, &scope->attributes);
	if (key_is(reading, "droppedAttributesCount"))
		return read_u32(reading, &scope->dropped);
	return skip(reading);
}

static enum sonde_status scope_spans_member(struct reading *reading, void *target)
{
	const struct group_target *group = target;

	if (key_is(reading, "spans"))
		return read_array(reading, span_item, target);
	if (key_is(reading, "scope"))
		return read_object(reading, scope_member, target);
	if (key_is(reading, "schemaUrl"))
		return read_text(reading, &reading->request->scopes.items[group->scope].schema_url);
	return skip(reading);
}

static enum sonde_status scope_spans_item(struct reading *reading, void *target)
{
	struct group_target group = *(const struct group_target *)target;
	enum sonde_status status;

	status = otlp_add_scope(reading->request, group.resource, &group.scope, reading->err);
	return status < 0 ? status : read_members(reading, scope_spans_member, &group);
}

static enum sonde_status resource_member(struct reading *reading, void *target)
{
	const struct group_target *group = target;
	struct otlp_resource *resource = &reading->request->resources.items[group->resource];

	if (key_is(reading, "attributes"))
		return read_attributes(reading, &resource->attributes);
	if (key_is(reading, "droppedAttributesCount"))
		return read_u32(reading, &resource->dropped);
	return skip(reading);
}

static enum sonde_status resource_spans_member(struct reading *reading, void *target)
{
	const struct group_target *group = target;

	if (key_is(reading, "scopeSpans"))
		return read_array(reading, scope_spans_item, target);
	if (key_is(reading, "resource"))
		return read_object(reading, resource_member, target);
	if (key_is(reading, "schemaUrl"))
		return read_text(reading,
				 &reading->request->resources.items[group->resource].schema_url);
	return skip(reading);
}

static enum sonde_status resource_spans_item(struct reading *reading, void *target)
{
	struct group_target group = { 0 };
	enum sonde_status status;

	(void)target;
	status = otlp_add_resource(reading->request, &group.resource, reading->err);
	return status < 0 ? status : read_members(reading, resource_spans_member, &group);
}

static enum sonde_status request_member(struct reading *reading, void *target)
{
	return key_is(reading, "resourceSpans") ? read_array(reading, resource_spans_item, target) :
						  skip(reading);
}

enum sonde_status otlp_read_json(struct otlp_request *request, const void *body, size_t size,
				 struct sonde_error *err)
{
	struct reading reading = { .request = request, .err = err };
	enum sonde_status status;

	sonde_json_reader_init(&reading.json, body ? body : "", size, NULL, NULL);
	sonde_json_reader_borrow(&reading.json);
	reading.json.keeps_nul = true;
	reading.json.depth_limit = DEPTH_AROUND + (OTLP_NESTING + 1) * DEPTH_OF_LEVEL;
	_Static_assert(DEPTH_AROUND + (OTLP_NESTING + 1) * DEPTH_OF_LEVEL <= SONDE_JSON_MOST_DEPTH,
		       "values may nest as deep as the limit says");
	status = read_object(&reading, request_member, NULL);
	if (status >= 0 && reading.json.token == SONDE_JSON_NULL)
		status = unexpected(&reading, "an object");
	if (status >= 0)
		status = next(&reading); /* nothing may follow */
	if (status >= 0)
		status = otlp_check_texts(request, err);
	sonde_json_reader_release(&reading.json);
	return status;
}
