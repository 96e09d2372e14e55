/* SPDX-License-Identifier: Apache-2.0 */
/* Opening one .db file: its header and where its sections are. */
#include "formats/hpcdb/hpcdb_file.h"

#include <inttypes.h>
#include <stdlib.h>

const struct hpcdb_file_type hpcdb_file_types[HPCDB_FILE_KINDS] = {
	[HPCDB_META_FILE] = { "meta.db", "meta", "_meta.db", HPCDB_META_SECTIONS },
	[HPCDB_PROFILE_FILE] = { "profile.db", "prof", "_prof.db", 2 },
	[HPCDB_CCT_FILE] = { "cct.db", "ctxt", "__ctx.db", 1 },
	[HPCDB_TRACE_FILE] = { "trace.db", "trce", "trace.db", 1 },
};

static enum sonde_status check_header(const struct hpcdb_file *file, struct sonde_error *err)
{
	const struct hpcdb_file_type *type = &hpcdb_file_types[file->kind];
	size_t least = HPCDB_SECTIONS + (size_t)type->sections * HPCDB_SECTION_SIZE;

	if (file->size >= HPCDB_MAGIC_SIZE && memcmp(file->data, HPCDB_MAGIC, HPCDB_MAGIC_SIZE))
		return sonde_fail(err, SONDE_FORMAT, 0,
				  "expected a file that starts with " HPCDB_MAGIC
				  ", found other bytes; this is not a %s",
				  type->name);
	if (file->size < least)
		return sonde_fail(
			err, SONDE_TRUNCATED, file->size,
			"expected a header of %zu bytes, found a file of %zu bytes; sonde "
			"recover keeps what other files hold",
			least, file->size);
	if (memcmp(file->data + HPCDB_FORMAT, type->format, 4))
		return sonde_fail(
			err, SONDE_FORMAT, HPCDB_FORMAT,
			"expected a file of format \"%s\", found another; was it renamed?",
			type->format);
	if (file->data[HPCDB_MAJOR] != HPCDB_MAJOR_VERSION)
		return sonde_fail(err, SONDE_UNSUPPORTED, HPCDB_MAJOR,
				  "expected version %d, found %u.%u; another sonde may read it",
				  HPCDB_MAJOR_VERSION, file->data[HPCDB_MAJOR],
				  file->data[HPCDB_MINOR]);
	return SONDE_OK;
}

static struct hpcdb_section read_section(const struct hpcdb_file *file, uint32_t number)
{
	const uint8_t *p = file->data + HPCDB_SECTIONS + (size_t)number * HPCDB_SECTION_SIZE;
	struct hpcdb_section section = {
		.stated_size = sonde_load_u64le(p),
		.offset = sonde_load_u64le(p + 8),
	};

	if (section.offset < file->size)
		section.size = section.stated_size < file->size - section.offset ?
				       section.stated_size :
				       file->size - section.offset;
	return section;
}

enum sonde_status hpcdb_file_of(struct hpcdb_file *file, const void *data, size_t size,
				const char *path, enum hpcdb_file_kind kind,
				struct sonde_error *err)
{
	const struct hpcdb_file_type *type = &hpcdb_file_types[kind];
	enum sonde_status status;

	*file = (struct hpcdb_file){ .data = data, .size = size, .kind = kind };
	file->path = strdup(path);
	if (!file->path)
		return sonde_fail_nomem(err);
	status = check_header(file, err);
	if (status < 0) {
		sonde_error_set_file(err, path);
		hpcdb_file_release(file);
		return status;
	}
	file->minor = file->data[HPCDB_MINOR];
	file->has_footer =
		!memcmp(file->data + size - HPCDB_FOOTER_SIZE, type->footer, HPCDB_FOOTER_SIZE);
	for (uint32_t i = 0; i < type->sections; i++)
		file->sections[i] = read_section(file, i);
	return SONDE_OK;
}

enum sonde_status hpcdb_file_open(struct hpcdb_file *file, const char *folder,
				  enum hpcdb_file_kind kind, struct sonde_error *err)
{
	char *path = sonde_path_join(folder, hpcdb_file_types[kind].name);
	struct sonde_mapped_file mapped;
	enum sonde_status status;

	*file = (struct hpcdb_file){ .kind = kind };
	if (!path)
		return sonde_fail_nomem(err);
	status = sonde_mapped_file_open(&mapped, path, err);
	if (status == SONDE_OK) {
		status = hpcdb_file_of(file, mapped.data, mapped.size, path, kind, err);
		if (status < 0)
			sonde_mapped_file_release(&mapped);
		else
			file->mapped = mapped;
	}
	free(path);
	return status;
}

void hpcdb_file_release(struct hpcdb_file *file)
{
	sonde_mapped_file_release(&file->mapped);
	free(file->path);
	*file = (struct hpcdb_file){ .kind = file->kind };
}

struct hpcdb_table hpcdb_table_of(const struct hpcdb_file *file, uint64_t offset, uint64_t count,
				  uint32_t stride, uint32_t least)
{
	struct hpcdb_table table = { .offset = offset, .stated_count = count, .stride = stride };

	if (stride < least || offset > file->size || file->size - offset < least)
		return table;
	/* the last record need not have what a larger stride leaves room for */
	table.count = (file->size - offset - least) / stride + 1;
	if (table.count > count)
		table.count = count;
	return table;
}

uint32_t hpcdb_table_number(const struct hpcdb_table *table, uint64_t pointer)
{
	uint64_t distance = pointer - table->offset;

	if (pointer < table->offset || !table->count || distance % table->stride ||
	    distance / table->stride >= table->count)
		return UINT32_MAX;
	return (uint32_t)(distance / table->stride);
}
