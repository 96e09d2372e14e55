/* SPDX-License-Identifier: Apache-2.0 */
/* Base64 (RFC 4648, the usual alphabet), in pieces, so that nobody needs the whole in memory. */
#ifndef SONDE_BASE_BASE64_H
#define SONDE_BASE_BASE64_H

#include <stddef.h>
#include <stdint.h>

/* Characters that `size` bytes become, with padding. */
static inline size_t sonde_base64_length(size_t size)
{
	return (size / 3 + (size % 3 != 0)) * 4;
}

/*
 * Writes sonde_base64_length(size) characters, without a NUL. In pieces: all but the last of a
 * multiple of 3 bytes.
 */
void sonde_base64_encode(const void *data, size_t size, char *out);

/* The bytes that a text becomes if nothing is wrong in it; padding may be left out. */
size_t sonde_base64_size(const char *text, size_t length);

/*
 * Decodes to `out`, which has room for sonde_base64_size() bytes, and gives how many were written.
 * *used are the characters before the first one that does not belong there: all where the text is
 * sound. In pieces: all but the last of a multiple of 4 characters.
 */
size_t sonde_base64_decode(const char *text, size_t length, uint8_t *out, size_t *used);

#endif
