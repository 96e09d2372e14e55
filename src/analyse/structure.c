/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The nodes, functions and texts of a structure, whatever it was made from. Nothing here knows XML or
 * DWARF.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/structure_detail.h"
#include "symbols/symbols.h"

struct sonde_structure *structure_new(enum sonde_structure_origin origin)
{
	struct sonde_structure *structure = calloc(1, sizeof(*structure));

	if (!structure)
		return NULL;
	structure->origin = origin;
	sonde_table_init(&structure->nodes, sizeof(struct sonde_structure_node));
	sonde_table_init(&structure->functions, sizeof(struct sonde_structure_function));
	return structure;
}

void sonde_structure_free(struct sonde_structure *structure)
{
	if (!structure)
		return;
	if (structure->source)
		structure->source->free(structure->source);
	sonde_table_release(&structure->nodes);
	sonde_table_release(&structure->functions);
	sonde_text_map_release(&structure->texts_known);
	sonde_vec_release(&structure->texts);
	sonde_vec_release(&structure->ranges);
	sonde_arena_release(&structure->arena);
	free(structure);
}

uint32_t structure_text_number(struct sonde_structure *structure, const char *text, size_t length)
{
	uint32_t number = sonde_text_map_find(&structure->texts_known, text, length);
	const char *copy;

	if (number != SONDE_NONE)
		return number;
	number = (uint32_t)structure->texts.count;
	if (structure->texts.count >= SONDE_NONE || !sonde_vec_reserve(&structure->texts, 1))
		return SONDE_NONE;
	copy = sonde_arena_copy_text(&structure->arena, text, length);
	if (!copy || !sonde_text_map_add(&structure->texts_known, copy, length, number))
		return SONDE_NONE;
	structure->texts.items[structure->texts.count++] = copy;
	return number;
}

const char *structure_text(struct sonde_structure *structure, const char *text, size_t length)
{
	uint32_t number = structure_text_number(structure, text, length);

	return number == SONDE_NONE ? NULL : structure->texts.items[number];
}

const char *structure_name(struct sonde_structure *structure, const char *raw_name)
{
	char *readable = sonde_demangle(raw_name);
	const char *name = readable ? readable : raw_name;

	name = structure_text(structure, name, strlen(name));
	free(readable);
	if (!name)
		structure->failed = true;
	return name;
}

uint32_t structure_add_node(struct sonde_structure *structure,
			    const struct sonde_structure_node *node)
{
	return sonde_table_add(&structure->nodes, node);
}

uint32_t structure_add_function(struct sonde_structure *structure,
				const struct sonde_structure_function *function)
{
	return sonde_table_add(&structure->functions, function);
}

uint32_t sonde_structure_find(struct sonde_structure *structure, uint64_t address)
{
	if (structure->source)
		return structure->source->find(structure, address);
	return structure_ranges_find(&structure->ranges, address);
}

const struct sonde_structure_node *sonde_structure_node(const struct sonde_structure *structure,
							uint32_t number)
{
	return sonde_table_at(&structure->nodes, number);
}

const struct sonde_structure_function *
sonde_structure_function(const struct sonde_structure *structure, uint32_t number)
{
	return sonde_table_at(&structure->functions, number);
}

enum sonde_structure_origin sonde_structure_origin(const struct sonde_structure *structure)
{
	return structure->origin;
}

bool sonde_structure_failed(const struct sonde_structure *structure)
{
	return structure->failed;
}
