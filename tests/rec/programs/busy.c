/* SPDX-License-Identifier: Apache-2.0 */
/* Makes as many calls as the first argument says, and ends with a known sum and status. */
#include "rec.h"

FN static long leaf(long value)
{
	TOUCH();
	return value + 1;
}

int main(int argc, char **argv)
{
	long count = argc > 1 ? atol(argv[1]) : 1000, value = 0;

	side_put("ran", 1);
	for (long i = 0; i < count; i++)
		value = leaf(value);
	printf("sum %ld\n", value);
	fprintf(stderr, "a word on stderr\n");
	return 34;
}
