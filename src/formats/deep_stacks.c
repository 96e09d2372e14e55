/* SPDX-License-Identifier: Apache-2.0 */
/* The choice of deep stacks: two passes over the nodes, without recursion. */
#include "formats/deep_stacks.h"

static bool is_deep(const struct deep_node *node)
{
	return node->is_spent && node->depth > DEEP_STACKS_FREE;
}

/* The ends take room first: all frames are in them. Gives what those between would take, at most UINT64_MAX. */
static uint64_t choose_ends(struct deep_node *nodes, uint32_t count, uint64_t *room)
{
	uint64_t between = 0;

	for (uint32_t i = count; i-- > 1;) {
		struct deep_node *node = &nodes[i];

		/* children were here before: they said whether there is anything below */
		if (node->is_inside || node->is_spent)
			nodes[node->parent].is_inside = true;
		if (!is_deep(node))
			continue;
		if (node->is_inside) {
			if (__builtin_add_overflow(between, node->size, &between))
				between = UINT64_MAX;
		} else if (node->size <= *room) {
			*room -= node->size;
			node->written = i;
		}
	}
	return between;
}

uint32_t deep_stacks_choose(struct deep_node *nodes, uint32_t count, uint64_t room)
{
	uint64_t between, step;
	uint32_t moved = 0;

	for (uint32_t i = 0; i < count; i++) {
		nodes[i].is_inside = false;
		nodes[i].written = nodes[i].depth > DEEP_STACKS_FREE ? UINT32_MAX : i;
	}
	between = choose_ends(nodes, count, &room);
	step = between <= room ? 1 : room ? between / room + 1 : UINT64_MAX;
	for (uint32_t i = 1; i < count; i++) {
		struct deep_node *node = &nodes[i];

		if (node->written == i)
			continue;
		if (is_deep(node) && node->is_inside && !(node->depth % step) &&
		    node->size <= room) {
			room -= node->size;
			node->written = i;
			continue;
		}
		node->written = nodes[node->parent].written;
		moved += node->is_spent;
	}
	for (uint32_t i = 0; i < count; i++)
		nodes[i].is_inside |= nodes[i].is_spent;
	return moved;
}
