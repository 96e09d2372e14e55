/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes the reader of .hpcstruct files: the input is such a file, whose nodes are all walked. Beyond
 * "does not crash" it holds what structure.h says about nodes and their parents.
 */
#include <string.h>

#include "analyse/structure_detail.h"
#include "require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void walk_node(const struct sonde_structure *structure, uint32_t number)
{
	const struct sonde_structure_node *node = sonde_structure_node(structure, number);

	REQUIRE(node);
	REQUIRE(node->parent == SONDE_NONE || node->parent < number);
	switch (node->kind) {
	case SONDE_CONTEXT_FUNCTION:
		REQUIRE((node->parent == SONDE_NONE) == (node->relation == SONDE_CONTEXT_CALLED));
		REQUIRE(sonde_structure_function(structure, node->function));
		break;
	case SONDE_CONTEXT_LOOP:
	case SONDE_CONTEXT_LINE:
		REQUIRE(node->parent != SONDE_NONE && node->relation == SONDE_CONTEXT_ENCLOSED);
		REQUIRE(node->file && strlen(node->file) > 0);
		break;
	default:
		REQUIRE(false);
	}
}

static void walk_structure(struct sonde_structure *structure)
{
	uint32_t count = sonde_table_count(&structure->nodes);

	for (uint32_t i = 0; i < count; i++)
		walk_node(structure, i);
	for (size_t i = 0; i < structure->ranges.count; i++) {
		const struct structure_range *range = &structure->ranges.items[i];

		REQUIRE(range->start < range->end && range->owner < count);
		REQUIRE(!i || range[-1].end <= range->start);
		REQUIRE(sonde_structure_find(structure, range->start) == range->owner);
		REQUIRE(sonde_structure_find(structure, range->end - 1) == range->owner);
	}
	REQUIRE(sonde_structure_find(structure, UINT64_MAX) == SONDE_NONE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sonde_structure_file *file;
	struct sonde_error err = { 0 };

	if (sonde_structure_file_parse(data, size, &file, &err) != SONDE_OK) {
		REQUIRE(err.status < 0 && err.message[0] && !file);
		return 0;
	}
	for (size_t i = 0; i < sonde_structure_file_count(file); i++) {
		struct sonde_structure *structure = sonde_structure_file_take(file, i);

		REQUIRE(structure && sonde_structure_file_module(file, i));
		walk_structure(structure);
		sonde_structure_free(structure);
	}
	sonde_structure_file_free(file);
	return 0;
}
