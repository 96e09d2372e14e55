/* SPDX-License-Identifier: Apache-2.0 */
/* The growing run of bytes and the fast numbers into it. JSON escapes are in json_write.c. */
#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/utf8.h"

#define FIRST_CAPACITY 256
#define U64_DIGITS 20

void sonde_buffer_release(struct sonde_buffer *buffer)
{
	free(buffer->data);
	*buffer = (struct sonde_buffer){ 0 };
}

void sonde_buffer_clear(struct sonde_buffer *buffer)
{
	buffer->size = 0;
	buffer->failed = false;
}

char *sonde_buffer_grow(struct sonde_buffer *buffer, size_t count)
{
	size_t needed, capacity;
	char *data;

	if (buffer->failed)
		return NULL;
	if (__builtin_add_overflow(buffer->size, count, &needed))
		goto fail;
	if (buffer->data && needed <= buffer->capacity)
		return buffer->data + buffer->size;
	if (__builtin_mul_overflow(buffer->capacity, 2, &capacity) || capacity < needed)
		capacity = needed;
	if (capacity < FIRST_CAPACITY)
		capacity = FIRST_CAPACITY;
	data = realloc(buffer->data, capacity);
	if (!data)
		goto fail;
	buffer->data = data;
	buffer->capacity = capacity;
	return data + buffer->size;
fail:
	buffer->failed = true;
	return NULL;
}

void sonde_buffer_put_text(struct sonde_buffer *buffer, const char *text)
{
	sonde_buffer_put(buffer, text, strlen(text));
}

void sonde_buffer_put_csv(struct sonde_buffer *buffer, const char *text, size_t size)
{
	bool quoted = false;
	size_t i;

	for (i = 0; i < size && !quoted; i++)
		quoted = text[i] == ',' || text[i] == '"' || text[i] == '\r' || text[i] == '\n';
	if (!quoted) {
		sonde_buffer_put(buffer, text, size);
		return;
	}
	sonde_buffer_put_char(buffer, '"');
	for (i = 0; i < size; i++) {
		if (text[i] == '"')
			sonde_buffer_put_char(buffer, '"');
		sonde_buffer_put_char(buffer, text[i]);
	}
	sonde_buffer_put_char(buffer, '"');
}

/* Writes the digits so that they end at `end`; returns where they start. */
static char *digits_before(char *end, uint64_t value)
{
	static const char pairs[] = "00010203040506070809101112131415161718192021222324"
				    "25262728293031323334353637383940414243444546474849"
				    "50515253545556575859606162636465666768697071727374"
				    "75767778798081828384858687888990919293949596979899";

	while (value >= 100) {
		end -= 2;
		memcpy(end, pairs + value % 100 * 2, 2);
		value /= 100;
	}
	if (value >= 10) {
		end -= 2;
		memcpy(end, pairs + value * 2, 2);
		return end;
	}
	*--end = (char)('0' + value);
	return end;
}

void sonde_buffer_put_u64(struct sonde_buffer *buffer, uint64_t value)
{
	char space[U64_DIGITS];
	char *start = digits_before(space + sizeof(space), value);

	sonde_buffer_put(buffer, start, (size_t)(space + sizeof(space) - start));
}

void sonde_buffer_put_double(struct sonde_buffer *buffer, double value)
{
	char text[32];
	char *comma;

	for (int digits = DBL_DIG; digits <= DBL_DECIMAL_DIG; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, value);
		if (strtod(text, NULL) == value)
			break;
	}
	/* The program around the library may have a locale that writes 0,5. */
	comma = strchr(text, ',');
	if (comma)
		*comma = '.';
	sonde_buffer_put_text(buffer, text);
}

static void put_filled(struct sonde_buffer *buffer, const char *text, size_t length, size_t width,
		       char fill)
{
	size_t padding = length < width ? width - length : 0;
	char *place = sonde_buffer_reserve(buffer, padding + length);

	if (!place)
		return;
	memset(place, fill, padding);
	memcpy(place + padding, text, length);
	buffer->size += padding + length;
}

void sonde_buffer_put_u64_wide(struct sonde_buffer *buffer, uint64_t value, unsigned int width,
			       char fill)
{
	char space[U64_DIGITS];
	char *start = digits_before(space + sizeof(space), value);

	put_filled(buffer, start, (size_t)(space + sizeof(space) - start), width, fill);
}

void sonde_buffer_put_hex(struct sonde_buffer *buffer, uint64_t value, unsigned int digits)
{
	char space[16];
	char *start = space + sizeof(space);

	do {
		*--start = "0123456789abcdef"[value & 15];
		value >>= 4;
	} while (value);
	put_filled(buffer, start, (size_t)(space + sizeof(space) - start), digits, '0');
}

void sonde_buffer_put_format(struct sonde_buffer *buffer, const char *format, ...)
{
	char *place = sonde_buffer_reserve(buffer, 64);
	size_t room;
	va_list arguments;
	int length;

	if (!place)
		return;
	room = buffer->capacity - buffer->size;
	va_start(arguments, format);
	length = vsnprintf(place, room, format, arguments);
	va_end(arguments);
	if (length < 0) {
		buffer->failed = true;
		return;
	}
	if ((size_t)length >= room) {
		place = sonde_buffer_reserve(buffer, (size_t)length + 1);
		if (!place)
			return;
		va_start(arguments, format);
		vsnprintf(place, (size_t)length + 1, format, arguments);
		va_end(arguments);
	}
	buffer->size += (size_t)length;
}

bool sonde_buffer_put_utf8(struct sonde_buffer *buffer, const char *text, size_t size)
{
	static const char replacement[] = "\xEF\xBF\xBD";

	if (!size || sonde_utf8_valid(text, size)) {
		sonde_buffer_put(buffer, text, size);
		return true;
	}
	for (size_t i = 0; i < size;) {
		size_t length = sonde_utf8_length(text + i, size - i);

		sonde_buffer_put(buffer, length ? text + i : replacement, length ? length : 3);
		i += length ? length : 1;
	}
	return false;
}

const char *sonde_buffer_text(struct sonde_buffer *buffer)
{
	char *end = sonde_buffer_reserve(buffer, 1);

	if (!end)
		return NULL;
	*end = '\0';
	return buffer->data;
}
