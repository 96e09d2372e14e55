/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leaves 1000 calls at once, several times, in the way that the first argument names; then makes
 * calls whose depth must be right again.
 */
#include <setjmp.h>
#include <string.h>

#include "rec.h"

enum { DEPTH = 1000, ROUNDS = 5 };

static jmp_buf target;
static sigjmp_buf signal_target;
static void *builtin_target[5];
static int way;
static volatile int calls;

FN static void leave(void)
{
	TOUCH();
	if (way == 0)
		longjmp(target, 1);
	if (way == 1)
		_longjmp(target, 1);
	if (way == 2)
		siglongjmp(signal_target, 1);
	__builtin_longjmp(builtin_target, 1);
}

/* leave() and DEPTH - 1 of these are open when the jump comes. */
FN static int deep(int left)
{
	calls++;
	if (left == 0)
		leave();
	else
		calls += deep(left - 1) & 0;
	TOUCH();
	return left;
}

FN static int inner(int value)
{
	TOUCH();
	return value + 1;
}

FN static int after(int value)
{
	int sum = inner(value);

	TOUCH();
	return sum + inner(value);
}

FN static int one_round(void)
{
	TOUCH();
	if (way == 0 && setjmp(target))
		return after(1);
	if (way == 1 && _setjmp(target))
		return after(1);
	if (way == 2 && sigsetjmp(signal_target, 1))
		return after(1);
	if (way == 3 && __builtin_setjmp(builtin_target))
		return after(1);
	return deep(DEPTH - 2);
}

int main(int argc, char **argv)
{
	int sum = 0;

	way = argc > 1 ? atoi(argv[1]) : 0;
	for (int i = 0; i < ROUNDS; i++)
		sum += one_round();
	printf("%d calls, sum %d\n", calls, sum);
	return 17;
}
