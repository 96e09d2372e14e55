/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names that may hold anything, as text that harms neither a terminal nor a file of lines: controls, what turns
 * the direction of writing, and bytes that are no UTF-8 become "\n", "\x1b", "\u202e".
 */
#ifndef SONDE_BASE_ESCAPE_H
#define SONDE_BASE_ESCAPE_H

#include "base/buffer.h"

/* Gives whether the text is as it was. */
bool sonde_put_escaped(struct sonde_buffer *out, const char *text, size_t size);

/* Controls, line and paragraph separators, and what changes the direction of writing. */
bool sonde_is_harmful(uint32_t code_point);

/* The code point of a well-formed character of that length in UTF-8. */
uint32_t sonde_utf8_code_point(const char *text, size_t length);

#endif
