/* SPDX-License-Identifier: Apache-2.0 */
/* What another process has in its memory: lines of /proc/PID/maps. */
#ifndef SONDE_RECORD_MAPPING_H
#define SONDE_RECORD_MAPPING_H

#include <stdbool.h>
#include <stdint.h>

struct record_mapping {
	uint64_t low, high;
	uint64_t offset; /* in the file */
	uint64_t inode;
	bool executable;
	char path[4096]; /* "" for memory without a name; "[stack]" and the like as they are */
};

/* The first one, by address, that is wanted; false where there is none, or the process is gone. */
bool record_mapping_search(uint32_t pid,
			   bool (*is_wanted)(const struct record_mapping *mapping,
					     const void *context),
			   const void *context, struct record_mapping *mapping);

/* What lies at an address. False where nothing lies there, or the process is gone. A variable, so that tests replace it. */
extern bool (*record_mapping_find)(uint32_t pid, uint64_t address, struct record_mapping *mapping);

#endif
