/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For test_structure.py: reads addresses (hexadecimal, one a line) and prints what the structure of a
 * binary (BINARY) or of the first module of an .hpcstruct file (-f FILE) has around each.
 *	structure_at BINARY | structure_at -f FILE
 * A line: the address, then for each piece from the innermost on a tab and its kind (F function, I inlined
 * function, L loop, S line) with its fields, which are divided by the character 1.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/structure.h"

#define FIELD "\001"

static void print_node(const struct sonde_structure *structure,
		       const struct sonde_structure_node *node)
{
	const struct sonde_structure_function *function;

	switch (node->kind) {
	case SONDE_CONTEXT_FUNCTION:
		function = sonde_structure_function(structure, node->function);
		printf("\t%c" FIELD "%s" FIELD "%" PRIx64 FIELD "%s" FIELD "%u",
		       node->relation == SONDE_CONTEXT_INLINED ? 'I' : 'F',
		       function->name ? function->name : "", function->address,
		       function->file ? function->file : "", function->line);
		break;
	case SONDE_CONTEXT_LOOP:
		printf("\tL" FIELD "%s" FIELD "%u" FIELD "%" PRIx64, node->file, node->line,
		       node->address);
		break;
	default:
		printf("\tS" FIELD "%s" FIELD "%u", node->file, node->line);
		break;
	}
}

static struct sonde_structure *open_structure(int count, char **arguments, struct sonde_error *err)
{
	struct sonde_structure_file *file;
	struct sonde_structure *structure = NULL;

	if (count == 2) {
		if (sonde_structure_of_binary(arguments[1], 0, &structure, err) != SONDE_OK)
			return NULL;
		return structure;
	}
	if (sonde_structure_file_read(arguments[2], &file, err) != SONDE_OK)
		return NULL;
	structure = sonde_structure_file_take(file, 0);
	sonde_structure_file_free(file);
	return structure;
}

int main(int count, char **arguments)
{
	struct sonde_structure *structure;
	struct sonde_error err = { 0 };
	char line[64];

	if (count != 2 && !(count == 3 && strcmp(arguments[1], "-f") == 0))
		return 2;
	structure = open_structure(count, arguments, &err);
	if (!structure) {
		fprintf(stderr, "%s: %s\n", err.file, err.message);
		return 1;
	}
	while (fgets(line, sizeof(line), stdin)) {
		uint64_t address = strtoull(line, NULL, 16);
		uint32_t number = sonde_structure_find(structure, address);

		printf("%" PRIx64, address);
		while (number != SONDE_NONE) {
			const struct sonde_structure_node *node =
				sonde_structure_node(structure, number);

			print_node(structure, node);
			number = node->parent;
		}
		putchar('\n');
	}
	sonde_structure_free(structure);
	return 0;
}
