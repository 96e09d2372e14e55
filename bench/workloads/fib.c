/* SPDX-License-Identifier: Apache-2.0 */
/* Nothing but calls: Fibonacci numbers by their definition, 7,049,155 calls for fib 32. */
#include <stdio.h>
#include <stdlib.h>

/* Not inlined and not turned into a loop: each call is wanted. */
__attribute__((noinline, noclone)) static long fib(int n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 32;

	printf("%ld\n", fib(n));
	return 0;
}
