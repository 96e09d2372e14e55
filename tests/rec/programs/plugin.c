/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plugin; built twice, as alpha and as beta, with the same code at the same addresses, so that
 * the second often lands where the first one was.
 */
#include "rec.h"

#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)

static volatile int calls;

FN static int helper(int value)
{
	calls++;
	return value * FACTOR;
}

__attribute__((constructor)) FN static void JOIN(NAME, _init)(void)
{
	helper(1);
	TOUCH();
}

__attribute__((destructor)) FN static void JOIN(NAME, _fini)(void)
{
	TOUCH();
}

FN int JOIN(NAME, _run)(int value)
{
	int result = helper(value) + helper(value + 1);

	TOUCH();
	return result;
}
