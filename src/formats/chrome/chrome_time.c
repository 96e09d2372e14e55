/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times as text: nanoseconds become microseconds with up to three places, exactly. Digits come from tables, and
 * those that a time shares with the one before are kept.
 */
#include <string.h>

#include "formats/chrome/chrome_write.h"

#define NS_IN_US 1000u
#define LOW_RANGE 10000u

#define DIGITS_1(a, b, c)                                                                          \
	{ a, b, c, '0' }, { a, b, c, '1' }, { a, b, c, '2' }, { a, b, c, '3' }, { a, b, c, '4' },  \
		{ a, b, c, '5' }, { a, b, c, '6' }, { a, b, c, '7' }, { a, b, c, '8' },            \
	{                                                                                          \
		a, b, c, '9'                                                                       \
	}
#define DIGITS_2(a, b)                                                                             \
	DIGITS_1(a, b, '0'), DIGITS_1(a, b, '1'), DIGITS_1(a, b, '2'), DIGITS_1(a, b, '3'),        \
		DIGITS_1(a, b, '4'), DIGITS_1(a, b, '5'), DIGITS_1(a, b, '6'),                     \
		DIGITS_1(a, b, '7'), DIGITS_1(a, b, '8'), DIGITS_1(a, b, '9')
#define DIGITS_3(a)                                                                                \
	DIGITS_2(a, '0'), DIGITS_2(a, '1'), DIGITS_2(a, '2'), DIGITS_2(a, '3'), DIGITS_2(a, '4'),  \
		DIGITS_2(a, '5'), DIGITS_2(a, '6'), DIGITS_2(a, '7'), DIGITS_2(a, '8'),            \
		DIGITS_2(a, '9')

/* "0000" to "9999"; with '.' in front of three digits, ".000" to ".999". */
static const char four_digits[LOW_RANGE][4] = {
	DIGITS_3('0'), DIGITS_3('1'), DIGITS_3('2'), DIGITS_3('3'), DIGITS_3('4'),
	DIGITS_3('5'), DIGITS_3('6'), DIGITS_3('7'), DIGITS_3('8'), DIGITS_3('9'),
};
static const char fractions[NS_IN_US][4] = { DIGITS_3('.') };

static size_t put_digits(uint64_t value, char *place)
{
	char digits[24];
	size_t count = 0;

	do {
		digits[count++] = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	for (size_t i = 0; i < count; i++)
		place[i] = digits[count - 1 - i];
	return count;
}

/* Without zeros at its end. */
static size_t fraction_length(uint32_t ns)
{
	if (!ns)
		return 0;
	return ns % 10 ? 4 : ns % 100 ? 3 : 2;
}

char *chrome_put_time(struct chrome_time *time, uint64_t time_ns, char *place)
{
	uint64_t us = time_ns / NS_IN_US, high = us / LOW_RANGE;
	uint32_t ns = (uint32_t)(time_ns - us * NS_IN_US), low = (uint32_t)(us - high * LOW_RANGE);

	if (!high) {
		place += put_digits(low, place);
	} else {
		if (high != time->high) {
			time->high = high;
			time->length = put_digits(high, time->digits);
		}
		memcpy(place, time->digits, 16);
		place += time->length;
		memcpy(place, four_digits[low], 4);
		place += 4;
	}
	memcpy(place, fractions[ns], 4);
	return place + fraction_length(ns);
}
