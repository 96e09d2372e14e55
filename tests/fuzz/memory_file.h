/* SPDX-License-Identifier: Apache-2.0 */
/* The input of a fuzz target as a file with a path, for readers that take nothing else. */
#ifndef SONDE_FUZZ_MEMORY_FILE_H
#define SONDE_FUZZ_MEMORY_FILE_H

#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "require.h"

/* A file in memory that is filled anew each time. */
static inline const char *memory_file(const uint8_t *data, size_t size)
{
	static char path[64];
	static int fd = -1;

	if (fd < 0) {
		fd = memfd_create("input", MFD_CLOEXEC);
		REQUIRE(fd >= 0);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	}
	REQUIRE(ftruncate(fd, 0) == 0);
	REQUIRE(!size || pwrite(fd, data, size, 0) == (ssize_t)size);
	return path;
}

#endif
