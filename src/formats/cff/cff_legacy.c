/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a legacy file, version 3, to a version 10 image. Its events are big-endian and packed, with
 * their texts inside; here they become slots, and chunks of them with a string table each.
 */
#include <endian.h>
#include <inttypes.h>

#include "base/bytes.h"
#include "base/utf8.h"
#include "formats/cff/cff_findings.h"
#include "formats/cff/cff_json_events.h"
#include "formats/cff/cff_make.h"
#include "formats/cff/cff_put.h"

#define CHUNK_BYTES ((size_t)1 << 20)

struct legacy {
	const struct cff_maker *maker;
	struct sonde_bytes input;
	struct cff_types types;
	struct cff_texts texts;	    /* of the chunk being made */
	struct sonde_buffer events; /* likewise */
	uint32_t chunk_count;
};

static uint16_t read_u16(struct sonde_bytes *bytes)
{
	return __builtin_bswap16(sonde_bytes_u16le(bytes));
}

static uint32_t read_u32(struct sonde_bytes *bytes)
{
	return __builtin_bswap32(sonde_bytes_u32le(bytes));
}

/* A text after its length; utf8 says its characters before its bytes. Borrowed. */
static const char *read_text(struct sonde_bytes *bytes, bool is_utf8, size_t *length)
{
	if (is_utf8)
		read_u16(bytes);
	*length = read_u16(bytes);
	return (const char *)sonde_bytes_take(bytes, *length);
}

/* The header */

static void put_json(struct legacy *legacy, struct sonde_buffer *header, const char *key,
		     const char *text, size_t length, uint64_t offset)
{
	enum sonde_status status;

	if (!text || !length)
		return;
	status = cff_check_json_object(text, length);
	if (status == SONDE_NOMEM)
		header->failed = true;
	if (status < 0 && !header->failed) {
		CFF_FIND(legacy->maker->findings, LEGACY_HEADER, legacy->maker->path, offset,
			 "%s as a JSON object\tsomething else", key);
		return;
	}
	sonde_buffer_put_format(header, ",\"%s\":", key);
	sonde_buffer_put(header, text, length);
}

static void put_flags(struct sonde_buffer *header, uint32_t flags)
{
	sonde_buffer_put_text(header, "\"flags\":[");
	if (flags & 1)
		sonde_buffer_put_text(header, "\"has_high_resolution_times\"");
	if ((flags & 3) == 3)
		sonde_buffer_put_char(header, ',');
	if (flags & 2)
		sonde_buffer_put_text(header, "\"times_as_count\"");
	sonde_buffer_put_char(header, ']');
}

static enum sonde_status make_header(struct legacy *legacy, struct sonde_error *err)
{
	struct sonde_bytes *input = &legacy->input;
	struct sonde_buffer header = { 0 };
	const char *context, *metadata;
	size_t context_length, metadata_length, context_offset, metadata_offset;
	uint32_t flags;
	uint64_t timebase;
	enum sonde_status status;

	context_offset = input->position;
	context = read_text(input, true, &context_length);
	flags = read_u32(input);
	timebase = read_u32(input);
	timebase |= (uint64_t)read_u32(input) << 32;
	metadata_offset = input->position;
	metadata = read_text(input, true, &metadata_length);
	if (input->overrun)
		CFF_FIND(legacy->maker->findings, LEGACY_HEADER, legacy->maker->path,
			 input->position, "a whole header\tthe end of the file");
	sonde_buffer_put_text(&header, "{\"type\":\"file_header\",");
	put_flags(&header, flags);
	sonde_buffer_put_format(&header, ",\"timebase\":%" PRIu64, timebase);
	put_json(legacy, &header, "contextInfo", context, context_length, context_offset);
	put_json(legacy, &header, "metadata", metadata, metadata_length, metadata_offset);
	sonde_buffer_put_char(&header, '}');
	status = cff_make_header_chunk(legacy->maker, &header, err);
	sonde_buffer_release(&header);
	return status;
}

/* Events */

static enum sonde_status put_text(struct legacy *legacy, const struct sonde_argument_spec *spec,
				  struct sonde_error *err)
{
	bool is_any = spec->type == SONDE_ARGUMENT_ANY;
	uint32_t ordinal = is_any ? CFF_STRING_NULL : CFF_STRING_EMPTY;
	size_t length;
	const char *text = read_text(&legacy->input, spec->type != SONDE_ARGUMENT_ASCII, &length);
	enum sonde_status status = SONDE_OK;

	/* a table ends its texts with NUL */
	if (text && length)
		length = strnlen(text, length);
	if (text && length)
		status = cff_texts_get(&legacy->texts, text, length, &ordinal, err);
	sonde_put_u32le(&legacy->events, ordinal);
	return status;
}

/* The value of a number, big-endian but for float32. */
static uint32_t read_item(struct sonde_bytes *input, enum sonde_argument_type type)
{
	if (type == SONDE_ARGUMENT_FLOAT32)
		return sonde_bytes_u32le(input);
	switch (sonde_argument_type_size(type)) {
	case 1:
		return sonde_bytes_u8(input);
	case 2:
		return read_u16(input);
	default:
		return read_u32(input);
	}
}

static void put_array(struct legacy *legacy, const struct sonde_argument_spec *spec)
{
	size_t size = sonde_argument_type_size(spec->type);
	uint32_t count = read_u32(&legacy->input);

	if (count == CFF_ARRAY_NULL) {
		sonde_put_u32le(&legacy->events, count);
		return;
	}
	if (count > sonde_bytes_left(&legacy->input) / size) {
		legacy->input.overrun = true;
		return;
	}
	sonde_put_u32le(&legacy->events, count);
	for (uint32_t i = 0; i < count; i++) {
		uint8_t bytes[4];

		sonde_store_u32le(bytes, read_item(&legacy->input, spec->type));
		sonde_buffer_put(&legacy->events, bytes, size);
	}
	sonde_buffer_put(&legacy->events, "\0\0\0", -((size_t)count * size) & 3);
}

static enum sonde_status put_arguments(struct legacy *legacy, const struct cff_type *type,
				       struct sonde_error *err)
{
	size_t count = sonde_signature_count(type->signature);
	enum sonde_status status = SONDE_OK;

	for (size_t i = 0; i < count && status >= 0 && !legacy->input.overrun; i++) {
		const struct sonde_argument_spec *spec = sonde_signature_at(type->signature, i);

		if (spec->is_array)
			put_array(legacy, spec);
		else if (sonde_argument_type_is_text(spec->type))
			status = put_text(legacy, spec, err);
		else
			sonde_put_u32le(&legacy->events, read_item(&legacy->input, spec->type));
	}
	return status;
}

static void copy_text(const struct legacy *legacy, uint32_t ordinal, struct sonde_buffer *copy)
{
	const struct cff_text *text = cff_texts_at(&legacy->texts, ordinal);

	if (text)
		sonde_buffer_put(copy, text->text, text->length);
	sonde_buffer_put_char(copy, '\0');
}

/* Carries out a definition, which was just made. */
static enum sonde_status define(struct legacy *legacy, size_t start, uint64_t offset,
				struct sonde_error *err)
{
	const uint8_t *slots = (const uint8_t *)legacy->events.data + start + CFF_EVENT_SIZE;
	struct sonde_buffer texts = { 0 };
	struct sonde_error failure = { 0 };
	enum cff_defined defined;
	enum sonde_status status;
	size_t arguments;

	copy_text(legacy, sonde_load_u32le(slots + 12), &texts);
	arguments = texts.size;
	copy_text(legacy, sonde_load_u32le(slots + 16), &texts);
	if (texts.failed)
		status = sonde_fail_nomem(&failure);
	else if (arguments > CFF_NAME_LIMIT || texts.size - arguments > CFF_NAME_LIMIT)
		status = sonde_fail(&failure, SONDE_CORRUPT, offset, "a text of more than %d bytes",
				    CFF_NAME_LIMIT);
	else
		status = cff_types_define(&legacy->types, sonde_load_u16le(slots),
					  sonde_load_u16le(slots + 4), sonde_load_u32le(slots + 8),
					  texts.data, texts.data + arguments, &defined, &failure);
	sonde_buffer_release(&texts);
	if (status == SONDE_NOMEM)
		return sonde_fail_nomem(err);
	if (status < 0)
		CFF_FIND(legacy->maker->findings, LEGACY_EVENT, legacy->maker->path, offset,
			 "a definition\t%s", failure.message);
	return SONDE_OK;
}

/* The next event; SONDE_END where there is none, or none that can be read. */
static enum sonde_status make_event(struct legacy *legacy, struct sonde_error *err)
{
	struct sonde_bytes *input = &legacy->input;
	size_t start = legacy->events.size, offset = input->position;
	uint32_t wire = read_u16(input), time = read_u32(input);
	const struct cff_type *type = cff_types_find(&legacy->types, wire);
	enum sonde_status status;

	if (!type && !input->overrun) {
		CFF_FIND(legacy->maker->findings, LEGACY_EVENT, legacy->maker->path, offset,
			 "an event type that is defined\twire id %" PRIu32, wire);
		return SONDE_END;
	}
	sonde_put_u32le(&legacy->events, wire);
	sonde_put_u32le(&legacy->events, time);
	status = type ? put_arguments(legacy, type, err) : SONDE_OK;
	if (status < 0)
		return status;
	if (legacy->events.failed)
		return sonde_fail_nomem(err);
	if (input->overrun) {
		legacy->events.size = start;
		CFF_FIND(legacy->maker->findings, LEGACY_EVENT, legacy->maker->path, offset,
			 "a whole event\tthe end of the file");
		return SONDE_END;
	}
	return type && type->builtin == CFF_DEFINE ? define(legacy, start, offset, err) : SONDE_OK;
}

static enum sonde_status end_chunk(struct legacy *legacy, struct sonde_error *err)
{
	const struct sonde_buffer *strings = &legacy->texts.added;
	struct cff_made_part parts[] = {
		{ .type = CFF_PART_STRINGS,
		  .bytes = strings->size ? strings->data : "",
		  .size = strings->size },
		{ .type = CFF_PART_EVENTS,
		  .bytes = legacy->events.size ? legacy->events.data : "",
		  .size = legacy->events.size },
	};
	struct cff_made_chunk chunk = {
		.id = ++legacy->chunk_count + 1,
		.type = CFF_CHUNK_EVENT_DATA,
		.start = CFF_NO_TIME,
		.end = CFF_NO_TIME,
		.parts = parts,
		.part_count = 2,
	};
	enum sonde_status status = cff_make_chunk(legacy->maker, &chunk, err);

	sonde_buffer_clear(&legacy->events);
	cff_texts_release(&legacy->texts);
	return status;
}

static enum sonde_status make_events(struct legacy *legacy, struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	while (status == SONDE_OK && sonde_bytes_left(&legacy->input) && !legacy->input.overrun) {
		status = make_event(legacy, err);
		if (status == SONDE_OK && legacy->events.size >= CHUNK_BYTES)
			status = end_chunk(legacy, err);
	}
	if (status >= 0 && (legacy->events.size || !legacy->chunk_count))
		return end_chunk(legacy, err);
	return status < 0 ? status : SONDE_OK;
}

static enum sonde_status make_file(struct legacy *legacy, struct sonde_error *err)
{
	uint32_t magic = read_u32(&legacy->input), wtf_version = read_u32(&legacy->input);
	uint32_t version = read_u32(&legacy->input);
	enum sonde_status status;

	if (legacy->input.overrun || magic != CFF_MAGIC || version != CFF_LEGACY_VERSION) {
		CFF_FIND(legacy->maker->findings, LEGACY_HEADER, legacy->maker->path,
			 CFF_FILE_VERSION, "a legacy file of version %u\tversion %" PRIu32,
			 CFF_LEGACY_VERSION, version);
		return sonde_fail(err, SONDE_UNSUPPORTED, CFF_FILE_VERSION,
				  "a legacy file of version %u was expected, version %" PRIu32
				  " was found",
				  CFF_LEGACY_VERSION, version);
	}
	status = cff_types_init(&legacy->types, err);
	if (status >= 0)
		status = cff_make_head(legacy->maker, wtf_version, err);
	if (status >= 0)
		status = make_header(legacy, err);
	return status < 0 ? status : make_events(legacy, err);
}

enum sonde_status cff_make_from_legacy(const struct cff_maker *maker, struct sonde_error *err)
{
	struct legacy legacy = {
		.maker = maker,
		.input = sonde_bytes_of(maker->input, maker->size),
	};
	enum sonde_status status = make_file(&legacy, err);

	cff_types_release(&legacy.types);
	cff_texts_release(&legacy.texts);
	sonde_buffer_release(&legacy.events);
	return status;
}
