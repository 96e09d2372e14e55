/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files and folders that appear under their name whole or not at all: made beside their target,
 * synced, renamed. What is written into them is the business of output.c and its callers.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/file.h"

#define NAME_TRIES 100
#define SUFFIX_SIZE 32 /* of ".partial-", two numbers and what is between them, at most */
#define OPEN_FOLDERS 16
#define SYNCED_ONE_BY_ONE 64

static enum sonde_status refuse(struct sonde_error *err, const char *path, const char *reason)
{
	sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET, "%s", reason);
	sonde_error_set_file(err, path);
	return SONDE_ARGUMENT;
}

/* malloc'd; NULL where memory failed. */
static char *copy_text(const char *text, size_t length)
{
	char *copy = malloc(length + 1);

	if (!copy)
		return NULL;
	memcpy(copy, text, length);
	copy[length] = '\0';
	return copy;
}

/* The length of the part of a path that is its folder; 0 where it has none. "/a" gives 1. */
static size_t folder_length(const char *path)
{
	const char *slash = strrchr(path, '/');
	size_t length = slash ? (size_t)(slash - path) : 0;

	if (!slash)
		return 0;
	while (length > 1 && path[length - 1] == '/')
		length--;
	return length ? length : 1;
}

/* The folder that a path is in, malloc'd. */
static char *folder_of(const char *path)
{
	size_t length = folder_length(path);

	return length ? copy_text(path, length) : copy_text(".", 1);
}

static bool ends_in_dots(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	return !strcmp(name, ".") || !strcmp(name, "..");
}

/*
 * The name to rename to: without slashes at its end, and where it is a link or ends in dots, the
 * place that it stands for.
 */
static enum sonde_status resolve(const char *path, char **target, struct sonde_error *err)
{
	size_t length = strlen(path);
	struct stat status;
	char *real;

	if (!length)
		return refuse(err, path, "an output needs a name");
	while (length > 1 && path[length - 1] == '/')
		length--;
	*target = copy_text(path, length);
	if (!*target)
		return sonde_fail_nomem(err);
	if (!ends_in_dots(*target)) {
		if (lstat(*target, &status))
			return errno == ENOENT || errno == ENOTDIR ?
				       SONDE_OK :
				       sonde_fail_errno(err, path, "cannot be looked at");
		if (!S_ISLNK(status.st_mode))
			return SONDE_OK;
	}
	real = realpath(*target, NULL);
	if (!real)
		return sonde_fail_errno(err, path, "does not lead to anything");
	free(*target);
	*target = real;
	return SONDE_OK;
}

static enum sonde_status check_parent(const char *path, struct sonde_error *err)
{
	struct stat status;

	if (!stat(path, &status))
		return S_ISDIR(status.st_mode) ? SONDE_OK :
						 refuse(err, path, "a folder was expected here");
	if (errno == ENOENT)
		return refuse(err, path, "this folder does not exist; create it first");
	return sonde_fail_errno(err, path, "cannot be looked at");
}

/* Fails where a folder on the way to the target is missing or is none, and names the first. */
static enum sonde_status check_parents(const char *target, struct sonde_error *err)
{
	char *path = folder_of(target);
	enum sonde_status status = SONDE_OK;

	if (!path)
		return sonde_fail_nomem(err);
	for (char *p = path + 1; status >= 0; p++) {
		char kept = *p;

		if (kept && kept != '/')
			continue;
		*p = '\0';
		status = check_parent(path, err);
		if (!kept)
			break;
		*p = kept;
	}
	free(path);
	return status;
}

static enum sonde_status is_empty(const char *path, bool *empty, struct sonde_error *err)
{
	struct sonde_folder folder;
	enum sonde_status status = sonde_folder_read(&folder, path, err);

	if (status < 0)
		return status;
	*empty = !folder.count;
	sonde_folder_release(&folder);
	return SONDE_OK;
}

/* Only what could have been written here before may be replaced: a folder or a regular file. */
static enum sonde_status check_existing(const char *target, bool is_folder, bool replace,
					struct sonde_error *err)
{
	enum sonde_path_kind kind = sonde_path_kind(target);
	enum sonde_status status;
	bool empty;

	if (kind == SONDE_PATH_ABSENT)
		return SONDE_OK;
	if (is_folder && kind != SONDE_PATH_FOLDER)
		return refuse(err, target,
			      "a folder is to be written here, but this is not a folder; "
			      "choose another name");
	if (!is_folder && kind != SONDE_PATH_FILE)
		return refuse(err, target,
			      "a file is to be written here, but this is not a regular file; "
			      "choose another name");
	if (replace)
		return SONDE_OK;
	if (is_folder) {
		status = is_empty(target, &empty, err);
		if (status < 0 || empty)
			return status;
	}
	return refuse(err, target, "exists already; choose another name or ask for a replacement");
}

/* A new name beside the target, malloc'd. The end of a long one is left out to make room. */
static char *work_name(const char *target)
{
	static _Atomic uint64_t counter;
	const char *slash = strrchr(target, '/'), *base = slash ? slash + 1 : target;
	struct sonde_buffer name = { 0 };
	struct timespec now = { 0 };

	clock_gettime(CLOCK_MONOTONIC, &now);
	sonde_buffer_put(&name, target,
			 (size_t)(base - target) + strnlen(base, NAME_MAX - SUFFIX_SIZE));
	sonde_buffer_put_text(&name, ".partial-");
	sonde_buffer_put_u64(&name, (uint64_t)getpid());
	sonde_buffer_put_char(&name, '-');
	sonde_buffer_put_hex(
		&name, ((uint64_t)now.tv_nsec ^ atomic_fetch_add(&counter, 1) << 16) & 0xFFFFFFFF,
		8);
	if (!sonde_buffer_text(&name)) {
		sonde_buffer_release(&name);
		return NULL;
	}
	return name.data;
}

/* Takes the name; false with errno where it cannot be had. */
static bool make_work(const char *path, bool is_folder)
{
	int fd;

	if (is_folder)
		return !mkdir(path, 0777);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

enum sonde_status sonde_staged_begin(struct sonde_staged *staged, const char *target,
				     bool is_folder, bool replace, struct sonde_error *err)
{
	enum sonde_status status;

	*staged = (struct sonde_staged){ .is_folder = is_folder, .replace = replace };
	status = resolve(target, &staged->target, err);
	if (status >= 0)
		status = check_parents(staged->target, err);
	if (status >= 0)
		status = check_existing(staged->target, is_folder, replace, err);
	for (unsigned int i = 0; status >= 0 && !staged->work; i++) {
		char *name = work_name(staged->target);

		if (!name) {
			status = sonde_fail_nomem(err);
		} else if (make_work(name, is_folder)) {
			staged->work = name;
		} else {
			if (errno != EEXIST || i == NAME_TRIES)
				status = sonde_fail_errno(err, target, "cannot be created");
			free(name);
		}
	}
	if (status < 0)
		sonde_staged_release(staged);
	return status;
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *where)
{
	(void)status;
	(void)where;
	return type == FTW_DP ? rmdir(path) : unlink(path);
}

bool sonde_path_remove(const char *path)
{
	return !nftw(path, remove_entry, OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

/* With `sync`, which is fsync or syncfs; false with errno. What cannot be synced is not at fault. */
static bool sync_path(const char *path, int (*sync)(int fd))
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), saved = 0;

	if (fd < 0)
		return false;
	if (sync(fd) && errno != EINVAL)
		saved = errno;
	close(fd);
	errno = saved;
	return !saved;
}

static int sync_entry(const char *path, const struct stat *status, int type, struct FTW *where)
{
	(void)status;
	(void)where;
	return (type == FTW_DP || type == FTW_F) && !sync_path(path, fsync) ? -1 : 0;
}

static _Thread_local unsigned int entries; /* nftw() has no place for it */

static int count_entry(const char *path, const struct stat *status, int type, struct FTW *where)
{
	(void)path;
	(void)status;
	(void)type;
	(void)where;
	return ++entries > SYNCED_ONE_BY_ONE;
}

/*
 * Brings a tree to the disk. Each sync of a file waits for the disk, so that many of them take
 * minutes; then the whole file system is synced at once, whoever else writes to it.
 */
static bool sync_tree(const char *path)
{
	const int flags = FTW_DEPTH | FTW_PHYS | FTW_MOUNT;

	entries = 0;
	if (nftw(path, count_entry, OPEN_FOLDERS, flags) < 0)
		return false;
	if (entries > SYNCED_ONE_BY_ONE)
		return sync_path(path, syncfs);
	return !nftw(path, sync_entry, OPEN_FOLDERS, flags);
}

static enum sonde_status sync_parent(const struct sonde_staged *staged, struct sonde_error *err)
{
	char *parent = folder_of(staged->target);
	enum sonde_status status = SONDE_OK;

	if (!parent)
		return sonde_fail_nomem(err);
	if (!sync_path(parent, fsync))
		status = sonde_fail_errno(err, parent, "the folder cannot be brought to the disk");
	free(parent);
	return status;
}

static enum sonde_status fail_place(const struct sonde_staged *staged, struct sonde_error *err)
{
	return sonde_fail_errno(err, staged->target, "cannot be put in its place");
}

/*
 * Where two names cannot be exchanged in one step: the old folder goes aside, then the new one
 * comes in. On success `work` is where the old one is.
 */
static enum sonde_status exchange_slowly(struct sonde_staged *staged, struct sonde_error *err)
{
	char *aside = work_name(staged->target);
	enum sonde_status status;

	if (!aside)
		return sonde_fail_nomem(err);
	if (rename(staged->target, aside)) {
		status = fail_place(staged, err);
		goto fail;
	}
	if (rename(staged->work, staged->target)) {
		status = fail_place(staged, err);
		if (rename(aside, staged->target))
			sonde_error_because(err, "what was there before is now %s", aside);
		goto fail;
	}
	free(staged->work);
	staged->work = aside;
	return SONDE_OK;
fail:
	free(aside);
	return status;
}

static bool unsupported(int number)
{
	return number == EINVAL || number == ENOSYS || number == ENOTSUP;
}

/* A new file that must not replace anything: others may have come since the beginning. */
static enum sonde_status place_new_file(struct sonde_staged *staged, struct sonde_error *err)
{
	if (!renameat2(AT_FDCWD, staged->work, AT_FDCWD, staged->target, RENAME_NOREPLACE))
		return SONDE_OK;
	if (!unsupported(errno))
		return fail_place(staged, err);
	if (sonde_path_kind(staged->target) != SONDE_PATH_ABSENT)
		errno = EEXIST;
	else if (!rename(staged->work, staged->target))
		return SONDE_OK;
	return fail_place(staged, err);
}

/* Gives the work its final name. *old_remains: `work` now names what was there before. */
static enum sonde_status take_place(struct sonde_staged *staged, bool *old_remains,
				    struct sonde_error *err)
{
	enum sonde_status status;

	*old_remains = false;
	if (!staged->is_folder && !staged->replace)
		return place_new_file(staged, err);
	if (!rename(staged->work, staged->target))
		return SONDE_OK;
	if (!staged->is_folder || !staged->replace || (errno != ENOTEMPTY && errno != EEXIST))
		return fail_place(staged, err);
	if (!renameat2(AT_FDCWD, staged->work, AT_FDCWD, staged->target, RENAME_EXCHANGE))
		status = SONDE_OK;
	else if (unsupported(errno))
		status = exchange_slowly(staged, err);
	else
		status = fail_place(staged, err);
	*old_remains = status >= 0;
	return status;
}

enum sonde_status sonde_staged_commit(struct sonde_staged *staged, struct sonde_error *err)
{
	enum sonde_status status;
	bool old_remains;

	if (!sync_tree(staged->work))
		return sonde_fail_errno(err, staged->target, "cannot be brought to the disk");
	status = take_place(staged, &old_remains, err);
	if (status < 0)
		return status;
	status = sync_parent(staged, err);
	if (old_remains && status < 0)
		sonde_error_because(err, "what was replaced is kept as %s", staged->work);
	else if (old_remains && !sonde_path_remove(staged->work))
		status = sonde_fail_errno(err, staged->work,
					  "what was replaced cannot be removed; remove it");
	free(staged->work);
	staged->work = NULL;
	return status;
}

void sonde_staged_release(struct sonde_staged *staged)
{
	if (staged->work)
		sonde_path_remove(staged->work);
	free(staged->work);
	free(staged->target);
	*staged = (struct sonde_staged){ 0 };
}

enum sonde_status sonde_new_file_begin(struct sonde_new_file *file, const char *target,
				       bool replace, struct sonde_error *err)
{
	enum sonde_status status = sonde_staged_begin(&file->staged, target, false, replace, err);

	file->output = (struct sonde_output){ .fd = -1 };
	return status < 0 ? status : sonde_output_open(&file->output, file->staged.work, err);
}

enum sonde_status sonde_new_file_commit(struct sonde_new_file *file, struct sonde_error *err)
{
	enum sonde_status status = file->output.fd < 0 ? SONDE_OK :
							 sonde_output_close(&file->output, err);

	return status < 0 ? status : sonde_staged_commit(&file->staged, err);
}

void sonde_new_file_release(struct sonde_new_file *file)
{
	if (file->staged.target)
		sonde_output_release(&file->output);
	sonde_staged_release(&file->staged);
}

enum sonde_status sonde_file_replace(const char *path, const void *data, size_t size,
				     struct sonde_error *err)
{
	struct sonde_new_file file;
	enum sonde_status status = sonde_new_file_begin(&file, path, true, err);

	if (status >= 0)
		status = sonde_output_write(&file.output, data, size, err);
	if (status >= 0)
		status = sonde_new_file_commit(&file, err);
	sonde_new_file_release(&file);
	return status;
}

enum sonde_status sonde_folder_create(const char *path, struct sonde_error *err)
{
	if (mkdir(path, 0777))
		return sonde_fail_errno(err, path, "the folder cannot be created");
	return SONDE_OK;
}
