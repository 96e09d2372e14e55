/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The union of the nodes of all profiles: equal paths are one node. Nodes are looked up again when
 * values or samples of a profile are read, so that nothing is kept for each profile; looking up is safe
 * from several threads once all was added.
 */
#ifndef SONDE_HPCRUN_TREE_H
#define SONDE_HPCRUN_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

/* In place of a module's number: what a node is that lies in none. */
enum {
	HPCRUN_TREE_LIMIT = 0x7ffffff0, /* modules have smaller numbers */
	HPCRUN_TREE_ENTRY,		/* ip: enum sonde_context_entry */
	HPCRUN_TREE_PLACEHOLDER,	/* ip: as in the file */
	HPCRUN_TREE_UNKNOWN_FUNCTION,	/* ip: 0 */
	HPCRUN_TREE_UNKNOWN_MODULE,	/* ip: as in the file */
};

/* Node 0 is the root. Parents come before children. */
struct hpcrun_tree_node {
	uint32_t parent; /* UINT32_MAX for the root */
	uint32_t module;
	uint64_t ip;
};

/* Zeroed means empty. */
struct hpcrun_tree {
	SONDE_VEC(struct hpcrun_tree_node) nodes;
	uint32_t *slots; /* index of a node, UINT32_MAX: free */
	size_t size;	 /* a power of two */
};

void hpcrun_tree_release(struct hpcrun_tree *tree);

/* UINT32_MAX where there is none. */
uint32_t hpcrun_tree_find(const struct hpcrun_tree *tree, uint32_t parent, uint32_t module,
			  uint64_t ip);
/* The same, added where it is missing; UINT32_MAX where memory failed. */
uint32_t hpcrun_tree_add(struct hpcrun_tree *tree, uint32_t parent, uint32_t module, uint64_t ip);

/*
 * Numbers nodes anew so that each subtree is one run, children in the order they were added.
 * numbers[old] is the new one, ends[old] the first new number behind its subtree.
 */
void hpcrun_tree_number(const struct hpcrun_tree *tree, uint32_t *numbers, uint32_t *ends);

#endif
