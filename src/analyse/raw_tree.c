/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An array of nodes in the order in which they were met, and a table with open addressing that finds
 * them: 16 bytes a node, and 4 for each of the less than two times as many places.
 */
#include "analyse/raw_tree.h"

#include <stdlib.h>

#include "base/vec.h"

enum { FIRST_SLOTS = 1024, NODE_BYTES = 16, MOST_NODES = 0x7fffffff };

void raw_tree_release(struct raw_tree *tree)
{
	free(tree->nodes);
	free(tree->slots);
	tree->nodes = NULL;
	tree->slots = NULL;
	tree->count = tree->capacity = 0;
	tree->slot_count = 0;
}

/* A table of that size with all nodes but the root in it. */
static bool set_slots(struct raw_tree *tree, size_t count)
{
	uint32_t *slots = calloc(count, sizeof(*slots)), i;
	size_t place;

	if (!slots)
		return false;
	free(tree->slots);
	tree->slots = slots;
	tree->slot_count = count;
	tree->seed = (uintptr_t)slots * SONDE_HASH_FACTOR_1;
	for (i = 1; i < tree->count; i++) {
		const struct raw_node *node = &tree->nodes[i];

		place = raw_tree_place(tree, node->parent, node->module, node->ip);
		while (slots[place])
			place = (place + 1) & (count - 1);
		slots[place] = i;
	}
	return true;
}

static bool reserve_nodes(struct raw_tree *tree, size_t more)
{
	size_t capacity = tree->capacity;

	if (tree->capacity - tree->count >= more)
		return true;
	if (more > MOST_NODES - tree->count ||
	    !sonde_vec_grow(&tree->nodes, &capacity, tree->count, more, sizeof(*tree->nodes)))
		return false;
	tree->capacity = (uint32_t)(capacity < MOST_NODES ? capacity : MOST_NODES);
	return true;
}

bool raw_tree_begin(struct raw_tree *tree)
{
	if (tree->count)
		return true;
	if (!reserve_nodes(tree, 1) || (!tree->slots && !set_slots(tree, FIRST_SLOTS)))
		return false;
	tree->nodes[0] = (struct raw_node){ .parent = SONDE_NONE };
	tree->count = 1;
	return true;
}

uint32_t raw_tree_add(struct raw_tree *tree, uint32_t parent, uint32_t module, uint64_t ip)
{
	uint32_t number;
	size_t place;

	if (!raw_tree_begin(tree))
		return SONDE_NONE;
	number = raw_tree_find(tree, parent, module, ip);
	if (number != SONDE_NONE)
		return number;
	if ((size_t)tree->count * 5 >= tree->slot_count * 3 &&
	    !set_slots(tree, tree->slot_count * 2))
		return SONDE_NONE;
	if (!reserve_nodes(tree, 1))
		return SONDE_NONE;
	place = raw_tree_place(tree, parent, module, ip);
	while (tree->slots[place])
		place = (place + 1) & (tree->slot_count - 1);
	tree->slots[place] = tree->count;
	tree->nodes[tree->count] =
		(struct raw_node){ .ip = ip, .parent = parent, .module = module };
	return tree->count++;
}

void raw_tree_put(const struct raw_tree *tree, struct sonde_buffer *bytes)
{
	char *place = sonde_buffer_reserve(bytes, 4 + (size_t)tree->count * NODE_BYTES);
	uint8_t *p = (uint8_t *)place;
	uint32_t i;

	if (!place)
		return;
	sonde_store_u32le(p, tree->count);
	p += 4;
	for (i = 0; i < tree->count; i++, p += NODE_BYTES) {
		sonde_store_u64le(p, tree->nodes[i].ip);
		sonde_store_u32le(p + 8, tree->nodes[i].parent);
		sonde_store_u32le(p + 12, tree->nodes[i].module);
	}
	bytes->size += (size_t)(p - (uint8_t *)place);
}

static enum sonde_status take_nodes(struct raw_tree *tree, const uint8_t *p, uint32_t count,
				    struct sonde_error *err)
{
	uint32_t i;

	if (count && !raw_tree_begin(tree))
		return sonde_fail_nomem(err);
	for (i = 1; i < count; i++) {
		const uint8_t *node = p + (size_t)i * NODE_BYTES;
		uint32_t parent = sonde_load_u32le(node + 8), number;

		if (parent >= i)
			return sonde_fail(err, SONDE_CORRUPT, SONDE_NO_OFFSET,
					  "node %u of a tree has parent %u, expected one before it",
					  i, parent);
		number = raw_tree_add(tree, parent, sonde_load_u32le(node + 12),
				      sonde_load_u64le(node));
		if (number == SONDE_NONE)
			return sonde_fail_nomem(err);
		if (number != i)
			return sonde_fail(err, SONDE_CORRUPT, SONDE_NO_OFFSET,
					  "node %u of a tree is there twice", i);
	}
	return SONDE_OK;
}

enum sonde_status raw_tree_take(struct raw_tree *tree, struct sonde_bytes *bytes,
				struct sonde_error *err)
{
	uint32_t count = sonde_bytes_u32le(bytes);
	const uint8_t *p = sonde_bytes_take(bytes, (size_t)count * NODE_BYTES);
	enum sonde_status status;

	raw_tree_release(tree);
	if (!p)
		return sonde_fail(err, SONDE_CORRUPT, SONDE_NO_OFFSET,
				  "a tree of %u nodes is cut short", count);
	status = take_nodes(tree, p, count, err);
	if (status != SONDE_OK)
		raw_tree_release(tree);
	return status;
}
