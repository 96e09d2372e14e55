/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SONDE_RECORD_PROC_FILE_H
#define SONDE_RECORD_PROC_FILE_H

#include <sys/types.h>

/* Reads what fits of a small file, whose path is given as to printf(), and ends it with a NUL. -1: it
 * cannot be opened, and `text` is empty. */
ssize_t proc_file_read(char *text, size_t size, const char *path, ...)
	__attribute__((format(printf, 3, 4)));

#endif
