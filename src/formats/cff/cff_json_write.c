/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A version 10 image as JSON, laid out like the existing program does, byte for byte. Everything
 * goes through one buffer that is handed on when it is full. What JSON has no place for is counted.
 */
#include <inttypes.h>

#include <sonde/pipeline.h>

#include "base/base64.h"
#include "base/bytes.h"
#include "base/utf8.h"
#include "formats/cff/cff_json_events.h"
#include "formats/cff/cff_make.h"

#define FULL ((size_t)256 << 10)
#define PIECE ((size_t)48 << 10) /* bytes of base64 at once; a multiple of 3 */

#define NO_PLACE "JSON has no place for them"

struct json_writer {
	const struct cff_image *image;
	unsigned int style;
	struct sonde_output *out;
	struct sonde_loss *loss;
	struct sonde_error *err;
	enum sonde_status status; /* of the first failure; nothing is done after it */
	struct sonde_buffer text;
	struct cff_maker nothing;
	struct cff_json_events events;
	uint64_t event_buffers, odd_strings, odd_resources;
};

static void flush(struct json_writer *writer)
{
	if (writer->status >= 0 && writer->text.failed)
		writer->status = sonde_fail_nomem(writer->err);
	if (writer->status >= 0)
		writer->status = sonde_output_write(writer->out, writer->text.data,
						    writer->text.size, writer->err);
	sonde_buffer_clear(&writer->text);
}

static inline void flush_full(struct json_writer *writer)
{
	if (writer->text.size >= FULL)
		flush(writer);
}

static void put(struct json_writer *writer, const char *text)
{
	sonde_buffer_put_text(&writer->text, text);
}

static void put_number(struct json_writer *writer, uint64_t value)
{
	sonde_buffer_put_u64(&writer->text, value);
}

static void put_quoted(struct json_writer *writer, const char *text, size_t length)
{
	struct sonde_json_writer json;

	sonde_json_writer_init(&json, &writer->text, false);
	sonde_json_string_sized(&json, text, length);
}

static void lose(struct json_writer *writer, const char *what, const char *reason, uint64_t count)
{
	if (writer->status >= 0)
		writer->status = sonde_loss_add(writer->loss, what, reason, count, writer->err);
}

static void lose_elsewhere(struct json_writer *writer, const char *what, const char *reason,
			   uint64_t count)
{
	if (writer->status >= 0)
		writer->status =
			sonde_loss_add_elsewhere(writer->loss, what, reason, count, writer->err);
}

/* Parts */

static void put_base64(struct json_writer *writer, const uint8_t *data, size_t size)
{
	while (size && writer->status >= 0) {
		size_t piece = size < PIECE ? size : PIECE;
		size_t length = sonde_base64_length(piece);
		char *place = sonde_buffer_reserve(&writer->text, length);

		if (place) {
			sonde_base64_encode(data, piece, place);
			writer->text.size += length;
		}
		data += piece;
		size -= piece;
		flush_full(writer);
	}
}

static void put_bytes(struct json_writer *writer, const char *type, const struct cff_part *part)
{
	put(writer, "{\"type\":\"");
	put(writer, type);
	put(writer, "\",\"mode\":\"base64\",\"byteLength\":");
	put_number(writer, part->size);
	put(writer, ",\"value\":\"");
	put_base64(writer, part->data, part->size);
	put(writer, "\"}");
}

/* What is known of a header after going through it. */
struct header_shape {
	bool is_object, is_empty;
	bool has_type;	/* "file_header", the last "type" of it */
	bool is_unread; /* memory failed */
};

static struct header_shape look_at_header(const char *text, size_t length)
{
	struct header_shape shape = { .is_empty = true };
	struct sonde_json_reader json;
	enum sonde_status status;

	sonde_json_reader_init(&json, text, length, NULL, NULL);
	status = sonde_json_next(&json, NULL);
	if (status >= 0 && json.token == SONDE_JSON_OBJECT_BEGIN) {
		for (;;) {
			bool is_type;

			status = sonde_json_next(&json, NULL);
			if (status < 0 || json.token != SONDE_JSON_KEY)
				break;
			shape.is_empty = false;
			is_type = !strcmp(json.text, "type");
			status = sonde_json_skip(&json, NULL);
			if (status < 0)
				break;
			if (is_type)
				shape.has_type = json.token == SONDE_JSON_STRING &&
						 !strcmp(json.text, "file_header");
		}
		shape.is_object = status >= 0 && sonde_json_next(&json, NULL) >= 0 &&
				  json.token == SONDE_JSON_END;
	}
	shape.is_unread = status == SONDE_NOMEM;
	sonde_json_reader_release(&json);
	return shape;
}

static bool has_suffix(const char *text, size_t length, const char *suffix)
{
	size_t end = strlen(suffix);

	return length >= end && !memcmp(text + length - end, suffix, end);
}

/* JSON in one line: outside of strings, where it cannot be, a line break is as good as a space. */
static void put_in_line(struct json_writer *writer, const char *text, size_t length)
{
	size_t start = writer->text.size;

	sonde_buffer_put(&writer->text, text, length);
	if (!(writer->style & CFF_JSON_PARTIAL) || writer->text.failed)
		return;
	for (size_t i = start; i < writer->text.size; i++) {
		if (writer->text.data[i] != '\n' && writer->text.data[i] != '\r')
			continue;
		writer->text.data[i] = ' ';
		lose(writer, "line breaks in the file header", "a fragment of JSON takes one line",
		     1);
	}
}

/*
 * The header is the object of the part itself. Existing programs have a "type" in it in binary
 * files too; one that has none gets it at the end, where our reader knows it from theirs.
 */
static void put_header(struct json_writer *writer, const struct cff_part *part)
{
	const char *text = (const char *)part->data;
	size_t length = part->size;
	struct header_shape shape;

	while (length && !text[length - 1])
		length--;
	shape = look_at_header(text, length);
	if (shape.is_unread) {
		writer->text.failed = true;
		return;
	}
	if (length != part->size || !shape.is_object || shape.is_empty) {
		lose(writer, "bytes of the file header", "they are not a JSON object with members",
		     shape.is_object ? part->size - length : part->size);
		if (!shape.is_object || shape.is_empty) {
			put(writer, "{\"type\":\"file_header\"}");
			return;
		}
	}
	if (shape.has_type && !has_suffix(text, length, CFF_JSON_HEADER_SUFFIX)) {
		put_in_line(writer, text, length);
		return;
	}
	while (text[length - 1] != '}') {
		length--;
		lose(writer, "bytes of the file header", "they stand behind its object", 1);
	}
	put_in_line(writer, text, length - 1);
	put(writer, CFF_JSON_HEADER_SUFFIX);
}

static void put_string(struct json_writer *writer, const char *text, size_t length)
{
	if (sonde_utf8_valid(text, length)) {
		put_quoted(writer, text, length);
		return;
	}
	put(writer, "{\"base64\":\"");
	put_base64(writer, (const uint8_t *)text, length);
	put(writer, "\"}");
	writer->odd_strings++;
}

static void put_strings(struct json_writer *writer, const struct cff_part *part)
{
	const char *text = (const char *)part->data, *end = text + part->size;
	bool is_first = true;

	put(writer, "{\"type\":\"string_table\",\"value\":[");
	while (text < end && writer->status >= 0) {
		const char *nul = memchr(text, '\0', (size_t)(end - text));
		const char *stop = nul ? nul : end;

		if (!is_first)
			sonde_buffer_put_char(&writer->text, ',');
		is_first = false;
		put_string(writer, text, (size_t)(stop - text));
		text = stop + 1;
		flush_full(writer);
	}
	put(writer, part->size && end[-1] ? "],\"unterminated\":true}" : "]}");
}

static void put_string_resource(struct json_writer *writer, const struct cff_part *part)
{
	const char *text = (const char *)part->data;

	if (memchr(text, '\0', part->size) || !sonde_utf8_valid(text, part->size)) {
		put_bytes(writer, "string_resource", part);
		writer->odd_resources++;
		return;
	}
	put(writer, "{\"type\":\"string_resource\",\"value\":");
	put_quoted(writer, text, part->size);
	put(writer, "}");
}

/* Events to be edited */

static void put_event_separator(struct json_writer *writer, bool is_first)
{
	if (!is_first)
		sonde_buffer_put_char(&writer->text, ',');
	if (!(writer->style & CFF_JSON_PARTIAL))
		put(writer, "\n      ");
}

/* Words that are no events. */
static void put_words(struct json_writer *writer, const uint8_t *words, size_t size)
{
	put(writer, "{\"" CFF_JSON_RAW "\":[");
	for (size_t i = 0; i + 4 <= size; i += 4) {
		if (i)
			sonde_buffer_put_char(&writer->text, ',');
		put_number(writer, sonde_load_u32le(words + i));
		flush_full(writer);
	}
	put(writer, "]}");
}

static void put_events(struct json_writer *writer, const struct cff_part *part)
{
	struct cff_json_events *events = &writer->events;
	size_t position = 0, length;

	put(writer, "{\"type\":\"json_event_buffer\",\"events\":[");
	for (; position < part->size && writer->status >= 0; position += length) {
		const uint8_t *event = part->data + position;
		size_t left = part->size - position;
		const struct cff_type *type =
			left >= CFF_EVENT_SIZE ?
				cff_types_find(&events->types, sonde_load_u32le(event)) :
				NULL;

		put_event_separator(writer, !position);
		length = type ? cff_type_size(type, event, left) : 0;
		if (!length) {
			put_words(writer, event, left);
			break;
		}
		cff_json_event_write(&writer->text, type, event, &events->texts);
		if (type->builtin == CFF_DEFINE)
			writer->status = cff_json_events_scan(events, event, length, writer->err);
		flush_full(writer);
	}
	put(writer, part->size && !(writer->style & CFF_JSON_PARTIAL) ? "\n    ]}" : "]}");
	writer->event_buffers++;
}

/* Events whose part cannot be cut into words stay bytes; what they define is needed anyway. */
static void put_event_part(struct json_writer *writer, const struct cff_part *part, bool is_last)
{
	if (writer->style & CFF_JSON_EVENTS && is_last && part->size % 4 == 0) {
		put_events(writer, part);
		return;
	}
	put_bytes(writer, "binary_event_buffer", part);
	if (writer->style & CFF_JSON_EVENTS && is_last && writer->status >= 0)
		writer->status =
			cff_json_events_scan(&writer->events, part->data, part->size, writer->err);
}

/* Chunks */

static const char *part_word(uint32_t type)
{
	switch (type) {
	case CFF_PART_FILE_HEADER:
		return "file_header";
	case CFF_PART_EVENTS:
		return "binary_event_buffer";
	case CFF_PART_STRINGS:
		return "string_table";
	case CFF_PART_BINARY_RESOURCE:
		return "binary_resource";
	case CFF_PART_STRING_RESOURCE:
		return "string_resource";
	default:
		return NULL;
	}
}

static void put_part(struct json_writer *writer, const struct cff_part *part, bool is_last)
{
	switch (part->type) {
	case CFF_PART_FILE_HEADER:
		put_header(writer, part);
		break;
	case CFF_PART_STRINGS:
		put_strings(writer, part);
		break;
	case CFF_PART_EVENTS:
		put_event_part(writer, part, is_last);
		break;
	case CFF_PART_STRING_RESOURCE:
		put_string_resource(writer, part);
		break;
	default:
		put_bytes(writer, part_word(part->type), part);
	}
	flush_full(writer);
}

/* A part as far as JSON can have it: of events that go past their chunk, what is there. */
static struct cff_part part_at(const struct json_writer *writer, const struct cff_chunk *chunk,
			       uint32_t number)
{
	struct cff_part part = cff_chunk_part(writer->image, chunk, number);

	return part.type == CFF_PART_EVENTS ? cff_chunk_events(writer->image, chunk, &part) : part;
}

static bool can_hold(const struct cff_part *part)
{
	return part->data && part_word(part->type);
}

/* Counts what of the layout of a chunk is not the usual one, since JSON says nothing of it. */
static void count_layout(struct json_writer *writer, const struct cff_chunk *chunk)
{
	uint32_t count = cff_chunk_part_count(writer->image, chunk);
	uint64_t expected = chunk->offset + CFF_CHUNK_SIZE + (uint64_t)count * CFF_PART_SIZE;
	uint64_t end = chunk->offset + chunk->length, odd = 0, padding = 0, gaps = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct cff_part part = part_at(writer, chunk, i);
		uint64_t at = part.offset + part.size;

		if (part.offset < expected)
			odd++;
		else
			gaps += part.offset - expected;
		if (!part.data)
			continue;
		for (; at % 4 && at < end; at++)
			padding += writer->image->data[at] != 0;
		if (at > expected)
			expected = at;
	}
	if (end > expected)
		gaps += end - expected;
	lose(writer, "places of parts", "JSON has them one after the other", odd);
	lose(writer, "bytes between parts", NO_PLACE, gaps);
	lose(writer, "bytes of padding that are not zero", NO_PLACE, padding);
}

static void put_chunk_head(struct json_writer *writer, const struct cff_chunk *chunk, uint32_t type)
{
	uint32_t start = cff_chunk_field(writer->image, chunk, CFF_CHUNK_START);
	uint32_t end = cff_chunk_field(writer->image, chunk, CFF_CHUNK_END);

	put(writer, "{\"id\":");
	put_number(writer, cff_chunk_field(writer->image, chunk, CFF_CHUNK_ID));
	put(writer, type == CFF_CHUNK_FILE_HEADER ? ",\"type\":\"file_header\"" :
						    ",\"type\":\"event_data\"");
	if (start != CFF_NO_TIME) {
		put(writer, ",\"startTime\":");
		put_number(writer, start);
	}
	if (end != CFF_NO_TIME) {
		put(writer, ",\"endTime\":");
		put_number(writer, end);
	}
	put(writer, ",\"parts\":[");
}

static void set_table(struct json_writer *writer, const struct cff_chunk *chunk)
{
	struct cff_strings strings = { 0 };

	cff_strings_set(&strings, writer->image, chunk);
	if (writer->status >= 0)
		writer->status = cff_json_events_set_table(&writer->events, strings.data,
							   strings.size, writer->err);
}

static void put_chunk(struct json_writer *writer, const struct cff_chunk *chunk, uint32_t type)
{
	uint32_t count = cff_chunk_part_count(writer->image, chunk), last = count;
	uint64_t unknown = 0, outside = 0, cut = 0;
	bool is_first = true;

	put_chunk_head(writer, chunk, type);
	if (writer->style & CFF_JSON_EVENTS)
		set_table(writer, chunk);
	for (uint32_t i = 0; i < count; i++) {
		struct cff_part part = part_at(writer, chunk, i);

		if (part.type != CFF_PART_EVENTS)
			continue;
		last = i;
		cut += !cff_chunk_part(writer->image, chunk, i).data;
	}
	for (uint32_t i = 0; i < count && writer->status >= 0; i++) {
		struct cff_part part = part_at(writer, chunk, i);

		if (!can_hold(&part)) {
			unknown += part.data != NULL;
			outside += part.data == NULL;
			continue;
		}
		if (!is_first)
			sonde_buffer_put_char(&writer->text, ',');
		is_first = false;
		put_part(writer, &part, i == last);
	}
	put(writer, "]}");
	count_layout(writer, chunk);
	lose(writer, "parts of unknown types", NO_PLACE, unknown);
	lose(writer, "parts that go past their chunk", "they cannot be read", outside);
	lose(writer, "ends of event buffers that go past their chunk", "they are not there", cut);
}

static void put_file_head(struct json_writer *writer)
{
	bool is_spec = writer->style & CFF_JSON_SPEC;
	uint32_t version = sonde_load_u32le(writer->image->data + CFF_FILE_WTF_VERSION);

	put(writer, is_spec ? "{\n  \"wtf_version\": " : "{\n  \"wtfVersion\": ");
	put_number(writer, version == (uint32_t)CFF_WTF_VERSION ? CFF_WTF_VERSION : version);
	put(writer, is_spec ? ",\n  \"format_version\": " : ",\n  \"formatVersion\": ");
	put_number(writer, CFF_VERSION);
	put(writer, writer->style & CFF_JSON_PARTIAL ? "\n}\n" : ",\n  \"chunks\": [");
}

static void put_chunks(struct json_writer *writer)
{
	bool is_partial = writer->style & CFF_JSON_PARTIAL, is_first = true;
	bool is_bare = is_partial && writer->style & CFF_JSON_SPEC;
	struct sonde_trail trail = { 0 };

	for (size_t i = 0; i < writer->image->chunks.count && writer->status >= 0; i++) {
		const struct cff_chunk *chunk = &writer->image->chunks.items[i];
		uint32_t type = chunk->type;

		if (type != CFF_CHUNK_FILE_HEADER && type != CFF_CHUNK_EVENT_DATA) {
			lose(writer, "chunks of unknown types", NO_PLACE, 1);
			continue;
		}
		if (!is_partial)
			put(writer, is_first ? "\n    " : ",\n    ");
		else if (!is_bare)
			put(writer, "{\"chunks\": [");
		is_first = false;
		put_chunk(writer, chunk, type);
		cff_image_leave(writer->image, &trail, (uint32_t)i);
		if (is_partial)
			put(writer, is_bare ? "\n" : "]}\n");
		flush_full(writer);
	}
	if (!is_partial)
		put(writer, is_first ? "]\n}" : "\n  ]\n}");
}

static void count_losses(struct json_writer *writer)
{
	lose(writer, "bytes after the last chunk", NO_PLACE,
	     writer->image->size > writer->image->whole ?
		     writer->image->size - writer->image->whole :
		     0);
	lose_elsewhere(writer, "event buffers as JSON", "other readers skip them",
		       writer->event_buffers);
	lose_elsewhere(writer, "strings that are not UTF-8",
		       "they are written as base64, which other readers do not know",
		       writer->odd_strings);
	lose_elsewhere(writer, "string resources that are not UTF-8",
		       "they are written as base64, which other readers take for their text",
		       writer->odd_resources);
}

enum sonde_status cff_image_write_json(const struct cff_image *image, unsigned int style,
				       struct sonde_output *out, struct sonde_loss *loss,
				       struct sonde_error *err)
{
	struct json_writer writer = {
		.image = image,
		.style = style,
		.out = out,
		.loss = loss,
		.err = err,
	};

	writer.status = cff_json_events_init(&writer.events, &writer.nothing, err);
	put_file_head(&writer);
	put_chunks(&writer);
	count_losses(&writer);
	flush(&writer);
	sonde_buffer_release(&writer.text);
	cff_json_events_release(&writer.events);
	return writer.status;
}
