/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thousand short threads in batches of fifty, and ten that give themselves a name. With an
 * argument, so many threads at once: none ends before all have begun.
 */
#include <pthread.h>

#include "rec.h"

enum { THREADS = 1000, BATCH = 50, NAMED = 10 };

static long results[THREADS];
static pthread_barrier_t all_here;
static int at_once;

FN static long leaf(long value)
{
	TOUCH();
	return value + 1;
}

FN static long work(long depth)
{
	long value = depth > 0 ? work(depth - 1) : 0;

	TOUCH();
	return leaf(value);
}

FN static void *short_thread(void *argument)
{
	long *result = argument;

	*result = work(3);
	if (at_once)
		pthread_barrier_wait(&all_here);
	return NULL;
}

FN static void *named_thread(void *argument)
{
	char name[16];

	snprintf(name, sizeof(name), "worker-%d", *(int *)argument);
	pthread_setname_np(pthread_self(), name);
	work(1);
	return NULL;
}

int main(int argc, char **argv)
{
	static pthread_t threads[THREADS];
	int numbers[NAMED], batch = BATCH;
	long sum = 0;

	at_once = argc > 1 ? atoi(argv[1]) : 0;
	if (at_once) {
		batch = at_once;
		pthread_barrier_init(&all_here, NULL, (unsigned int)batch);
	}
	for (int i = 0; i < THREADS; i += batch) {
		for (int k = 0; k < batch; k++)
			if (pthread_create(&threads[k], NULL, short_thread, &results[k]) != 0)
				return 9;
		for (int k = 0; k < batch; k++) {
			pthread_join(threads[k], NULL);
			sum += results[k];
		}
	}
	for (int k = 0; k < NAMED; k++) {
		numbers[k] = k;
		pthread_create(&threads[k], NULL, named_thread, &numbers[k]);
	}
	for (int k = 0; k < NAMED; k++)
		pthread_join(threads[k], NULL);
	printf("sum %ld\n", sum);
	return 0;
}
