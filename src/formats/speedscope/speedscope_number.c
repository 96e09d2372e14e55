/* SPDX-License-Identifier: Apache-2.0 */
/* Decimal numbers as integers of a smaller unit, without the rounding that a double brings. */
#include <math.h>
#include <stdlib.h>

#include "formats/speedscope/speedscope_read.h"

#define LONGEST 64

/* One with an exponent, or with too many digits: by way of a double. */
static bool scale_double(const char *text, size_t length, unsigned int digits, int64_t *value)
{
	char copy[LONGEST];
	double number;
	char *end;

	if (length >= sizeof(copy))
		return false;
	memcpy(copy, text, length);
	copy[length] = '\0';
	number = round(strtod(copy, &end) * pow(10, digits));
	if (*end || !(fabs(number) < 0x1p63))
		return false;
	*value = (int64_t)number;
	return true;
}

bool speedscope_scaled(const char *text, size_t length, unsigned int digits, int64_t *value)
{
	bool is_negative = length && text[0] == '-', is_fraction = false;
	unsigned int left = digits;
	uint64_t number = 0;
	size_t i = is_negative;

	for (; i < length; i++) {
		char c = text[i];

		if (c == '.' && !is_fraction) {
			is_fraction = true;
			continue;
		}
		if (c < '0' || c > '9')
			return scale_double(text, length, digits, value);
		if (is_fraction && !left)
			break;
		if (number > (uint64_t)INT64_MAX / 10 - 1)
			return scale_double(text, length, digits, value);
		number = number * 10 + (uint64_t)(c - '0');
		left -= is_fraction;
	}
	/* the first digit that is left out decides, unless an exponent follows */
	for (size_t k = i; k < length; k++) {
		if (text[k] < '0' || text[k] > '9')
			return scale_double(text, length, digits, value);
	}
	number += i < length && text[i] >= '5';
	for (; left; left--) {
		if (number > (uint64_t)INT64_MAX / 10)
			return false;
		number *= 10;
	}
	*value = is_negative ? -(int64_t)number : (int64_t)number;
	return true;
}
