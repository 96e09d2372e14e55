/* SPDX-License-Identifier: Apache-2.0 */
/* A database that is taken as it is: its files, copied. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "formats/hpcdb/hpcdb_sink.h"

#define CHUNK ((size_t)1 << 18)
#define DEPTH_LIMIT 64 /* folders within folders */

static enum sonde_status copy_bytes(int fd, const char *from, struct sonde_output *output,
				    struct sonde_error *err)
{
	char *chunk = malloc(CHUNK);
	enum sonde_status status = chunk ? SONDE_OK : sonde_fail_nomem(err);
	ssize_t count = 1;

	while (status >= 0 && count) {
		count = read(fd, chunk, CHUNK);
		if (count < 0 && errno == EINTR)
			continue;
		status = count < 0 ? sonde_fail_errno(err, from, "cannot be read") :
				     sonde_output_write(output, chunk, (size_t)count, err);
	}
	free(chunk);
	return status;
}

static enum sonde_status copy_file(const char *from, const char *to, struct sonde_error *err)
{
	struct sonde_output output = { .fd = -1 };
	int fd = open(from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	enum sonde_status status;

	if (fd < 0)
		return sonde_fail_errno(err, from, "cannot be opened");
	status = sonde_output_open(&output, to, err);
	if (status >= 0)
		status = copy_bytes(fd, from, &output, err);
	if (status >= 0)
		status = sonde_output_close(&output, err);
	sonde_output_release(&output);
	close(fd);
	return status;
}

static enum sonde_status copy_all(const char *from, const char *to, unsigned int depth,
				  struct sonde_error *err);

static enum sonde_status copy_entry(const char *from, const char *to, unsigned int depth,
				    struct sonde_error *err)
{
	struct stat found;
	enum sonde_status status;

	if (lstat(from, &found))
		return sonde_fail_errno(err, from, "cannot be looked at");
	if (S_ISREG(found.st_mode))
		return copy_file(from, to, err);
	if (!S_ISDIR(found.st_mode))
		return SONDE_OK;
	if (depth == DEPTH_LIMIT)
		return sonde_fail(err, SONDE_LIMIT, SONDE_NO_OFFSET,
				  "folders more than %d deep within each other in a database",
				  DEPTH_LIMIT);
	status = sonde_folder_create(to, err);
	return status < 0 ? status : copy_all(from, to, depth + 1, err);
}

static enum sonde_status copy_all(const char *from, const char *to, unsigned int depth,
				  struct sonde_error *err)
{
	struct sonde_folder folder;
	enum sonde_status status = sonde_folder_read(&folder, from, err);

	if (status < 0)
		return status;
	for (size_t i = 0; i < folder.count && status >= 0; i++) {
		char *source = sonde_path_join(from, folder.names[i]);
		char *target = sonde_path_join(to, folder.names[i]);

		status = source && target ? copy_entry(source, target, depth, err) :
					    sonde_fail_nomem(err);
		free(source);
		free(target);
	}
	sonde_folder_release(&folder);
	return status;
}

enum sonde_status hpcdb_copy_folder(const char *from, const char *to, struct sonde_error *err)
{
	return copy_all(from, to, 0, err);
}
