/* SPDX-License-Identifier: Apache-2.0 */
/* Reads /proc/PID/maps. Slow: for addresses that nothing else explains. */
#include "record/mapping.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "55d0c8a1a000-55d0c8a1b000 r-xp 00002000 fe:01 1234    /usr/bin/cat" */
static bool parse_line(char *line, struct record_mapping *mapping)
{
	char *at;

	line[strcspn(line, "\n")] = 0;
	mapping->low = strtoull(line, &at, 16);
	if (*at != '-')
		return false;
	mapping->high = strtoull(at + 1, &at, 16);
	if (strlen(at) < 6)
		return false;
	mapping->executable = at[3] == 'x';
	mapping->offset = strtoull(at + 6, &at, 16);
	at += strspn(at, " ");
	at += strcspn(at, " "); /* the device */
	mapping->inode = strtoull(at, &at, 10);
	at += strspn(at, " ");
	snprintf(mapping->path, sizeof(mapping->path), "%s", at);
	return true;
}

bool record_mapping_search(uint32_t pid,
			   bool (*is_wanted)(const struct record_mapping *mapping,
					     const void *context),
			   const void *context, struct record_mapping *mapping)
{
	char name[32];
	char *line = NULL;
	size_t size = 0;
	bool found = false;
	FILE *file;

	snprintf(name, sizeof(name), "/proc/%u/maps", pid);
	file = fopen(name, "re");
	if (!file)
		return false;
	while (!found && getline(&line, &size, file) > 0 && parse_line(line, mapping))
		found = is_wanted(mapping, context);
	free(line);
	fclose(file);
	return found;
}

static bool ends_behind(const struct record_mapping *mapping, const void *address)
{
	return *(const uint64_t *)address < mapping->high;
}

static bool find_in_proc(uint32_t pid, uint64_t address, struct record_mapping *mapping)
{
	return record_mapping_search(pid, ends_behind, &address, mapping) &&
	       address >= mapping->low;
}

bool (*record_mapping_find)(uint32_t pid, uint64_t address,
			    struct record_mapping *mapping) = find_in_proc;
