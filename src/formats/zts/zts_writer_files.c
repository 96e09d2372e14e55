/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of a part that grow: written at their end, WALs one after another, and files replaced
 * whole.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "formats/zts/zts_writer_private.h"

enum sonde_status zts_file_write_at(int fd, const char *name, const void *data, size_t size,
				    uint64_t offset, struct sonde_error *err)
{
	const uint8_t *bytes = data;

	while (size) {
		ssize_t count = pwrite(fd, bytes, size, (off_t)offset);

		if (count < 0 && errno == EINTR)
			continue;
		if (count <= 0) {
			if (!count)
				errno = ENOSPC;
			return sonde_fail_errno(err, name, "cannot be written");
		}
		bytes += count;
		size -= (size_t)count;
		offset += (uint64_t)count;
	}
	return SONDE_OK;
}

static enum sonde_status write_synced(int fd, const char *path, const void *data, size_t size,
				      struct sonde_error *err)
{
	enum sonde_status status = zts_file_write_at(fd, path, data, size, 0, err);

	if (status >= 0 && fsync(fd))
		status = sonde_fail_errno(err, path, "cannot be synced");
	if (close(fd) && errno != EINTR && status >= 0)
		status = sonde_fail_errno(err, path, "cannot be closed");
	return status;
}

enum sonde_status zts_file_replace(const char *folder, const char *name, const void *data,
				   size_t size, struct sonde_error *err)
{
	struct sonde_buffer work = { 0 }, target = { 0 };
	enum sonde_status status;
	int fd;

	sonde_buffer_put_format(&target, "%s/%s", folder, name);
	sonde_buffer_put_format(&work, "%s/.%s.partial", folder, name);
	if (!sonde_buffer_text(&target) || !sonde_buffer_text(&work)) {
		status = sonde_fail_nomem(err);
		goto out;
	}
	fd = open(work.data, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0) {
		status = sonde_fail_errno(err, work.data, "cannot be made");
		goto out;
	}
	status = write_synced(fd, work.data, data, size, err);
	if (status >= 0 && rename(work.data, target.data))
		status = sonde_fail_errno(err, target.data, "cannot be put in its place");
	if (status < 0)
		unlink(work.data);
out:
	sonde_buffer_release(&work);
	sonde_buffer_release(&target);
	return status;
}

enum sonde_status zts_folder_sync(const char *folder, struct sonde_error *err)
{
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	enum sonde_status status = SONDE_OK;

	if (fd < 0)
		return sonde_fail_errno(err, folder, "cannot be opened");
	if (fsync(fd))
		status = sonde_fail_errno(err, folder, "cannot be synced");
	close(fd);
	return status;
}

enum sonde_status zts_grown_write(struct zts_grown *file, const char *name, struct sonde_error *err)
{
	enum sonde_status status;

	if (!file->pending.size)
		return SONDE_OK;
	status = zts_file_write_at(file->fd, name, file->pending.data, file->pending.size,
				   file->size, err);
	if (status < 0)
		return status;
	file->size += file->pending.size;
	file->is_dirty = true;
	sonde_buffer_clear(&file->pending);
	return SONDE_OK;
}

void zts_wal_name(char name[ZTS_WAL_NAME_SIZE], const char *prefix, uint32_t first_id)
{
	snprintf(name, ZTS_WAL_NAME_SIZE, "%s-%08x.wal", prefix, first_id);
}

/* The id in a name of this prefix; false for other names. */
static bool parse_name(const char *name, const char *prefix, uint32_t *first_id)
{
	size_t length = strlen(prefix);
	char *end;

	if (strncmp(name, prefix, length) || name[length] != '-' ||
	    strspn(name + length + 1, "0123456789abcdef") != 8)
		return false;
	*first_id = (uint32_t)strtoul(name + length + 1, &end, 16);
	return !strcmp(end, ".wal");
}

static int compare_names(const void *a, const void *b)
{
	uint32_t first = ((const struct zts_wal_name *)a)->first_id;
	uint32_t second = ((const struct zts_wal_name *)b)->first_id;

	return (first > second) - (first < second);
}

enum sonde_status zts_wal_names_find(struct zts_wal_names *wals, const struct sonde_folder *folder,
				     const char *prefix, struct sonde_error *err)
{
	for (size_t i = 0; i < folder->count; i++) {
		struct zts_wal_name *wal;
		uint32_t first_id;

		if (!parse_name(folder->names[i], prefix, &first_id))
			continue;
		wal = sonde_vec_push(&wals->list);
		if (!wal)
			return sonde_fail_nomem(err);
		*wal = (struct zts_wal_name){ .name = folder->names[i], .first_id = first_id };
	}
	/* Names are hexadecimal: their order in the folder is another one. */
	if (wals->list.items)
		qsort(wals->list.items, wals->list.count, sizeof(*wals->list.items), compare_names);
	return SONDE_OK;
}

/* The present file gets its last bytes and waits for the next sync. */
static enum sonde_status retire(struct zts_writer *writer, struct zts_wal_out *wal,
				struct sonde_error *err)
{
	enum sonde_status status = zts_grown_write(&wal->file, wal->prefix, err);
	int *retired;

	if (status < 0)
		return status;
	retired = sonde_vec_push(&writer->retired);
	if (!retired)
		return sonde_fail_nomem(err);
	*retired = wal->file.fd;
	wal->finished_bytes += wal->file.size;
	wal->file.fd = -1;
	wal->file.size = 0;
	wal->file.is_dirty = false;
	return SONDE_OK;
}

enum sonde_status zts_wal_out_begin(struct zts_writer *writer, struct zts_wal_out *wal,
				    uint32_t first_id, struct sonde_error *err)
{
	char name[ZTS_WAL_NAME_SIZE];
	enum sonde_status status;

	zts_wal_name(name, wal->prefix, first_id);
	wal->file.fd =
		openat(writer->folder_fd, name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (wal->file.fd < 0)
		return sonde_fail_errno(err, name, "cannot be made");
	writer->folder_is_dirty = true;
	status = zts_file_write_at(wal->file.fd, name, ZTS_WAL_MAGIC, 4, 0, err);
	if (status < 0)
		return status;
	wal->file.size = 4;
	wal->file.is_dirty = true;
	return SONDE_OK;
}

enum sonde_status zts_wal_out_entry(struct zts_writer *writer, struct zts_wal_out *wal,
				    size_t start, uint32_t id, struct sonde_error *err)
{
	struct sonde_buffer *pending = &wal->file.pending;
	struct sonde_buffer rest = *pending;
	enum sonde_status status;

	if (wal->file.fd >= 0 &&
	    (wal->file.size + pending->size < ZTS_WAL_MAX_SIZE || wal->file.size + start <= 4))
		return SONDE_OK;
	if (wal->file.fd >= 0) {
		pending->size = start;
		status = retire(writer, wal, err);
		*pending = rest;
		if (status < 0)
			return status;
		memmove(pending->data, pending->data + start, pending->size - start);
		pending->size -= start;
	}
	return zts_wal_out_begin(writer, wal, id, err);
}
