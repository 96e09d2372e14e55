/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes calls until the file that REC_STOP names is there, then more than fit into a ring, and ends
 * with a known sum and status: what a launcher that dies must not disturb.
 */
#include <unistd.h>

#include "rec.h"

static volatile unsigned long calls;

FN LINE static unsigned long leaf(unsigned long value)
{
	calls++;
	return value + 1;
}

FN static unsigned long batch(unsigned long count)
{
	unsigned long value = 0;

	for (unsigned long i = 0; i < count; i++)
		value = leaf(value);
	TOUCH();
	return value;
}

int main(void)
{
	const char *stop = getenv("REC_STOP");
	unsigned long sum;

	side_put("patched", (unsigned long long)is_patched((void (*)(void))leaf));
	side_put("pid", (unsigned long long)getpid());
	while (stop && access(stop, F_OK) != 0) {
		batch(100);
		usleep(200);
	}
	sum = batch(300000);
	side_put("patched", (unsigned long long)is_patched((void (*)(void))leaf));
	printf("sum %lu\n", sum);
	return 33;
}
