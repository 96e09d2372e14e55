/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program or shared library as ELF64 describes it: its sections, segments and build-id. Read
 * with bounds of our own, so that no damaged file can do harm. DWARF is not looked at here.
 */
#ifndef SONDE_SYMBOLS_ELF_FILE_H
#define SONDE_SYMBOLS_ELF_FILE_H

#include <stdbool.h>

#include "base/file.h"

struct elf_section {
	const char *name; /* "" where it has none */
	uint32_t type, link;
	uint64_t flags, address, size;
	const uint8_t *data; /* NULL where the file does not have all of it */
};

struct elf_file {
	char *path;
	struct sonde_mapped_file mapped;
	struct elf_section *sections;
	size_t section_count;
	bool has_interpreter;
	const uint8_t *build_id; /* NULL: none */
	size_t build_id_size;
};

/* SONDE_FORMAT: no ELF program or library; SONDE_UNSUPPORTED: of 32 bits or of big endian. */
enum sonde_status elf_file_open(struct elf_file *file, const char *path, struct sonde_error *err);
void elf_file_release(struct elf_file *file);

/* The first section of a name or type; NULL where there is none. */
const struct elf_section *elf_file_section(const struct elf_file *file, const char *name);
const struct elf_section *elf_file_section_of(const struct elf_file *file, uint32_t type);

/* The section that another one refers to by its number; NULL where that number is wrong. */
const struct elf_section *elf_file_link(const struct elf_file *file,
					const struct elf_section *section);

/* The bytes of a table of strings up to its last NUL: every text that begins before has an end. */
size_t elf_strings_size(const struct elf_section *strings);

/* Whether it has what DWARF needs at least, plain or compressed in the old way. */
bool elf_file_has_dwarf(const struct elf_file *file);

/* Where distributions keep debug files. */
#define SYMBOLS_DEBUG_ROOT "/usr/lib/debug"

/*
 * Opens the separate debug file of `file`, by build-id below `root` (/usr/lib/debug), else by its
 * debug link. False where there is none that belongs to it, or it cannot be read.
 */
bool elf_file_open_debug(const struct elf_file *file, const char *root, struct elf_file *debug);

#endif
