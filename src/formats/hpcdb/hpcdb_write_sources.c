/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of the source files that a database names, in its folder src. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/utf8.h"
#include "formats/hpcdb/hpcdb_write_private.h"

#define CHUNK ((size_t)1 << 16)

/* ".." takes the last part away again, as far as there is one; the root has no folder above it. */
static void step_up(struct sonde_buffer *out, size_t root)
{
	while (out->size > root && out->data[out->size - 1] != '/')
		out->size--;
	if (out->size > root)
		out->size--;
}

bool hpcdb_source_path(struct sonde_buffer *out, const char *path)
{
	size_t root;

	if (*path != '/')
		return false;
	sonde_buffer_put_text(out, "src");
	root = out->size;
	while (*path) {
		size_t length;

		path += strspn(path, "/");
		length = strcspn(path, "/");
		if (length == 2 && path[0] == '.' && path[1] == '.') {
			step_up(out, root);
		} else if (length && !(length == 1 && path[0] == '.')) {
			sonde_buffer_put_char(out, '/');
			sonde_buffer_put_utf8(out, path, length);
		}
		path += length;
	}
	return !out->failed && out->size > root;
}

/* A regular file, opened for reading; -1 for everything else, which is not copied. */
static int open_source(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat status;

	if (fd < 0)
		return -1;
	if (!fstat(fd, &status) && S_ISREG(status.st_mode))
		return fd;
	close(fd);
	return -1;
}

/* Makes the folders on the way to a file below the job's folder. False: one cannot be. */
static bool make_folders(char *path, size_t start)
{
	for (char *p = path + start; *p; p++) {
		int failed;

		if (*p != '/')
			continue;
		*p = '\0';
		failed = mkdir(path, 0777) && errno != EEXIST;
		*p = '/';
		if (failed)
			return false;
	}
	return true;
}

/* SONDE_END: the source cannot be read, and nothing was copied. */
static enum sonde_status copy_bytes(int fd, const char *path, uint64_t *bytes,
				    struct sonde_error *err)
{
	struct sonde_output output = { .fd = -1 };
	char *chunk = malloc(CHUNK);
	enum sonde_status status = chunk ? sonde_output_open(&output, path, err) :
					   sonde_fail_nomem(err);
	ssize_t count = 1;

	while (status == SONDE_OK && count) {
		count = read(fd, chunk, CHUNK);
		if (count < 0 && errno == EINTR)
			continue;
		if (count < 0)
			status = SONDE_END;
		else
			status = sonde_output_write(&output, chunk, (size_t)count, err);
	}
	if (status == SONDE_OK)
		*bytes += output.written;
	if (status == SONDE_OK)
		status = sonde_output_close(&output, err);
	sonde_output_release(&output);
	if (status == SONDE_END)
		unlink(path);
	free(chunk);
	return status;
}

/* SONDE_END: there is nothing to copy. */
static enum sonde_status copy_source(const struct hpcdb_job *job, const char *source,
				     struct sonde_error *err)
{
	struct sonde_buffer relative = { 0 };
	enum sonde_status status = SONDE_END;
	char *target = NULL;
	int fd = hpcdb_source_path(&relative, source) ? open_source(source) : -1;

	if (fd < 0)
		goto out;
	if (sonde_buffer_text(&relative))
		target = sonde_path_join(job->folder, relative.data);
	if (!target)
		status = sonde_fail_nomem(err);
	else if (sonde_path_kind(target) == SONDE_PATH_FILE)
		/* another way to write the same path, or a name that was mended to the same */
		status = sonde_utf8_valid(source, strlen(source)) ? SONDE_OK : SONDE_END;
	else if (make_folders(target, strlen(job->folder) + 1))
		status = copy_bytes(fd, target, &job->written->bytes, err);
	else if (errno == ENOSPC || errno == EDQUOT || errno == EIO)
		status = sonde_fail_errno(err, target, "its folder cannot be created");
	close(fd);
out:
	sonde_buffer_release(&relative);
	free(target);
	return status;
}

/* Names in brackets stand for binaries without sources. */
enum sonde_status hpcdb_write_sources(struct hpcdb_job *job, struct sonde_error *err)
{
	uint32_t count;
	const uint32_t *files = hpcdb_used_files(job->used, &count);
	enum sonde_status status = SONDE_OK;

	job->copied = calloc((size_t)count + 1, 1);
	if (!job->copied)
		return sonde_fail_nomem(err);
	for (uint32_t i = 0; i < count && status >= 0; i++) {
		const char *path = sonde_definitions_string(job->world->definitions, files[i]);

		if (*path == '[')
			continue;
		status = copy_source(job, path, err);
		job->copied[i] = status == SONDE_OK;
		job->written->sources_copied += status == SONDE_OK;
		job->written->sources_missing += status == SONDE_END;
	}
	return status < 0 ? status : SONDE_OK;
}
