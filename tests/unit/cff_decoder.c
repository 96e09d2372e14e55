/* SPDX-License-Identifier: Apache-2.0 */
/* The decoder of cff_decoder.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/json.h"
#include "cff_decoder.h"
#include "formats/cff/cff_names.h"
#include "model/arguments.h"

#define NS_IN_US 1000u

/* A chunk while it is read. */
struct reading {
	struct decoded *decoded;
	const char **texts;
	size_t text_count;
	const uint8_t *times;
	size_t time_count;
	uint64_t base_ns;
	uint64_t offset;
	uint32_t start, end;
	uint32_t track; /* SONDE_NONE before a zone#set */
	size_t chunk;	/* in decoded->chunks; SIZE_MAX: has no events yet */
	bool is_exception, is_exact;
	uint32_t exact[4]; /* kind, function, depth, extra */
};

/* Without it nothing can go on; static analysis follows this, and not cmocka's asserts. */
#define need(happened) ((happened) ? (void)0 : abort())

static char *copy(const char *text)
{
	char *made = text ? strdup(text) : NULL;

	need(made || !text);
	return made;
}

static uint8_t *load(const char *path, size_t *size)
{
	FILE *file = fopen(path, "rb");
	uint8_t *bytes;

	need(file);
	assert_int_equal(fseek(file, 0, SEEK_END), 0);
	*size = (size_t)ftell(file);
	rewind(file);
	bytes = malloc(*size + 1);
	need(bytes);
	assert_int_equal(fread(bytes, 1, *size, file), *size);
	fclose(file);
	return bytes;
}

/* The parts of a chunk; `length` is the chunk's. */
static size_t read_parts(const struct decoded *decoded, size_t offset, size_t length,
			 struct decoded_part *parts, size_t limit)
{
	const uint8_t *chunk = decoded->bytes + offset;
	size_t count = sonde_load_u32le(chunk + 20), list = 24 + 12 * count, used = 0;

	assert_in_range(count, 1, limit);
	for (size_t i = 0; i < count; i++) {
		const uint8_t *part = chunk + 24 + 12 * i;

		parts[i].type = sonde_load_u32le(part);
		parts[i].size = sonde_load_u32le(part + 8);
		assert_int_equal(sonde_load_u32le(part + 4), used); /* no gaps */
		parts[i].bytes = chunk + list + used;
		used += (parts[i].size + 3) & ~(size_t)3;
		assert_true(list + used <= length);
	}
	assert_int_equal(list + used, length);
	return count;
}

static void read_texts(struct reading *reading, const struct decoded_part *part)
{
	const char *at = (const char *)part->bytes, *end = at + part->size;

	assert_true(part->size && !end[-1]);
	while (at < end) {
		reading->texts = realloc(reading->texts,
					 (reading->text_count + 1) * sizeof(*reading->texts));
		need(reading->texts);
		assert_true(*at); /* a text that is empty has an ordinal of its own */
		reading->texts[reading->text_count++] = at;
		at += strlen(at) + 1;
	}
}

static const char *text_of(const struct reading *reading, const uint8_t *slot)
{
	uint32_t ordinal = sonde_load_u32le(slot);

	if (ordinal == UINT32_MAX)
		return NULL;
	if (ordinal == UINT32_MAX - 1)
		return "";
	need(reading->texts && ordinal < reading->text_count);
	return reading->texts[ordinal];
}

/* Bytes of the arguments of a type. */
static size_t values_size(const struct sonde_signature *signature, const uint8_t *bytes,
			  size_t left)
{
	size_t size = 0;

	for (size_t i = 0; i < sonde_signature_count(signature); i++) {
		const struct sonde_argument_spec *spec = sonde_signature_at(signature, i);
		size_t items = 0;

		assert_true(sonde_argument_type_size(spec->type) <= 4); /* nothing of 64 bits */
		assert_true(size + 4 <= left);
		if (spec->is_array && sonde_load_u32le(bytes + size) != UINT32_MAX)
			items = sonde_load_u32le(bytes + size) *
				sonde_argument_type_size(spec->type);
		size += 4 + ((items + 3) & ~(size_t)3);
		assert_true(size <= left);
	}
	return size;
}

static void define(struct reading *reading, const uint8_t *values)
{
	struct decoded *decoded = reading->decoded;
	uint32_t wire = sonde_load_u32le(values);
	struct decoded_type *type = sonde_vec_push(&decoded->types);
	const char *arguments = text_of(reading, values + 16);

	need(type);
	assert_in_range(wire, 1, UINT16_MAX);
	*type = (struct decoded_type){
		.class = sonde_load_u32le(values + 4),
		.flags = sonde_load_u32le(values + 8),
		.name = copy(text_of(reading, values + 12)),
		.arguments = copy(arguments ? arguments : ""),
	};
	assert_non_null(type->name);
	assert_int_equal(sonde_signature_parse(type->arguments, &type->signature, NULL), SONDE_OK);
	decoded->redefinitions += decoded->wires[wire] != 0;
	decoded->wires[wire] = (uint32_t)decoded->types.count;
}

static bool same(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

static void create_zone(struct reading *reading, const uint8_t *values)
{
	struct decoded *decoded = reading->decoded;
	const char *name = text_of(reading, values + 4), *type = text_of(reading, values + 8);
	const char *location = text_of(reading, values + 12);
	uint32_t id = sonde_load_u32le(values);
	size_t i = 0;

	assert_in_range(id, 1, UINT16_MAX);
	while (decoded->zones[id] && i < decoded->tracks.count &&
	       (!same(decoded->tracks.items[i].name, name) ||
		!same(decoded->tracks.items[i].type, type) ||
		!same(decoded->tracks.items[i].location, location)))
		i++;
	if (!decoded->zones[id] || i == decoded->tracks.count) {
		struct decoded_track *track = sonde_vec_push(&decoded->tracks);

		need(track);
		i = decoded->tracks.count - 1;
		*track = (struct decoded_track){
			.name = copy(name),
			.type = copy(type),
			.location = copy(location),
		};
	}
	decoded->zones[id] = (uint32_t)i + 1;
}

static struct decoded_chunk *chunk_of(struct reading *reading, uint64_t time_ns)
{
	struct decoded *decoded = reading->decoded;
	struct decoded_track *track = &decoded->tracks.items[reading->track];
	struct decoded_chunk *chunk;

	need(decoded->tracks.items);
	if (reading->chunk != SIZE_MAX)
		return &decoded->chunks.items[reading->chunk];
	reading->chunk = decoded->chunks.count;
	chunk = sonde_vec_push(&decoded->chunks);
	need(chunk);
	*chunk = (struct decoded_chunk){
		.offset = reading->offset,
		.first_index = track->events.count,
		.first_ns = time_ns,
		.track = reading->track,
		.start = reading->start,
		.end = reading->end,
	};
	for (size_t i = 0; i < track->open.count; i++) {
		struct decoded_call *call = sonde_vec_push(&chunk->open);

		need(call);
		*call = track->open.items[i];
	}
	return chunk;
}

/* The values behind the first of a split number: low and high word, or high word only. */
static enum sonde_status join_number(struct sonde_arguments *values,
				     const struct sonde_argument_spec *spec,
				     struct sonde_argument *argument, struct sonde_error *err)
{
	unsigned int slots = cff_argument_slots(spec);
	uint64_t low = argument->value.u64;
	enum sonde_status status = SONDE_OK;

	for (unsigned int i = 1; !status && i < slots; i++) {
		status = sonde_arguments_next(values, argument, err);
		if (!status && i + 1 < slots)
			low = argument->value.u64;
	}
	argument->value.u64 = argument->value.u64 << 32 | (uint32_t)low;
	return status;
}

static enum sonde_status join_arguments(const struct sonde_signature *split,
					const struct sonde_signature *joined, const uint8_t *bytes,
					size_t size, struct sonde_buffer *out,
					struct sonde_error *err)
{
	struct sonde_arguments values = { .signature = split, .bytes = bytes, .size = size };

	for (size_t i = 0; i < sonde_signature_count(joined); i++) {
		const struct sonde_argument_spec *spec = sonde_signature_at(joined, i);
		struct sonde_argument argument;
		enum sonde_status status = sonde_arguments_next(&values, &argument, err);

		if (status == SONDE_END)
			return sonde_fail(err, SONDE_CORRUPT, SONDE_NO_OFFSET,
					  "an event has fewer arguments than its type");
		if (!status && cff_argument_slots(spec) > 1)
			status = join_number(&values, spec, &argument, err);
		if (status < 0)
			return status;
		if (spec->is_array && sonde_argument_type_size(spec->type) == 8)
			argument.count /= 2;
		argument.spec = spec;
		sonde_arguments_put(out, &argument);
	}
	return SONDE_OK;
}

/* The arguments of an event, joined, behind those of the others. */
static void join(struct reading *reading, const struct decoded_type *type, const uint8_t *values,
		 struct decoded_event *event)
{
	struct decoded *decoded = reading->decoded;
	struct sonde_signature *joined;
	struct sonde_buffer packed = { 0 };
	size_t at = 0;

	for (size_t i = 0; i < sonde_signature_count(type->signature); i++) {
		const struct sonde_argument_spec *spec = sonde_signature_at(type->signature, i);
		size_t size = 4;

		if (sonde_argument_type_is_text(spec->type)) {
			const char *text = text_of(reading, values + at);

			sonde_arguments_put_text(&packed, text, text ? strlen(text) : 0);
		} else {
			if (spec->is_array && sonde_load_u32le(values + at) != UINT32_MAX)
				size += (sonde_load_u32le(values + at) *
						 sonde_argument_type_size(spec->type) +
					 3) &
					~(size_t)3;
			sonde_buffer_put(&packed, values + at, size);
		}
		at += size;
	}
	assert_true(event->event_type < decoded->signatures.count);
	assert_int_equal(
		sonde_signature_parse(decoded->signatures.items[event->event_type], &joined, NULL),
		SONDE_OK);
	event->arguments = decoded->arguments.size;
	assert_int_equal(join_arguments(type->signature, joined, (uint8_t *)packed.data,
					packed.size, &decoded->arguments, NULL),
			 SONDE_OK);
	event->size = decoded->arguments.size - event->arguments;
	sonde_signature_free(joined);
	sonde_buffer_release(&packed);
}

static const struct decoded_meaning *meaning_of(const struct decoded *decoded, const char *name)
{
	uint32_t number = sonde_text_map_find(&decoded->meaning_of, name, strlen(name));

	return number == UINT32_MAX ? NULL : &decoded->meanings.items[number];
}

static uint32_t depth_of(const struct decoded_track *track)
{
	return track->open.count ? track->open.items[track->open.count - 1].depth : 0;
}

static void close_calls(struct decoded_track *track, uint32_t depth)
{
	while (track->open.count && depth_of(track) >= depth)
		track->open.count--;
}

/* What an event that is neither a call nor a leave is by its name. */
static void name_kind(const struct decoded_type *type, const uint8_t *values,
		      struct sonde_event *event)
{
	static const struct {
		const char *name;
		enum sonde_event_kind kind;
	} kinds[] = {
		{ "wtf.flow#branch", SONDE_EVENT_FLOW_BEGIN },
		{ "wtf.flow#extend", SONDE_EVENT_FLOW_STEP },
		{ "wtf.flow#terminate", SONDE_EVENT_FLOW_END },
		{ "wtf.trace#mark", SONDE_EVENT_MARK },
		{ "wtf.timeRange#begin", SONDE_EVENT_RANGE_BEGIN },
		{ "wtf.timeRange#end", SONDE_EVENT_RANGE_END },
		{ "timing#frameStart", SONDE_EVENT_RANGE_BEGIN },
		{ "timing#frameEnd", SONDE_EVENT_RANGE_END },
	};

	event->kind = SONDE_EVENT_INSTANT;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (!strcmp(type->name, kinds[i].name))
			event->kind = (uint8_t)kinds[i].kind;
	}
	if (event->kind >= SONDE_EVENT_FLOW_BEGIN)
		event->extra = sonde_load_u32le(values);
	if (!strncmp(type->name, "sonde.counter#", 14)) {
		event->kind = SONDE_EVENT_COUNTER;
		event->detail = sonde_load_u32le(values + 4);
		event->extra = sonde_load_u32le(values + 8);
	}
}

static void follow_call(struct reading *reading, struct decoded_track *track,
			struct sonde_event *event)
{
	struct decoded_call *call;

	if (reading->is_exact)
		close_calls(track, event->depth);
	call = sonde_vec_push(&track->open);
	need(call);
	*call = (struct decoded_call){ event->function, event->depth };
}

static void follow_leave(struct reading *reading, struct decoded_track *track,
			 const struct sonde_event *event)
{
	if (reading->is_exact)
		close_calls(track, event->depth);
	else if (track->open.count)
		track->open.count--;
}

/* Kind, function, depth and extra as they follow from the type. */
static void understand(struct reading *reading, const struct decoded_type *type,
		       const uint8_t *values, struct decoded_event *made)
{
	struct decoded_track *track = &reading->decoded->tracks.items[reading->track];
	const struct decoded_meaning *meaning = meaning_of(reading->decoded, type->name);
	struct sonde_event *event = &made->event;

	event->depth = depth_of(track);
	event->function = SONDE_NONE;
	if (type->class == 1) {
		event->kind = SONDE_EVENT_CALL;
		event->depth++;
		if (!strcmp(type->name, "sonde.scope#call"))
			event->function = sonde_load_u32le(values);
		else if (meaning)
			event->function = meaning->function;
	} else if (!strcmp(type->name, "wtf.scope#leave")) {
		event->kind = reading->is_exception ? SONDE_EVENT_EXCEPTION : SONDE_EVENT_RETURN;
		if (track->open.count)
			event->function = track->open.items[track->open.count - 1].function;
	} else {
		name_kind(type, values, event);
		if (meaning)
			event->function = meaning->event_type;
	}
	if (!reading->is_exact)
		return;
	event->kind = (uint8_t)reading->exact[0];
	event->function = reading->exact[1];
	event->depth = reading->exact[2];
	if (event->kind != SONDE_EVENT_COUNTER)
		event->extra = reading->exact[3];
}

static void read_event(struct reading *reading, const struct decoded_type *type,
		       const uint8_t *values, uint64_t time_ns)
{
	struct decoded *decoded = reading->decoded;
	struct decoded_event event = {
		.event = { .time_ns = time_ns, .track = reading->track, .detail = SONDE_NONE },
		.event_type = SONDE_NONE,
	};
	struct decoded_track *track;
	struct decoded_chunk *chunk;
	struct decoded_event *added;

	assert_true(reading->track != SONDE_NONE);
	track = &decoded->tracks.items[reading->track];
	chunk = chunk_of(reading, time_ns);
	understand(reading, type, values, &event);
	if (event.event.kind == SONDE_EVENT_CALL && *type->arguments &&
	    strcmp(type->name, "sonde.scope#call") != 0)
		event.event_type = meaning_of(decoded, type->name)->event_type;
	else if (event.event.kind > SONDE_EVENT_EXCEPTION &&
		 event.event.kind != SONDE_EVENT_COUNTER && *type->arguments &&
		 *decoded->signatures.items[event.event.function])
		event.event_type = event.event.function;
	if (event.event_type != SONDE_NONE)
		join(reading, type, values, &event);
	if (event.event.kind == SONDE_EVENT_CALL)
		follow_call(reading, track, &event.event);
	else if (sonde_event_leaves(&event.event))
		follow_leave(reading, track, &event.event);
	reading->is_exact = reading->is_exception = false;
	added = sonde_vec_push(&track->events);
	need(added);
	*added = event;
	chunk->events++;
	chunk->last_ns = time_ns;
}

static void take_exact(struct reading *reading, const uint8_t *values)
{
	reading->is_exact = true;
	for (size_t i = 0; i < 4; i++)
		reading->exact[i] = sonde_load_u32le(values + 4 * i);
}

static void read_events(struct reading *reading, const struct decoded_part *part)
{
	struct decoded *decoded = reading->decoded;
	size_t at = 0, number = 0;

	assert_int_equal(part->size % 4, 0);
	for (; at < part->size; number++) {
		const uint8_t *bytes = part->bytes + at;
		uint32_t wire = sonde_load_u32le(bytes), us = sonde_load_u32le(bytes + 4);
		uint64_t time_ns = decoded->origin_ns + reading->base_ns + us * (uint64_t)NS_IN_US;
		const struct decoded_type *type;

		if (number < reading->time_count)
			time_ns += sonde_load_u16le(reading->times + 2 * number);
		at += 8;
		if (wire == 1) {
			define(reading, bytes + 8);
			at += 20;
			continue;
		}
		assert_true(wire < 65536 && decoded->wires[wire]);
		type = &decoded->types.items[decoded->wires[wire] - 1];
		at += values_size(type->signature, bytes + 8, part->size - at);
		if (!strcmp(type->name, "wtf.zone#create")) {
			create_zone(reading, bytes + 8);
		} else if (!strcmp(type->name, "wtf.zone#set")) {
			assert_true(reading->track == SONDE_NONE); /* one zone a chunk */
			reading->track = decoded->zones[sonde_load_u32le(bytes + 8)] - 1;
			assert_true(reading->track < decoded->tracks.count);
		} else if (!strcmp(type->name, "sonde.scope#exception")) {
			reading->is_exception = true;
		} else if (!strcmp(type->name, "sonde.event#exact")) {
			take_exact(reading, bytes + 8);
		} else {
			read_event(reading, type, bytes + 8, time_ns);
		}
	}
	assert_int_equal(at, part->size);
	assert_false(reading->is_exact || reading->is_exception);
	assert_in_range(number, 0, 1 << 16);
}

static void take_times(struct reading *reading, const struct decoded_part *part)
{
	assert_true(part->size >= 16);
	reading->base_ns = sonde_load_u64le(part->bytes + 8);
	reading->times = part->bytes + 16;
	reading->time_count = (part->size - 16) / 2;
}

static bool has_magic(const struct decoded_part *part, const char *magic)
{
	return part->size >= strlen(magic) && !memcmp(part->bytes, magic, strlen(magic));
}

static void keep_resource(struct decoded *decoded, const struct decoded_part *part)
{
	struct decoded_part *kept = sonde_vec_push(&decoded->resources);

	need(kept);
	*kept = *part;
}

static void keep_other(struct decoded *decoded, uint64_t offset)
{
	uint64_t *kept = sonde_vec_push(&decoded->other_chunks);

	need(kept);
	*kept = offset;
}

static void read_chunk(struct decoded *decoded, size_t offset, size_t length)
{
	struct decoded_part parts[8] = { 0 }, *events = NULL;
	size_t count = read_parts(decoded, offset, length, parts, 8);
	struct reading reading = {
		.decoded = decoded,
		.offset = offset,
		.track = SONDE_NONE,
		.chunk = SIZE_MAX,
		.start = sonde_load_u32le(decoded->bytes + offset + 12),
		.end = sonde_load_u32le(decoded->bytes + offset + 16),
	};
	bool is_last = offset + length == decoded->size;

	assert_true(reading.start <= reading.end);
	for (size_t i = 0; i < count; i++) {
		if (parts[i].type == 0x30000)
			read_texts(&reading, &parts[i]);
		else if (parts[i].type == 0x20002)
			events = &parts[i];
		else if (has_magic(&parts[i], "sondeNS1"))
			take_times(&reading, &parts[i]);
		else if (!is_last)
			keep_resource(decoded, &parts[i]);
	}
	need(events);
	read_events(&reading, events);
	if (reading.chunk == SIZE_MAX && !is_last)
		keep_other(decoded, offset);
	free(reading.texts);
}

static char *copy_part(const struct decoded_part *part)
{
	char *text;

	need(part->bytes);
	text = strndup((const char *)part->bytes, part->size);
	need(text);
	assert_int_equal(strlen(text), part->size);
	return text;
}

static uint32_t next_id(struct sonde_json_reader *reader)
{
	assert_int_equal(sonde_json_next(reader, NULL), SONDE_OK);
	assert_int_equal(reader->token, SONDE_JSON_NUMBER);
	return (uint32_t)strtol(reader->text, NULL, 10);
}

/* One line of "types" or "event_types"; the reader is behind its "[". */
static void read_line(struct decoded *decoded, struct sonde_json_reader *reader, bool is_type)
{
	struct decoded_meaning *meaning;
	char **signature;

	assert_int_equal(sonde_json_next(reader, NULL), SONDE_OK);
	assert_int_equal(reader->token, SONDE_JSON_STRING);
	if (is_type) {
		meaning = sonde_vec_push(&decoded->meanings);
		need(meaning);
		meaning->name = copy(reader->text);
		meaning->function = next_id(reader);
		meaning->event_type = next_id(reader);
		assert_true(sonde_text_map_add(&decoded->meaning_of, meaning->name,
					       strlen(meaning->name),
					       (uint32_t)decoded->meanings.count - 1));
	} else {
		assert_int_equal(sonde_json_next(reader, NULL), SONDE_OK);
		signature = sonde_vec_push(&decoded->signatures);
		need(signature);
		*signature = copy(reader->text);
		next_id(reader);
		next_id(reader);
	}
	assert_int_equal(sonde_json_next(reader, NULL), SONDE_OK);
	assert_int_equal(reader->token, SONDE_JSON_ARRAY_END);
}

static void read_definitions(struct decoded *decoded)
{
	struct sonde_json_reader reader;

	sonde_json_reader_init(&reader, decoded->definitions, strlen(decoded->definitions), NULL,
			       NULL);
	assert_int_equal(sonde_json_next(&reader, NULL), SONDE_OK);
	assert_int_equal(reader.token, SONDE_JSON_OBJECT_BEGIN);
	while (!sonde_json_next(&reader, NULL) && reader.token == SONDE_JSON_KEY) {
		bool is_type = !strcmp(reader.text, "types");

		if (!is_type && strcmp(reader.text, "event_types") != 0) {
			assert_int_equal(sonde_json_skip(&reader, NULL), SONDE_OK);
			continue;
		}
		assert_int_equal(sonde_json_next(&reader, NULL), SONDE_OK);
		while (!sonde_json_next(&reader, NULL) && reader.token == SONDE_JSON_ARRAY_BEGIN)
			read_line(decoded, &reader, is_type);
	}
	assert_int_equal(reader.token, SONDE_JSON_OBJECT_END);
	sonde_json_reader_release(&reader);
}

static void read_last_chunk(struct decoded *decoded, size_t offset, size_t length)
{
	struct decoded_part parts[3] = { 0 };
	size_t count = read_parts(decoded, offset, length, parts, 3);

	assert_int_equal(parts[0].type, 0x20002);
	assert_int_equal(parts[0].size, 0);
	assert_true(count >= 2 && parts[1].type == 0x40001);
	assert_true(has_magic(&parts[1], "{\"sonde_definitions\":1,"));
	decoded->definitions = copy_part(&parts[1]);
	read_definitions(decoded);
	if (count < 3)
		return;
	assert_true(parts[2].type == 0x40000 && has_magic(&parts[2], "sondeIX1"));
	decoded->index = parts[2].bytes;
	decoded->index_size = parts[2].size;
}

static void read_header(struct decoded *decoded, size_t offset, size_t length)
{
	struct decoded_part part = { 0 };
	const char *origin;

	assert_int_equal(read_parts(decoded, offset, length, &part, 1), 1);
	assert_int_equal(part.type, 0x10000);
	decoded->header = copy_part(&part);
	assert_non_null(strstr(decoded->header, "\"sonde\":{\"version\":1,"));
	origin = strstr(decoded->header, "\"origin_ns\":");
	need(origin);
	decoded->origin_ns = strtoull(origin + strlen("\"origin_ns\":"), NULL, 10);
}

/* Where the chunks begin; ends with the size of the file. */
static size_t *find_chunks(const struct decoded *decoded, size_t *count)
{
	SONDE_VEC(size_t) offsets = { 0 };
	size_t offset = 12, *place;

	while (offset < decoded->size) {
		assert_true(decoded->size - offset >= 36);
		assert_int_equal(sonde_load_u32le(decoded->bytes + offset), offsets.count + 1);
		assert_int_equal(sonde_load_u32le(decoded->bytes + offset + 4),
				 offsets.count ? 2 : 1);
		place = sonde_vec_push(&offsets);
		need(place);
		*place = offset;
		offset += sonde_load_u32le(decoded->bytes + offset + 8);
	}
	assert_int_equal(offset, decoded->size);
	place = sonde_vec_push(&offsets);
	need(place);
	*place = offset;
	*count = offsets.count - 1;
	return offsets.items;
}

struct decoded *decode_file(const char *path)
{
	struct decoded *decoded = calloc(1, sizeof(*decoded));
	size_t count, *offsets;

	need(decoded);
	decoded->bytes = load(path, &decoded->size);
	assert_true(decoded->size > 36);
	assert_memory_equal(decoded->bytes, "\xEF\xBE\xAD\xDE", 4);
	assert_int_equal(sonde_load_u32le(decoded->bytes + 8), 10);
	offsets = find_chunks(decoded, &count);
	need(count >= 2);
	read_header(decoded, 12, offsets[1] - 12);
	read_last_chunk(decoded, offsets[count - 1], offsets[count] - offsets[count - 1]);
	for (size_t i = 1; i < count; i++)
		read_chunk(decoded, offsets[i], offsets[i + 1] - offsets[i]);
	free(offsets);
	return decoded;
}

void decoded_free(struct decoded *decoded)
{
	for (size_t i = 0; i < decoded->tracks.count; i++) {
		struct decoded_track *track = &decoded->tracks.items[i];

		free(track->name);
		free(track->type);
		free(track->location);
		sonde_vec_release(&track->events);
		sonde_vec_release(&track->open);
	}
	for (size_t i = 0; i < decoded->types.count; i++) {
		free(decoded->types.items[i].name);
		free(decoded->types.items[i].arguments);
		sonde_signature_free(decoded->types.items[i].signature);
	}
	for (size_t i = 0; i < decoded->meanings.count; i++)
		free(decoded->meanings.items[i].name);
	for (size_t i = 0; i < decoded->signatures.count; i++)
		free(decoded->signatures.items[i]);
	for (size_t i = 0; i < decoded->chunks.count; i++)
		sonde_vec_release(&decoded->chunks.items[i].open);
	sonde_vec_release(&decoded->tracks);
	sonde_vec_release(&decoded->types);
	sonde_vec_release(&decoded->meanings);
	sonde_vec_release(&decoded->signatures);
	sonde_vec_release(&decoded->resources);
	sonde_vec_release(&decoded->chunks);
	sonde_vec_release(&decoded->other_chunks);
	sonde_text_map_release(&decoded->meaning_of);
	sonde_buffer_release(&decoded->arguments);
	free(decoded->header);
	free(decoded->definitions);
	free(decoded->bytes);
	free(decoded);
}

const struct decoded_type *decoded_find_type(const struct decoded *decoded, const char *name)
{
	for (size_t i = decoded->types.count; i-- > 0;) {
		if (!strcmp(decoded->types.items[i].name, name))
			return &decoded->types.items[i];
	}
	return NULL;
}
