/* SPDX-License-Identifier: Apache-2.0 */
/* What the two parts of meta.db's writer share. */
#ifndef SONDE_HPCDB_WRITE_META_H
#define SONDE_HPCDB_WRITE_META_H

#include "formats/hpcdb/hpcdb_write_private.h"

/* Where records are in meta.db. */
struct hpcdb_places {
	uint64_t modules, files, functions;
	uint64_t *entry_names; /* of each entry, in the order of contexts */
	uint32_t entry_count;
};

/* Offsets in meta.db by ids of definitions; 0 for what is unknown or not used. */
uint64_t hpcdb_module_place(const struct hpcdb_job *job, const struct hpcdb_places *places,
			    uint32_t module);
uint64_t hpcdb_file_place(const struct hpcdb_job *job, const struct hpcdb_places *places,
			  uint32_t file);
uint64_t hpcdb_function_place(const struct hpcdb_job *job, const struct hpcdb_places *places,
			      uint32_t function);

/* Fills in a section of the header. */
void hpcdb_meta_section(struct sonde_buffer *out, enum hpcdb_meta_section section, uint64_t size,
			uint64_t offset);

/* "point" and so on. */
const char *hpcdb_scope_name(enum hpcdb_scope scope);

/* Writes the file: `head`, whose header it completes, and the tree behind it. */
enum sonde_status hpcdb_write_tree(struct hpcdb_job *job, struct sonde_buffer *head,
				   const struct hpcdb_places *places, struct sonde_error *err);

#endif
