/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The structure of a binary: its DWARF, or that of its separate debug file, and its symbols for
 * addresses that DWARF does not know. Each is opened when the first address asks for it.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/structure_dwarf.h"
#include "base/bytes.h"
#include "symbols/elf_file.h"
#include "symbols/symbols.h"

struct binary {
	struct structure_source base;
	char *path;
	char *dwarf_path; /* NULL: there is none to be read */
	struct structure_dwarf *dwarf;
	struct sonde_symbols *symbols;
	bool symbols_tried;
	struct sonde_key_map by_symbol; /* address of the symbol -> node */
};

static void binary_free(struct structure_source *source)
{
	struct binary *binary = (struct binary *)source;

	structure_dwarf_free(binary->dwarf);
	sonde_symbols_free(binary->symbols);
	sonde_key_map_release(&binary->by_symbol);
	free(binary->dwarf_path);
	free(binary->path);
	free(binary);
}

static bool open_symbols(struct sonde_structure *structure, struct binary *binary)
{
	if (!binary->symbols && !binary->symbols_tried) {
		enum sonde_status status =
			sonde_symbols_open(binary->path, NULL, 0, &binary->symbols, NULL);

		if (status == SONDE_NOMEM)
			structure->failed = true;
		else
			binary->symbols_tried = true;
		if (status != SONDE_OK)
			binary->symbols = NULL;
	}
	return binary->symbols != NULL;
}

static const char *symbol_at(struct sonde_structure *structure, uint64_t address)
{
	struct binary *binary = (struct binary *)structure->source;
	struct sonde_symbol symbol;

	if (!open_symbols(structure, binary) ||
	    !sonde_symbols_find(binary->symbols, address, &symbol) || symbol.address != address)
		return NULL;
	return symbol.raw_name;
}

/* Opens DWARF the first time; where that cannot be read there are still symbols. */
static void open_dwarf(struct sonde_structure *structure, struct binary *binary)
{
	bool failed_before = structure->failed;

	structure->failed = false;
	binary->dwarf = structure_dwarf_open(structure, binary->dwarf_path, symbol_at);
	if (!binary->dwarf && !structure->failed) {
		free(binary->dwarf_path);
		binary->dwarf_path = NULL;
		structure->origin = SONDE_STRUCTURE_SYMBOLS;
	}
	structure->failed |= failed_before;
}

static uint32_t symbol_node(struct sonde_structure *structure, struct binary *binary,
			    uint64_t address)
{
	struct sonde_structure_node node = {
		.parent = SONDE_NONE,
		.kind = SONDE_CONTEXT_FUNCTION,
		.relation = SONDE_CONTEXT_CALLED,
	};
	struct sonde_structure_function function = { 0 };
	struct sonde_symbol symbol;
	uint32_t number;

	if (!open_symbols(structure, binary) ||
	    !sonde_symbols_find(binary->symbols, address, &symbol))
		return SONDE_NONE;
	number = sonde_key_map_find(&binary->by_symbol, symbol.address);
	if (number != SONDE_NONE)
		return number;
	function.address = symbol.address;
	function.name = structure_name(structure, symbol.raw_name);
	if (function.name)
		node.function = structure_add_function(structure, &function);
	if (function.name && node.function != SONDE_NONE)
		number = structure_add_node(structure, &node);
	if (number != SONDE_NONE && sonde_key_map_add(&binary->by_symbol, symbol.address, number))
		return number;
	structure->failed = true;
	return SONDE_NONE;
}

static uint32_t binary_find(struct sonde_structure *structure, uint64_t address)
{
	struct binary *binary = (struct binary *)structure->source;
	uint32_t node = SONDE_NONE;

	if (!binary->dwarf && binary->dwarf_path)
		open_dwarf(structure, binary);
	if (binary->dwarf)
		node = structure_dwarf_function(binary->dwarf, address);
	if (node == SONDE_NONE)
		node = symbol_node(structure, binary, address);
	if (binary->dwarf && node != SONDE_NONE)
		node = structure_dwarf_line(binary->dwarf, address, node);
	return node;
}

/* How many bytes a section has when it is unpacked, as far as it says so. */
static uint64_t unpacked_size(const struct elf_section *section)
{
	if (section->data && (section->flags & SHF_COMPRESSED) &&
	    section->size >= sizeof(Elf64_Chdr))
		return sonde_load_u64le(section->data + offsetof(Elf64_Chdr, ch_size));
	if (section->data && section->size >= 12 && memcmp(section->data, "ZLIB", 4) == 0)
		return sonde_load_u64be(section->data + 4);
	return section->size;
}

static uint64_t dwarf_size(const struct elf_file *file)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < file->section_count; i++) {
		const struct elf_section *section = &file->sections[i];

		if (strncmp(section->name, ".debug_", 7) != 0 &&
		    strncmp(section->name, ".zdebug_", 8) != 0)
			continue;
		if (__builtin_add_overflow(sum, unpacked_size(section), &sum))
			return UINT64_MAX;
	}
	return sum;
}

/* Notes where DWARF is, unless it is larger than the limit. False where memory is out. */
static bool choose_dwarf(struct binary *binary, const struct elf_file *file, uint64_t limit)
{
	if (!elf_file_has_dwarf(file) || (limit && dwarf_size(file) > limit))
		return true;
	binary->dwarf_path = strdup(file->path);
	return binary->dwarf_path != NULL;
}

static bool has_symbols(const struct elf_file *file)
{
	return elf_file_section_of(file, SHT_SYMTAB) || elf_file_section_of(file, SHT_DYNSYM);
}

/* Looks at what the file has, without reading any of it. */
static enum sonde_status look(struct sonde_structure *structure, struct binary *binary,
			      uint64_t dwarf_limit, struct sonde_error *err)
{
	struct elf_file file, debug;
	enum sonde_status status = elf_file_open(&file, binary->path, err);
	bool done;

	if (status != SONDE_OK)
		return status;
	if (has_symbols(&file))
		structure->origin = SONDE_STRUCTURE_SYMBOLS;
	done = choose_dwarf(binary, &file, dwarf_limit);
	if (done && !elf_file_has_dwarf(&file) &&
	    elf_file_open_debug(&file, SYMBOLS_DEBUG_ROOT, &debug)) {
		if (has_symbols(&debug))
			structure->origin = SONDE_STRUCTURE_SYMBOLS;
		done = choose_dwarf(binary, &debug, dwarf_limit);
		elf_file_release(&debug);
	}
	elf_file_release(&file);
	if (binary->dwarf_path)
		structure->origin = SONDE_STRUCTURE_DWARF;
	return done ? SONDE_OK : sonde_fail_nomem(err);
}

enum sonde_status sonde_structure_of_binary(const char *path, uint64_t dwarf_limit,
					    struct sonde_structure **structure,
					    struct sonde_error *err)
{
	struct sonde_structure *made = structure_new(SONDE_STRUCTURE_NONE);
	struct binary *binary = calloc(1, sizeof(*binary));
	enum sonde_status status = SONDE_NOMEM;

	*structure = NULL;
	if (made && binary) {
		binary->base =
			(struct structure_source){ .find = binary_find, .free = binary_free };
		made->source = &binary->base;
		binary->path = strdup(path);
		status = binary->path ? look(made, binary, dwarf_limit, err) :
					sonde_fail_nomem(err);
	} else {
		sonde_fail_nomem(err);
		free(binary);
	}
	if (status == SONDE_OK)
		*structure = made;
	else
		sonde_structure_free(made);
	return status;
}
