/* SPDX-License-Identifier: Apache-2.0 */
/* Base64 by tables: four characters or three bytes a step. */
#include <stdbool.h>

#include "base/base64.h"

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* What a character stands for, with this bit set, so that 0 is a character that does not belong. */
#define KNOWN 0x40u
#define V(c, value) [c] = KNOWN | (value)
#define V5(c, value)                                                                               \
	V(c, value), V((c) + 1, (value) + 1), V((c) + 2, (value) + 2), V((c) + 3, (value) + 3),    \
		V((c) + 4, (value) + 4)
#define V25(c, value)                                                                              \
	V5(c, value), V5((c) + 5, (value) + 5), V5((c) + 10, (value) + 10),                        \
		V5((c) + 15, (value) + 15), V5((c) + 20, (value) + 20)

static const uint8_t values[256] = {
	V25('A', 0), V('Z', 25),  V25('a', 26), V('z', 51),
	V5('0', 52), V5('5', 57), V('+', 62),	V('/', 63),
};

void sonde_base64_encode(const void *data, size_t size, char *out)
{
	const uint8_t *p = data;
	uint32_t bits;

	for (; size >= 3; size -= 3, p += 3, out += 4) {
		bits = (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];
		out[0] = alphabet[bits >> 18];
		out[1] = alphabet[bits >> 12 & 63];
		out[2] = alphabet[bits >> 6 & 63];
		out[3] = alphabet[bits & 63];
	}
	if (!size)
		return;
	bits = (uint32_t)p[0] << 16 | (size == 2 ? (uint32_t)p[1] << 8 : 0);
	out[0] = alphabet[bits >> 18];
	out[1] = alphabet[bits >> 12 & 63];
	out[2] = size == 2 ? alphabet[bits >> 6 & 63] : '=';
	out[3] = '=';
}

/* The length without the padding of a whole text. */
static size_t unpadded(const char *text, size_t length)
{
	if (length % 4 || !length || text[length - 1] != '=')
		return length;
	return length - (text[length - 2] == '=' ? 2 : 1);
}

size_t sonde_base64_size(const char *text, size_t length)
{
	length = unpadded(text, length);
	return length / 4 * 3 + (length % 4 ? length % 4 - 1 : 0);
}

/* The two or three characters after the last four. */
static size_t decode_rest(const uint8_t *p, size_t length, uint8_t *out, size_t *used)
{
	uint32_t bits = 0;
	size_t good = 0;

	while (good < length && values[p[good]]) {
		bits |= (uint32_t)(values[p[good]] - KNOWN) << (18 - 6 * good);
		good++;
	}
	if (length == 1)
		good = 0; /* says nothing */
	*used += good;
	for (size_t i = 0; i + 1 < good; i++)
		out[i] = (uint8_t)(bits >> (16 - 8 * i));
	return good ? good - 1 : 0;
}

size_t sonde_base64_decode(const char *text, size_t length, uint8_t *out, size_t *used)
{
	const uint32_t surplus = KNOWN << 18 | KNOWN << 12 | KNOWN << 6 | KNOWN;
	const uint8_t *p = (const uint8_t *)text;
	size_t plain = unpadded(text, length), left = plain;
	const uint8_t *start = out;

	for (; left >= 4; left -= 4, p += 4, out += 3) {
		uint8_t a = values[p[0]], b = values[p[1]], c = values[p[2]], d = values[p[3]];
		uint32_t bits = ((uint32_t)a << 18) + ((uint32_t)b << 12) + ((uint32_t)c << 6) + d;

		if (!(a & b & c & d & KNOWN))
			break;
		bits -= surplus;
		out[0] = (uint8_t)(bits >> 16);
		out[1] = (uint8_t)(bits >> 8);
		out[2] = (uint8_t)bits;
	}
	*used = plain - left;
	if (left)
		out += decode_rest(p, left < 4 ? left : 4, out, used);
	if (*used == plain)
		*used = length;
	return (size_t)(out - start);
}
