/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Detached threads end, and begin, while the process exits. The first argument is how long main()
 * spins before, and so the moment of the race.
 */
#include <pthread.h>

#include "rec.h"

static volatile long calls;

FN static void leaf(void)
{
	calls++;
}

FN static void *detached(void *argument)
{
	long count = (long)argument;

	for (long i = 0; i < count; i++)
		leaf();
	return NULL;
}

FN static void at_exit(void)
{
	leaf();
}

int main(int argc, char **argv)
{
	long spin = argc > 1 ? atol(argv[1]) : 0;
	pthread_attr_t attributes;

	atexit(at_exit);
	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	for (long i = 0; i < 8; i++) {
		pthread_t thread;

		if (pthread_create(&thread, &attributes, detached, (void *)(i * 500)) != 0)
			return 9;
	}
	for (long i = 0; i < spin; i++)
		TOUCH();
	puts("exiting");
	return 3;
}
