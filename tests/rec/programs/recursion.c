/* SPDX-License-Identifier: Apache-2.0 */
/* Recursion to a depth of 100,000, twice, on a thread with a large stack. */
#include <pthread.h>

#include "rec.h"

FN static long down(long left)
{
	long value = left > 1 ? down(left - 1) : 0;

	TOUCH();
	return value + 1;
}

FN static void *run(void *argument)
{
	long *sum = argument;

	*sum += down(100000);
	*sum += down(10);
	*sum += down(100000);
	return NULL;
}

int main(void)
{
	pthread_attr_t attributes;
	pthread_t thread;
	long sum = 0;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 128 << 20);
	if (pthread_create(&thread, &attributes, run, &sum) != 0)
		return 9;
	pthread_join(thread, NULL);
	printf("sum %ld\n", sum);
	return 0;
}
