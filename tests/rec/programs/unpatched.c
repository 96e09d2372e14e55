/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that cannot be recorded by patching: two with too few NOPs, and, with an argument, a
 * recursion that reaches new parts of the stack when no more memory can be had.
 */
#include <sys/resource.h>
#include <unistd.h>

#include "rec.h"

enum { LEVELS = 64, FRAME = 8192 };

#define SHORT __attribute__((patchable_function_entry(2)))

FN SHORT static int too_short(int value)
{
	TOUCH();
	return value + 1;
}

FN SHORT static int too_short_as_well(int value)
{
	return too_short(value) * 2;
}

FN static int long_enough(int value)
{
	return too_short_as_well(value) + 1;
}

/* The system lets no stack grow either, once memory is limited. */
QUIET static void grow_stack(void)
{
	volatile char space[(LEVELS + 8) * FRAME];

	for (size_t i = 0; i < sizeof(space); i += 1024)
		space[i] = 1;
}

FN static int descend(int levels)
{
	volatile char space[FRAME];

	space[levels] = (char)levels; /* not a constant place, so that all of it is there */
	return levels > 1 ? descend(levels - 1) + space[levels] : space[levels];
}

int main(int argc, char **argv)
{
	struct rlimit none = { 0, 0 };
	int sum = 0;

	(void)argv;
	for (int i = 0; i < 10; i++)
		sum += long_enough(i);
	if (argc > 1) {
		grow_stack();
		setrlimit(RLIMIT_AS, &none);
		sum += descend(LEVELS);
	}
	dprintf(STDOUT_FILENO, "sum %d\n", sum);
	return 0;
}
