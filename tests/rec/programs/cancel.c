/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that end from the middle of their calls: cancelled at a cancellation point, cancelled at
 * once while they spin, cancelled at once while they make calls, and by pthread_exit(). Cleanup
 * handlers run, with calls in them.
 */
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <unistd.h>

#include "rec.h"

enum { ROUNDS = 20 };

static sem_t ready;
static volatile int cleanups;
static volatile unsigned long spins;
static int mode;

FN static void cleanup_inner(void)
{
	__atomic_add_fetch(&cleanups, 1, __ATOMIC_SEQ_CST);
}

FN static void cleanup(void *argument)
{
	(void)argument;
	cleanup_inner();
	TOUCH();
}

FN static void wait_here(void)
{
	sem_post(&ready);
	for (;;)
		pause();
}

FN static void spin_here(void)
{
	sem_post(&ready);
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	for (;;)
		spins++;
}

FN static void leaf(void)
{
	spins++;
}

FN static void call_here(void)
{
	sem_post(&ready);
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	for (;;)
		leaf();
}

FN static void exit_here(void)
{
	sem_post(&ready);
	pthread_exit((void *)77);
}

FN static void level(int depth)
{
	pthread_cleanup_push(cleanup, NULL);
	if (depth > 0)
		level(depth - 1);
	else if (mode == 0)
		wait_here();
	else if (mode == 1)
		spin_here();
	else if (mode == 2)
		call_here();
	else
		exit_here();
	pthread_cleanup_pop(1);
	TOUCH();
}

FN static void *thread_main(void *unused)
{
	(void)unused;
	level(3);
	TOUCH();
	return NULL;
}

FN static void *finish(pthread_t thread)
{
	void *result = NULL;

	sem_wait(&ready);
	if (mode != 3)
		pthread_cancel(thread);
	pthread_join(thread, &result);
	return result;
}

int main(int argc, char **argv)
{
	int expected = 0;

	mode = argc > 1 ? atoi(argv[1]) : 0;
	sem_init(&ready, 0, 0);
	for (int i = 0; i < ROUNDS; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, thread_main, NULL) != 0)
			return 9;
		expected += finish(thread) == (mode == 3 ? (void *)77 : PTHREAD_CANCELED);
	}
	printf("%d ended, %d cleanups\n", expected, cleanups);
	return 0;
}
