/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the sources of structures (files, binaries) share: how nodes, functions and texts are kept, and
 * ranges of addresses of which the innermost is to be found.
 */
#ifndef SONDE_ANALYSE_STRUCTURE_DETAIL_H
#define SONDE_ANALYSE_STRUCTURE_DETAIL_H

#include <stdbool.h>

#include "analyse/structure.h"
#include "base/arena.h"
#include "base/map.h"
#include "base/table.h"
#include "base/vec.h"

/* Addresses [start, end) and what lies there. Of ranges that overlap the one of highest rank counts. */
struct structure_range {
	uint64_t start, end;
	uint32_t owner; /* a node, or another number of the caller's */
	uint32_t rank;
};

struct structure_ranges {
	struct structure_range *items;
	size_t count, capacity;
};

/* False where memory is out. A range without addresses is left out. */
bool structure_ranges_add(struct structure_ranges *ranges, uint64_t start, uint64_t end,
			  uint32_t owner, uint32_t rank);

/*
 * Puts them in order and cuts them into pieces that do not overlap, twice as many at most. False where
 * memory is out; they are as they were then.
 */
bool structure_ranges_settle(struct structure_ranges *ranges);

/* The owner at an address, SONDE_NONE where there is none; only after they were settled. */
uint32_t structure_ranges_find(const struct structure_ranges *ranges, uint64_t address);

/* A binary that is looked into while it is asked; structures of files have none. */
struct structure_source {
	uint32_t (*find)(struct sonde_structure *structure, uint64_t address);
	void (*free)(struct structure_source *source);
};

struct sonde_structure {
	enum sonde_structure_origin origin;
	bool failed; /* memory was out when something was asked */
	struct sonde_table nodes, functions;
	struct sonde_arena arena; /* the texts */
	SONDE_VEC(const char *) texts;
	struct sonde_text_map texts_known; /* -> number in texts */
	struct structure_ranges ranges;	   /* the owners are nodes */
	struct structure_source *source;
};

/* NULL where memory is out. */
struct sonde_structure *structure_new(enum sonde_structure_origin origin);

/* The number of a text, kept once in structure->texts; SONDE_NONE where memory is out. */
uint32_t structure_text_number(struct sonde_structure *structure, const char *text, size_t length);
/* The text as it is kept; NULL where memory is out. */
const char *structure_text(struct sonde_structure *structure, const char *text, size_t length);
/* The readable form of a name that may be one of C++, kept; NULL where memory is out. */
const char *structure_name(struct sonde_structure *structure, const char *raw_name);

/* The number of the new one, SONDE_NONE where memory is out. */
uint32_t structure_add_node(struct sonde_structure *structure,
			    const struct sonde_structure_node *node);
uint32_t structure_add_function(struct sonde_structure *structure,
				const struct sonde_structure_function *function);

#endif
