/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decimal numbers: microseconds as exact nanoseconds, however they are written, and doubles. Times never go
 * through a double, which has no room for nanoseconds since 1970.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/chrome/chrome_scan.h"

/* Digits of a time are kept down to 10^-9 microseconds. */
#define PLACES 9
#define PARTS_IN_NS 1000000u
#define PARTS_IN_US 1000000000u
/* Beyond these a time is too large, or nothing. */
#define MOST_DIGITS 30
#define EXPONENT_LIMIT 1000

/* A number taken apart: digits without a point, times ten to the power of `exponent`. */
struct decimal {
	char digits[MOST_DIGITS]; /* the first ones, without zeros in front */
	int count;
	int exponent;
	bool is_negative;
};

static bool is_digit(char byte)
{
	return byte >= '0' && byte <= '9';
}

static void add_digit(struct decimal *decimal, char digit, bool is_fraction)
{
	if (!decimal->count && digit == '0') {
		decimal->exponent -= is_fraction;
		return;
	}
	if (decimal->count < MOST_DIGITS) {
		decimal->digits[decimal->count++] = digit;
		decimal->exponent -= is_fraction;
	} else {
		decimal->exponent += !is_fraction;
	}
}

static bool parse_exponent(const char *text, const char *end, struct decimal *decimal)
{
	bool is_negative = text < end && *text == '-';
	int value = 0;

	if (text < end && (*text == '-' || *text == '+'))
		text++;
	if (text == end)
		return false;
	for (; text < end; text++) {
		if (!is_digit(*text))
			return false;
		if (value < EXPONENT_LIMIT)
			value = value * 10 + (*text - '0');
	}
	decimal->exponent += is_negative ? -value : value;
	return true;
}

static bool parse_decimal(const char *text, size_t length, struct decimal *decimal)
{
	const char *end = text + length;
	bool is_fraction = false, any = false;

	*decimal = (struct decimal){ 0 };
	if (text < end && (*text == '-' || *text == '+'))
		decimal->is_negative = *text++ == '-';
	for (; text < end; text++) {
		if (*text == '.' && !is_fraction) {
			is_fraction = true;
		} else if (is_digit(*text)) {
			any = true;
			if (decimal->exponent > -EXPONENT_LIMIT &&
			    decimal->exponent < EXPONENT_LIMIT)
				add_digit(decimal, *text, is_fraction);
		} else {
			break;
		}
	}
	if (!any)
		return false;
	if (text == end)
		return true;
	return (*text == 'e' || *text == 'E') && parse_exponent(text + 1, end, decimal);
}

/* The usual form, digits and up to three places; false where it is another. */
static bool parse_plain(const char *text, size_t length, struct chrome_moment *moment)
{
	const char *end = text + length;
	uint64_t us = 0;
	uint32_t ns = 0, unit = 100;

	if (!length || length > 19 || !is_digit(*text))
		return false;
	while (text < end && is_digit(*text) && us < UINT64_MAX / 100000)
		us = us * 10 + (uint64_t)(*text++ - '0');
	if (text < end && *text == '.') {
		for (text++; text < end && is_digit(*text) && unit; text++, unit /= 10)
			ns += (uint32_t)(*text - '0') * unit;
	}
	if (text < end || us > UINT64_MAX / 1000 - 1)
		return false;
	moment->ns = us * 1000 + ns;
	return true;
}

bool chrome_moment_parse(const char *text, size_t length, struct chrome_moment *moment)
{
	unsigned __int128 parts = 0;
	struct decimal decimal;
	int more;

	*moment = (struct chrome_moment){ .is_there = true };
	if (parse_plain(text, length, moment))
		return true;
	if (!parse_decimal(text, length, &decimal))
		return false;
	more = decimal.exponent + PLACES;
	/* What is below the last place is cut off. */
	for (int i = 0; i < decimal.count && i < decimal.count + more; i++)
		parts = parts * 10 + (unsigned int)(decimal.digits[i] - '0');
	moment->is_bad = decimal.count && decimal.count + more > MOST_DIGITS;
	for (int i = 0; !moment->is_bad && parts && i < more; i++)
		parts *= 10;
	moment->is_negative = decimal.is_negative && parts;
	moment->is_bad |= parts / PARTS_IN_NS > UINT64_MAX;
	moment->ns = (uint64_t)(parts / PARTS_IN_NS);
	moment->part = (uint32_t)(parts % PARTS_IN_NS);
	return true;
}

uint64_t chrome_moment_ns(const struct chrome_moment *moment)
{
	bool up = moment->part >= PARTS_IN_NS / 2 && moment->ns < UINT64_MAX;

	return moment->ns + up;
}

bool chrome_moment_add(struct chrome_moment *moment, const struct chrome_moment *more)
{
	moment->part += more->part;
	if (moment->part >= PARTS_IN_NS) {
		moment->part -= PARTS_IN_NS;
		if (__builtin_add_overflow(moment->ns, 1, &moment->ns))
			return false;
	}
	return !__builtin_add_overflow(moment->ns, more->ns, &moment->ns);
}

double chrome_double(const char *text, size_t length)
{
	static const double powers[] = { 1e0,  1e1,  1e2,  1e3,	 1e4,  1e5,  1e6,  1e7,
					 1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
					 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22 };
	struct decimal decimal;
	uint64_t digits = 0;
	char space[MOST_DIGITS + 16];
	int count = 0;
	double value;

	if (!parse_decimal(text, length, &decimal))
		return NAN;
	if (decimal.count <= 15 && decimal.exponent >= -22 && decimal.exponent <= 22) {
		for (int i = 0; i < decimal.count; i++)
			digits = digits * 10 + (unsigned int)(decimal.digits[i] - '0');
		value = decimal.exponent < 0 ? (double)digits / powers[-decimal.exponent] :
					       (double)digits * powers[decimal.exponent];
		return decimal.is_negative ? -value : value;
	}
	/* without a point, so that no locale matters */
	memcpy(space, decimal.digits, (size_t)decimal.count);
	count = decimal.count;
	snprintf(space + count, sizeof(space) - (size_t)count, "e%d", decimal.exponent);
	value = strtod(space, NULL);
	return decimal.is_negative ? -value : value;
}
