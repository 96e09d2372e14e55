/* SPDX-License-Identifier: Apache-2.0 */
/* What bytes of the text stand for: the raw name of a function in its process, say, and its number. */
#ifndef SONDE_CHROME_NAMES_H
#define SONDE_CHROME_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

struct chrome_name_entry {
	const char *text; /* NULL: free */
	uint64_t hash;
	uint32_t length, group;
	uint32_t value;
	bool is_shared; /* the name stood for something else before */
};

/* Zeroed is empty. */
struct chrome_names {
	struct chrome_name_entry *entries;
	size_t capacity, used; /* a power of two */
	struct sonde_arena texts;
};

void chrome_names_release(struct chrome_names *names);

/*
 * The entry of these bytes in a group, added with `is_new` where there was none: the caller sets its value. It
 * holds until the next one is asked for. NULL where memory failed; with is_new NULL nothing is added, and
 * NULL is that it is not there, too.
 */
struct chrome_name_entry *chrome_names_find(struct chrome_names *names, uint32_t group,
					    const char *text, uint32_t length, bool *is_new);

#endif
