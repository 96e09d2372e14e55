/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything that a call can carry in registers must arrive: vectors, x87 numbers, the count of
 * vector arguments, the static chain, results in all places. Prints what went wrong, and how much.
 */
#include <complex.h>
#include <stdarg.h>
#include <string.h>

#include "rec.h"

typedef float vector16 __attribute__((vector_size(16)));
typedef double vector32 __attribute__((vector_size(32)));
typedef double vector64 __attribute__((vector_size(64)));

static int wrong;

QUIET static void expect(int good, const char *what)
{
	if (!good) {
		printf("wrong: %s\n", what);
		wrong++;
	}
}

FN static double doubles(double a, double b, double c, double d, double e, double f, double g,
			 double h)
{
	TOUCH();
	return a + b * 2 + c * 3 + d * 4 + e * 5 + f * 6 + g * 7 + h * 8;
}

FN static vector16 floats(vector16 left, vector16 right)
{
	TOUCH();
	return left * right;
}

FN static long double extended(long double left, long double right)
{
	TOUCH();
	return left / right;
}

FN static long double _Complex extended_pair(long double value)
{
	TOUCH();
	return value + 2 * value * (long double _Complex)_Complex_I;
}

FN static double _Complex pair(double value)
{
	TOUCH();
	return value + 3 * value * _Complex_I;
}

FN static float many(int count, ...)
{
	va_list list;
	double sum = 0;

	va_start(list, count);
	for (int i = 0; i < count; i++)
		sum += va_arg(list, double);
	va_end(list);
	TOUCH();
	return (float)sum;
}

FN static __int128 big(__int128 value)
{
	TOUCH();
	return value * 3;
}

__attribute__((target("avx"))) FN static vector32 wide(vector32 left, vector32 right)
{
	TOUCH();
	return left + right;
}

__attribute__((target("avx"))) QUIET static void check_wide(void)
{
	vector32 left = { 1, 2, 3, 4 }, right = { 10, 20, 30, 40 }, sum;

	for (int i = 0; i < 1000; i++) {
		sum = wide(left, right);
		for (int k = 0; k < 4; k++)
			expect(sum[k] == 11.0 * (k + 1), "wide");
	}
}

__attribute__((target("avx512f"))) FN static vector64 widest(vector64 left, vector64 right)
{
	TOUCH();
	return left + right;
}

__attribute__((target("avx512f"))) QUIET static void check_widest(void)
{
	vector64 left = { 1, 2, 3, 4, 5, 6, 7, 8 }, sum;

	for (int i = 0; i < 1000; i++) {
		sum = widest(left, left);
		for (int k = 0; k < 8; k++)
			expect(sum[k] == 2.0 * (k + 1), "widest");
	}
}

QUIET static void check_flags(void)
{
	unsigned short control = 0, before;
	unsigned int vector = __builtin_ia32_stmxcsr();

	__asm__ volatile("fnstcw %0" : "=m"(before));
	extended(1, 3);
	__asm__ volatile("fnstcw %0" : "=m"(control));
	expect(control == before, "control word");
	expect((__builtin_ia32_stmxcsr() & ~63u) == (vector & ~63u), "mxcsr");
}

#ifndef __clang__
/* A nested function gets its frame in a register of its own. */
FN static int chained(int base)
{
	__attribute__((noinline)) int nested(int value)
	{
		TOUCH();
		return value + base;
	}
	int sum = nested(5);

	return sum + nested(7);
}
#endif

int main(void)
{
	for (int i = 0; i < 1000; i++) {
		vector16 four = floats((vector16){ 1, 2, 3, 4 }, (vector16){ 5, 6, 7, 8 });

		expect(doubles(1, 2, 3, 4, 5, 6, 7, 8) == 204, "doubles");
		expect(four[0] == 5 && four[1] == 12 && four[2] == 21 && four[3] == 32, "floats");
		expect(extended(1, 3) == 1.0L / 3, "extended");
		expect(creall(extended_pair(5)) == 5 && cimagl(extended_pair(5)) == 10, "pair");
		expect(creal(pair(2)) == 2 && cimag(pair(2)) == 6, "pair");
		expect(many(9, 1., 2., 3., 4., 5., 6., 7., 8., 9.) == 45, "many");
		expect(big((__int128)1 << 80) == (__int128)3 << 80, "big");
	}
	if (__builtin_cpu_supports("avx"))
		check_wide();
	if (__builtin_cpu_supports("avx512f"))
		check_widest();
	check_flags();
#ifndef __clang__
	expect(chained(100) == 212, "chained");
#endif
	printf("%d wrong\n", wrong);
	return wrong != 0;
}
