/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Archiving: the WALs of a finished part become FMI files. Each FMI is whole and on the disk before
 * the WALs it stands for go; where both are there, readers take the FMI. So a part is whole at any
 * moment, and a second run goes on where the first one was stopped.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/file.h"
#include "formats/zts/zts_fmi.h"
#include "formats/zts/zts_wal.h"
#include "formats/zts/zts_writer_private.h"

/* So many bytes of WALs at most become one FMI: packing takes about six times that in memory. */
#define GROUP_SIZE ((size_t)32 << 20)
#define NAME_SIZE 64

struct archived_wal {
	const char *name; /* borrowed from the folder's names */
	struct sonde_mapped_file file;
	size_t used; /* where its entries end */
	uint32_t first_id, end_id;
};

struct archive {
	const char *folder;
	struct sonde_folder names;
	struct sonde_buffer packed;
	bool has_changed;
};

static bool parse_fmi_name(const char *name, const char *prefix, uint32_t *first_id,
			   uint32_t *words)
{
	size_t length = strlen(prefix);
	char *end;

	if (strncmp(name, prefix, length) || name[length] != '-')
		return false;
	*first_id = (uint32_t)strtoul(name + length + 1, &end, 16);
	if (*end != '-')
		return false;
	*words = (uint32_t)strtoul(end + 1, &end, 16);
	return !strcmp(end, ".fmi");
}

/* Whether an FMI has all that a WAL has. */
static bool is_covered(const struct archive *archive, const char *prefix,
		       const struct archived_wal *wal)
{
	for (size_t i = 0; i < archive->names.count; i++) {
		uint32_t first_id, words;

		if (parse_fmi_name(archive->names.names[i], prefix, &first_id, &words) &&
		    wal->first_id >= first_id && wal->end_id - first_id <= words)
			return true;
	}
	return false;
}

static enum sonde_status remove_file(struct archive *archive, const char *name,
				     struct sonde_error *err)
{
	char *path = sonde_path_join(archive->folder, name);
	enum sonde_status status = SONDE_OK;

	if (!path)
		return sonde_fail_nomem(err);
	if (unlink(path) && errno != ENOENT)
		status = sonde_fail_errno(err, path, "cannot be removed");
	archive->has_changed = true;
	free(path);
	return status;
}

/* Maps a WAL and finds where its entries end: at zeros, or at one that is cut short. */
static enum sonde_status open_wal(const struct archive *archive, struct archived_wal *wal,
				  struct sonde_error *err)
{
	char *path = sonde_path_join(archive->folder, wal->name);
	enum sonde_status status;
	struct zts_wal_entry entry;

	if (!path)
		return sonde_fail_nomem(err);
	wal->end_id = wal->first_id;
	status = sonde_mapped_file_open(&wal->file, path, err);
	if (status >= 0 && wal->file.size &&
	    (wal->file.size < 4 || memcmp(wal->file.data, ZTS_WAL_MAGIC, 4) != 0))
		status = sonde_fail(err, SONDE_CORRUPT, 0,
				    "expected a WAL, found something else; the part is not packed");
	for (wal->used = 4; status == SONDE_OK; wal->used = entry.next) {
		status = zts_wal_at(wal->file.data, wal->file.size, wal->used, &entry, err);
		if (status != SONDE_OK)
			break;
		wal->end_id = entry.id + 1;
	}
	if (status == SONDE_END || status == SONDE_TRUNCATED)
		status = SONDE_OK;
	if (status < 0) {
		sonde_error_set_file(err, path);
		sonde_mapped_file_release(&wal->file);
	}
	free(path);
	return status;
}

/* One FMI for WALs that follow each other; then they go. */
static enum sonde_status pack_group(struct archive *archive, const char *prefix,
				    struct archived_wal *wals, size_t count,
				    struct sonde_error *err)
{
	struct zts_wal_bytes *bytes = calloc(count, sizeof(*bytes));
	uint32_t words = wals[count - 1].end_id - wals[0].first_id;
	enum sonde_status status;
	char name[NAME_SIZE];

	if (!bytes)
		return sonde_fail_nomem(err);
	for (size_t i = 0; i < count; i++)
		bytes[i] = (struct zts_wal_bytes){ wals[i].file.data, wals[i].used };
	sonde_buffer_clear(&archive->packed);
	status = zts_fmi_pack(bytes, count, &archive->packed, err);
	free(bytes);
	snprintf(name, sizeof(name), "%s-%08x-%08x.fmi", prefix, wals[0].first_id, words);
	if (status >= 0)
		status = zts_file_replace(archive->folder, name, archive->packed.data,
					  archive->packed.size, err);
	if (status >= 0)
		status = zts_folder_sync(archive->folder, err);
	for (size_t i = 0; i < count && status >= 0; i++)
		status = remove_file(archive, wals[i].name, err);
	return status;
}

static void release_wals(struct archived_wal *wals, size_t count)
{
	for (size_t i = 0; i < count; i++)
		sonde_mapped_file_release(&wals[i].file);
}

/* Packs what has come together. */
static enum sonde_status finish_group(struct archive *archive, const char *prefix,
				      struct archived_wal *wals, size_t *count,
				      struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	if (*count)
		status = pack_group(archive, prefix, wals, *count, err);
	release_wals(wals, *count);
	*count = 0;
	return status;
}

/* Adds a WAL to the group, packs the group before where it would become too large. */
static enum sonde_status add_wal(struct archive *archive, const char *prefix,
				 const struct zts_wal_name *name, struct archived_wal *wals,
				 size_t *count, struct sonde_error *err)
{
	struct archived_wal wal = { .name = name->name, .first_id = name->first_id };
	enum sonde_status status = open_wal(archive, &wal, err);
	size_t group_size = wal.used;

	if (status < 0)
		return status;
	for (size_t i = 0; i < *count; i++)
		group_size += wals[i].used;
	if (*count && (group_size > GROUP_SIZE || wal.first_id != wals[*count - 1].end_id))
		status = finish_group(archive, prefix, wals, count, err);
	if (status >= 0 && wal.end_id != wal.first_id && !is_covered(archive, prefix, &wal)) {
		wals[(*count)++] = wal;
		return SONDE_OK;
	}
	sonde_mapped_file_release(&wal.file);
	return status < 0 ? status : remove_file(archive, wal.name, err);
}

/* All WALs of one index. */
static enum sonde_status pack_index(struct archive *archive, const char *prefix,
				    struct sonde_error *err)
{
	struct zts_wal_names names = { 0 };
	enum sonde_status status = zts_wal_names_find(&names, &archive->names, prefix, err);
	struct archived_wal *wals = calloc(names.list.count + 1, sizeof(*wals));
	size_t count = 0;

	if (!wals) {
		sonde_vec_release(&names.list);
		return sonde_fail_nomem(err);
	}
	for (size_t i = 0; i < names.list.count && status >= 0; i++)
		status = add_wal(archive, prefix, &names.list.items[i], wals, &count, err);
	if (status >= 0)
		status = finish_group(archive, prefix, wals, &count, err);
	release_wals(wals, count);
	free(wals);
	sonde_vec_release(&names.list);
	return status;
}

/* Existing programs leave room behind the slots. */
static enum sonde_status shorten_slots(struct archive *archive, struct sonde_error *err)
{
	char *path = sonde_path_join(archive->folder, ZTS_QMETA_NAME);
	enum sonde_status status = SONDE_OK;
	uint8_t header[8];
	off_t size;
	int fd;

	if (!path)
		return sonde_fail_nomem(err);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT) {
		free(path);
		return SONDE_OK; /* generation 2 has none */
	}
	if (fd < 0)
		status = sonde_fail_errno(err, path, "cannot be opened");
	size = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
	if (size >= ZTS_QMETA_HEADER_SIZE && pread(fd, header, sizeof(header), 0) == 8 &&
	    !memcmp(header, ZTS_QMETA_MAGIC, 4)) {
		uint32_t used = (uint32_t)header[4] << 24 | (uint32_t)header[5] << 16 |
				(uint32_t)header[6] << 8 | header[7];

		if (used >= ZTS_QMETA_HEADER_SIZE && used < size &&
		    (ftruncate(fd, used) || fsync(fd)))
			status = sonde_fail_errno(err, path, "cannot be shortened");
	}
	if (fd >= 0)
		close(fd);
	free(path);
	return status;
}

static enum sonde_status mark_archived(const char *folder, struct sonde_error *err)
{
	struct zts_props props = { 0 };
	enum sonde_status status = zts_props_read(&props, folder, err);
	uint64_t flags = 0;
	char value[24];

	if (status < 0)
		return status;
	zts_props_number(&props, ZTS_PROPS_FLAGS, &flags);
	snprintf(value, sizeof(value), "%llu", (unsigned long long)(flags | ZTS_PROPS_ARCHIVED));
	zts_props_set(&props, ZTS_PROPS_FLAGS, value);
	status = props.text.failed ? sonde_fail_nomem(err) : zts_props_write(&props, folder, err);
	zts_props_release(&props);
	return status;
}

static bool is_marked(const char *folder)
{
	struct zts_props props = { 0 };
	uint64_t flags = 0;

	if (zts_props_read(&props, folder, NULL) >= 0)
		zts_props_number(&props, ZTS_PROPS_FLAGS, &flags);
	zts_props_release(&props);
	return flags & ZTS_PROPS_ARCHIVED;
}

static bool has_wals(const struct archive *archive)
{
	for (size_t i = 0; i < archive->names.count; i++) {
		const char *dot = strrchr(archive->names.names[i], '.');

		if (dot && !strcmp(dot, ".wal"))
			return true;
	}
	return false;
}

/* What a killed writer left goes first. A part that cannot be written on is packed as it is. */
static enum sonde_status mend(const char *folder, struct sonde_error *err)
{
	struct zts_writer *writer;
	enum sonde_status status = zts_writer_open(folder, &writer, NULL, err);

	if (status == SONDE_UNSUPPORTED)
		return SONDE_OK;
	return status < 0 ? status : zts_writer_close(writer, err);
}

enum sonde_status zts_archive(const char *folder, struct sonde_error *err)
{
	struct archive archive = { .folder = folder };
	enum sonde_status status = sonde_folder_read(&archive.names, folder, err);

	if (status < 0)
		return status;
	if (!has_wals(&archive) && is_marked(folder)) {
		sonde_folder_release(&archive.names);
		return SONDE_END;
	}
	status = mend(folder, err);
	sonde_folder_release(&archive.names);
	if (status >= 0)
		status = sonde_folder_read(&archive.names, folder, err);
	if (status >= 0)
		status = pack_index(&archive, "text", err);
	if (status >= 0)
		status = pack_index(&archive, "meta", err);
	if (status >= 0)
		status = shorten_slots(&archive, err);
	if (status >= 0 && archive.has_changed)
		status = zts_folder_sync(folder, err);
	if (status >= 0)
		status = mark_archived(folder, err);
	sonde_folder_release(&archive.names);
	sonde_buffer_release(&archive.packed);
	return status;
}
