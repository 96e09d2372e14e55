/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of the recorder: thousands of them, of which a few are open at a time, and the room
 * on the disk that is kept for finishing them. Plain writes, no buffer: what was written here is
 * in the file when the recorder is killed.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "formats/atf/atf_paths.h"
#include "formats/atf/atf_recorder_private.h"

/* Kept for the end: for manifests, for two footers that each need a block, for a thread's entry. */
#define RESERVE_SIZE ((uint64_t)256 << 10)
#define RESERVE_UNFINISHED 8192
#define RESERVE_THREAD 256
#define RESERVE_STEP ((uint64_t)64 << 10)

char *recorder_file_path(const struct recorder_file *file)
{
	const struct atf_written_track *written = &file->thread->written;
	const struct recorder_process *process =
		&file->thread->recorder->processes.items[written->process];
	char *part = atf_part_folder(process->folder, (uint32_t)written->parts.count - 1);
	char *folder = part ? atf_thread_folder(part, written->slot) : NULL;
	char *path = folder ? sonde_path_join(folder, file->name) : NULL;

	free(folder);
	free(part);
	return path;
}

/* An error of a call on a file; errno stays. */
enum sonde_status recorder_file_fail(const struct recorder_file *file, const char *what,
				     struct sonde_error *err)
{
	int number = errno;
	char *path = recorder_file_path(file);
	enum sonde_status status;

	errno = number;
	status = sonde_fail_errno(err, path ? path : file->name, "%s", what);
	free(path);
	errno = number;
	return status;
}

/* Takes a file out of the open ones. */
static int take_out(struct recorder_file *file)
{
	struct atf_recorder *recorder = file->thread->recorder;
	struct recorder_file *last = recorder->open[--recorder->open_count];
	int fd = file->fd;

	recorder->open[file->place] = last;
	last->place = file->place;
	file->fd = -1;
	return fd;
}

enum sonde_status recorder_file_close(struct recorder_file *file, struct sonde_error *err)
{
	if (file->fd < 0 || !close(take_out(file)) || errno == EINTR)
		return SONDE_OK;
	return recorder_file_fail(file, "cannot be closed", err);
}

/* Closes one that was not used since the search last came by. */
static void make_place(struct atf_recorder *recorder)
{
	struct recorder_file *file;

	for (;;) {
		recorder->hand = (recorder->hand + 1) % recorder->open_count;
		file = recorder->open[recorder->hand];
		if (!file->recent)
			break;
		file->recent = false;
	}
	if (recorder_file_close(file, NULL) < 0)
		recorder_give_up(file->thread, SONDE_IO);
}

static enum sonde_status open_file(struct recorder_file *file, int flags, struct sonde_error *err)
{
	struct atf_recorder *recorder = file->thread->recorder;
	char *path = recorder_file_path(file);
	enum sonde_status status = SONDE_OK;
	int number;

	if (!path) {
		errno = ENOMEM;
		return sonde_fail_nomem(err);
	}
	if (recorder->open_count == recorder->open_limit)
		make_place(recorder);
	file->fd = open(path, O_WRONLY | O_CLOEXEC | flags, 0666);
	if (file->fd < 0) {
		status = sonde_fail_errno(err, path, "cannot be opened for writing");
	} else {
		file->place = recorder->open_count++;
		recorder->open[file->place] = file;
	}
	number = errno;
	free(path);
	errno = number;
	return status;
}

/* The size in the file is known only once it is cut to what counts. */
static void cut_quietly(struct recorder_file *file)
{
	int number = errno;

	if (ftruncate(file->fd, (off_t)file->size))
		file->thread->failure = number; /* it is tried again in the end */
	errno = number;
}

static enum sonde_status write_all(struct recorder_file *file, uint64_t offset, const uint8_t *data,
				   size_t size, struct sonde_error *err)
{
	while (size) {
		ssize_t count = pwrite(file->fd, data, size, (off_t)offset);

		if (count < 0 && errno == EINTR)
			continue;
		if (count <= 0) {
			if (!count)
				errno = ENOSPC;
			return recorder_file_fail(file, "cannot be written", err);
		}
		data += count;
		size -= (size_t)count;
		offset += (uint64_t)count;
	}
	return SONDE_OK;
}

enum sonde_status recorder_file_write(struct recorder_file *file, uint64_t offset, const void *data,
				      size_t size, struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	if (file->fd < 0)
		status = open_file(file, 0, err);
	if (status < 0)
		return status;
	file->recent = true;
	status = write_all(file, offset, data, size, err);
	if (status < 0) {
		cut_quietly(file);
		return status;
	}
	if (offset + size > file->size) {
		file->thread->recorder->bytes += offset + size - file->size;
		file->size = offset + size;
	}
	return SONDE_OK;
}

enum sonde_status recorder_file_cut(struct recorder_file *file, uint64_t size,
				    struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	if (file->fd < 0)
		status = open_file(file, 0, err);
	if (status < 0)
		return status;
	if (ftruncate(file->fd, (off_t)size))
		return recorder_file_fail(file, "cannot be shortened", err);
	file->thread->recorder->bytes -= file->size - size;
	file->size = size;
	return SONDE_OK;
}

enum sonde_status recorder_file_map(struct recorder_file *file, struct sonde_mapped_file *map,
				    struct sonde_error *err)
{
	char *path = recorder_file_path(file);
	enum sonde_status status;

	if (!path)
		return sonde_fail_nomem(err);
	status = sonde_mapped_file_open(map, path, err);
	free(path);
	return status;
}

static void remove_file(struct recorder_file *file)
{
	char *path = recorder_file_path(file);

	recorder_file_close(file, NULL);
	if (path)
		unlink(path);
	free(path);
	file->thread->recorder->bytes -= file->size;
	file->size = 0;
}

enum sonde_status recorder_file_create(struct recorder_file *file,
				       const uint8_t header[ATF_HEADER_SIZE],
				       struct sonde_error *err)
{
	enum sonde_status status;
	int number;

	file->size = 0;
	status = open_file(file, O_CREAT | O_EXCL, err);
	if (status < 0)
		return status;
	status = recorder_file_write(file, 0, header, ATF_HEADER_SIZE, err);
	if (status < 0) {
		number = errno;
		remove_file(file);
		errno = number;
	}
	return status;
}

enum sonde_status recorder_reserve(struct atf_recorder *recorder, struct sonde_error *err)
{
	uint64_t wanted = RESERVE_SIZE + recorder->manifest_bytes +
			  recorder->unfinished_count * RESERVE_UNFINISHED +
			  recorder->threads.count * RESERVE_THREAD;

	if (recorder->reserve_fd < 0 || wanted <= recorder->reserve_size)
		return SONDE_OK;
	if (recorder->reserve_size)
		wanted += RESERVE_STEP;
	errno = posix_fallocate(recorder->reserve_fd, 0, (off_t)wanted);
	if (!errno)
		recorder->reserve_size = wanted;
	else if (errno == ENOSPC || errno == EDQUOT)
		return sonde_fail_errno(err, recorder->folder,
					"there is no room for a recording; free some space or "
					"choose another place");
	return SONDE_OK; /* not every file system can; then it goes without */
}

void recorder_release_reserve(struct atf_recorder *recorder)
{
	if (recorder->reserve_fd < 0)
		return;
	unlink(recorder->reserve_path);
	close(recorder->reserve_fd);
	recorder->reserve_fd = -1;
}
