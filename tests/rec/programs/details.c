/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls with known arguments and results: small and negative numbers, pointers, more arguments than
 * registers, structures in registers and in memory. Values that differ from run to run go to the
 * side file. No function is static: a compiler must not know all of its callers.
 */
#include <string.h>

#include "rec.h"

struct small {
	long first, second;
};

struct large {
	long values[8];
};

FN int add(int left, int right)
{
	TOUCH();
	return left + right;
}

FN long wide(long left, unsigned long right)
{
	TOUCH();
	return left - (long)right;
}

FN const char *skip(const char *text, int count)
{
	TOUCH();
	return text + count;
}

FN long six(long a, long b, long c, long d, long e, long f)
{
	TOUCH();
	return a + b * 10 + c * 100 + d * 1000 + e * 10000 + f * 100000;
}

FN long nine(long a, long b, long c, long d, long e, long f, long g, long h, long i)
{
	TOUCH();
	return a + b + c + d + e + f + g * 1000 + h * 10000 + i * 100000;
}

FN struct small make_small(long value)
{
	struct small result = { value, -value };

	TOUCH();
	return result;
}

FN struct large make_large(long value)
{
	struct large result;

	for (int i = 0; i < 8; i++)
		result.values[i] = value + i;
	TOUCH();
	return result;
}

FN unsigned char narrow(signed char value, unsigned short other)
{
	TOUCH();
	return (unsigned char)(value + other);
}

FN void nothing(void)
{
	TOUCH();
}

FN void caller(const char *text)
{
	struct small small;
	struct large large;
	long sum = 0;

	for (int i = -3; i <= 3; i++)
		sum += add(i, i * 1000);
	sum += wide(-1, 0x123456789abcdefUL);
	side_put("skip", (unsigned long long)skip(text, 3));
	sum += six(1, 2, 3, 4, 5, 6);
	sum += nine(1, 2, 3, 4, 5, 6, 0x7777777777, -8, 0x9999);
	small = make_small(0x1234567890);
	large = make_large(42);
	side_put("large", (unsigned long long)&large);
	sum += small.first + small.second + large.values[7];
	sum += narrow(-5, 700);
	nothing();
	printf("sum %ld\n", sum);
}

int main(void)
{
	static const char text[] = "some text";

	side_put("text", (unsigned long long)text);
	caller(text);
	return 0;
}
