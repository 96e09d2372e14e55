/* SPDX-License-Identifier: Apache-2.0 */
/* Buffered output to one file. How a file appears whole or not at all is in staged.c. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

#define BUFFER_SIZE ((size_t)1 << 20)

bool sonde_write_all(int fd, const void *data, size_t size)
{
	const uint8_t *bytes = data;

	while (size) {
		ssize_t count = write(fd, bytes, size);

		if (count < 0 && errno == EINTR)
			continue;
		if (!count)
			errno = ENOSPC;
		if (count <= 0)
			return false;
		bytes += count;
		size -= (size_t)count;
	}
	return true;
}

/* Everything but the descriptor, which it takes over. */
static enum sonde_status start(struct sonde_output *output, int fd, const char *path,
			       struct sonde_error *err)
{
	*output = (struct sonde_output){ .fd = fd };
	output->path = strdup(path);
	output->data = malloc(BUFFER_SIZE);
	if (output->path && output->data)
		return SONDE_OK;
	sonde_output_release(output);
	return sonde_fail_nomem(err);
}

enum sonde_status sonde_output_open(struct sonde_output *output, const char *path,
				    struct sonde_error *err)
{
	enum sonde_status status = start(output, -1, path, err);

	if (status < 0)
		return status;
	output->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (output->fd < 0) {
		status = sonde_fail_errno(err, path, "cannot be opened for writing");
		sonde_output_release(output);
	}
	return status;
}

enum sonde_status sonde_output_open_unnamed(struct sonde_output *output, struct sonde_error *err)
{
	const char *folder = getenv("TMPDIR");
	int fd = open(folder && *folder ? folder : "/tmp", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);

	*output = (struct sonde_output){ .fd = -1 };
	if (fd < 0)
		fd = memfd_create("sonde", MFD_CLOEXEC);
	if (fd < 0)
		return sonde_fail_errno(err, "/tmp", "a temporary file cannot be made");
	return start(output, fd, "a temporary file", err);
}

void sonde_output_release(struct sonde_output *output)
{
	if (output->fd >= 0)
		close(output->fd);
	free(output->path);
	free(output->data);
	*output = (struct sonde_output){ .fd = -1 };
}

static enum sonde_status fail_at(struct sonde_output *output, uint64_t offset, const char *what,
				 struct sonde_error *err)
{
	enum sonde_status status = sonde_fail_errno(err, output->path, "%s", what);

	output->failed = true;
	if (err)
		err->offset = offset;
	return status;
}

static enum sonde_status refuse_failed(const struct sonde_output *output, struct sonde_error *err)
{
	sonde_fail(err, SONDE_IO, SONDE_NO_OFFSET, "an earlier write to this file failed");
	sonde_error_set_file(err, output->path);
	return SONDE_IO;
}

static enum sonde_status write_at(struct sonde_output *output, uint64_t offset, const void *data,
				  size_t size, struct sonde_error *err)
{
	const uint8_t *bytes = data;

	while (size) {
		ssize_t count = pwrite(output->fd, bytes, size, (off_t)offset);

		if (count < 0 && errno == EINTR)
			continue;
		if (count <= 0) {
			if (!count)
				errno = ENOSPC;
			return fail_at(output, offset, "cannot be written", err);
		}
		bytes += count;
		size -= (size_t)count;
		offset += (uint64_t)count;
	}
	return SONDE_OK;
}

static enum sonde_status flush(struct sonde_output *output, struct sonde_error *err)
{
	size_t used = output->used;

	output->used = 0;
	return write_at(output, output->written - used, output->data, used, err);
}

enum sonde_status sonde_output_write(struct sonde_output *output, const void *data, size_t size,
				     struct sonde_error *err)
{
	enum sonde_status status;

	if (output->failed)
		return refuse_failed(output, err);
	if (size > BUFFER_SIZE - output->used) {
		status = flush(output, err);
		if (status < 0)
			return status;
	}
	if (size >= BUFFER_SIZE) {
		status = write_at(output, output->written, data, size, err);
		if (status < 0)
			return status;
	} else if (size) {
		memcpy(output->data + output->used, data, size);
		output->used += size;
	}
	output->written += size;
	return SONDE_OK;
}

enum sonde_status sonde_output_flush(struct sonde_output *output, struct sonde_error *err)
{
	return output->failed ? refuse_failed(output, err) : flush(output, err);
}

enum sonde_status sonde_output_patch(struct sonde_output *output, uint64_t offset, const void *data,
				     size_t size, struct sonde_error *err)
{
	enum sonde_status status;

	if (output->failed)
		return refuse_failed(output, err);
	if (offset > output->written || size > output->written - offset) {
		sonde_fail(err, SONDE_ARGUMENT, offset, "nothing was written there yet");
		sonde_error_set_file(err, output->path);
		return SONDE_ARGUMENT;
	}
	status = flush(output, err);
	return status < 0 ? status : write_at(output, offset, data, size, err);
}

enum sonde_status sonde_output_map(struct sonde_output *output, struct sonde_mapped_file *file,
				   struct sonde_error *err)
{
	enum sonde_status status = sonde_output_flush(output, err);

	*file = (struct sonde_mapped_file){ 0 };
	if (status >= 0)
		status = sonde_mapped_file_of(file, output->fd, output->path, err);
	sonde_output_release(output);
	return status;
}

enum sonde_status sonde_output_close(struct sonde_output *output, struct sonde_error *err)
{
	enum sonde_status status = sonde_output_flush(output, err);
	int fd = output->fd;

	output->fd = -1;
	if (close(fd) && errno != EINTR && status >= 0)
		status = fail_at(output, SONDE_NO_OFFSET, "cannot be closed", err);
	sonde_output_release(output);
	return status;
}
