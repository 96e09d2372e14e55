/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two hundred children in four kinds: one works and calls _exit(), one works and returns through
 * main(), one has a child of its own, one does nothing. Eight live at a time.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "rec.h"

enum { CHILDREN = 200, AT_ONCE = 8 };

static volatile int touched;

FN static int leaf(int value)
{
	touched++;
	return value + 1;
}

FN static int work(int depth)
{
	int value = depth > 0 ? work(depth - 1) : 0;

	TOUCH();
	return leaf(value);
}

FN static int grandchild(void)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		work(2);
		_exit(3);
	}
	waitpid(pid, &status, 0);
	work(1);
	return WEXITSTATUS(status);
}

/* The fork itself lies at depth 2. True in a child that is to return. */
FN static int start_child(int number)
{
	pid_t pid = fork();

	if (pid != 0)
		return 0;
	switch (number % 4) {
	case 0:
		work(3);
		_exit(number % 64);
	case 1:
		work(2);
		return 1;
	case 2:
		_exit(grandchild());
	default:
		_exit(1);
	}
}

int main(void)
{
	int sum = 0, running = 0;

	for (int i = 0; i < CHILDREN; i++) {
		if (start_child(i))
			return 2;
		running++;
		work(1);
		while (running >= AT_ONCE || (i == CHILDREN - 1 && running > 0)) {
			int status;

			if (wait(&status) < 0)
				return 99;
			sum += WIFEXITED(status) ? WEXITSTATUS(status) : 1000;
			running--;
		}
	}
	printf("sum %d, touched %d\n", sum, touched);
	return 0;
}
