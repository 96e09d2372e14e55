/* SPDX-License-Identifier: Apache-2.0 */
/* The functions, inlined calls and lines that DWARF tells of the addresses of a binary. */
#ifndef SONDE_ANALYSE_STRUCTURE_DWARF_H
#define SONDE_ANALYSE_STRUCTURE_DWARF_H

#include "analyse/structure_detail.h"

struct structure_dwarf;

/* The name of the symbol that begins at an address, as the linker knows it; NULL where there is none. */
typedef const char *structure_symbol_at(struct sonde_structure *structure, uint64_t address);

/*
 * NULL where the file has no DWARF that can be read, or memory is out (structure->failed then).
 * `symbol_at` helps out where compilers leave the linker's name of a function away.
 */
struct structure_dwarf *structure_dwarf_open(struct sonde_structure *structure, const char *path,
					     structure_symbol_at *symbol_at);
void structure_dwarf_free(struct structure_dwarf *dwarf);

/*
 * The innermost function or inlined function at an address, made where it was not met before; SONDE_NONE
 * where DWARF has none. structure->failed tells where memory was out.
 */
uint32_t structure_dwarf_function(struct structure_dwarf *dwarf, uint64_t address);

/* The line of the code at an address below a function; `function` itself where there is none. */
uint32_t structure_dwarf_line(struct structure_dwarf *dwarf, uint64_t address, uint32_t function);

#endif
