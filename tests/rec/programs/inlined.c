/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that are inlined into one another and so share one stack pointer, also in a row and in
 * recursion, beside some that are not.
 */
#include "rec.h"

#define INLINED static inline __attribute__((always_inline))

static volatile int counter;

INLINED int inner(int value)
{
	counter++;
	return value + 1;
}

FN static int real_leaf(int value)
{
	counter++;
	return value + 1;
}

INLINED int middle(int value)
{
	value = inner(value);
	value = real_leaf(value);
	value = inner(value);
	return value;
}

INLINED int outer(int value)
{
	value = middle(value);
	value = middle(value);
	return inner(value);
}

FN static int recursive(int left)
{
	int value = inner(left);

	if (left > 0)
		value += recursive(left - 1);
	value += middle(left);
	TOUCH();
	return value;
}

int main(void)
{
	int sum = outer(1);

	sum += outer(sum);
	sum += recursive(2);
	printf("sum %d, counter %d\n", sum, counter);
	return 0;
}
