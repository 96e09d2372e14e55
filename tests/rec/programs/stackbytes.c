/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls from a function whose frame is full of numbers that count up, each of which looks like the
 * last word of a record in a ring: a kind, a lap, an address.
 */
#include "rec.h"

enum { NUMBERS = 64, CALLS = 3000 };

FN long leaf(volatile const unsigned long *numbers, int number)
{
	TOUCH();
	return (long)(numbers[number] & 0xff);
}

FN long caller(void)
{
	volatile unsigned long numbers[NUMBERS];
	long sum = 0;

	for (unsigned long i = 0; i < NUMBERS; i++)
		numbers[i] = 1UL << 56 | (i + 1) << 48 | 0xabcd00UL | i;
	for (int i = 0; i < CALLS; i++)
		sum += leaf(numbers, i % NUMBERS);
	return sum;
}

int main(void)
{
	printf("sum %ld\n", caller());
	return 0;
}
