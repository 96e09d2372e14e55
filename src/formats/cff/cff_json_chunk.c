/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chunks and parts of JSON. Long texts are not copied: a part remembers where in the mapped
 * document its contents are, and they are decoded when its chunk is written. Events as JSON are in
 * cff_json_events.c.
 */
#include "formats/cff/cff_json_chunk.h"

#include <inttypes.h>

#include "base/base64.h"
#include "formats/cff/cff_findings.h"

static const struct {
	const char *word;
	uint32_t type;
} part_types[] = {
	{ "file_header", CFF_PART_FILE_HEADER },
	{ "json_event_buffer", CFF_PART_JSON_EVENTS },
	{ "binary_event_buffer", CFF_PART_EVENTS },
	{ "string_table", CFF_PART_STRINGS },
	{ "binary_resource", CFF_PART_BINARY_RESOURCE },
	{ "string_resource", CFF_PART_STRING_RESOURCE },
};

/* How much of a text goes into a finding. */
static int shown(const struct sonde_json_reader *json)
{
	return json->length < 40 ? (int)json->length : 40;
}

void cff_json_find_value(struct cff_json_maker *state, const char *expected)
{
	CFF_FIND(state->maker->findings, JSON_VALUE, state->maker->path, state->json.offset,
		 "%s\t%.*s", expected, state->json.length ? shown(&state->json) : 13,
		 state->json.length ? state->json.text : "another value");
}

enum sonde_status cff_json_read_number(struct cff_json_maker *state, uint64_t largest,
				       uint64_t *value, bool *has_value, struct sonde_error *err)
{
	enum sonde_status status = sonde_json_next(&state->json, err);
	uint64_t number;

	if (status < 0 || state->json.token == SONDE_JSON_NULL)
		return status;
	if (!sonde_json_u64(&state->json, &number) || number > largest) {
		cff_json_find_value(state, "a whole number that fits");
		return sonde_json_skip(&state->json, err);
	}
	*value = number;
	*has_value = true;
	return SONDE_OK;
}

static enum sonde_status read_u32(struct cff_json_maker *state, uint32_t *value, bool *has_value,
				  struct sonde_error *err)
{
	uint64_t number = *value;
	enum sonde_status status = cff_json_read_number(state, UINT32_MAX, &number, has_value, err);

	*value = (uint32_t)number;
	return status;
}

/* Parts */

static enum sonde_status read_part_type(struct cff_json_maker *state, struct cff_json_part *part,
					struct sonde_error *err)
{
	enum sonde_status status = sonde_json_next(&state->json, err);

	part->is_known = false;
	if (status < 0)
		return status;
	for (size_t i = 0; i < sizeof(part_types) / sizeof(part_types[0]); i++) {
		if (state->json.token != SONDE_JSON_STRING ||
		    !cff_json_is(&state->json, part_types[i].word))
			continue;
		part->type = part_types[i].type;
		part->is_known = true;
		return SONDE_OK;
	}
	CFF_FIND(state->maker->findings, JSON_PART_TYPE, state->maker->path, state->json.offset,
		 "a known type of parts\t%.*s", shown(&state->json), state->json.text);
	return sonde_json_skip(&state->json, err);
}

/* The document breaks off within base64: what there is of it is as good as before. */
static void keep_cut_text(const struct cff_json_maker *state, struct cff_json_part *part,
			  uint64_t from)
{
	const char *end = (const char *)state->maker->input + state->maker->size;
	const char *start = memchr(state->maker->input + from, '"', state->maker->size - from);
	size_t length = start ? (size_t)(end - start) - 1 : 0;

	if (part->type != CFF_PART_EVENTS && part->type != CFF_PART_BINARY_RESOURCE)
		return;
	if (!length || memchr(start + 1, '"', length))
		return;
	part->text = start + 1;
	part->length = length & ~(size_t)3;
	part->text_offset = (uint64_t)(part->text - (const char *)state->maker->input);
}

/* The contents: a text, which may be very long, or an array, which is read when all is known. */
static enum sonde_status read_part_value(struct cff_json_maker *state, struct cff_json_part *part,
					 struct sonde_error *err)
{
	uint64_t from = sonde_json_position(&state->json);
	enum sonde_status status = sonde_json_next(&state->json, err);

	if (status == SONDE_TRUNCATED)
		keep_cut_text(state, part, from);
	if (status < 0)
		return status;
	if (state->json.token == SONDE_JSON_ARRAY_BEGIN)
		part->array = state->json.offset;
	if (state->json.token != SONDE_JSON_STRING)
		return sonde_json_skip(&state->json, err);
	part->text_offset = state->json.offset + 1;
	part->text = state->json.text;
	part->length = state->json.length;
	if (sonde_json_is_borrowed(&state->json))
		return SONDE_OK;
	sonde_buffer_clear(&part->owned);
	sonde_buffer_put(&part->owned, state->json.text, state->json.length);
	part->text = sonde_buffer_text(&part->owned);
	return part->text ? SONDE_OK : sonde_fail_nomem(err);
}

static enum sonde_status read_part_member(struct cff_json_maker *state, struct cff_json_part *part,
					  struct sonde_error *err)
{
	struct sonde_json_reader *json = &state->json;
	enum sonde_status status;

	if (cff_json_is(json, "type"))
		return read_part_type(state, part, err);
	if (cff_json_is_either(json, "value", "events"))
		return read_part_value(state, part, err);
	if (cff_json_is_either(json, "byteLength", "byte_length"))
		return cff_json_read_number(state, UINT64_MAX, &part->byte_length,
					    &part->has_length, err);
	if (cff_json_is(json, "mode")) {
		status = sonde_json_next(json, err);
		if (status < 0)
			return status;
		part->is_base64 = json->token == SONDE_JSON_STRING && cff_json_is(json, "base64");
		part->is_bad_mode = !part->is_base64;
		return sonde_json_skip(json, err);
	}
	if (cff_json_is(json, "unterminated")) {
		status = sonde_json_next(json, err);
		part->is_unterminated = status >= 0 && json->token == SONDE_JSON_TRUE;
		return status < 0 ? status : sonde_json_skip(json, err);
	}
	return sonde_json_skip(json, err);
}

/* A part from its opening brace, the present token. It is kept as far as it goes. */
static enum sonde_status read_part(struct cff_json_maker *state, struct cff_json_chunk *chunk,
				   struct sonde_error *err)
{
	struct cff_json_part part = { .offset = state->json.offset }, *added;
	enum sonde_status status;

	do {
		status = sonde_json_next(&state->json, err);
		if (status >= 0 && state->json.token == SONDE_JSON_KEY)
			status = read_part_member(state, &part, err);
		else
			break;
	} while (status >= 0);
	if (status >= 0)
		part.end = sonde_json_position(&state->json);
	if (!part.is_known) {
		sonde_buffer_release(&part.owned);
		return status;
	}
	added = sonde_vec_push(&chunk->parts);
	if (!added) {
		sonde_buffer_release(&part.owned);
		return sonde_fail_nomem(err);
	}
	*added = part;
	if (part.type == CFF_PART_EVENTS || part.type == CFF_PART_JSON_EVENTS)
		chunk->last_events = chunk->parts.count;
	return status;
}

enum sonde_status cff_json_each(struct cff_json_maker *state, const char *array, const char *item,
				enum sonde_status (*read)(struct cff_json_maker *state,
							  struct cff_json_chunk *chunk,
							  struct sonde_error *err),
				struct cff_json_chunk *chunk, struct sonde_error *err)
{
	enum sonde_status status = sonde_json_next(&state->json, err);

	if (status < 0)
		return status;
	if (state->json.token != SONDE_JSON_ARRAY_BEGIN) {
		cff_json_find_value(state, array);
		return sonde_json_skip(&state->json, err);
	}
	for (;;) {
		status = sonde_json_next(&state->json, err);
		if (status < 0 || state->json.token == SONDE_JSON_ARRAY_END)
			return status;
		if (state->json.token == SONDE_JSON_OBJECT_BEGIN) {
			status = read(state, chunk, err);
		} else {
			cff_json_find_value(state, item);
			status = sonde_json_skip(&state->json, err);
		}
		if (status < 0)
			return status;
	}
}

/* Contents of parts */

static void find_missing(struct cff_json_maker *state, const struct cff_json_part *part,
			 const char *expected)
{
	CFF_FIND(state->maker->findings, JSON_PART, state->maker->path, part->offset,
		 "%s\tnothing of the kind", expected);
}

/*
 * The header is the text of the part itself. Its "type" stays where the existing program puts it;
 * at the very end it was put by our writer, and goes.
 */
static bool make_header(struct cff_json_maker *state, struct cff_json_part *part)
{
	static const char suffix[] = CFF_JSON_HEADER_SUFFIX;
	const char *text = (const char *)state->maker->input + part->offset;
	size_t length = part->end - part->offset, end = sizeof(suffix) - 1;

	if (!part->end)
		return false;
	sonde_buffer_clear(&part->owned);
	if (length > end && !memcmp(text + length - end, suffix, end)) {
		sonde_buffer_put(&part->owned, text, length - end);
		sonde_buffer_put_char(&part->owned, '}');
	} else {
		sonde_buffer_put(&part->owned, text, length);
	}
	return true;
}

/* One string of a table: a text, or {"base64": "..."} where it is not UTF-8. */
static enum sonde_status put_string(struct cff_json_maker *state, struct sonde_json_reader *json,
				    struct sonde_buffer *table, struct sonde_error *err)
{
	enum sonde_status status;
	unsigned int depth = json->depth;
	char *place;
	size_t used;

	if (json->token == SONDE_JSON_STRING) {
		sonde_buffer_put(table, json->text, json->length);
		return SONDE_OK;
	}
	if (json->token != SONDE_JSON_OBJECT_BEGIN) {
		cff_json_find_value(state, "a string");
		return sonde_json_skip(json, err);
	}
	do {
		status = sonde_json_next(json, err);
		if (status < 0 || json->token != SONDE_JSON_STRING || json->depth != depth + 1)
			continue;
		place = sonde_buffer_reserve(table, sonde_base64_size(json->text, json->length));
		if (!place)
			return sonde_fail_nomem(err);
		table->size +=
			sonde_base64_decode(json->text, json->length, (uint8_t *)place, &used);
		if (used != json->length)
			CFF_FIND(state->maker->findings, JSON_BASE64, state->maker->path,
				 json->offset + 1 + used, "base64\tanother character");
	} while (status >= 0 && json->depth > depth);
	return status;
}

/* The strings of a table, each with its NUL. What the document breaks off is left out. */
static enum sonde_status make_strings(struct cff_json_maker *state, struct cff_json_part *part,
				      struct sonde_error *err)
{
	struct sonde_json_reader *json = &state->json;
	enum sonde_status status;

	sonde_buffer_clear(&part->owned);
	sonde_json_seek(json, part->array);
	status = sonde_json_next(json, err);
	while (status >= 0) {
		status = sonde_json_next(json, err);
		if (status < 0 || json->token == SONDE_JSON_ARRAY_END)
			break;
		status = put_string(state, json, &part->owned, err);
		if (status >= 0)
			sonde_buffer_put_char(&part->owned, '\0');
	}
	if (part->is_unterminated && part->owned.size)
		part->owned.size--;
	if (part->owned.failed)
		return sonde_fail_nomem(err);
	/* where the JSON is broken, it was said when the part was read */
	return status == SONDE_NOMEM ? status : SONDE_OK;
}

static bool check_bytes(struct cff_json_maker *state, const struct cff_json_part *part)
{
	size_t size;

	if (part->is_bad_mode) {
		CFF_FIND(state->maker->findings, JSON_MODE, state->maker->path, part->offset,
			 "mode \"base64\"\tanother mode");
		return false;
	}
	if (!part->text) {
		find_missing(state, part, "\"value\" with base64");
		return false;
	}
	size = sonde_base64_size(part->text, part->length);
	if (part->has_length && part->byte_length != size)
		CFF_FIND(state->maker->findings, JSON_LENGTH, state->maker->path, part->offset,
			 "%" PRIu64 " bytes\t%zu bytes", part->byte_length, size);
	return true;
}

static void set_bytes(struct cff_made_part *made, uint32_t type, const char *bytes, size_t size)
{
	*made = (struct cff_made_part){ .type = type, .bytes = size ? bytes : "", .size = size };
}

static void set_base64(struct cff_made_part *made, const struct cff_json_part *part)
{
	*made = (struct cff_made_part){
		.type = part->type,
		.base64 = part->text,
		.base64_length = part->length,
		.offset = part->text_offset,
	};
}

/* Chunks, when all their parts are known */

/* The table that the events of a chunk use: the last. */
static struct cff_json_part *find_strings(struct cff_json_chunk *chunk)
{
	for (size_t i = chunk->parts.count; i > 0; i--) {
		if (chunk->parts.items[i - 1].type == CFF_PART_STRINGS &&
		    chunk->parts.items[i - 1].array)
			return &chunk->parts.items[i - 1];
	}
	return NULL;
}

/* Definitions in base64 that events as JSON, here or further on, may need. */
static enum sonde_status scan_definitions(struct cff_json_maker *state,
					  const struct cff_json_part *part, struct sonde_error *err)
{
	struct sonde_buffer bytes = { 0 };
	size_t size = sonde_base64_size(part->text, part->length), used;
	enum sonde_status status;
	char *place;

	place = sonde_buffer_reserve(&bytes, size);
	if (!place)
		return sonde_fail_nomem(err);
	size = sonde_base64_decode(part->text, part->length, (uint8_t *)place, &used);
	status = cff_json_events_scan(&state->events, (const uint8_t *)place, size, err);
	sonde_buffer_release(&bytes);
	return status;
}

/* One part of an event chunk; *made has type 0 where nothing comes of it. */
static enum sonde_status make_part(struct cff_json_maker *state, const struct cff_json_chunk *chunk,
				   size_t number, struct cff_made_part *made,
				   struct sonde_error *err)
{
	struct cff_json_part *part = &chunk->parts.items[number];
	enum sonde_status status = SONDE_OK;

	*made = (struct cff_made_part){ 0 };
	switch (part->type) {
	case CFF_PART_FILE_HEADER:
		if (make_header(state, part))
			set_bytes(made, part->type, part->owned.data, part->owned.size);
		break;
	case CFF_PART_STRINGS:
		if (part->array)
			set_bytes(made, part->type, part->owned.data, part->owned.size);
		else
			find_missing(state, part, "\"value\" with an array of strings");
		break;
	case CFF_PART_JSON_EVENTS:
		if (!part->array)
			find_missing(state, part, "\"events\" with an array of events");
		else
			status = cff_json_events_read(&state->events, part->array, &part->owned,
						      err);
		set_bytes(made, CFF_PART_EVENTS, part->owned.data, part->owned.size);
		break;
	case CFF_PART_STRING_RESOURCE:
		if (part->text && !part->is_base64)
			set_bytes(made, part->type, part->text, part->length);
		else if (check_bytes(state, part))
			set_base64(made, part);
		break;
	default:
		if (!check_bytes(state, part))
			break;
		set_base64(made, part);
		if (part->type == CFF_PART_EVENTS && state->has_json_events &&
		    number + 1 == chunk->last_events)
			status = scan_definitions(state, part, err);
	}
	if (status >= 0 && part->owned.failed)
		return sonde_fail_nomem(err);
	return status;
}

/* Strings that events as JSON brought along: at the end of the table, or a table of their own. */
static enum sonde_status add_strings(struct cff_json_maker *state, struct cff_json_part *table,
				     struct cff_made_part *made, size_t *count,
				     struct sonde_error *err)
{
	const struct sonde_buffer *added = &state->events.texts.added;

	if (!added->size)
		return SONDE_OK;
	if (!table) {
		memmove(made + 1, made, *count * sizeof(*made));
		set_bytes(made, CFF_PART_STRINGS, added->data, added->size);
		++*count;
		return SONDE_OK;
	}
	if (table->owned.size && table->owned.data[table->owned.size - 1])
		sonde_buffer_put_char(&table->owned, '\0');
	sonde_buffer_put(&table->owned, added->data, added->size);
	if (table->owned.failed)
		return sonde_fail_nomem(err);
	for (size_t i = *count; i > 0; i--) {
		if (made[i - 1].type != CFF_PART_STRINGS)
			continue;
		set_bytes(&made[i - 1], CFF_PART_STRINGS, table->owned.data, table->owned.size);
		break;
	}
	return SONDE_OK;
}

static enum sonde_status make_parts(struct cff_json_maker *state, struct cff_json_chunk *chunk,
				    struct cff_made_part *made, size_t *count,
				    struct sonde_error *err)
{
	struct cff_json_part *table = find_strings(chunk);
	enum sonde_status status = SONDE_OK;

	for (size_t i = 0; i < chunk->parts.count && status >= 0; i++) {
		if (chunk->parts.items[i].type == CFF_PART_STRINGS && chunk->parts.items[i].array)
			status = make_strings(state, &chunk->parts.items[i], err);
	}
	if (status >= 0 && state->has_json_events)
		status = cff_json_events_set_table(
			&state->events, table ? (const uint8_t *)table->owned.data : NULL,
			table ? table->owned.size : 0, err);
	for (size_t i = 0; i < chunk->parts.count && status >= 0; i++) {
		status = make_part(state, chunk, i, &made[*count], err);
		if (made[*count].type)
			++*count;
	}
	return status < 0 ? status : add_strings(state, table, made, count, err);
}

/* Writes a chunk, and lets the reader go on where it was. */
static enum sonde_status make_chunk(struct cff_json_maker *state, struct cff_json_chunk *chunk,
				    struct sonde_error *err)
{
	struct cff_made_part *made = calloc(chunk->parts.count + 1, sizeof(*made));
	struct cff_made_chunk value = {
		.id = chunk->has_id ? chunk->id : state->chunk_count,
		.type = chunk->type,
		.start = chunk->start,
		.end = chunk->end,
		.parts = made,
		.offset = chunk->offset,
	};
	enum sonde_status status;

	if (!made)
		return sonde_fail_nomem(err);
	status = make_parts(state, chunk, made, &value.part_count, err);
	if (status >= 0)
		status = cff_make_chunk(state->maker, &value, err);
	free(made);
	return status;
}

static enum sonde_status end_chunk(struct cff_json_maker *state, struct cff_json_chunk *chunk,
				   struct sonde_error *err)
{
	struct sonde_json_reader kept = state->json;
	enum sonde_status status;

	state->chunk_count++;
	if (!chunk->has_type)
		CFF_FIND(state->maker->findings, JSON_CHUNK_TYPE, state->maker->path, chunk->offset,
			 "a chunk with a type\tnone");
	if (!chunk->is_known)
		return SONDE_OK;
	status = make_chunk(state, chunk, err);
	/* only its memory for texts may have changed meanwhile */
	kept.scratch = state->json.scratch;
	state->json = kept;
	return status;
}

static enum sonde_status read_chunk_type(struct cff_json_maker *state, struct cff_json_chunk *chunk,
					 struct sonde_error *err)
{
	enum sonde_status status = sonde_json_next(&state->json, err);
	struct sonde_json_reader *json = &state->json;
	bool is_text = status >= 0 && json->token == SONDE_JSON_STRING;

	if (status < 0)
		return status;
	chunk->has_type = true;
	chunk->is_known = is_text && cff_json_is_either(json, "file_header", "event_data");
	if (chunk->is_known)
		chunk->type = cff_json_is(json, "file_header") ? CFF_CHUNK_FILE_HEADER :
								 CFF_CHUNK_EVENT_DATA;
	else
		CFF_FIND(state->maker->findings, JSON_CHUNK_TYPE, state->maker->path, json->offset,
			 "\"file_header\" or \"event_data\"\t%.*s", shown(json), json->text);
	return sonde_json_skip(json, err);
}

enum sonde_status cff_json_chunk_member(struct cff_json_maker *state, struct cff_json_chunk *chunk,
					bool *is_member, struct sonde_error *err)
{
	struct sonde_json_reader *json = &state->json;
	bool has_time = false;

	*is_member = true;
	if (cff_json_is(json, "id"))
		return read_u32(state, &chunk->id, &chunk->has_id, err);
	if (cff_json_is(json, "type"))
		return read_chunk_type(state, chunk, err);
	if (cff_json_is_either(json, "startTime", "start_time"))
		return read_u32(state, &chunk->start, &has_time, err);
	if (cff_json_is_either(json, "endTime", "end_time"))
		return read_u32(state, &chunk->end, &has_time, err);
	if (cff_json_is(json, "parts"))
		return cff_json_each(state, "an array of parts", "a part", read_part, chunk, err);
	*is_member = false;
	return SONDE_OK;
}

static void release_chunk(struct cff_json_chunk *chunk)
{
	for (size_t i = 0; i < chunk->parts.count; i++)
		sonde_buffer_release(&chunk->parts.items[i].owned);
	sonde_vec_release(&chunk->parts);
}

enum sonde_status cff_json_chunk_finish(struct cff_json_maker *state, struct cff_json_chunk *chunk,
					enum sonde_status status, struct sonde_error *err)
{
	enum sonde_status written = SONDE_OK;
	struct sonde_error failure;

	if (status >= 0 || (cff_json_is_broken(status) && chunk->is_known && chunk->parts.count))
		written = end_chunk(state, chunk, &failure);
	release_chunk(chunk);
	if (written >= 0)
		return status;
	if (err)
		*err = failure;
	return written;
}

struct cff_json_chunk cff_json_chunk_at(uint64_t offset)
{
	return (struct cff_json_chunk){ .offset = offset,
					.start = CFF_NO_TIME,
					.end = CFF_NO_TIME };
}
