/* SPDX-License-Identifier: Apache-2.0 */
/* Forty children, each begotten right after a burst of calls; they return through main(). */
#include <sys/wait.h>
#include <unistd.h>

#include "rec.h"

enum { CHILDREN = 40, BURST = 6000 };

FN static int leaf(int value)
{
	TOUCH();
	return value + 1;
}

/* True in a child. */
FN static int start_child(void)
{
	int status, value = 0;
	pid_t pid;

	while (value < BURST)
		value = leaf(value);
	pid = fork();
	if (pid == 0)
		return 1;
	return waitpid(pid, &status, 0) != pid || WEXITSTATUS(status) != 7;
}

int main(void)
{
	for (int i = 0; i < CHILDREN; i++)
		if (start_child())
			return 7;
	return 0;
}
