/* SPDX-License-Identifier: Apache-2.0 */
/* Leaves a signal handler, and what it interrupted, by siglongjmp(); on another stack too. */
#include <setjmp.h>
#include <signal.h>
#include <string.h>

#include "rec.h"

enum { ROUNDS = 100 };

static sigjmp_buf target;
static volatile int handled;

FN static void leave(void)
{
	handled++;
	siglongjmp(target, 1);
}

FN static void handler(int number)
{
	(void)number;
	TOUCH();
	leave();
	TOUCH();
}

FN static void work(int depth)
{
	TOUCH();
	if (depth)
		work(depth - 1);
	else
		raise(SIGUSR1);
	TOUCH();
}

FN static void after(void)
{
	TOUCH();
}

int main(int argc, char **argv)
{
	static char memory[65536];
	stack_t stack = { .ss_sp = memory, .ss_size = sizeof(memory) };
	struct sigaction action = { .sa_handler = handler };
	volatile int rounds = 0;

	if (argc > 1 && strcmp(argv[1], "alternate") == 0) {
		sigaltstack(&stack, NULL);
		action.sa_flags = SA_ONSTACK;
	}
	sigaction(SIGUSR1, &action, NULL);
	while (rounds < ROUNDS) {
		rounds++;
		if (sigsetjmp(target, 1) == 0)
			work(2);
		after();
	}
	printf("%d handled\n", handled);
	return 0;
}
