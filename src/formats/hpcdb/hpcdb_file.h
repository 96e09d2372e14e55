/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One .db file of a database, mapped: its header, sections, and access that stays within the file.
 * Nothing is copied; what a count or pointer in the file says is compared with its size first.
 */
#ifndef SONDE_HPCDB_FILE_H
#define SONDE_HPCDB_FILE_H

#include <sonde/diagnostics.h>

#include "base/bytes.h"
#include "base/file.h"
#include "formats/hpcdb/hpcdb_layout.h"

enum hpcdb_file_kind {
	HPCDB_META_FILE,
	HPCDB_PROFILE_FILE,
	HPCDB_CCT_FILE,
	HPCDB_TRACE_FILE,
	HPCDB_FILE_KINDS,
};

/* Numbers of the sections in the header, other than those of meta.db. */
enum {
	HPCDB_PROFILE_INFOS = 0,
	HPCDB_PROFILE_ID_TUPLES = 1,
	HPCDB_CCT_CONTEXTS = 0,
	HPCDB_TRACE_HEADERS = 0,
};

/* How a kind of file is told from others. */
struct hpcdb_file_type {
	const char *name;   /* "meta.db" */
	const char *format; /* 4 characters in the header */
	const char *footer; /* HPCDB_FOOTER_SIZE characters at the end */
	uint32_t sections;
};

extern const struct hpcdb_file_type hpcdb_file_types[HPCDB_FILE_KINDS];

struct hpcdb_section {
	uint64_t offset;
	uint64_t size; /* as far as it is within the file */
	uint64_t stated_size;
};

/* Zeroed: no file. */
struct hpcdb_file {
	const uint8_t *data;
	size_t size;
	char *path;
	enum hpcdb_file_kind kind;
	uint8_t minor;
	bool has_footer;
	struct hpcdb_section sections[HPCDB_META_SECTIONS];
	struct sonde_mapped_file mapped; /* size 0 where the bytes are the caller's */
};

/* An array of records in a file: `count` of them are within it, `stride` apart. */
struct hpcdb_table {
	uint64_t offset;
	uint64_t count;
	uint64_t stated_count;
	uint32_t stride;
};

/*
 * Maps `folder`/"<name of the kind>". Fails where header or version are not those of such a file;
 * sections that go beyond the end are only clipped.
 */
enum sonde_status hpcdb_file_open(struct hpcdb_file *file, const char *folder,
				  enum hpcdb_file_kind kind, struct sonde_error *err);
/* The same of bytes that the caller keeps; `path` is for messages. */
enum sonde_status hpcdb_file_of(struct hpcdb_file *file, const void *data, size_t size,
				const char *path, enum hpcdb_file_kind kind,
				struct sonde_error *err);
void hpcdb_file_release(struct hpcdb_file *file);

/* Borrows bytes; NULL where they are not all within the file. */
static inline const uint8_t *hpcdb_at(const struct hpcdb_file *file, uint64_t offset, uint64_t size)
{
	if (offset > file->size || size > file->size - offset)
		return NULL;
	return file->data + offset;
}

static inline bool hpcdb_is_within(const struct hpcdb_section *section, uint64_t offset,
				   uint64_t size)
{
	return offset >= section->offset && offset - section->offset <= section->size &&
	       size <= section->size - (offset - section->offset);
}

/* The table at `offset`, as much of it as is within the file. `least` is the size of its records. */
struct hpcdb_table hpcdb_table_of(const struct hpcdb_file *file, uint64_t offset, uint64_t count,
				  uint32_t stride, uint32_t least);

static inline const uint8_t *hpcdb_table_at(const struct hpcdb_file *file,
					    const struct hpcdb_table *table, uint64_t number)
{
	return number < table->count ? file->data + table->offset + number * table->stride : NULL;
}

/* Which record a pointer is to; UINT32_MAX for none. */
uint32_t hpcdb_table_number(const struct hpcdb_table *table, uint64_t pointer);

#endif
