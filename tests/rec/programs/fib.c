/* SPDX-License-Identifier: Apache-2.0 */
/* fib(27), 635,621 calls of a short function, beside three threads with smaller ones. */
#include <pthread.h>

#include "rec.h"

FN static long fib(long n)
{
	long value = n;

	if (n >= 2)
		value = fib(n - 1) + fib(n - 2);
	TOUCH();
	return value;
}

FN static void *run(void *argument)
{
	long *value = argument;

	*value = fib(*value);
	return NULL;
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 27, values[3] = { 15, 17, 19 };
	pthread_t threads[3];

	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, run, &values[i]);
	printf("fib %ld\n", fib(n));
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	printf("%ld %ld %ld\n", values[0], values[1], values[2]);
	return 0;
}
