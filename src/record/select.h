/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which functions are recorded, and where triggers sit: the globs of the command line become tables
 * of addresses in the memory of each process, decided once for each function of a file. Keeps
 * the files that were opened, so that a thousand processes of one program cost as much as one.
 */
#ifndef SONDE_RECORD_SELECT_H
#define SONDE_RECORD_SELECT_H

#include <stdbool.h>

#include "base/vec.h"
#include "record/load_map.h"
#include "symbols/symbol_files.h"

struct session;
struct recorded_process;

/* What to do at one function of a file, where that is not the default. */
struct module_rule {
	uint64_t address;
	uint32_t action; /* enum filter_action bits */
};

/* A file that some process has loaded. */
struct module_file {
	char *path;
	uint32_t number; /* in symbol_files */
	/* of its __patchable_function_entries; size 0: it has none */
	uint64_t patchable_address, patchable_size;
	bool decided;
	uint32_t entries_too_short, entries_not_writable; /* as in struct shared_module */
	SONDE_VEC(struct module_rule) rules;
};

/* A filter table in shared memory; forked processes share it. */
struct filter_table {
	uint64_t offset, size; /* size: places, a power of two */
	uint64_t used;
	uint32_t references;
};

struct selection {
	bool by_name;		 /* some function is treated unlike the others */
	uint32_t default_action; /* enum filter_action bits */
	struct sonde_symbol_files symbol_files;
	SONDE_VEC(struct module_file *) files; /* in the same order */
	bool full;			       /* the space for filters ran out, which was said */
	bool patches_full;		       /* the same for patchable modules of a process */
};

void selection_init(struct session *session);
void selection_release(struct selection *selection);

/* The file of a module, opened once; NULL only where memory is out. */
struct module_file *selection_file(struct session *session, const struct load_map_module *module);

/* The functions of a file, read when they are first asked for; NULL: there are none. */
struct sonde_symbols *selection_symbols(const struct session *session,
					const struct module_file *file);

/* Whether a file was built with compiler hooks. */
bool selection_has_hooks(const struct session *session, const struct module_file *file);

/* Adds the functions and the patchable entries of a module to the answer for its process. */
void selection_add_module(struct session *session, struct recorded_process *process,
			  const struct load_map_module *module);

/* The module is gone: another one may come to its place. */
void selection_remove_module(struct session *session, struct recorded_process *process,
			     const struct load_map_module *module);

/* A runtime could not patch all that is wanted of a module. */
void selection_note_unpatched(struct session *session, const struct load_map_module *module,
			      const struct shared_module *entry);

/* Before the answer to a process that has nothing to filter: it may load something later. */
void selection_prepare(struct session *session, struct recorded_process *process);

/* A forked child uses the filter of its parent. */
void selection_share(struct recorded_process *child, struct recorded_process *parent);
void selection_drop(struct session *session, struct recorded_process *process);

#endif
