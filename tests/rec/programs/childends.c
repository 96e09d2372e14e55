/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A child makes a call and ends its only thread; then its parent makes calls.
 */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rec.h"

FN LINE static void work(void)
{
	TOUCH();
}

FN static void many(int count)
{
	for (int i = 0; i < count; i++)
		work();
	TOUCH();
}

int main(void)
{
	int status = 0;
	pid_t pid;

	many(10);
	pid = fork();
	if (pid == 0) {
		work();
		side_put("patched", (unsigned long long)is_patched(work));
		pthread_exit(NULL);
	}
	waitpid(pid, &status, 0);
	many(100000);
	printf("status %d\n", status);
	return 0;
}
