/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/memory_limit.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/resource.h>

#include "base/sanitizer.h"

#define LEAST ((uint64_t)256 << 20) /* less is not worth a limit: the system may make room */

/* The memory that programs can have without any of them being slowed down by the lack of it, and the swap. */
static bool available_memory(uint64_t *bytes)
{
	FILE *file = fopen("/proc/meminfo", "re");
	uint64_t memory = 0, swap = 0, kilobytes;
	char line[128];

	if (!file)
		return false;
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "MemAvailable: %" SCNu64, &kilobytes) == 1)
			memory = kilobytes << 10;
		else if (sscanf(line, "SwapFree: %" SCNu64, &kilobytes) == 1)
			swap = kilobytes << 10;
	}
	fclose(file);
	*bytes = memory + swap;
	return memory > 0;
}

/* What a container may have; it is no number where that is not limited. */
static bool container_memory(uint64_t *bytes)
{
	FILE *file = fopen("/sys/fs/cgroup/memory.max", "re");
	bool is_limited = file && fscanf(file, "%" SCNu64, bytes) == 1;

	if (file)
		fclose(file);
	return is_limited;
}

void cli_limit_memory(void)
{
	uint64_t memory, container;
	struct rlimit limit;

	if (!available_memory(&memory))
		return;
	if (container_memory(&container) && container < memory)
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
