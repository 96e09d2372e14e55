/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JSON writer: separators, indentation and escapes. Misuse (an end too many, nesting without
 * end) cannot harm memory; the buffer then counts as failed.
 */
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/utf8.h"

void sonde_json_writer_init(struct sonde_json_writer *writer, struct sonde_buffer *out, bool pretty)
{
	*writer = (struct sonde_json_writer){ .out = out, .pretty = pretty };
}

static bool on_one_line(const struct sonde_json_writer *writer)
{
	return !writer->pretty || writer->is_inline[writer->depth];
}

static void put_line_break(struct sonde_json_writer *writer)
{
	sonde_buffer_put_char(writer->out, '\n');
	for (unsigned int i = 0; i < writer->depth; i++)
		sonde_buffer_put(writer->out, "  ", 2);
}

/* What stands between this item and whatever was before. Outermost values go on lines. */
static void separate(struct sonde_json_writer *writer)
{
	bool has_items = writer->has_items[writer->depth];

	if (writer->after_key) {
		writer->after_key = false;
		return;
	}
	writer->has_items[writer->depth] = true;
	if (!writer->depth) {
		if (has_items)
			sonde_buffer_put_char(writer->out, '\n');
		return;
	}
	if (has_items)
		sonde_buffer_put_char(writer->out, ',');
	if (!on_one_line(writer))
		put_line_break(writer);
	else if (has_items && writer->pretty)
		sonde_buffer_put_char(writer->out, ' ');
}

static void begin(struct sonde_json_writer *writer, char bracket, bool is_inline)
{
	bool outer_inline = writer->is_inline[writer->depth];

	separate(writer);
	if (writer->depth == SONDE_JSON_DEPTH) {
		writer->out->failed = true;
		return;
	}
	sonde_buffer_put_char(writer->out, bracket);
	writer->depth++;
	writer->has_items[writer->depth] = false;
	writer->is_inline[writer->depth] = outer_inline || is_inline;
}

static void end(struct sonde_json_writer *writer, char bracket)
{
	bool breaks = !on_one_line(writer) && writer->has_items[writer->depth];

	if (!writer->depth) {
		writer->out->failed = true;
		return;
	}
	writer->depth--;
	if (breaks)
		put_line_break(writer);
	sonde_buffer_put_char(writer->out, bracket);
}

void sonde_json_object_begin(struct sonde_json_writer *writer)
{
	begin(writer, '{', false);
}

void sonde_json_object_begin_inline(struct sonde_json_writer *writer)
{
	begin(writer, '{', true);
}

void sonde_json_object_end(struct sonde_json_writer *writer)
{
	end(writer, '}');
}

void sonde_json_array_begin(struct sonde_json_writer *writer)
{
	begin(writer, '[', false);
}

void sonde_json_array_begin_inline(struct sonde_json_writer *writer)
{
	begin(writer, '[', true);
}

void sonde_json_array_end(struct sonde_json_writer *writer)
{
	end(writer, ']');
}

static void put_escape(struct sonde_buffer *out, unsigned char byte)
{
	static const char letters[256] = {
		['"'] = '"',  ['\\'] = '\\', ['\b'] = 'b', ['\f'] = 'f',
		['\n'] = 'n', ['\r'] = 'r',  ['\t'] = 't',
	};

	sonde_buffer_put_char(out, '\\');
	if (letters[byte]) {
		sonde_buffer_put_char(out, letters[byte]);
		return;
	}
	sonde_buffer_put_char(out, 'u');
	sonde_buffer_put_hex(out, byte, 4);
}

static void put_quoted(struct sonde_buffer *out, const char *text, size_t length)
{
	static const bool is_plain[256] = {
		[' ' ... '!'] = true,
		['#' ... '['] = true,
		[']' ... 0x7F] = true,
	};
	size_t start = 0, i = 0;

	if (!length)
		text = "";
	sonde_buffer_put_char(out, '"');
	while (i < length) {
		unsigned char byte = (unsigned char)text[i];
		size_t width;

		if (is_plain[byte]) {
			i++;
			continue;
		}
		width = byte < 0x80 ? 0 : sonde_utf8_length(text + i, length - i);
		if (width) {
			i += width;
			continue;
		}
		sonde_buffer_put(out, text + start, i - start);
		if (byte < 0x80)
			put_escape(out, byte);
		else
			sonde_buffer_put_text(out, "\xEF\xBF\xBD");
		start = ++i;
	}
	sonde_buffer_put(out, text + start, length - start);
	sonde_buffer_put_char(out, '"');
}

void sonde_json_key(struct sonde_json_writer *writer, const char *key)
{
	separate(writer);
	put_quoted(writer->out, key, strlen(key));
	sonde_buffer_put_char(writer->out, ':');
	if (writer->pretty)
		sonde_buffer_put_char(writer->out, ' ');
	writer->after_key = true;
}

void sonde_json_string(struct sonde_json_writer *writer, const char *text)
{
	sonde_json_string_sized(writer, text, strlen(text));
}

void sonde_json_string_sized(struct sonde_json_writer *writer, const char *text, size_t length)
{
	separate(writer);
	put_quoted(writer->out, text, length);
}

void sonde_json_number_u64(struct sonde_json_writer *writer, uint64_t value)
{
	separate(writer);
	sonde_buffer_put_u64(writer->out, value);
}

void sonde_json_number_double(struct sonde_json_writer *writer, double value)
{
	if (!isfinite(value)) {
		sonde_json_null(writer);
		return;
	}
	separate(writer);
	sonde_buffer_put_double(writer->out, value);
}

void sonde_json_bool(struct sonde_json_writer *writer, bool value)
{
	sonde_json_raw(writer, value ? "true" : "false");
}

void sonde_json_null(struct sonde_json_writer *writer)
{
	sonde_json_raw(writer, "null");
}

void sonde_json_hex(struct sonde_json_writer *writer, uint64_t value, unsigned int digits)
{
	separate(writer);
	sonde_buffer_put(writer->out, "\"0x", 3);
	sonde_buffer_put_hex(writer->out, value, digits);
	sonde_buffer_put_char(writer->out, '"');
}

void sonde_json_raw(struct sonde_json_writer *writer, const char *json)
{
	separate(writer);
	sonde_buffer_put_text(writer->out, json);
}
