/* SPDX-License-Identifier: Apache-2.0 */
/* Escaping, widths and wrapping of text for screens. */
#include "cli/text.h"

#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/utf8.h"

size_t cli_next_character(const char *text, size_t size, uint32_t *character)
{
	size_t length = sonde_utf8_length(text, size);

	*character = length ? sonde_utf8_code_point(text, length) : 0xfffd;
	if (sonde_is_harmful(*character) || *character == 0xfffe || *character == 0xffff)
		*character = 0xfffd;
	return length ? length : 1;
}

void cli_put_escaped_sized(struct sonde_buffer *out, const char *text, size_t size)
{
	sonde_put_escaped(out, text, size);
}

void cli_put_escaped(struct sonde_buffer *out, const char *text)
{
	cli_put_escaped_sized(out, text, strlen(text));
}

void cli_put_shell_word(struct sonde_buffer *out, const char *text)
{
	static const char special[] = " \t\n\r\"'\\`$&|;<>()[]{}*?!#~^=%";

	if (*text && !strpbrk(text, special)) {
		sonde_buffer_put_text(out, text);
		return;
	}
	sonde_buffer_put_char(out, '\'');
	for (; *text; text++) {
		if (*text == '\'')
			sonde_buffer_put_text(out, "'\\'");
		sonde_buffer_put_char(out, *text);
	}
	sonde_buffer_put_char(out, '\'');
}

const char *cli_shell_word(struct sonde_buffer *space, const char *text)
{
	sonde_buffer_clear(space);
	cli_put_shell_word(space, text);
	return sonde_buffer_text(space) ? sonde_buffer_text(space) : text;
}

size_t cli_text_width(const char *text, size_t size)
{
	size_t width = 0, i;

	for (i = 0; i < size; i++)
		width += ((unsigned char)text[i] & 0xc0) != 0x80;
	return width;
}

size_t cli_text_fit(const char *text, size_t size, size_t width)
{
	size_t fit = 0;

	for (; fit < size; fit++) {
		bool starts = ((unsigned char)text[fit] & 0xc0) != 0x80;

		if (starts && !width--)
			break;
	}
	return fit;
}

void cli_put_column(struct sonde_buffer *out, const char *text, size_t size, size_t width,
		    bool right)
{
	size_t columns = cli_text_width(text, size);

	if (columns > width) {
		sonde_buffer_put(out, text, cli_text_fit(text, size, width - 3));
		sonde_buffer_put_text(out, "...");
		return;
	}
	if (right)
		cli_put_spaces(out, width - columns);
	sonde_buffer_put(out, text, size);
	if (!right)
		cli_put_spaces(out, width - columns);
}

bool cli_locale_is_utf8(void)
{
	static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *value = getenv(names[i]);

		if (value && *value)
			return strcasestr(value, "UTF-8") || strcasestr(value, "UTF8");
	}
	return false;
}

void cli_put_spaces(struct sonde_buffer *out, size_t count)
{
	static const char spaces[] =
		"                                                                ";

	for (; count > sizeof(spaces) - 1; count -= sizeof(spaces) - 1)
		sonde_buffer_put(out, spaces, sizeof(spaces) - 1);
	sonde_buffer_put(out, spaces, count);
}

bool cli_next_line(const char **text, struct cli_line *line)
{
	const char *end;

	if (!*text || !**text)
		return false;
	end = strchrnul(*text, '\n');
	*line = (struct cli_line){ .text = *text, .length = (size_t)(end - *text) };
	*text = *end ? end + 1 : end;
	return true;
}

bool cli_line_is_literal(const struct cli_line *line)
{
	return line->length > 2 && line->text[0] == ' ' && line->text[1] == ' ';
}

/* Where a wrapped text stands. */
struct wrap {
	struct sonde_buffer *out;
	size_t indent, width, column;
};

static void wrap_break(struct wrap *wrap)
{
	sonde_buffer_put_char(wrap->out, '\n');
	wrap->column = 0;
}

static void wrap_word(struct wrap *wrap, const char *word, size_t length)
{
	size_t width = cli_text_width(word, length);

	if (wrap->column > wrap->indent && wrap->column + 1 + width > wrap->width)
		wrap_break(wrap);
	if (wrap->column < wrap->indent) {
		cli_put_spaces(wrap->out, wrap->indent - wrap->column);
		wrap->column = wrap->indent;
	} else if (wrap->column > wrap->indent) {
		sonde_buffer_put_char(wrap->out, ' ');
		wrap->column++;
	}
	sonde_buffer_put(wrap->out, word, length);
	wrap->column += width;
}

static void wrap_words(struct wrap *wrap, const struct cli_line *line)
{
	const char *word = line->text, *end = line->text + line->length;

	while (word < end) {
		const char *space = memchr(word, ' ', (size_t)(end - word));
		size_t length = (size_t)((space ? space : end) - word);

		if (length)
			wrap_word(wrap, word, length);
		word += length + 1;
	}
}

void cli_put_wrapped(struct sonde_buffer *out, const char *text, size_t indent, size_t width,
		     size_t column)
{
	struct wrap wrap = { .out = out, .indent = indent, .width = width, .column = column };
	struct cli_line line;

	while (cli_next_line(&text, &line)) {
		if (!line.length || cli_line_is_literal(&line)) {
			if (wrap.column)
				wrap_break(&wrap);
			if (line.length)
				cli_put_spaces(out, indent);
			sonde_buffer_put(out, line.text, line.length);
			sonde_buffer_put_char(out, '\n');
		} else {
			wrap_words(&wrap, &line);
		}
	}
	if (wrap.column)
		wrap_break(&wrap);
}
