/* SPDX-License-Identifier: Apache-2.0 */
/* What the machine has left, or the container, as a limit of this process. */
#include "cli/memory_limit.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/sanitizer.h"

#define LEAST ((uint64_t)256 << 20) /* less is not worth a limit: the system may make room */

/* What a line in kilobytes says of this name; 0 where it is another line. */
static uint64_t bytes_of(const char *line, const char *name)
{
	size_t length = strlen(name);

	return strncmp(line, name, length) ? 0 : strtoull(line + length, NULL, 10) << 10;
}

/* What programs can have without pressing each other for it, and the swap. 0: it is not known. */
static uint64_t available_memory(void)
{
	FILE *file = fopen("/proc/meminfo", "re");
	uint64_t bytes = 0;
	char line[128];

	while (file && fgets(line, sizeof(line), file))
		bytes += bytes_of(line, "MemAvailable:") + bytes_of(line, "SwapFree:");
	if (file)
		fclose(file);
	return bytes;
}

/* What a container may have; 0 where that is not limited ("max"). */
static uint64_t container_memory(void)
{
	FILE *file = fopen("/sys/fs/cgroup/memory.max", "re");
	char line[32];
	uint64_t bytes = file && fgets(line, sizeof(line), file) ? strtoull(line, NULL, 10) : 0;

	if (file)
		fclose(file);
	return bytes;
}

void cli_limit_memory(void)
{
	uint64_t memory = available_memory(), container = container_memory();
	struct rlimit limit;

	if (!memory)
		return;
	if (container && container < memory)
		memory = container;
	memory = memory / 10 * 9;
	if (memory < LEAST)
		memory = LEAST;
	if (getrlimit(RLIMIT_DATA, &limit) || limit.rlim_cur <= memory)
		return;
	limit.rlim_cur = memory;
#ifndef SONDE_ADDRESS_SANITIZER /* which maps more than any machine has */
	setrlimit(RLIMIT_DATA, &limit);
#endif
}
