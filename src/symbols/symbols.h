/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names and source lines of addresses in one ELF file, from its symbol tables and its DWARF, also
 * where these are in a separate debug file found by build-id or debug link. Addresses are those
 * of the file: the address in memory minus the load base.
 */
#ifndef SONDE_SYMBOLS_H
#define SONDE_SYMBOLS_H

#include <sonde/status.h>
#include <stdbool.h>

struct sonde_symbols;

/* A function; the name is borrowed from the symbols. */
struct sonde_symbol {
	uint64_t address;
	uint64_t size; /* never 0: up to the next symbol where the table gives none */
	const char *raw_name;
};

/* How a program was prepared for recording, and what a launcher must know of it. */
struct sonde_symbols_program {
	/* It refers to __cyg_profile_func_enter, or defines it. A shared library that only
	 * defines it, as libc does, has none. */
	bool hooks;
	bool dynamic;	  /* it names a program interpreter: a library can be preloaded */
	bool has_runtime; /* libsonde-rt is linked into it, or is one of its libraries */
};

/*
 * Opens an ELF file; it stays readable where it is removed later. Where `build_id_size` is not 0 the
 * file must have that id (SONDE_CORRUPT else: the file was replaced since it was loaded).
 * SONDE_FORMAT: it is no ELF file. Of a file that was only mapped its functions must be read
 * before they are asked for; again, that changes nothing.
 */
enum sonde_status sonde_symbols_map(const char *path, const void *build_id, size_t build_id_size,
				    struct sonde_symbols **symbols, struct sonde_error *err);
enum sonde_status sonde_symbols_read(struct sonde_symbols *symbols, struct sonde_error *err);
/* Both. */
enum sonde_status sonde_symbols_open(const char *path, const void *build_id, size_t build_id_size,
				     struct sonde_symbols **symbols, struct sonde_error *err);
void sonde_symbols_free(struct sonde_symbols *symbols);

/* Neither needs its functions. patchable: where its __patchable_function_entries lie; false: it has none. */
void sonde_symbols_program(struct sonde_symbols *symbols, struct sonde_symbols_program *program);
bool sonde_symbols_patchable(const struct sonde_symbols *symbols, uint64_t *address,
			     uint64_t *size);

/* The functions in order of address, one for each address. Of aliases the best name is kept:
 * global before weak before local, then the one with fewer leading underscores, then the shorter. */
size_t sonde_symbols_count(const struct sonde_symbols *symbols);
void sonde_symbols_at(const struct sonde_symbols *symbols, size_t index,
		      struct sonde_symbol *symbol);

/* The function that an address lies in; false where it lies in none. */
bool sonde_symbols_find(const struct sonde_symbols *symbols, uint64_t address,
			struct sonde_symbol *symbol);

/* Where the function that begins at `address` is declared: its line, not that of its first
 * instruction; else the line of that instruction. False where nothing is known. Borrowed. */
bool sonde_symbols_line(struct sonde_symbols *symbols, uint64_t address, const char **file,
			uint32_t *line);

/* What to call the function at an address. */
struct sonde_symbol_text {
	char *name;	      /* malloc'd, demangled; "libx.so+0x1234" without a symbol */
	const char *raw_name; /* NULL: the same; borrowed, as the file */
	const char *file;     /* NULL: not known */
	uint32_t line;
};

/*
 * Describes a function of the file at `path`. False where it has no symbol: `symbols` may be NULL.
 * The name is NULL only where memory is out.
 */
bool sonde_symbols_describe(struct sonde_symbols *symbols, const char *path, uint64_t address,
			    struct sonde_symbol_text *text);

/* The demangled form of a C++ name, malloc'd; NULL where it is not mangled (or memory is out). */
char *sonde_demangle(const char *raw_name);

#endif
