/* SPDX-License-Identifier: Apache-2.0 */
/* Escapes of markup and scripts. */
#include "cli/markup.h"

#include <string.h>

#include "base/utf8.h"
#include "cli/text.h"

static void put_character(struct sonde_buffer *out, uint32_t character)
{
	char bytes[4];

	sonde_buffer_put(out, bytes, sonde_utf8_encode(character, bytes));
}

void cli_put_markup(struct sonde_buffer *out, const char *text, size_t most)
{
	size_t size = strlen(text), at = 0;
	uint32_t character;

	for (; at < size && most; most--) {
		at += cli_next_character(text + at, size - at, &character);
		switch (character) {
		case '&':
			sonde_buffer_put_text(out, "&amp;");
			break;
		case '<':
			sonde_buffer_put_text(out, "&lt;");
			break;
		case '>':
			sonde_buffer_put_text(out, "&gt;");
			break;
		case '"':
			sonde_buffer_put_text(out, "&quot;");
			break;
		default:
			put_character(out, character);
			break;
		}
	}
	if (at < size)
		put_character(out, 0x2026);
}

void cli_put_script_text(struct sonde_buffer *out, const char *text, size_t most)
{
	size_t size = strlen(text), at = 0;
	uint32_t character;

	sonde_buffer_put_char(out, '"');
	for (; at < size && most; most--) {
		at += cli_next_character(text + at, size - at, &character);
		if (character == '"' || character == '\\' || character == '<' || character == '>' ||
		    character == '&') {
			sonde_buffer_put_text(out, "\\u");
			sonde_buffer_put_hex(out, character, 4);
		} else {
			put_character(out, character);
		}
	}
	if (at < size)
		put_character(out, 0x2026);
	sonde_buffer_put_char(out, '"');
}
