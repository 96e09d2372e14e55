/* SPDX-License-Identifier: Apache-2.0 */
/* Folders and files that tests make for themselves, and a look at a session that they wrote. */
#ifndef SONDE_TESTS_SCRATCH_H
#define SONDE_TESTS_SCRATCH_H

#include <stdbool.h>
#include <stddef.h>

/* A folder for all tests of a program: setup, one of the two, and teardown of the group. */
extern char scratch[64];
int make_scratch(void **state);
int make_scratch_in_memory(void **state); /* where that can be had */
int remove_scratch(void **state);

/* Valid until the fourth call after it. */
const char *scratch_path(const char *name);

/* A folder for one test, which works with relative names inside it: setup and teardown. */
int enter_folder(void **state);
int leave_folder(void **state);

/* A file, or a folder with all that is in it; it need not be there. */
void remove_tree(const char *path);

/* Runs a command line, its output into run.log; whether it went well. */
__attribute__((format(printf, 1, 2))) bool run_quietly(const char *format, ...);

void put_file(const char *path, const char *text);
void put_bytes(const char *path, const void *data, size_t size);

/* `sonde check` finds nothing but notes. */
void assert_clean(const char *path);

#endif
