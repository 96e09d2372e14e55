/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names of source files in the line tables of DWARF. libdw reads a table whole, with all lines, which takes
 * many times as long where only names are asked for.
 */
#ifndef SONDE_SYMBOLS_SOURCE_FILES_H
#define SONDE_SYMBOLS_SOURCE_FILES_H

#include "base/arena.h"
#include "base/bytes.h"
#include "base/map.h"
#include "base/vec.h"
#include "symbols/elf_file.h"

struct source_table;

struct source_files {
	/* .debug_line, .debug_line_str, .debug_str; empty where they are missing or compressed */
	struct sonde_bytes lines, line_texts, texts;
	struct sonde_key_map numbers; /* where a table begins -> its number */
	SONDE_VEC(struct source_table *) tables;
	struct sonde_arena paths;
};

/* Borrows the sections of the file. */
void source_files_init(struct source_files *files, const struct elf_file *elf);
void source_files_release(struct source_files *files);

/*
 * The file `number` of the table at an offset. Its path begins with its folder in the table; `folder` is that of
 * the unit, or NULL. NULL where that cannot be told: ask libdw.
 */
const char *source_files_find(struct source_files *files, uint64_t offset, uint64_t number,
			      const char *folder);

#endif
