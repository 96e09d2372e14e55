/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes structures of binaries: the input is an ELF file with DWARF, which is asked for addresses of all
 * its symbols and for some beside them. Beyond "does not crash" it holds what structure.h says about
 * nodes, and that the same address gives the same node again.
 */
#include <string.h>

#include "analyse/structure.h"
#include "memory_file.h"
#include "require.h"
#include "symbols/symbols.h"

enum { SIZE_MAX_TAKEN = 1 << 16, ASKED_MAX = 400 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void ask(struct sonde_structure *structure, uint64_t address)
{
	uint32_t number = sonde_structure_find(structure, address);

	REQUIRE(sonde_structure_find(structure, address) == number);
	while (number != SONDE_NONE) {
		const struct sonde_structure_node *node = sonde_structure_node(structure, number);

		REQUIRE(node && (node->parent == SONDE_NONE || node->parent < number));
		if (node->kind == SONDE_CONTEXT_FUNCTION)
			REQUIRE(sonde_structure_function(structure, node->function));
		else
			REQUIRE(node->kind == SONDE_CONTEXT_LINE && node->file &&
				node->parent != SONDE_NONE);
		number = node->parent;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *path = memory_file(data, size);
	struct sonde_structure *structure;
	struct sonde_symbols *symbols;
	struct sonde_symbol symbol;
	struct sonde_error err = { 0 };

	if (size > SIZE_MAX_TAKEN)
		return 0;
	if (sonde_structure_of_binary(path, 0, &structure, &err) != SONDE_OK) {
		REQUIRE(err.status < 0 && err.message[0] && !structure);
		return 0;
	}
	for (uint64_t address = 0; address < 64; address++)
		ask(structure, address * 0x11);
	ask(structure, UINT64_MAX);
	if (sonde_symbols_open(path, NULL, 0, &symbols, &err) == SONDE_OK) {
		for (size_t i = 0; i < sonde_symbols_count(symbols) && i < ASKED_MAX; i++) {
			sonde_symbols_at(symbols, i, &symbol);
			for (uint64_t k = 0; k < symbol.size && k < 32; k += 4)
				ask(structure, symbol.address + k);
		}
		sonde_symbols_free(symbols);
	}
	sonde_structure_free(structure);
	return 0;
}
