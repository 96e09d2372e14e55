/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source lines of functions out of DWARF. Nothing is read before it is asked for, and then only
 * what the function's compilation unit has.
 */
#ifndef SONDE_SYMBOLS_LINES_H
#define SONDE_SYMBOLS_LINES_H

#include "symbols/elf_file.h"

struct sonde_lines;

/* NULL where the file, which is borrowed, has no DWARF that can be read, or memory is out. */
struct sonde_lines *sonde_lines_open(const struct elf_file *elf);
void sonde_lines_free(struct sonde_lines *lines);

/* As sonde_symbols_line(). */
bool sonde_lines_find(struct sonde_lines *lines, uint64_t address, const char **file,
		      uint32_t *line);

#endif
