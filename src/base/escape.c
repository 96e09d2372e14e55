/* SPDX-License-Identifier: Apache-2.0 */
/* Characters that harm, and what is written in their place. */
#include "base/escape.h"

#include "base/utf8.h"

uint32_t sonde_utf8_code_point(const char *text, size_t length)
{
	const unsigned char *c = (const unsigned char *)text;

	switch (length) {
	case 1:
		return c[0];
	case 2:
		return (uint32_t)(c[0] & 0x1f) << 6 | (c[1] & 0x3f);
	case 3:
		return (uint32_t)(c[0] & 0x0f) << 12 | (uint32_t)(c[1] & 0x3f) << 6 | (c[2] & 0x3f);
	default:
		return (uint32_t)(c[0] & 0x07) << 18 | (uint32_t)(c[1] & 0x3f) << 12 |
		       (uint32_t)(c[2] & 0x3f) << 6 | (c[3] & 0x3f);
	}
}

bool sonde_is_harmful(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x061c || c == 0x200e || c == 0x200f ||
	       (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

static void put_escape(struct sonde_buffer *out, uint32_t c)
{
	sonde_buffer_put_char(out, '\\');
	if (c == '\n' || c == '\t' || c == '\r') {
		sonde_buffer_put_char(out, c == '\n' ? 'n' : c == '\t' ? 't' : 'r');
	} else if (c < 0x100) {
		sonde_buffer_put_char(out, 'x');
		sonde_buffer_put_hex(out, c, 2);
	} else {
		sonde_buffer_put_char(out, 'u');
		sonde_buffer_put_hex(out, c, 4);
	}
}

/* Bytes at the start of a text that are printable ASCII. */
static size_t plain_length(const char *text, size_t size)
{
	size_t length = 0;

	while (length < size && text[length] >= ' ' && text[length] <= '~')
		length++;
	return length;
}

bool sonde_put_escaped(struct sonde_buffer *out, const char *text, size_t size)
{
	bool was_harmless = true;

	while (size) {
		size_t length = plain_length(text, size);
		uint32_t c = ' ';

		if (!length) {
			length = sonde_utf8_length(text, size);
			c = length ? sonde_utf8_code_point(text, length) : (unsigned char)*text;
		}

		if (!length || sonde_is_harmful(c)) {
			put_escape(out, c);
			was_harmless = false;
		} else {
			sonde_buffer_put(out, text, length);
		}
		text += length ? length : 1;
		size -= length ? length : 1;
	}
	return was_harmless;
}
