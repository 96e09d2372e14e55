/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fails the Nth allocation or the Nth call to the system, for every N. The build wraps the calls
 * (--wrap, see meson.build); a test says what to run and what must hold afterwards.
 */
#ifndef SONDE_TESTS_FAULT_H
#define SONDE_TESTS_FAULT_H

#include <stdbool.h>

#include <sonde/status.h>

enum fault_class {
	FAULT_ALLOCATION, /* malloc, calloc, realloc, strdup, strndup: ENOMEM */
	FAULT_INPUT,	  /* opening for reading, stat, mmap, read, the names of a folder: EIO */
	FAULT_OUTPUT,	  /* opening for writing, write, fsync, close, rename, mkdir: ENOSPC */
	FAULT_THREAD,	  /* pthread_create: EAGAIN */
	FAULT_CLASS_COUNT
};

struct fault_case {
	/*
	 * What is tried; runs with faults. It releases all it took, and must not use asserts:
	 * whatever it returns is judged by fault_run_all().
	 */
	enum sonde_status (*run)(void *user, struct sonde_error *err);
	/* Runs without faults before each `run`; may be NULL. */
	void (*before)(void *user);
	/* Runs without faults after each `run`, with what that returned; may be NULL. */
	void (*after)(void *user, enum sonde_status status, const struct sonde_error *err);
	void *user;
	/* Output faults must make it fail: none of them can be survived with a whole output. */
	bool output_must_fail;
};

/*
 * Runs the case with the 1st, 2nd, 3rd ... call of the class failing, until it ends without the
 * fault having been met; then the same with all calls failing from the Nth on. Each time the case
 * either succeeds or fails cleanly: a negative status, the same in the error, a message. Memory,
 * mappings and file descriptors are all given back. Fails the cmocka test otherwise. Returns how
 * many calls of the class there are, so that a test can see that it tests something.
 */
unsigned int fault_run_all(enum fault_class class, const struct fault_case *fault_case);

/* The file system has no renameat2(): it always fails with ENOSYS, which counts as no fault. */
extern bool fault_no_renameat2;

/* write() and pwrite() take a few bytes at a time, and are interrupted now and then. */
extern bool fault_short_writes;

#endif
