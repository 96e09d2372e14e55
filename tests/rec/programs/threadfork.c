/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Forks while other threads make calls and others begin and end, so that a child starts from any
 * moment of theirs; each child makes calls and a thread of its own.
 */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rec.h"

enum { CHILDREN = 40, THREADS = 3 };

static volatile int stop;

FN static void parent_leaf(void)
{
	TOUCH();
}

FN static void *parent_thread(void *unused)
{
	while (!stop) {
		for (int i = 0; i < 20; i++)
			parent_leaf();
		usleep(100);
	}
	return unused;
}

FN static void *short_thread(void *unused)
{
	parent_leaf();
	return unused;
}

FN static void *starting_thread(void *unused)
{
	pthread_t thread;

	while (!stop && pthread_create(&thread, NULL, short_thread, NULL) == 0) {
		pthread_join(thread, NULL);
		usleep(500);
	}
	return unused;
}

FN static void child_leaf(void)
{
	TOUCH();
}

FN static void *child_thread(void *unused)
{
	child_leaf();
	return unused;
}

FN static void child(void)
{
	pthread_t thread;

	for (int i = 0; i < 10; i++)
		child_leaf();
	if (pthread_create(&thread, NULL, child_thread, NULL) != 0)
		_exit(9);
	pthread_join(thread, NULL);
	_exit(5);
}

FN static int one_child(void)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0)
		child();
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

int main(void)
{
	pthread_t threads[THREADS + 1];
	int sum = 0;

	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, parent_thread, NULL);
	pthread_create(&threads[THREADS], NULL, starting_thread, NULL);
	for (int i = 0; i < CHILDREN; i++)
		sum += one_child();
	stop = 1;
	for (int i = 0; i <= THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("sum %d\n", sum);
	return 0;
}
