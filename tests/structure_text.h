/* SPDX-License-Identifier: Apache-2.0 */
/* The pieces of source around an address as one line of text, outermost first. */
#ifndef SONDE_TESTS_STRUCTURE_TEXT_H
#define SONDE_TESTS_STRUCTURE_TEXT_H

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyse/structure.h"

/* Tests name files without their folders. */
static inline const char *last_name(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return !path ? "-" : slash ? slash + 1 : path;
}

static inline int put_node(char *text, size_t size, const struct sonde_structure *structure,
			   const struct sonde_structure_node *node)
{
	const struct sonde_structure_function *function;

	switch (node->kind) {
	case SONDE_CONTEXT_FUNCTION:
		function = sonde_structure_function(structure, node->function);
		return snprintf(text, size, "%s%s [%s:%u]",
				node->relation == SONDE_CONTEXT_INLINED ? "inlined " : "",
				function->name ? function->name : "?", last_name(function->file),
				function->line);
	case SONDE_CONTEXT_LOOP:
		return snprintf(text, size, "loop %s:%u 0x%" PRIx64, last_name(node->file),
				node->line, node->address);
	default:
		return snprintf(text, size, "%s:%u", last_name(node->file), node->line);
	}
}

/* "main [a.c:3] > a.c:5", "nothing" where nothing is known; as much as the space holds. */
static inline const char *structure_chain(struct sonde_structure *structure, uint64_t address,
					  char *text, size_t size)
{
	const struct sonde_structure_node *nodes[64];
	uint32_t number = sonde_structure_find(structure, address);
	size_t count = 0, used = 0;

	snprintf(text, size, "nothing");
	while (number != SONDE_NONE && count < 64) {
		nodes[count] = sonde_structure_node(structure, number);
		number = nodes[count++]->parent;
	}
	for (size_t i = count; i-- > 0 && used < size;) {
		used += (size_t)put_node(text + used, size - used, structure, nodes[i]);
		if (i && used < size)
			used += (size_t)snprintf(text + used, size - used, " > ");
	}
	return text;
}

#endif
