/* SPDX-License-Identifier: Apache-2.0 */
/* UTF-8 by the table of well-formed byte sequences in the Unicode standard (table 3-7). */
#include <string.h>

#include "base/utf8.h"

static bool is_continuation(unsigned char byte)
{
	return (byte & 0xC0) == 0x80;
}

/* Overlong forms, surrogates and what is beyond U+10FFFF show in the first two bytes. */
static bool second_fits(unsigned char first, unsigned char second)
{
	switch (first) {
	case 0xE0:
		return second >= 0xA0 && second <= 0xBF;
	case 0xED:
		return second >= 0x80 && second <= 0x9F;
	case 0xF0:
		return second >= 0x90 && second <= 0xBF;
	case 0xF4:
		return second >= 0x80 && second <= 0x8F;
	default:
		return is_continuation(second);
	}
}

size_t sonde_utf8_length(const char *text, size_t size)
{
	const unsigned char *bytes = (const unsigned char *)text;
	size_t length;

	if (bytes[0] < 0x80)
		return 1;
	if (bytes[0] < 0xC2 || bytes[0] > 0xF4)
		return 0;
	length = bytes[0] < 0xE0 ? 2 : bytes[0] < 0xF0 ? 3 : 4;
	if (size < length || !second_fits(bytes[0], bytes[1]))
		return 0;
	for (size_t i = 2; i < length; i++) {
		if (!is_continuation(bytes[i]))
			return 0;
	}
	return length;
}

bool sonde_utf8_valid(const char *text, size_t size)
{
	size_t position = 0;

	while (position < size) {
		uint64_t word;
		size_t length;

		if (size - position >= sizeof(word)) {
			memcpy(&word, text + position, sizeof(word));
			if (!(word & 0x8080808080808080u)) {
				position += sizeof(word);
				continue;
			}
		}
		length = sonde_utf8_length(text + position, size - position);
		if (!length)
			return false;
		position += length;
	}
	return true;
}

size_t sonde_utf8_encode(uint32_t code_point, char out[4])
{
	if (code_point > 0x10FFFF || (code_point >= 0xD800 && code_point <= 0xDFFF))
		code_point = 0xFFFD;
	if (code_point < 0x80) {
		out[0] = (char)code_point;
		return 1;
	}
	if (code_point < 0x800) {
		out[0] = (char)(0xC0 | code_point >> 6);
		out[1] = (char)(0x80 | (code_point & 0x3F));
		return 2;
	}
	if (code_point < 0x10000) {
		out[0] = (char)(0xE0 | code_point >> 12);
		out[1] = (char)(0x80 | (code_point >> 6 & 0x3F));
		out[2] = (char)(0x80 | (code_point & 0x3F));
		return 3;
	}
	out[0] = (char)(0xF0 | code_point >> 18);
	out[1] = (char)(0x80 | (code_point >> 12 & 0x3F));
	out[2] = (char)(0x80 | (code_point >> 6 & 0x3F));
	out[3] = (char)(0x80 | (code_point & 0x3F));
	return 4;
}
