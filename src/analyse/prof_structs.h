/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names, lines and loops for the addresses of a measurement: where they come from (.hpcstruct files,
 * binaries), and the pieces of them that are used, without the rest of what those files hold.
 */
#ifndef SONDE_ANALYSE_PROF_STRUCTS_H
#define SONDE_ANALYSE_PROF_STRUCTS_H

#include "analyse/prof_inputs.h"
#include "analyse/structure.h"

/* An address that occurs. */
struct prof_place {
	uint64_t ip;
	uint32_t module;
	uint32_t node; /* the innermost piece of the source there, in its module; SONDE_NONE */
};

/* All of them, ordered by module, then address. */
struct prof_places {
	struct prof_place *items;
	uint32_t count;
	uint32_t *starts; /* by module, and one more: where its places begin */
};

/* As in structure.h; texts are ids of prof_names.texts. */
struct prof_name_node {
	uint64_t address;
	uint32_t parent; /* a smaller number, or SONDE_NONE */
	uint32_t function;
	uint32_t file, line;
	uint8_t kind, relation;
};

struct prof_name_function {
	uint64_t address;
	uint32_t name, file, line;
};

struct prof_module_names {
	enum sonde_structure_origin origin;
	SONDE_VEC(struct prof_name_node) nodes;
	SONDE_VEC(struct prof_name_function) functions;
};

/* Numbers of nodes and functions depend on the files alone; those of texts do not. */
struct prof_names {
	struct sonde_definitions *texts;
	struct prof_module_names *modules;
	size_t module_count;
};

/*
 * Looks up all places of modules with these paths (sorted), each from the best source there is. With a
 * team rank 0 does it and shares what it found: other machines may have other files. What cannot be used
 * is refused in `refused`, on rank 0 alone.
 */
enum sonde_status prof_names_find(struct prof_names *names, const char *const *modules,
				  size_t module_count, struct prof_places *places,
				  const struct prof_inputs *inputs,
				  const struct sonde_prof_options *options,
				  struct prof_union *refused, struct sonde_error *err);
void prof_names_release(struct prof_names *names);

/* Behind prof_names_find(): the same as bytes. */
void prof_names_put(const struct prof_names *names, const struct prof_places *places,
		    struct sonde_buffer *bytes);
enum sonde_status prof_names_take(struct prof_names *names, struct prof_places *places,
				  struct sonde_bytes *bytes, struct sonde_error *err);

#endif
