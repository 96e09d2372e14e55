/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions whose stack pointer moves while they run: alloca() in a loop with calls in between, and
 * arrays of a length that changes from call to call.
 */
#include <alloca.h>
#include <string.h>

#include "rec.h"

FN static int leaf(char *memory, int size)
{
	memset(memory, size & 127, (size_t)size);
	return memory[size / 2];
}

FN static int growing(int rounds)
{
	int sum = 0;

	for (int i = 1; i <= rounds; i++) {
		char *memory = alloca((size_t)i * 16);

		sum += leaf(memory, i * 16);
	}
	TOUCH();
	return sum;
}

FN static int variable(int size, int depth)
{
	char memory[size];
	int sum = leaf(memory, size);

	if (depth > 0)
		sum += variable(size * 2, depth - 1);
	sum += leaf(memory, size);
	TOUCH();
	return sum;
}

FN static int recursive(int depth)
{
	char *memory = alloca((size_t)depth * 32 + 16);
	int sum = leaf(memory, 16);

	if (depth > 0)
		sum += recursive(depth - 1);
	memory = alloca(4096);
	sum += leaf(memory, 4096);
	sum += growing(3);
	TOUCH();
	return sum;
}

int main(void)
{
	int sum = growing(100);

	sum += variable(64, 6);
	sum += recursive(10);
	sum += growing(5);
	printf("sum %d\n", sum);
	return 0;
}
