/* SPDX-License-Identifier: Apache-2.0 */
/*
 * meta.db: names, metrics, modules, files, functions, and the tree of contexts. Small tables are read
 * when it is opened; records are decoded when they are asked for; the tree is walked once, without
 * recursion, and visits no byte twice, whatever its pointers say.
 */
#ifndef SONDE_HPCDB_META_H
#define SONDE_HPCDB_META_H

#include "base/vec.h"
#include "formats/hpcdb/hpcdb_file.h"

#define HPCDB_NO_RECORD UINT32_MAX

/* A string of a file; length 0 and "" where there is none. `is_good` false: not within its section. */
struct hpcdb_text {
	const char *text;
	size_t length;
	bool is_good;
};

struct hpcdb_scope_info {
	struct hpcdb_text name;
	uint64_t offset; /* of its record, by which others point to it */
	uint8_t type;	 /* enum hpcdb_scope_type, or one not known here */
	uint8_t index;	 /* of its bit, where the type is transitive */
};

/* A metric in one scope: {PSI}. */
struct hpcdb_instance {
	uint32_t metric;
	uint32_t scope; /* HPCDB_NO_RECORD where the pointer is to none */
	uint16_t id;	/* propMetricId */
};

/* A statistic: {SS}. */
struct hpcdb_summary {
	uint32_t metric;
	uint32_t scope;
	struct hpcdb_text formula;
	uint8_t combine; /* enum hpcdb_combine, or one not known here */
	uint16_t id;	 /* statMetricId */
};

/* Its instances and summaries are runs of the arrays below. */
struct hpcdb_metric_info {
	struct hpcdb_text name;
	uint32_t first_instance, instance_count;
	uint32_t first_summary, summary_count;
};

struct hpcdb_module_info {
	struct hpcdb_text path;
};

struct hpcdb_source_info {
	struct hpcdb_text path;
	bool is_copied;
};

struct hpcdb_function_info {
	struct hpcdb_text name; /* length 0: anonymous */
	uint32_t module, file;	/* HPCDB_NO_RECORD: none */
	uint64_t module_pointer, file_pointer;
	uint64_t address;
	uint32_t line;
};

/* A node of the tree in preorder; [0] is the global context, which no record stands for. */
struct hpcdb_context {
	uint64_t offset; /* of its record */
	uint32_t id;
	uint32_t parent; /* index in the tree; HPCDB_NO_RECORD for [0] */
	uint32_t end;	 /* the first after its subtree */
	uint16_t propagation;
	uint8_t relation;
	uint8_t lexical_type;
	bool is_entry;
};

/* What the words behind a context say. */
struct hpcdb_place {
	uint64_t function_pointer, file_pointer, module_pointer; /* 0: none */
	uint32_t function, file, module;			 /* HPCDB_NO_RECORD: none */
	uint32_t line;
	uint64_t address;
	bool is_cut; /* fewer words than its flags need */
	/* of an entry */
	uint16_t entry;
	struct hpcdb_text name;
};

/* What was wrong with the tree. */
enum hpcdb_tree_fault {
	HPCDB_TREE_OUTSIDE, /* children not within the section */
	HPCDB_TREE_SHARED,  /* bytes that belong to a context already: shared children, or a loop */
	HPCDB_TREE_CUT,	    /* the last child goes beyond its parent's array */
};

struct hpcdb_tree {
	SONDE_VEC(struct hpcdb_context) contexts;
	/* Faults are counted, and told to this where it is not NULL. */
	void (*fault)(void *data, enum hpcdb_tree_fault fault, uint64_t offset);
	void *data;
	uint64_t faults;
};

struct hpcdb_meta {
	struct hpcdb_file file;
	struct hpcdb_text title, description;
	SONDE_VEC(struct hpcdb_text) kinds;
	SONDE_VEC(struct hpcdb_scope_info) scopes;
	SONDE_VEC(struct hpcdb_metric_info) metrics;
	SONDE_VEC(struct hpcdb_instance) instances;
	SONDE_VEC(struct hpcdb_summary) summaries;
	struct hpcdb_table kind_table, scope_table, metric_table; /* as stated, for checks */
	struct hpcdb_table modules, files, functions, entries;
	uint64_t text_budget; /* strings longer than all of the file are not looked for */
};

enum sonde_status hpcdb_meta_open(struct hpcdb_meta *meta, const char *folder,
				  struct sonde_error *err);
enum sonde_status hpcdb_meta_of(struct hpcdb_meta *meta, const void *data, size_t size,
				const char *path, struct sonde_error *err);
void hpcdb_meta_release(struct hpcdb_meta *meta);

/* The string at `pointer`; not good where it does not end within the section. 0: none, and good. */
struct hpcdb_text hpcdb_meta_text(struct hpcdb_meta *meta, enum hpcdb_meta_section section,
				  uint64_t pointer);

/* Records by number, which must exist. Not safe from several threads (strings are counted). */
struct hpcdb_module_info hpcdb_meta_module(struct hpcdb_meta *meta, uint32_t number);
struct hpcdb_source_info hpcdb_meta_file(struct hpcdb_meta *meta, uint32_t number);
struct hpcdb_function_info hpcdb_meta_function(struct hpcdb_meta *meta, uint32_t number);

/* Walks the tree into `tree`, zeroed but for `fault` and `data`. Faults do not fail it. */
enum sonde_status hpcdb_meta_walk(const struct hpcdb_meta *meta, struct hpcdb_tree *tree,
				  struct sonde_error *err);
void hpcdb_tree_release(struct hpcdb_tree *tree);

struct hpcdb_place hpcdb_meta_place(struct hpcdb_meta *meta, const struct hpcdb_context *context);

#endif
