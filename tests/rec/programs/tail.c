/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Built with -O2: calls in tail position are jumps, so one return ends many calls, and an exit hook
 * can itself be jumped to.
 */
#include "rec.h"

int odd(int left);
int even(int left);

static volatile int counter;

FN int even(int left)
{
	counter++;
	if (left == 0)
		return 1;
	return odd(left - 1);
}

FN int odd(int left)
{
	counter++;
	if (left == 0)
		return 0;
	return even(left - 1);
}

FN static void last(void)
{
	counter++;
}

FN static void second(void)
{
	counter++;
	last();
}

FN static void first(void)
{
	counter++;
	second();
}

FN static int normal(int value)
{
	first();
	TOUCH();
	return value + even(10);
}

int main(void)
{
	int sum = 0;

	for (int i = 0; i < 10; i++) {
		sum += even(1000);
		first();
		sum += normal(i);
	}
	printf("sum %d, counter %d\n", sum, counter);
	return 0;
}
