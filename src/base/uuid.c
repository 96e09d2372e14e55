/* SPDX-License-Identifier: Apache-2.0 */
/* UUIDs as texts, and from each other. No printf: every trace that is written has one as text. */
#include "base/uuid.h"

#include "base/hash.h"

#define DIGITS 32

void sonde_uuid_format(const uint64_t uuid[2], char text[SONDE_UUID_SIZE])
{
	for (unsigned int i = 0; i < DIGITS; i++) {
		if (i == 8 || i == 12 || i == 16 || i == 20)
			*text++ = '-';
		*text++ = "0123456789abcdef"[uuid[i / 16] >> (60 - i % 16 * 4) & 15];
	}
	*text = '\0';
}

void sonde_uuid_put(const uint64_t uuid[2], struct sonde_buffer *out)
{
	char text[SONDE_UUID_SIZE];

	sonde_uuid_format(uuid, text);
	sonde_buffer_put(out, text, SONDE_UUID_LENGTH);
}

/* 16 for what is no digit. */
static unsigned int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return (unsigned int)(c - '0');
	if (c >= 'a' && c <= 'f')
		return (unsigned int)(c - 'a') + 10;
	return c >= 'A' && c <= 'F' ? (unsigned int)(c - 'A') + 10 : 16;
}

bool sonde_uuid_parse(const char *text, size_t size, uint64_t uuid[2])
{
	unsigned int digits = 0;

	uuid[0] = uuid[1] = 0;
	for (size_t i = 0; i < size; i++) {
		unsigned int digit = digit_of(text[i]);

		if (text[i] == '-' && (i == 8 || i == 13 || i == 18 || i == 23) &&
		    size == SONDE_UUID_LENGTH)
			continue;
		if (digit == 16 || digits == DIGITS)
			return false;
		uuid[digits / 16] = uuid[digits / 16] << 4 | digit;
		digits++;
	}
	return digits == DIGITS;
}

void sonde_uuid_derive(const uint64_t from[2], uint64_t number, uint64_t uuid[2])
{
	uint64_t high = sonde_hash_mix(from[0] + sonde_hash_mix(number));

	uuid[1] = sonde_hash_mix(from[1] ^ sonde_hash_mix(high + number));
	uuid[0] = high;
}
