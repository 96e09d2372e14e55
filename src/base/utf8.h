/* SPDX-License-Identifier: Apache-2.0 */
/* UTF-8: what is well formed, and how to show what is not. */
#ifndef SONDE_BASE_UTF8_H
#define SONDE_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Length in bytes of the well-formed character at `text`, 0 where there is none (size > 0). */
size_t sonde_utf8_length(const char *text, size_t size);

bool sonde_utf8_valid(const char *text, size_t size);

/* Writes a code point (surrogates and too large ones become U+FFFD); returns 1 to 4 bytes. */
size_t sonde_utf8_encode(uint32_t code_point, char out[4]);

#endif
