/* SPDX-License-Identifier: Apache-2.0 */
/* The union of nodes: an array with a hash over parent, module and address. */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "formats/hpcrun/hpcrun_tree.h"

#define FIRST_SIZE 1024

void hpcrun_tree_release(struct hpcrun_tree *tree)
{
	sonde_vec_release(&tree->nodes);
	free(tree->slots);
	*tree = (struct hpcrun_tree){ 0 };
}

/* The address of the slots, which nobody outside knows, keeps keys from being prepared. */
static size_t first_slot(const struct hpcrun_tree *tree, uint32_t parent, uint32_t module,
			 uint64_t ip)
{
	uint64_t seed = (uint64_t)(uintptr_t)tree->slots;
	uint64_t key = sonde_hash_fold(ip ^ seed, SONDE_HASH_FACTOR_1);

	key = sonde_hash_fold(key ^ ((uint64_t)parent << 32 | module), SONDE_HASH_FACTOR_2 ^ seed);
	return (size_t)key & (tree->size - 1);
}

static uint32_t *slot_of(const struct hpcrun_tree *tree, uint32_t parent, uint32_t module,
			 uint64_t ip)
{
	size_t i = first_slot(tree, parent, module, ip);

	for (;; i = (i + 1) & (tree->size - 1)) {
		const struct hpcrun_tree_node *node;

		if (tree->slots[i] == UINT32_MAX)
			return &tree->slots[i];
		node = &tree->nodes.items[tree->slots[i]];
		if (node->parent == parent && node->ip == ip && node->module == module)
			return &tree->slots[i];
	}
}

uint32_t hpcrun_tree_find(const struct hpcrun_tree *tree, uint32_t parent, uint32_t module,
			  uint64_t ip)
{
	return tree->size ? *slot_of(tree, parent, module, ip) : UINT32_MAX;
}

static bool grow(struct hpcrun_tree *tree)
{
	size_t size = tree->size ? tree->size * 2 : FIRST_SIZE;
	uint32_t *slots = malloc(size * sizeof(*slots));

	if (!slots)
		return false;
	free(tree->slots);
	tree->slots = slots;
	tree->size = size;
	memset(slots, 0xff, size * sizeof(*slots));
	for (size_t i = 0; i < tree->nodes.count; i++) {
		const struct hpcrun_tree_node *node = &tree->nodes.items[i];

		*slot_of(tree, node->parent, node->module, node->ip) = (uint32_t)i;
	}
	return true;
}

uint32_t hpcrun_tree_add(struct hpcrun_tree *tree, uint32_t parent, uint32_t module, uint64_t ip)
{
	struct hpcrun_tree_node *node;
	uint32_t *slot;

	if (tree->nodes.count >= tree->size / 2 && !grow(tree))
		return UINT32_MAX;
	slot = slot_of(tree, parent, module, ip);
	if (*slot != UINT32_MAX)
		return *slot;
	if (tree->nodes.count >= UINT32_MAX - 1)
		return UINT32_MAX;
	node = sonde_vec_push(&tree->nodes);
	if (!node)
		return UINT32_MAX;
	*node = (struct hpcrun_tree_node){ .parent = parent, .module = module, .ip = ip };
	*slot = (uint32_t)(tree->nodes.count - 1);
	return *slot;
}

void hpcrun_tree_number(const struct hpcrun_tree *tree, uint32_t *numbers, uint32_t *ends)
{
	const struct hpcrun_tree_node *nodes = tree->nodes.items;
	size_t count = tree->nodes.count;

	/* first how many each subtree has, then who comes after whom */
	for (size_t i = 0; i < count; i++)
		ends[i] = 1;
	for (size_t i = count; i-- > 1;)
		ends[nodes[i].parent] += ends[i];
	for (size_t i = 0; i < count; i++) {
		uint32_t size = ends[i];

		numbers[i] = i ? ends[nodes[i].parent] : 0;
		if (i)
			ends[nodes[i].parent] += size;
		ends[i] = numbers[i] +
			  1; /* where its next child goes; its end, when all are placed */
	}
}
