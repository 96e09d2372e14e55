/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The union of the calling contexts of many profiles, as they were measured: a node is its parent, a
 * module and an address in it. Equal paths are one node. What the addresses mean is no matter here.
 */
#ifndef SONDE_ANALYSE_RAW_TREE_H
#define SONDE_ANALYSE_RAW_TREE_H

#include <sonde/definitions.h>

#include "base/buffer.h"
#include "base/bytes.h"
#include "base/hash.h"

struct raw_node {
	uint64_t ip;
	uint32_t parent; /* less than its own number; SONDE_NONE for node 0 */
	uint32_t module;
};

/* Zeroed means without any node; the first addition makes node 0, the root. */
struct raw_tree {
	struct raw_node *nodes;
	uint32_t *slots; /* number of a node; 0: free, since nobody looks for the root */
	uint32_t count, capacity;
	size_t slot_count; /* a power of two */
	uint64_t seed;	   /* nobody outside knows it: no input can be made to collide */
};

void raw_tree_release(struct raw_tree *tree);

/* Makes the root where there is none. False where memory failed. */
bool raw_tree_begin(struct raw_tree *tree);

static inline size_t raw_tree_place(const struct raw_tree *tree, uint32_t parent, uint32_t module,
				    uint64_t ip)
{
	uint64_t path = (uint64_t)parent << 32 | module;

	return sonde_hash_fold((ip ^ tree->seed) + SONDE_HASH_FACTOR_2,
			       path ^ SONDE_HASH_FACTOR_1) &
	       (tree->slot_count - 1);
}

/*
 * The number of a node, SONDE_NONE where there is none. The tree must have been begun. Safe from several
 * threads as long as nobody adds.
 */
static inline uint32_t raw_tree_find(const struct raw_tree *tree, uint32_t parent, uint32_t module,
				     uint64_t ip)
{
	size_t place = raw_tree_place(tree, parent, module, ip);
	uint32_t number;

	for (; (number = tree->slots[place]); place = (place + 1) & (tree->slot_count - 1)) {
		const struct raw_node *node = &tree->nodes[number];

		if (node->ip == ip && node->parent == parent && node->module == module)
			return number;
	}
	return SONDE_NONE;
}

/* The number of a node, which is added where it is not there yet; SONDE_NONE where memory failed. */
uint32_t raw_tree_add(struct raw_tree *tree, uint32_t parent, uint32_t module, uint64_t ip);

/* For processes that have no memory in common. Module numbers go as they are. */
void raw_tree_put(const struct raw_tree *tree, struct sonde_buffer *bytes);
/* Replaces *tree. SONDE_CORRUPT where the bytes were not made by raw_tree_put(). */
enum sonde_status raw_tree_take(struct raw_tree *tree, struct sonde_bytes *bytes,
				struct sonde_error *err);

#endif
