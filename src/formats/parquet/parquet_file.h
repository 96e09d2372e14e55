/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One Parquet file: a table. Parts are written side by side, each a number of row groups, and lie in the
 * order of their numbers; the footer, which says where everything is, comes last.
 */
#ifndef SONDE_FORMATS_PARQUET_FILE_H
#define SONDE_FORMATS_PARQUET_FILE_H

#include "base/parts.h"
#include "base/vec.h"

enum parquet_kind {
	PARQUET_TEXT,	   /* by a dictionary of the row group */
	PARQUET_LONG_TEXT, /* as it is */
	PARQUET_U32,
	PARQUET_U64,
	PARQUET_TIMESTAMP, /* nanoseconds since 1970, UTC */
	PARQUET_DOUBLE,
	PARQUET_BOOL,
};

struct parquet_column_spec {
	const char *name; /* NULL ends a list */
	enum parquet_kind kind;
	bool is_optional;
};

struct parquet_table {
	const char *name; /* of the file, without its ending */
	const struct parquet_column_spec *columns;
	bool ends_with_time; /* the last column is there only where it is asked for */
};

/* The smallest or largest value of a column in a row group; longer ones are left out. */
#define PARQUET_BOUND_SIZE 32
struct parquet_bound {
	uint8_t size; /* 0: not known, or empty */
	bool is_known;
	char bytes[PARQUET_BOUND_SIZE];
};

/* A column in a row group; offsets count from the start of the part. */
struct parquet_chunk {
	uint64_t dictionary_offset; /* UINT64_MAX: no dictionary */
	uint64_t data_offset;
	uint64_t size, plain_size;
	uint64_t nulls;
	struct parquet_bound smallest, largest;
};

struct parquet_group {
	uint64_t offset; /* in the part */
	uint64_t rows;
	struct parquet_chunk *chunks; /* by column; malloc'd */
};

struct parquet_part {
	SONDE_VEC(struct parquet_group) groups;
};

struct parquet_file {
	const struct parquet_table *table;
	size_t column_count;
	char *path;
	struct sonde_output output;
	struct sonde_parts *parts;
	struct parquet_part *groups; /* by part */
	size_t part_count;
};

struct parquet_key_value {
	const char *key, *value; /* UTF-8 */
};

/* Opens `folder`/NAME.parquet for so many parts. Zeroed before, but for output.fd. */
enum sonde_status parquet_file_open(struct parquet_file *file, const struct parquet_table *table,
				    const char *folder, size_t parts, bool with_time,
				    struct sonde_error *err);

/* Notes a row group of a part and takes its memory. Several threads, each with parts of its own. */
enum sonde_status parquet_file_add_group(struct parquet_file *file, size_t part,
					 const struct parquet_group *group,
					 struct sonde_error *err);

/* After all parts have ended: the footer. */
enum sonde_status parquet_file_close(struct parquet_file *file,
				     const struct parquet_key_value *pairs, size_t pair_count,
				     struct sonde_error *err);

uint64_t parquet_file_rows(const struct parquet_file *file);

/* Fine on a zeroed one with output.fd -1. */
void parquet_file_release(struct parquet_file *file);

/* PARQUET_TYPE_* of a kind. */
int parquet_type_of(enum parquet_kind kind);
/* PARQUET_ENCODING_* of the values of a kind. */
int parquet_encoding_of(enum parquet_kind kind);

#endif
