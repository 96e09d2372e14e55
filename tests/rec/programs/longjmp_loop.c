/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A loop around one setjmp(): the same call site calls the same function a thousand times, at the
 * same stack pointer, and it never returns. Nothing but the jump tells this from recursion.
 */
#include <setjmp.h>

#include "rec.h"

static jmp_buf target;
static volatile int hops;

FN static void hop(void)
{
	hops++;
	longjmp(target, 1);
}

FN static void last(void)
{
	TOUCH();
}

FN static void loop(void)
{
	setjmp(target);
	if (hops < 1000)
		hop();
	last();
	TOUCH();
}

int main(void)
{
	loop();
	printf("%d hops\n", hops);
	return 0;
}
