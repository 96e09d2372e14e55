/* SPDX-License-Identifier: Apache-2.0 */
/* Text for screens: foreign text made harmless, columns, paragraphs. */
#ifndef SONDE_CLI_TEXT_H
#define SONDE_CLI_TEXT_H

#include "base/buffer.h"

/*
 * Text that came from outside: control characters, what turns the direction of writing, and
 * bytes that are not UTF-8 become escapes (\n, \x1b, \u202e). The rest stays as it is.
 */
void cli_put_escaped(struct sonde_buffer *out, const char *text);
/* The same of a text that may have NULs. */
void cli_put_escaped_sized(struct sonde_buffer *out, const char *text, size_t size);

/*
 * Steps over one character (size > 0) and gives the bytes it has. What escapes would be made of, and what
 * markup cannot hold, is U+FFFD.
 */
size_t cli_next_character(const char *text, size_t size, uint32_t *character);

/* A word as a shell takes it: in single quotes where it needs them. */
void cli_put_shell_word(struct sonde_buffer *out, const char *text);
/* The same, made in `space`; the text as it is where memory is out. */
const char *cli_shell_word(struct sonde_buffer *space, const char *text);

/* A field of CSV (RFC 4180), in quotes where it needs them. */
static inline void cli_put_csv(struct sonde_buffer *out, const char *text, size_t size)
{
	sonde_buffer_put_csv(out, text, size);
}

/* Columns that a text takes, counting a character as one. */
size_t cli_text_width(const char *text, size_t size);

/* How many bytes of a text fit into `width` columns. */
size_t cli_text_fit(const char *text, size_t size, size_t width);

/* A text in a column: filled up with spaces, or cut and ended with dots. */
void cli_put_column(struct sonde_buffer *out, const char *text, size_t size, size_t width,
		    bool right);

/* Whether the terminal is said to show UTF-8 (LC_ALL, LC_CTYPE, LANG). */
bool cli_locale_is_utf8(void);

void cli_put_spaces(struct sonde_buffer *out, size_t count);

/*
 * Paragraphs wrapped at `width` columns, each line after `indent` spaces. `column` is where the
 * first line stands already. Ends with a line feed.
 */
void cli_put_wrapped(struct sonde_buffer *out, const char *text, size_t indent, size_t width,
		     size_t column);

/* The next line of a text with lines; false past the last. */
struct cli_line {
	const char *text;
	size_t length;
};
bool cli_next_line(const char **text, struct cli_line *line);

/* A line that stays as it is in a text of paragraphs. */
bool cli_line_is_literal(const struct cli_line *line);

#endif
