/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A growing run of bytes, and fast text into it: numbers and strings without printf. A failed
 * allocation is remembered in `failed`, so that a producer appends freely and tests once.
 */
#ifndef SONDE_BASE_BUFFER_H
#define SONDE_BASE_BUFFER_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct sonde_buffer {
	char *data;
	size_t size;
	size_t capacity;
	bool failed;
};

/* A zeroed struct is an empty buffer. */
void sonde_buffer_release(struct sonde_buffer *buffer);

/* Empties it and keeps its memory; clears `failed`. */
void sonde_buffer_clear(struct sonde_buffer *buffer);

/* The slow side of sonde_buffer_reserve(). */
char *sonde_buffer_grow(struct sonde_buffer *buffer, size_t count);

/* Makes room for `count` more bytes and returns where they go, or NULL; adds nothing. */
static inline char *sonde_buffer_reserve(struct sonde_buffer *buffer, size_t count)
{
	if (count < buffer->capacity - buffer->size && !buffer->failed)
		return buffer->data + buffer->size;
	return sonde_buffer_grow(buffer, count);
}

static inline void sonde_buffer_put(struct sonde_buffer *buffer, const void *data, size_t size)
{
	char *place = sonde_buffer_reserve(buffer, size);

	if (!place || !size)
		return;
	memcpy(place, data, size);
	buffer->size += size;
}

static inline void sonde_buffer_put_char(struct sonde_buffer *buffer, char c)
{
	char *place = sonde_buffer_reserve(buffer, 1);

	if (!place)
		return;
	*place = c;
	buffer->size++;
}

void sonde_buffer_put_text(struct sonde_buffer *buffer, const char *text);
/* As UTF-8, whatever it is: U+FFFD for each bad byte. Gives whether there were none. */
bool sonde_buffer_put_utf8(struct sonde_buffer *buffer, const char *text, size_t size);
/* A field of CSV (RFC 4180), in quotes where it needs them. */
void sonde_buffer_put_csv(struct sonde_buffer *buffer, const char *text, size_t size);
void sonde_buffer_put_u64(struct sonde_buffer *buffer, uint64_t value);
/* With as few digits as give the same number when they are read again, 15 at most where these do. */
void sonde_buffer_put_double(struct sonde_buffer *buffer, double value);

/* Decimal, filled from the left with `fill` to `width` characters. */
void sonde_buffer_put_u64_wide(struct sonde_buffer *buffer, uint64_t value, unsigned int width,
			       char fill);

/* Lower-case hexadecimal with at least `digits` digits, no prefix. */
void sonde_buffer_put_hex(struct sonde_buffer *buffer, uint64_t value, unsigned int digits);

/* For what is not on a hot path. */
void sonde_buffer_put_format(struct sonde_buffer *buffer, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* NUL-terminates without counting the NUL and borrows the text; NULL where memory failed. */
const char *sonde_buffer_text(struct sonde_buffer *buffer);

#endif
