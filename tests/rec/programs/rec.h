/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What all programs of this folder share. FN: a function that is called as the source says, with
 * every optimisation. QUIET: a function that no recorder sees. Facts that differ from run to run
 * go to the file that REC_SIDE names, so that the program's own output is always the same.
 */
#ifndef REC_H
#define REC_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __clang__
#define FN __attribute__((noinline))
#else
#define FN __attribute__((noinline, noclone, noipa))
#endif
#define QUIET __attribute__((noinline, no_instrument_function, patchable_function_entry(0), unused))

/* Keeps a function from being empty or without effects, and a call from being the last thing. */
#define TOUCH() __asm__ volatile("" ::: "memory")

QUIET static FILE *side_open(void)
{
	const char *path = getenv("REC_SIDE");
	FILE *file = path ? fopen(path, "a") : NULL;

	if (!file)
		file = fopen("/dev/null", "w");
	return file;
}

/* A function whose entry lies in one cache line, so that it can be patched and unpatched at any time. */
#define LINE __attribute__((aligned(64)))

/* Does the entry of a function lead to a recorder? Never so where hooks are compiled in. */
QUIET static int is_patched(void (*function)(void))
{
	static const unsigned char endbr64[4] = { 0xf3, 0x0f, 0x1e, 0xfa };
	const unsigned char *code = (const unsigned char *)(uintptr_t)function;

	return code[memcmp(code, endbr64, sizeof(endbr64)) ? 0 : sizeof(endbr64)] == 0xe9;
}

/* Writes one fact: "name number". */
QUIET static void side_put(const char *name, unsigned long long number)
{
	FILE *file = side_open();

	fprintf(file, "%s %llu\n", name, number);
	fclose(file);
}

#endif
