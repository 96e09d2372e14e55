/* SPDX-License-Identifier: Apache-2.0 */
/* Files of a database that is being written: at any place, from any thread and rank. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "formats/hpcdb/hpcdb_write_private.h"

#define SYNC_STEP ((uint64_t)1 << 20)

enum sonde_status hpcdb_target_open(struct hpcdb_target *file, const struct hpcdb_job *job,
				    const char *name, struct sonde_error *err)
{
	int flags = hpcdb_is_first(job) ? O_RDWR | O_CREAT | O_TRUNC : O_RDWR;

	file->path = sonde_path_join(job->folder, name);
	if (!file->path)
		return sonde_fail_nomem(err);
	file->fd = open(file->path, flags | O_CLOEXEC, 0666);
	if (file->fd < 0)
		return sonde_fail_errno(err, file->path, "cannot be opened for writing");
	return SONDE_OK;
}

/* What ranks other than 0 wrote is not synced by the commit, which is rank 0's. */
enum sonde_status hpcdb_target_close(struct hpcdb_target *file, struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	if (file->fd >= 0 && close(file->fd) && errno != EINTR)
		status = sonde_fail_errno(err, file->path, "cannot be closed");
	free(file->path);
	*file = (struct hpcdb_target){ .fd = -1 };
	return status;
}

enum sonde_status hpcdb_target_sync(const struct hpcdb_target *file, struct sonde_error *err)
{
	if (!fsync(file->fd))
		return SONDE_OK;
	return sonde_fail_errno(err, file->path, "cannot be brought to the disk");
}

enum sonde_status hpcdb_target_reopen(struct hpcdb_target *file, struct sonde_error *err)
{
	int fd = open(file->path, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return sonde_fail_errno(err, file->path, "cannot be opened again");
	close(file->fd);
	file->fd = fd;
	return SONDE_OK;
}

static enum sonde_status fail_at(const struct hpcdb_target *file, uint64_t offset, const char *what,
				 struct sonde_error *err)
{
	enum sonde_status status = sonde_fail_errno(err, file->path, "%s", what);

	if (err)
		err->offset = offset;
	return status;
}

enum sonde_status hpcdb_target_write(const struct hpcdb_target *file, uint64_t offset,
				     const void *data, size_t size, struct sonde_error *err)
{
	const uint8_t *bytes = data;

	while (size) {
		ssize_t count = pwrite(file->fd, bytes, size, (off_t)offset);

		if (count < 0 && errno == EINTR)
			continue;
		if (!count)
			errno = ENOSPC;
		if (count <= 0)
			return fail_at(file, offset, "cannot be written", err);
		bytes += count;
		size -= (size_t)count;
		offset += (uint64_t)count;
	}
	return SONDE_OK;
}

enum sonde_status hpcdb_target_read(const struct hpcdb_target *file, uint64_t offset, void *data,
				    size_t size, struct sonde_error *err)
{
	uint8_t *bytes = data;

	while (size) {
		ssize_t count = pread(file->fd, bytes, size, (off_t)offset);

		if (count < 0 && errno == EINTR)
			continue;
		if (count < 0)
			return fail_at(file, offset, "cannot be read back", err);
		if (!count) {
			sonde_fail(err, SONDE_TRUNCATED, offset,
				   "%zu bytes that were written here are not there; "
				   "does something else write to it?",
				   size);
			return sonde_error_set_file(err, file->path), SONDE_TRUNCATED;
		}
		bytes += count;
		size -= (size_t)count;
		offset += (uint64_t)count;
	}
	return SONDE_OK;
}

void hpcdb_target_begin_sync(const struct hpcdb_target *file, uint64_t *begun, uint64_t end)
{
	if (end < *begun + SYNC_STEP)
		return;
	(void)sync_file_range(file->fd, (off_t)*begun, (off_t)(end - *begun),
			      SYNC_FILE_RANGE_WRITE);
	*begun = end;
}

enum sonde_status hpcdb_put_file(const struct hpcdb_job *job, const char *name,
				 const struct sonde_buffer *text, struct sonde_error *err)
{
	struct sonde_output output = { .fd = -1 };
	enum sonde_status status;
	char *path;

	if (text->failed)
		return sonde_fail_nomem(err);
	path = sonde_path_join(job->folder, name);
	if (!path)
		return sonde_fail_nomem(err);
	status = sonde_output_open(&output, path, err);
	if (status >= 0)
		status = sonde_output_write(&output, text->data, text->size, err);
	if (status >= 0)
		status = sonde_output_close(&output, err);
	sonde_output_release(&output);
	free(path);
	job->written->bytes += text->size;
	return status;
}

void hpcdb_put_name(struct sonde_buffer *out, const struct hpcdb_job *job, const char *name)
{
	job->written->names_mended += !sonde_buffer_put_utf8(out, name, strlen(name));
	sonde_buffer_put_char(out, 0);
}
