/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a wtf-calls file to a version 10 image: every function becomes a scope type, every record an
 * event of one zone. Records have no times: they are counted, and the header says so.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/bytes.h"
#include "formats/cff/cff_findings.h"
#include "formats/cff/cff_json_events.h"
#include "formats/cff/cff_make.h"
#include "formats/cff/cff_put.h"

#define CHUNK_BYTES ((size_t)1 << 20)
#define HEADER_SIZE 4 /* of the length that stands before the JSON */
#define ATTRIBUTE_LIMIT 64
#define ZONE 1

/* Wire ids that are always there; functions come after them. */
enum { WIRE_ZONE_CREATE = 2, WIRE_ZONE_SET, WIRE_LEAVE, WIRE_ENTER, WIRE_VALUES, WIRE_FIRST };

struct calls {
	const struct cff_maker *maker;
	const char *json; /* the header */
	size_t json_size;
	struct sonde_json_reader reader;
	/* spans of members in it; size 0: absent */
	struct cff_span context, metadata, modules;
	size_t attribute_count;
	struct sonde_buffer signature; /* of the attributes */
	struct sonde_key_map names;    /* id of a function to its place in function_names */
	SONDE_VEC(const char *) function_names;
	struct sonde_text_map taken; /* names of types */
	struct sonde_key_map wires;  /* id of a function to its wire id */
	struct sonde_arena arena;
	uint32_t next_wire;
	struct cff_texts texts;	    /* of the chunk being made */
	struct sonde_buffer events; /* likewise */
	uint32_t chunk_count;
	uint32_t time;
};

/* The header */

static void find_header(struct calls *calls, const char *expected)
{
	CFF_FIND(calls->maker->findings, CALLS_HEADER, calls->maker->path,
		 HEADER_SIZE + calls->reader.offset, "%s\tsomething else", expected);
}

/* A value from its start to behind the present token. */
static struct cff_span span_from(const struct calls *calls, uint64_t start)
{
	return (struct cff_span){ start, sonde_json_position(&calls->reader) - start };
}

/* Steps over the value of the present key, and tells where it stands if it is whole. */
static enum sonde_status take_span(struct calls *calls, struct cff_span *span,
				   struct sonde_error *err)
{
	enum sonde_status status = sonde_json_next(&calls->reader, err);
	uint64_t start = calls->reader.offset;

	if (status < 0)
		return status;
	status = sonde_json_skip(&calls->reader, err);
	if (status >= 0)
		*span = span_from(calls, start);
	return status;
}

/* Attributes are named by texts or by objects with a name; what matters is how many there are. */
static void add_attribute(struct calls *calls, const char *name, size_t length)
{
	bool is_good = name && length && length < 64 && !(name[0] >= '0' && name[0] <= '9');

	for (size_t i = 0; is_good && i < length; i++)
		is_good = (name[i] >= 'a' && name[i] <= 'z') ||
			  (name[i] >= 'A' && name[i] <= 'Z') ||
			  (name[i] >= '0' && name[i] <= '9') || name[i] == '_';
	sonde_buffer_put_text(&calls->signature, calls->attribute_count ? ", int32 " : "int32 ");
	if (is_good)
		sonde_buffer_put(&calls->signature, name, length);
	else
		sonde_buffer_put_format(&calls->signature, "attribute%zu", calls->attribute_count);
	calls->attribute_count++;
}

static enum sonde_status read_attribute(struct calls *calls, struct sonde_error *err)
{
	struct sonde_json_reader *reader = &calls->reader;
	unsigned int depth = reader->depth;
	enum sonde_status status = SONDE_OK;
	size_t before = calls->attribute_count;
	bool is_name = false;

	if (reader->token == SONDE_JSON_STRING)
		add_attribute(calls, reader->text, reader->length);
	if (reader->token != SONDE_JSON_OBJECT_BEGIN) {
		status = sonde_json_skip(reader, err);
	} else {
		do {
			status = sonde_json_next(reader, err);
			if (status >= 0 && is_name && reader->token == SONDE_JSON_STRING &&
			    calls->attribute_count == before)
				add_attribute(calls, reader->text, reader->length);
			is_name = status >= 0 && reader->token == SONDE_JSON_KEY &&
				  !strcmp(reader->text, "name");
		} while (status >= 0 && reader->depth > depth);
	}
	if (calls->attribute_count == before)
		add_attribute(calls, NULL, 0);
	return status;
}

static enum sonde_status read_attributes(struct calls *calls, struct sonde_error *err)
{
	enum sonde_status status = sonde_json_next(&calls->reader, err);

	if (status < 0)
		return status;
	if (calls->reader.token != SONDE_JSON_ARRAY_BEGIN) {
		find_header(calls, "an array of attributes");
		return sonde_json_skip(&calls->reader, err);
	}
	for (;;) {
		status = sonde_json_next(&calls->reader, err);
		if (status < 0 || calls->reader.token == SONDE_JSON_ARRAY_END)
			return status;
		if (calls->attribute_count >= ATTRIBUTE_LIMIT)
			return sonde_fail(err, SONDE_LIMIT, calls->reader.offset,
					  "at most %d attributes were expected", ATTRIBUTE_LIMIT);
		status = read_attribute(calls, err);
		if (status < 0)
			return status;
	}
}

static enum sonde_status add_function(struct calls *calls, uint64_t id, struct sonde_error *err)
{
	const char *copy, **name;

	if (sonde_key_map_find(&calls->names, id) != UINT32_MAX)
		return SONDE_OK;
	copy = sonde_arena_copy_text(&calls->arena, calls->reader.text, calls->reader.length);
	name = copy ? sonde_vec_push(&calls->function_names) : NULL;
	if (!name ||
	    !sonde_key_map_add(&calls->names, id, (uint32_t)(calls->function_names.count - 1)))
		return sonde_fail_nomem(err);
	*name = copy;
	return SONDE_OK;
}

/* [id, name, start, end, id, name, start, end, ...] */
static enum sonde_status read_functions(struct calls *calls, struct sonde_error *err)
{
	enum sonde_status status = sonde_json_next(&calls->reader, err);
	uint64_t id = 0;
	bool has_id = false;

	if (status < 0)
		return status;
	if (calls->reader.token != SONDE_JSON_ARRAY_BEGIN) {
		find_header(calls, "an array of functions");
		return sonde_json_skip(&calls->reader, err);
	}
	for (unsigned int column = 0;; column = (column + 1) % 4) {
		status = sonde_json_next(&calls->reader, err);
		if (status < 0 || calls->reader.token == SONDE_JSON_ARRAY_END)
			return status;
		if (column == 0) {
			has_id = sonde_json_u64(&calls->reader, &id) && id && id <= INT32_MAX;
			if (!has_id)
				find_header(calls, "the id of a function");
		}
		if (column == 1 && calls->reader.token == SONDE_JSON_STRING && has_id)
			status = add_function(calls, id, err);
		if (status >= 0)
			status = sonde_json_skip(&calls->reader, err);
		if (status < 0)
			return status;
	}
}

/* {"0": {"src": "...", "fns": [...]}, ...} or an array of such. */
static enum sonde_status read_modules(struct calls *calls, struct sonde_error *err)
{
	struct sonde_json_reader *reader = &calls->reader;
	enum sonde_status status = sonde_json_next(reader, err);
	unsigned int depth = reader->depth;
	uint64_t start = reader->offset;

	if (status < 0)
		return status;
	while (status >= 0) {
		bool is_list = reader->token == SONDE_JSON_KEY && reader->depth == depth + 2 &&
			       !strcmp(reader->text, "fns");

		status = is_list ? read_functions(calls, err) : SONDE_OK;
		if (reader->depth == depth && (reader->token == SONDE_JSON_OBJECT_END ||
					       reader->token == SONDE_JSON_ARRAY_END))
			break;
		if (reader->depth == depth && reader->token != SONDE_JSON_OBJECT_BEGIN &&
		    reader->token != SONDE_JSON_ARRAY_BEGIN)
			break;
		if (status >= 0)
			status = sonde_json_next(reader, err);
	}
	if (status >= 0)
		calls->modules = span_from(calls, start);
	return status;
}

static enum sonde_status read_version(struct calls *calls, struct sonde_error *err)
{
	enum sonde_status status = sonde_json_next(&calls->reader, err);
	uint64_t version = 0;

	if (status < 0)
		return status;
	if (!sonde_json_u64(&calls->reader, &version) || version != 1)
		CFF_FIND(calls->maker->findings, CALLS_VERSION, calls->maker->path,
			 HEADER_SIZE + calls->reader.offset, "version 1\tversion %" PRIu64,
			 version);
	return sonde_json_skip(&calls->reader, err);
}

/* The metadata twice: where it stands, and then the attributes in it. */
static enum sonde_status read_metadata(struct calls *calls, struct sonde_error *err)
{
	struct sonde_json_reader inner;
	uint64_t end;
	enum sonde_status status = take_span(calls, &calls->metadata, err);
	struct sonde_json_reader outer = calls->reader;

	if (status < 0 || !calls->metadata.size)
		return status;
	end = calls->metadata.start + calls->metadata.size;
	sonde_json_reader_init(&inner, calls->json, end, NULL, NULL);
	sonde_json_seek(&inner, calls->metadata.start);
	calls->reader = inner;
	status = sonde_json_next(&calls->reader, err);
	while (status >= 0 && sonde_json_position(&calls->reader) < end) {
		if (calls->reader.token == SONDE_JSON_KEY && calls->reader.depth == 1 &&
		    !strcmp(calls->reader.text, "attributes"))
			status = read_attributes(calls, err);
		if (status >= 0)
			status = sonde_json_next(&calls->reader, err);
	}
	sonde_json_reader_release(&calls->reader);
	calls->reader = outer;
	return status;
}

static enum sonde_status read_members(struct calls *calls, struct sonde_error *err)
{
	struct sonde_json_reader *reader = &calls->reader;
	enum sonde_status status = sonde_json_next(reader, err);

	if (status >= 0 && reader->token != SONDE_JSON_OBJECT_BEGIN)
		return sonde_fail(err, SONDE_CORRUPT, reader->offset, "an object was expected");
	for (;;) {
		if (status >= 0)
			status = sonde_json_next(reader, err);
		if (status < 0 || reader->token != SONDE_JSON_KEY)
			return status;
		if (!strcmp(reader->text, "version"))
			status = read_version(calls, err);
		else if (!strcmp(reader->text, "context"))
			status = take_span(calls, &calls->context, err);
		else if (!strcmp(reader->text, "metadata"))
			status = read_metadata(calls, err);
		else if (!strcmp(reader->text, "modules"))
			status = read_modules(calls, err);
		else
			status = sonde_json_skip(reader, err);
	}
}

static void put_span(struct calls *calls, struct sonde_buffer *header, const char *key,
		     struct cff_span span)
{
	if (!span.size)
		return;
	sonde_buffer_put_format(header,
				"%s\"%s\":", header->data[header->size - 1] == '{' ? "" : ",", key);
	sonde_buffer_put(header, calls->json + span.start, span.size);
}

/* Everything the file says of its functions stays, in the metadata. */
static enum sonde_status make_header(struct calls *calls, struct sonde_error *err)
{
	struct sonde_buffer header = { 0 };
	enum sonde_status status;

	sonde_buffer_put_text(&header, "{\"type\":\"file_header\",\"flags\":[\"times_as_count\"],"
				       "\"timebase\":0");
	if (!header.failed)
		put_span(calls, &header, "contextInfo", calls->context);
	sonde_buffer_put_text(&header, ",\"metadata\":{\"calls\":{");
	if (!header.failed)
		put_span(calls, &header, "metadata", calls->metadata);
	if (!header.failed)
		put_span(calls, &header, "modules", calls->modules);
	sonde_buffer_put_text(&header, "}}}");
	status = cff_make_header_chunk(calls->maker, &header, err);
	sonde_buffer_release(&header);
	return status;
}

/* Events */

static enum sonde_status put_text(struct calls *calls, const char *text, struct sonde_error *err)
{
	uint32_t ordinal = CFF_STRING_EMPTY;
	enum sonde_status status = SONDE_OK;

	if (*text)
		status = cff_texts_get(&calls->texts, text, strlen(text), &ordinal, err);
	sonde_put_u32le(&calls->events, ordinal);
	return status;
}

static void put_head(struct calls *calls, uint32_t wire)
{
	sonde_put_u32le(&calls->events, wire);
	sonde_put_u32le(&calls->events, calls->time);
}

static enum sonde_status put_define(struct calls *calls, uint32_t wire, enum cff_event_class class,
				    uint32_t flags, const char *name, const char *arguments,
				    struct sonde_error *err)
{
	enum sonde_status status;

	put_head(calls, CFF_WIRE_DEFINE);
	sonde_put_u32le(&calls->events, wire);
	sonde_put_u32le(&calls->events, class);
	sonde_put_u32le(&calls->events, flags);
	status = put_text(calls, name, err);
	if (status >= 0 && !*arguments)
		sonde_put_u32le(&calls->events, CFF_STRING_NULL);
	else if (status >= 0)
		status = put_text(calls, arguments, err);
	return status;
}

static enum sonde_status put_start(struct calls *calls, struct sonde_error *err)
{
	static const struct {
		uint32_t wire;
		enum cff_event_class class;
		uint32_t flags;
		const char *name, *arguments;
	} known[] = {
#define X(name, text, class, flags, signature)                                                     \
	{ (CFF_##name) == CFF_ZONE_CREATE ? WIRE_ZONE_CREATE :                                     \
	  (CFF_##name) == CFF_ZONE_SET	  ? WIRE_ZONE_SET :                                        \
	  (CFF_##name) == CFF_SCOPE_LEAVE ? WIRE_LEAVE :                                           \
	  (CFF_##name) == CFF_SCOPE_ENTER ? WIRE_ENTER :                                           \
					    0,                                                     \
	  CFF_CLASS_##class, flags, text, signature },
		CFF_BUILTIN_LIST(X)
#undef X
	};
	enum sonde_status status = SONDE_OK;

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]) && status >= 0; i++) {
		if (!sonde_text_map_add(&calls->taken, known[i].name, strlen(known[i].name), 0))
			return sonde_fail_nomem(err);
		if (known[i].wire)
			status = put_define(calls, known[i].wire, known[i].class, known[i].flags,
					    known[i].name, known[i].arguments, err);
	}
	if (status >= 0 && calls->attribute_count)
		status = put_define(calls, WIRE_VALUES, CFF_CLASS_INSTANCE, 0, "calls#leave",
				    calls->signature.data, err);
	if (status < 0)
		return status;
	put_head(calls, WIRE_ZONE_CREATE);
	sonde_put_u32le(&calls->events, ZONE);
	status = put_text(calls, "calls", err);
	if (status >= 0)
		status = put_text(calls, "script", err);
	if (status < 0)
		return status;
	sonde_put_u32le(&calls->events, CFF_STRING_EMPTY);
	put_head(calls, WIRE_ZONE_SET);
	sonde_put_u32le(&calls->events, ZONE);
	return SONDE_OK;
}

/* The name of a function's type: its own, with its id where that is taken. In the arena. */
static const char *name_type(struct calls *calls, uint32_t id)
{
	uint32_t place = sonde_key_map_find(&calls->names, id);
	const char *name = place == UINT32_MAX ? "" : calls->function_names.items[place];
	struct sonde_buffer text = { 0 };
	const char *copy = NULL;
	size_t tries = 0;

	do {
		sonde_buffer_clear(&text);
		sonde_buffer_put(&text, name, strnlen(name, CFF_NAME_LIMIT - 64));
		if (!*name)
			sonde_buffer_put_text(&text, "function");
		if (!*name || tries)
			sonde_buffer_put_format(&text, "_%" PRIu32, id);
		if (tries > 1)
			sonde_buffer_put_format(&text, "_%zu", tries);
		tries++;
	} while (!text.failed &&
		 sonde_text_map_find(&calls->taken, text.data, text.size) != UINT32_MAX);
	if (!text.failed)
		copy = sonde_arena_copy_text(&calls->arena, text.data, text.size);
	if (copy && !sonde_text_map_add(&calls->taken, copy, text.size, 0))
		copy = NULL;
	sonde_buffer_release(&text);
	return copy;
}

/* The wire id of a function, defined when it is first called; WIRE_ENTER when there are no more. */
static enum sonde_status find_wire(struct calls *calls, uint32_t id, uint64_t offset,
				   uint32_t *wire, struct sonde_error *err)
{
	enum sonde_status status;
	const char *name;

	*wire = sonde_key_map_find(&calls->wires, id);
	if (*wire != UINT32_MAX)
		return SONDE_OK;
	if (sonde_key_map_find(&calls->names, id) == UINT32_MAX)
		CFF_FIND(calls->maker->findings, CALLS_FUNCTION, calls->maker->path, offset,
			 "a function of the header\tfunction %" PRIu32, id);
	if (calls->next_wire > UINT16_MAX) {
		*wire = WIRE_ENTER;
		return SONDE_OK;
	}
	name = name_type(calls, id);
	*wire = calls->next_wire++;
	if (!name || !sonde_key_map_add(&calls->wires, id, *wire))
		return sonde_fail_nomem(err);
	status = put_define(calls, *wire, CFF_CLASS_SCOPE, 0, name,
			    calls->attribute_count ? calls->signature.data : "", err);
	return status;
}

static void put_values(struct calls *calls, const uint8_t *values)
{
	sonde_buffer_put(&calls->events, values, calls->attribute_count * 4);
}

/* A function beyond those that can be defined: entered by its name. */
static enum sonde_status put_enter(struct calls *calls, uint32_t id, const uint8_t *values,
				   struct sonde_error *err)
{
	uint32_t place = sonde_key_map_find(&calls->names, id);
	enum sonde_status status;
	char number[32];

	put_head(calls, WIRE_ENTER);
	snprintf(number, sizeof(number), "function_%" PRIu32, id);
	status = put_text(calls, place == UINT32_MAX ? number : calls->function_names.items[place],
			  err);
	if (status >= 0 && calls->attribute_count) {
		put_head(calls, WIRE_VALUES);
		put_values(calls, values);
	}
	return status;
}

static enum sonde_status put_record(struct calls *calls, int32_t id, const uint8_t *values,
				    uint64_t offset, struct sonde_error *err)
{
	enum sonde_status status;
	uint32_t wire;

	if (id <= 0) {
		if (calls->attribute_count) {
			put_head(calls, WIRE_VALUES);
			put_values(calls, values);
		}
		put_head(calls, WIRE_LEAVE);
		return SONDE_OK;
	}
	status = find_wire(calls, (uint32_t)id, offset, &wire, err);
	if (status < 0)
		return status;
	if (wire == WIRE_ENTER)
		return put_enter(calls, (uint32_t)id, values, err);
	put_head(calls, wire);
	put_values(calls, values);
	return SONDE_OK;
}

static enum sonde_status end_chunk(struct calls *calls, struct sonde_error *err)
{
	const struct sonde_buffer *strings = &calls->texts.added;
	struct cff_made_part parts[] = {
		{ .type = CFF_PART_STRINGS,
		  .bytes = strings->size ? strings->data : "",
		  .size = strings->size },
		{ .type = CFF_PART_EVENTS,
		  .bytes = calls->events.size ? calls->events.data : "",
		  .size = calls->events.size },
	};
	struct cff_made_chunk chunk = {
		.id = ++calls->chunk_count + 1,
		.type = CFF_CHUNK_EVENT_DATA,
		.start = CFF_NO_TIME,
		.end = CFF_NO_TIME,
		.parts = parts,
		.part_count = 2,
	};
	enum sonde_status status;

	if (calls->events.failed)
		return sonde_fail_nomem(err);
	status = cff_make_chunk(calls->maker, &chunk, err);
	sonde_buffer_clear(&calls->events);
	cff_texts_release(&calls->texts);
	return status;
}

static enum sonde_status make_records(struct calls *calls, size_t start, struct sonde_error *err)
{
	size_t size = 4 + calls->attribute_count * 4, position = start;
	enum sonde_status status = put_start(calls, err);

	for (; status >= 0 && calls->maker->size - position >= size; position += size) {
		const uint8_t *record = calls->maker->input + position;
		int32_t id = (int32_t)sonde_load_u32le(record);

		if (!id) {
			CFF_FIND(calls->maker->findings, CALLS_RECORD, calls->maker->path, position,
				 "the id of a function\t0");
			continue;
		}
		status = put_record(calls, id, record + 4, position, err);
		calls->time++;
		if (status >= 0 && calls->events.size >= CHUNK_BYTES)
			status = end_chunk(calls, err);
	}
	if (status < 0)
		return status;
	if (position < calls->maker->size)
		CFF_FIND(calls->maker->findings, CALLS_RECORD, calls->maker->path, position,
			 "a record of %zu bytes\t%zu bytes", size, calls->maker->size - position);
	return calls->events.size || !calls->chunk_count ? end_chunk(calls, err) : SONDE_OK;
}

static enum sonde_status make_file(struct calls *calls, struct sonde_error *err)
{
	const struct cff_maker *maker = calls->maker;
	size_t length = maker->size >= HEADER_SIZE ? sonde_load_u32le(maker->input) : 0, start;
	struct sonde_error failure = { 0 };
	enum sonde_status status;

	if (maker->size < HEADER_SIZE || length > maker->size - HEADER_SIZE) {
		CFF_FIND(maker->findings, CALLS_HEADER, maker->path, 0,
			 "a header of %zu bytes\t%zu bytes", length, maker->size);
		length = maker->size < HEADER_SIZE ? 0 : maker->size - HEADER_SIZE;
	}
	calls->json = maker->size < HEADER_SIZE ? "" : (const char *)maker->input + HEADER_SIZE;
	calls->json_size = length;
	sonde_json_reader_init(&calls->reader, calls->json, length, NULL, NULL);
	status = read_members(calls, &failure);
	if (status == SONDE_NOMEM || calls->signature.failed)
		return sonde_fail_nomem(err);
	if (status < 0)
		CFF_FIND(maker->findings, CALLS_HEADER, maker->path, HEADER_SIZE + failure.offset,
			 "whole JSON\t%s", failure.message);
	if (calls->attribute_count && !sonde_buffer_text(&calls->signature))
		return sonde_fail_nomem(err);
	status = cff_make_head(maker, (uint32_t)CFF_WTF_VERSION, err);
	if (status >= 0)
		status = make_header(calls, err);
	start = cff_padded(HEADER_SIZE + length);
	return status < 0 ? status :
			    make_records(calls, start < maker->size ? start : maker->size, err);
}

enum sonde_status cff_make_from_calls(const struct cff_maker *maker, struct sonde_error *err)
{
	struct calls calls = { .maker = maker, .next_wire = WIRE_FIRST };
	enum sonde_status status = make_file(&calls, err);

	sonde_json_reader_release(&calls.reader);
	sonde_buffer_release(&calls.signature);
	sonde_key_map_release(&calls.names);
	sonde_key_map_release(&calls.wires);
	sonde_vec_release(&calls.function_names);
	sonde_text_map_release(&calls.taken);
	sonde_arena_release(&calls.arena);
	cff_texts_release(&calls.texts);
	sonde_buffer_release(&calls.events);
	return status;
}
