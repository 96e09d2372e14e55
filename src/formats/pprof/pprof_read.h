/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of the reader. Samples may come before what they mean, so the bytes are gone through twice: pprof_tables.c
 * takes all but samples, pprof_read.c the samples, for which pprof_define.c makes definitions and contexts.
 */
#ifndef SONDE_FORMATS_PPROF_READ_H
#define SONDE_FORMATS_PPROF_READ_H

#include "base/file.h"
#include "base/map.h"
#include "base/protobuf.h"
#include "base/vec.h"
#include "formats/exchange.h"

struct pprof_text {
	uint64_t offset;
	uint64_t size;
};

/* Numbers in these are places in the table of strings. */
struct pprof_value_type {
	uint64_t type, unit;
	uint32_t metric; /* once it is defined */
	double scale;	 /* values are divided by it */
};

struct pprof_mapping {
	uint64_t start, limit, offset, file, build_id;
	uint32_t module; /* once it is defined; SONDE_NONE before */
};

struct pprof_function {
	uint64_t name, system_name, file;
	int64_t line;
};

struct pprof_line {
	uint64_t function; /* id */
	int64_t line;
};

struct pprof_read_location {
	uint64_t mapping; /* id; 0: none */
	uint64_t address;
	size_t first_line;
	uint32_t line_count;
};

/* What did not fit; each a finding in the end. */
struct pprof_trouble {
	uint64_t bad_messages, unknown_locations, unknown_functions, unknown_strings, wrong_counts,
		labels, repeated_ids;
};

struct pprof_reading {
	struct sonde_recording *recording;
	struct sonde_intake *intake;
	struct sonde_mapped_file file; /* as it is, or what was unpacked */
	SONDE_VEC(struct pprof_text) strings;
	SONDE_VEC(struct pprof_value_type) types;
	SONDE_VEC(struct pprof_mapping) mappings;
	SONDE_VEC(struct pprof_function) functions;
	SONDE_VEC(struct pprof_read_location) locations;
	SONDE_VEC(struct pprof_line) lines;
	SONDE_VEC(uint64_t) comments;				      /* strings */
	struct sonde_key_map mapping_ids, function_ids, location_ids; /* to places in the above */
	uint64_t drop_frames, keep_frames, time_nanos, duration_nanos, period, default_type;
	struct pprof_value_type period_type;
	/* of a sample */
	SONDE_VEC(uint64_t) stack; /* ids of locations, the innermost first */
	SONDE_VEC(uint64_t) values;
	struct sonde_key_map nodes;  /* by node above and location: the node of that location */
	struct sonde_key_map tracks; /* by what the labels of a sample say of it */
	struct pprof_trouble trouble;
};

/* All fields of the file but samples. */
enum sonde_status pprof_read_tables(struct pprof_reading *reading, struct sonde_error *err);

/* The text of a string, not terminated; "" and a trouble where there is none. */
const char *pprof_text(struct pprof_reading *reading, uint64_t number, size_t *size);

/* Numbers that are packed, or one of them. */
enum sonde_status pprof_take_numbers(const struct sonde_protobuf_field *field, uint64_t **items,
				     size_t *count, size_t *capacity, bool *is_bad,
				     struct sonde_error *err);

/* In pprof_define.c: metrics, modules and the process; before samples. */
enum sonde_status pprof_define(struct pprof_reading *reading, struct sonde_error *err);

/* The node of a location (its place in the table) below a node. */
enum sonde_status pprof_find_node(struct pprof_reading *reading, uint32_t parent, uint32_t location,
				  uint32_t *node, struct sonde_error *err);

/* The node of an entry, which has that name. */
enum sonde_status pprof_find_entry(struct pprof_reading *reading, const char *name, size_t size,
				   uint32_t *node, struct sonde_error *err);

#endif
