/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trees of spans into a store: which names, attributes and exceptions a record gets for a span.
 * What OTLP has and ZTS has no place for becomes attributes with reserved names, listed here.
 */
#include <stdio.h>

#include "base/cbor.h"
#include "base/map.h"
#include "base/uuid.h"
#include "formats/zts/zts_put_value.h"
#include "store/otlp_write.h"

/* Attributes that we make. A span's own attribute of such a name gets USER_PREFIX before it. */
#define RESERVED_LIST(X)                                                                           \
	X(DTRACE_UUID, "DTRACE_UUID")                                                              \
	X(STATUS_CODE, "otel.status_code")                                                         \
	X(STATUS_DESCRIPTION, "otel.status_description")                                           \
	X(SCOPE_NAME, "otel.scope.name")                                                           \
	X(SCOPE_VERSION, "otel.scope.version")                                                     \
	X(SCOPE_ATTRIBUTES, "otel.scope.attributes")                                               \
	X(SCOPE_DROPPED, "otel.scope.dropped_attributes_count")                                    \
	X(SCOPE_SCHEMA_URL, "otel.scope.schema_url")                                               \
	X(RESOURCE_DROPPED, "otel.resource.dropped_attributes_count")                              \
	X(RESOURCE_SCHEMA_URL, "otel.resource.schema_url")                                         \
	X(END_TIME, "otel.end_time_ns")                                                            \
	X(KIND, "otel.span_kind")                                                                  \
	X(EVENTS, "events")                                                                        \
	X(LINKS, "links")                                                                          \
	X(TRACE_STATE, "trace_state")                                                              \
	X(FLAGS, "flags")                                                                          \
	X(DROPPED_ATTRIBUTES, "dropped_attributes_count")                                          \
	X(DROPPED_EVENTS, "dropped_events_count")                                                  \
	X(DROPPED_LINKS, "dropped_links_count")                                                    \
	X(NS, ZTS_NS_ATTRIBUTE)

enum reserved {
#define X(name, text) RESERVED_##name,
	RESERVED_LIST(X)
#undef X
		RESERVED_COUNT
};

static const char *const reserved_names[] = {
#define X(name, text) text,
	RESERVED_LIST(X)
#undef X
};

#define USER_PREFIX "attribute."
#define RESOURCE_PREFIX "resource." /* where the span has an attribute of the same name */

#define MOST_FRAMES 1024 /* of a stack; the whole text is in the event */

/* An attribute of a resource or scope, ready for every tree. */
struct prepared {
	uint32_t key;
	uint32_t conflict; /* the last root that had an attribute of that name, plus one */
	struct otlp_text name;
	struct zts_value value;
	size_t cbor; /* where its bytes are in writing->prepared_cbor */
};

struct writing {
	const struct otlp_request *request;
	struct zts_writer *writer;
	struct sonde_buffer cbor, text;
	uint32_t reserved[RESERVED_COUNT]; /* text ids; 0: not asked for yet */
	SONDE_VEC(struct prepared) resource;
	struct sonde_key_map resource_keys; /* text id to its place in `resource` */
	uint32_t resource_position;	    /* whose attributes those are */
	struct sonde_buffer prepared_cbor;
	uint32_t app, env, host, resource_schema_url;
	uint32_t scope_position; /* whose these are */
	uint32_t scope_name, scope_version, scope_schema_url;
	struct sonde_buffer scope_cbor;
};

static uint32_t intern(struct writing *writing, struct otlp_text text)
{
	return zts_writer_text(writing->writer, ZTS_TEXT_STRING, text.data, text.size);
}

static uint32_t intern_literal(struct writing *writing, const char *text)
{
	return zts_writer_text(writing->writer, ZTS_TEXT_STRING, text, strlen(text));
}

static uint32_t reserved_key(struct writing *writing, enum reserved reserved)
{
	if (!writing->reserved[reserved])
		writing->reserved[reserved] = intern_literal(writing, reserved_names[reserved]);
	return writing->reserved[reserved];
}

static uint32_t intern_prefixed(struct writing *writing, const char *prefix, struct otlp_text text)
{
	sonde_buffer_clear(&writing->text);
	sonde_buffer_put_text(&writing->text, prefix);
	sonde_buffer_put(&writing->text, text.data, text.size);
	return intern(writing, (struct otlp_text){ writing->text.data, writing->text.size });
}

/* The key of an attribute that came from outside. */
static uint32_t intern_key(struct writing *writing, struct otlp_text key)
{
	for (size_t i = 0; i < RESERVED_COUNT; i++)
		if (otlp_text_is(&key, reserved_names[i]))
			return intern_prefixed(writing, USER_PREFIX, key);
	return intern(writing, key);
}

/* --- values --- */

static void put_string(struct writing *writing, struct sonde_buffer *cbor, struct otlp_text text)
{
	zts_put_text_id(cbor, intern(writing, text));
}

static void put_key(struct writing *writing, struct sonde_buffer *cbor, const char *key)
{
	zts_put_text_id(cbor, intern_literal(writing, key));
}

static uint64_t count_values(const struct otlp_request *request, uint32_t first)
{
	uint64_t count = 0;

	for (uint32_t at = first; at != SONDE_NONE; at = request->values.items[at].next)
		count++;
	return count;
}

static void put_value(struct writing *writing, struct sonde_buffer *cbor,
		      const struct otlp_value *value);

static void put_list(struct writing *writing, struct sonde_buffer *cbor, uint32_t first,
		     bool has_keys)
{
	const struct otlp_request *request = writing->request;

	sonde_cbor_put_head(cbor, has_keys ? SONDE_CBOR_MAP : SONDE_CBOR_ARRAY,
			    count_values(request, first));
	for (uint32_t at = first; at != SONDE_NONE; at = request->values.items[at].next) {
		if (has_keys)
			put_string(writing, cbor, request->values.items[at].key);
		put_value(writing, cbor, &request->values.items[at]);
	}
}

/* Nests no deeper than the decoders let it. */
static void put_value(struct writing *writing, struct sonde_buffer *cbor,
		      const struct otlp_value *value)
{
	switch (value->kind) {
	case OTLP_NULL:
		sonde_cbor_put_simple(cbor, 22);
		break;
	case OTLP_STRING:
		put_string(writing, cbor, value->text);
		break;
	case OTLP_BOOL:
		sonde_cbor_put_simple(cbor, value->number ? 21 : 20);
		break;
	case OTLP_INT:
		sonde_cbor_put_int(cbor, value->number);
		break;
	case OTLP_DOUBLE:
		zts_put_double(writing->writer, cbor, value->real);
		break;
	case OTLP_ARRAY:
	case OTLP_MAP:
		put_list(writing, cbor, value->first, value->kind == OTLP_MAP);
		break;
	case OTLP_BYTES:
		zts_put_bytes(writing->writer, cbor, &writing->text, value->text.data,
			      value->text.size);
		break;
	}
}

/* What the writer takes; bytes of CBOR are appended to `cbor`, and *offset says where. */
static struct zts_value make_value(struct writing *writing, const struct otlp_value *value,
				   struct sonde_buffer *cbor, size_t *offset)
{
	struct zts_value made = { .kind = ZTS_VALUE_CBOR };

	*offset = cbor->size;
	switch (value->kind) {
	case OTLP_NULL:
		made.kind = ZTS_VALUE_NULL;
		break;
	case OTLP_STRING:
		made.kind = ZTS_VALUE_STRING;
		made.string = intern(writing, value->text);
		break;
	case OTLP_BOOL:
		made.kind = ZTS_VALUE_BOOL;
		made.number = value->number;
		break;
	case OTLP_INT:
		made.kind = ZTS_VALUE_INT;
		made.number = value->number;
		break;
	default:
		put_value(writing, cbor, value);
		made.size = cbor->size - *offset;
		break;
	}
	return made;
}

/* --- attributes of the record that is open --- */

static void add_string_id(struct writing *writing, enum reserved key, uint32_t id)
{
	struct zts_value value = { .kind = ZTS_VALUE_STRING, .string = id };

	if (id)
		zts_writer_attribute(writing->writer, reserved_key(writing, key), &value);
}

static void add_string(struct writing *writing, enum reserved key, struct otlp_text text)
{
	if (text.size)
		add_string_id(writing, key, intern(writing, text));
}

static void add_literal(struct writing *writing, enum reserved key, const char *text)
{
	add_string(writing, key, (struct otlp_text){ text, strlen(text) });
}

static void add_number(struct writing *writing, enum reserved key, uint64_t number)
{
	struct zts_value value = { .kind = ZTS_VALUE_INT, .number = (int64_t)number };

	if (number)
		zts_writer_attribute(writing->writer, reserved_key(writing, key), &value);
}

static void add_cbor(struct writing *writing, enum reserved key, const struct sonde_buffer *cbor)
{
	struct zts_value value = {
		.kind = ZTS_VALUE_CBOR,
		.cbor = (const uint8_t *)cbor->data,
		.size = cbor->size,
	};

	if (!cbor->failed)
		zts_writer_attribute(writing->writer, reserved_key(writing, key), &value);
}

/* `root`: its number plus one where the record is the first of a tree, else 0. */
static void add_attributes(struct writing *writing, const struct otlp_list *list, uint32_t root)
{
	const struct otlp_request *request = writing->request;

	for (uint32_t at = list->first; at != SONDE_NONE; at = request->values.items[at].next) {
		const struct otlp_value *attribute = &request->values.items[at];
		uint32_t key = intern_key(writing, attribute->key), same;
		struct zts_value value;
		size_t offset;

		sonde_buffer_clear(&writing->cbor);
		value = make_value(writing, attribute, &writing->cbor, &offset);
		value.cbor = (const uint8_t *)writing->cbor.data;
		if (!writing->cbor.failed)
			zts_writer_attribute(writing->writer, key, &value);
		same = root ? sonde_key_map_find(&writing->resource_keys, key) : SONDE_NONE;
		if (same != SONDE_NONE)
			writing->resource.items[same].conflict = root;
	}
}

static void put_hex(struct writing *writing, struct sonde_buffer *cbor, struct otlp_text bytes)
{
	sonde_buffer_clear(&writing->text);
	for (size_t i = 0; i < bytes.size; i++)
		sonde_buffer_put_hex(&writing->text, (uint8_t)bytes.data[i], 2);
	put_string(writing, cbor, (struct otlp_text){ writing->text.data, writing->text.size });
}

static void put_note_attributes(struct writing *writing, struct sonde_buffer *cbor,
				const struct otlp_note *note)
{
	if (note->attributes.first != SONDE_NONE) {
		put_key(writing, cbor, "attributes");
		put_list(writing, cbor, note->attributes.first, true);
	}
	if (note->dropped) {
		put_key(writing, cbor, "dropped_attributes_count");
		sonde_cbor_put_head(cbor, SONDE_CBOR_UINT, note->dropped);
	}
}

static void put_event(struct writing *writing, struct sonde_buffer *cbor,
		      const struct otlp_note *note)
{
	uint64_t members = 2u + (note->attributes.first != SONDE_NONE) + (note->dropped != 0);

	sonde_cbor_put_head(cbor, SONDE_CBOR_MAP, members);
	put_key(writing, cbor, "name");
	put_string(writing, cbor, note->name);
	put_key(writing, cbor, "time_ns");
	sonde_cbor_put_head(cbor, SONDE_CBOR_UINT, note->time_ns);
	put_note_attributes(writing, cbor, note);
}

static void put_link(struct writing *writing, struct sonde_buffer *cbor,
		     const struct otlp_note *note)
{
	uint64_t members = 2u + (note->attributes.first != SONDE_NONE) + (note->dropped != 0) +
			   (note->trace_state.size != 0) + (note->flags != 0);

	sonde_cbor_put_head(cbor, SONDE_CBOR_MAP, members);
	put_key(writing, cbor, "trace_id");
	put_hex(writing, cbor, note->trace_id);
	put_key(writing, cbor, "span_id");
	put_hex(writing, cbor, note->span_id);
	if (note->trace_state.size) {
		put_key(writing, cbor, "trace_state");
		put_string(writing, cbor, note->trace_state);
	}
	if (note->flags) {
		put_key(writing, cbor, "flags");
		sonde_cbor_put_head(cbor, SONDE_CBOR_UINT, note->flags);
	}
	put_note_attributes(writing, cbor, note);
}

static void add_notes(struct writing *writing, const struct otlp_list *list,
		      enum otlp_note_kind kind)
{
	const struct otlp_note *notes = writing->request->notes.items;
	uint64_t count = 0;

	if (list->first == SONDE_NONE)
		return;
	for (uint32_t at = list->first; at != SONDE_NONE; at = notes[at].next)
		count++;
	sonde_buffer_clear(&writing->cbor);
	sonde_cbor_put_head(&writing->cbor, SONDE_CBOR_ARRAY, count);
	for (uint32_t at = list->first; at != SONDE_NONE; at = notes[at].next) {
		if (kind == OTLP_EVENT)
			put_event(writing, &writing->cbor, &notes[at]);
		else
			put_link(writing, &writing->cbor, &notes[at]);
	}
	add_cbor(writing, kind == OTLP_EVENT ? RESERVED_EVENTS : RESERVED_LINKS, &writing->cbor);
}

/* --- exceptions --- */

static uint32_t make_stack(struct writing *writing, struct otlp_text text)
{
	uint32_t frames[MOST_FRAMES];
	size_t count = 0, start = 0;

	while (start < text.size && count < MOST_FRAMES) {
		const char *line = text.data + start;
		const char *newline = memchr(line, '\n', text.size - start);
		size_t size = newline ? (size_t)(newline - line) : text.size - start;
		uint32_t name;

		start += size + 1;
		if (size && line[size - 1] == '\r')
			size--;
		if (!size)
			continue;
		name = zts_writer_text(writing->writer, ZTS_TEXT_METHOD_NAME, line, size);
		frames[count++] = zts_writer_frame(writing->writer, 0, name, 0, 0);
	}
	return count ? zts_writer_stack(writing->writer, frames, count) : 0;
}

/* The text id of the last event called "exception" as an exception; 0: none. */
static uint32_t make_exception(struct writing *writing, const struct otlp_span *span)
{
	const struct otlp_request *request = writing->request;
	uint32_t found = SONDE_NONE, class_id = 0, message = 0, stack = 0;

	for (uint32_t at = span->events.first; at != SONDE_NONE; at = request->notes.items[at].next)
		if (otlp_text_is(&request->notes.items[at].name, "exception"))
			found = at;
	if (found == SONDE_NONE)
		return 0;
	for (uint32_t at = request->notes.items[found].attributes.first; at != SONDE_NONE;
	     at = request->values.items[at].next) {
		const struct otlp_value *value = &request->values.items[at];

		if (value->kind != OTLP_STRING)
			continue;
		if (otlp_text_is(&value->key, "exception.type"))
			class_id = zts_writer_text(writing->writer, ZTS_TEXT_CLASS,
						   value->text.data, value->text.size);
		else if (otlp_text_is(&value->key, "exception.message"))
			message = intern(writing, value->text);
		else if (otlp_text_is(&value->key, "exception.stacktrace"))
			stack = make_stack(writing, value->text);
	}
	return zts_writer_exception(writing->writer, class_id, message, stack, 0);
}

/* --- resources and scopes --- */

static enum sonde_status prepare_resource(struct writing *writing, uint32_t position,
					  struct sonde_error *err)
{
	const struct otlp_request *request = writing->request;
	const struct otlp_resource *resource = &request->resources.items[position];

	if (position == writing->resource_position)
		return SONDE_OK;
	writing->resource_position = position;
	writing->resource.count = 0;
	writing->app = writing->env = writing->host = 0;
	writing->resource_schema_url = intern(writing, resource->schema_url);
	sonde_key_map_release(&writing->resource_keys);
	sonde_buffer_clear(&writing->prepared_cbor);
	for (uint32_t at = resource->attributes.first; at != SONDE_NONE;
	     at = request->values.items[at].next) {
		const struct otlp_value *attribute = &request->values.items[at];
		struct prepared *prepared = sonde_vec_push(&writing->resource);

		if (!prepared)
			return sonde_fail_nomem(err);
		*prepared = (struct prepared){ .name = attribute->key };
		prepared->key = intern_key(writing, attribute->key);
		prepared->value =
			make_value(writing, attribute, &writing->prepared_cbor, &prepared->cbor);
		if (sonde_key_map_find(&writing->resource_keys, prepared->key) == SONDE_NONE &&
		    !sonde_key_map_add(&writing->resource_keys, prepared->key,
				       (uint32_t)writing->resource.count - 1))
			return sonde_fail_nomem(err);
		if (prepared->value.kind != ZTS_VALUE_STRING)
			continue;
		if (otlp_text_is(&attribute->key, "service.name"))
			writing->app = prepared->value.string;
		else if (otlp_text_is(&attribute->key, "host.name"))
			writing->host = prepared->value.string;
		else if (otlp_is_environment(&attribute->key))
			writing->env = prepared->value.string;
	}
	return writing->prepared_cbor.failed ? sonde_fail_nomem(err) : SONDE_OK;
}

static void add_resource(struct writing *writing, uint32_t root)
{
	const struct otlp_resource *resource =
		&writing->request->resources.items[writing->resource_position];

	for (size_t i = 0; i < writing->resource.count; i++) {
		struct prepared *prepared = &writing->resource.items[i];
		struct zts_value value = prepared->value;
		uint32_t key = prepared->key;

		if (prepared->conflict == root)
			key = intern_prefixed(writing, RESOURCE_PREFIX, prepared->name);
		if (value.kind == ZTS_VALUE_CBOR)
			value.cbor = (const uint8_t *)writing->prepared_cbor.data + prepared->cbor;
		zts_writer_attribute(writing->writer, key, &value);
	}
	add_string_id(writing, RESERVED_RESOURCE_SCHEMA_URL, writing->resource_schema_url);
	add_number(writing, RESERVED_RESOURCE_DROPPED, resource->dropped);
}

static void prepare_scope(struct writing *writing, uint32_t position)
{
	const struct otlp_scope *scope = &writing->request->scopes.items[position];

	if (position == writing->scope_position)
		return;
	writing->scope_position = position;
	writing->scope_name = intern(writing, scope->name);
	writing->scope_version = intern(writing, scope->version);
	writing->scope_schema_url = intern(writing, scope->schema_url);
	sonde_buffer_clear(&writing->scope_cbor);
	if (scope->attributes.first != SONDE_NONE)
		put_list(writing, &writing->scope_cbor, scope->attributes.first, true);
}

static void add_scope(struct writing *writing, uint32_t position)
{
	const struct otlp_scope *scope = &writing->request->scopes.items[position];

	prepare_scope(writing, position);
	add_string_id(writing, RESERVED_SCOPE_NAME, writing->scope_name);
	add_string_id(writing, RESERVED_SCOPE_VERSION, writing->scope_version);
	add_string_id(writing, RESERVED_SCOPE_SCHEMA_URL, writing->scope_schema_url);
	add_number(writing, RESERVED_SCOPE_DROPPED, scope->dropped);
	if (writing->scope_cbor.size)
		add_cbor(writing, RESERVED_SCOPE_ATTRIBUTES, &writing->scope_cbor);
}

/* --- records and trees --- */

static void begin_record(struct writing *writing, const struct otlp_span *span, bool is_root)
{
	struct zts_record_head head = {
		.start = span->start_ns,
		.begins_trace = is_root,
		.span = span->span_id,
		.parent = span->parent_id,
	};
	uint32_t name = zts_writer_text(writing->writer, ZTS_TEXT_METHOD_NAME, span->name.data,
					span->name.size);
	char space[OTLP_KIND_NAME];

	head.method = zts_writer_method(writing->writer, 0, name, 0);
	if (is_root)
		head.type = intern_literal(writing, otlp_kind_name(span->kind, space));
	zts_writer_begin_record(writing->writer, &head);
	if (is_root) {
		char uuid[SONDE_UUID_SIZE];

		sonde_uuid_format(span->trace_id, uuid);
		add_literal(writing, RESERVED_DTRACE_UUID, uuid);
	} else {
		add_literal(writing, RESERVED_KIND, otlp_kind_name(span->kind, space));
	}
}

static void add_span(struct writing *writing, const struct otlp_span *span)
{
	if (span->status_code == 1)
		add_literal(writing, RESERVED_STATUS_CODE, "OK");
	else if (span->status_code == 2)
		add_literal(writing, RESERVED_STATUS_CODE, "ERROR");
	else
		add_number(writing, RESERVED_STATUS_CODE, span->status_code);
	add_string(writing, RESERVED_STATUS_DESCRIPTION, span->status_message);
	add_string(writing, RESERVED_TRACE_STATE, span->trace_state);
	add_number(writing, RESERVED_FLAGS, span->flags);
	add_number(writing, RESERVED_DROPPED_ATTRIBUTES, span->dropped_attributes);
	add_number(writing, RESERVED_DROPPED_EVENTS, span->dropped_events);
	add_number(writing, RESERVED_DROPPED_LINKS, span->dropped_links);
	if (span->end_ns < span->start_ns)
		add_number(writing, RESERVED_END_TIME, span->end_ns);
	add_notes(writing, &span->events, OTLP_EVENT);
	add_notes(writing, &span->links, OTLP_LINK);
}

/* `root`: its number plus one where the span is the first of a tree, else 0. */
static void open_span(struct writing *writing, uint32_t position, uint32_t root)
{
	const struct otlp_span *span = &writing->request->spans.items[position];

	begin_record(writing, span, root != 0);
	add_attributes(writing, &span->attributes, root);
	if (root)
		add_resource(writing, root);
	add_scope(writing, span->scope);
	add_span(writing, span);
}

static void close_span(struct writing *writing, const struct otlp_span *span)
{
	uint32_t exception = make_exception(writing, span);
	bool is_error = exception || span->status_code == 2;

	zts_writer_end_record(writing->writer,
			      span->end_ns < span->start_ns ? span->start_ns : span->end_ns, 0,
			      exception, is_error ? ZTS_RECORD_ERROR : 0);
}

/* The trace id for the tree that begins the trace; others need one of their own. */
static void make_uuid(const struct otlp_span *span, uint32_t copy, uint64_t uuid[2])
{
	uuid[0] = span->trace_id[0];
	uuid[1] = span->trace_id[1];
	if (!span->parent_id && !span->is_copy)
		return;
	sonde_uuid_derive(span->trace_id, span->span_id + copy, uuid);
}

/*
 * All records of a tree, and how many there are; without recursion: down to children, on to
 * siblings, up to parents.
 */
static uint64_t write_records(struct writing *writing, uint32_t root, uint32_t number)
{
	const struct otlp_span *spans = writing->request->spans.items;
	uint64_t records = 0;
	uint32_t at = root;

	for (;;) {
		open_span(writing, at, at == root ? number : 0);
		records++;
		if (spans[at].first_child != SONDE_NONE) {
			at = spans[at].first_child;
			continue;
		}
		close_span(writing, &spans[at]);
		while (at != root && spans[at].next_sibling == SONDE_NONE) {
			at = spans[at].parent;
			close_span(writing, &spans[at]);
		}
		if (at == root)
			return records;
		at = spans[at].next_sibling;
	}
}

static enum sonde_status write_tree(struct writing *writing, uint32_t root, uint32_t number,
				    uint64_t *records, struct sonde_error *err)
{
	const struct otlp_span *span = &writing->request->spans.items[root];
	struct zts_trace_head head = { 0 };
	enum sonde_status status;
	char uuid[SONDE_UUID_SIZE];

	status = prepare_resource(writing, writing->request->scopes.items[span->scope].resource,
				  err);
	if (status < 0)
		return status;
	make_uuid(span, span->is_copy ? root + 1 : 0, head.uuid);
	sonde_uuid_format(span->trace_id, uuid);
	head.dtrace_uuid = zts_writer_text(writing->writer, ZTS_TEXT_UUID, uuid, SONDE_UUID_LENGTH);
	head.app = writing->app;
	head.env = writing->env;
	head.host = writing->host;
	zts_writer_begin_trace(writing->writer, &head);
	*records = write_records(writing, root, number);
	if (writing->cbor.failed || writing->scope_cbor.failed || writing->text.failed) {
		zts_writer_abandon_trace(writing->writer);
		return sonde_fail_nomem(err);
	}
	return zts_writer_end_trace(writing->writer, err);
}

enum sonde_status otlp_write(const struct otlp_request *request, struct zts_writer *writer,
			     size_t *next_root, struct sonde_ingest_result *result,
			     struct sonde_error *err)
{
	struct writing writing = {
		.request = request,
		.writer = writer,
		.resource_position = SONDE_NONE,
		.scope_position = SONDE_NONE,
	};
	enum sonde_status status = SONDE_OK;

	while (*next_root < request->roots.count) {
		uint64_t records = 0;

		status = write_tree(&writing, request->roots.items[*next_root],
				    (uint32_t)*next_root + 1, &records, err);
		if (status < 0)
			break;
		++*next_root;
		result->traces++;
		result->records += records;
	}
	sonde_buffer_release(&writing.cbor);
	sonde_buffer_release(&writing.text);
	sonde_buffer_release(&writing.prepared_cbor);
	sonde_buffer_release(&writing.scope_cbor);
	sonde_vec_release(&writing.resource);
	sonde_key_map_release(&writing.resource_keys);
	return status;
}
