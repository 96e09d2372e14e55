/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What lies at the addresses of a program or library: functions, what was inlined into them, loops and
 * lines. It comes from an .hpcstruct file, or from the binary's DWARF, or from its symbols alone.
 */
#ifndef SONDE_ANALYSE_STRUCTURE_H
#define SONDE_ANALYSE_STRUCTURE_H

#include <stdbool.h>

#include <sonde/profile.h>

struct sonde_structure;

/* Texts are borrowed from the structure. */
struct sonde_structure_function {
	const char *name; /* demangled; NULL: it has none */
	uint64_t address; /* of its entry; 0 for one that was inlined */
	const char *file; /* where it is defined; NULL: unknown */
	uint32_t line;
};

/* A piece of the source and the piece around it. Nodes are numbered as they are found; numbers stay. */
struct sonde_structure_node {
	uint32_t parent;   /* SONDE_NONE: a function that is not inlined */
	uint8_t kind;	   /* enum sonde_context_kind: FUNCTION, LOOP, LINE */
	uint8_t relation;  /* to its parent; CALLED where it has none */
	uint32_t function; /* FUNCTION: its number */
	const char *file;  /* LOOP, LINE; never NULL there */
	uint32_t line;
	uint64_t address; /* LOOP: of its head */
};

/*
 * The innermost node at an address, SONDE_NONE where nothing is known of it. Not safe from several
 * threads: each structure has one user at a time.
 */
uint32_t sonde_structure_find(struct sonde_structure *structure, uint64_t address);

/* Whether memory was out in a find, so that it told less than there is. */
bool sonde_structure_failed(const struct sonde_structure *structure);

const struct sonde_structure_node *sonde_structure_node(const struct sonde_structure *structure,
							uint32_t number);
const struct sonde_structure_function *
sonde_structure_function(const struct sonde_structure *structure, uint32_t number);
void sonde_structure_free(struct sonde_structure *structure);

/* The load modules that an .hpcstruct file describes. */
struct sonde_structure_file;

/* SONDE_FORMAT: it is no such file; SONDE_CORRUPT with the line of the XML that is wrong. */
enum sonde_status sonde_structure_file_read(const char *path, struct sonde_structure_file **file,
					    struct sonde_error *err);
enum sonde_status sonde_structure_file_parse(const void *bytes, size_t size,
					     struct sonde_structure_file **file,
					     struct sonde_error *err);
size_t sonde_structure_file_count(const struct sonde_structure_file *file);
/* The path of a module as the file says it; borrowed. */
const char *sonde_structure_file_module(const struct sonde_structure_file *file, size_t number);
/* Takes a module's structure out of the file; it outlives the file. */
struct sonde_structure *sonde_structure_file_take(struct sonde_structure_file *file, size_t number);
void sonde_structure_file_free(struct sonde_structure_file *file);

/*
 * From the binary: DWARF where it has any (also in a separate debug file) and it is not larger than
 * `dwarf_limit` bytes (0: no limit), else its symbols. Nothing is read before it is asked for.
 * SONDE_IO: it is not there; SONDE_FORMAT: no ELF file.
 */
enum sonde_status sonde_structure_of_binary(const char *path, uint64_t dwarf_limit,
					    struct sonde_structure **structure,
					    struct sonde_error *err);

/* Where it came from, for the report. */
enum sonde_structure_origin {
	SONDE_STRUCTURE_NONE,
	SONDE_STRUCTURE_SYMBOLS,
	SONDE_STRUCTURE_DWARF,
	SONDE_STRUCTURE_FILE,
};
enum sonde_structure_origin sonde_structure_origin(const struct sonde_structure *structure);

#endif
