/* SPDX-License-Identifier: Apache-2.0 */
/* Input: mapped files, what a path is, and the names in a folder. Output is in output.c. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/sanitizer.h"
#include "base/vec.h"

static const char *kind_text(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFDIR:
		return "a folder";
	case S_IFIFO:
		return "a fifo";
	case S_IFSOCK:
		return "a socket";
	case S_IFCHR:
	case S_IFBLK:
		return "a device";
	default:
		return "something else";
	}
}

/*
 * Files up to this size are copied: it is faster than a mapping, of which a process may have some 65,000 only.
 * Under the address sanitizer all are, to memory of exactly their size: behind a mapping the rest of the last page
 * could be read without anybody noticing.
 */
#ifdef SONDE_ADDRESS_SANITIZER
#define COPIED_SIZE SIZE_MAX
#else
#define COPIED_SIZE ((size_t)16 << 10)
#endif

/* Up to *size bytes, of which there may be fewer by now. */
static void *copy_bytes(int fd, size_t *size)
{
	char *data = malloc(*size);
	size_t used = 0;
	ssize_t got = 1;

	while (data && used < *size && got > 0) {
		got = pread(fd, data + used, *size - used, (off_t)used);
		used += got > 0 ? (size_t)got : 0;
	}
	if (!data || got < 0) {
		free(data);
		return MAP_FAILED;
	}
	*size = used;
	return data;
}

struct sonde_file_identity sonde_file_identity(const struct stat *status)
{
	struct sonde_file_identity identity = {
		.device = (uint64_t)status->st_dev,
		.inode = (uint64_t)status->st_ino,
		.size = (uint64_t)status->st_size,
		.changed_ns = (uint64_t)status->st_mtim.tv_sec * 1000000000 +
			      (uint64_t)status->st_mtim.tv_nsec,
	};

	if (!status->st_nlink)
		identity.changed_ns = SONDE_FILE_UNNAMED;
	return identity;
}

/* Which file it is, and its size: of a regular one that can be mapped. */
static enum sonde_status look_at(int fd, const char *path, struct sonde_file_identity *identity,
				 size_t *size, struct sonde_error *err)
{
	struct stat status;

	if (fstat(fd, &status))
		return sonde_fail_errno(err, path, "cannot be looked at");
	*identity = sonde_file_identity(&status);
	if (!S_ISREG(status.st_mode)) {
		sonde_fail(err, SONDE_UNSUPPORTED, SONDE_NO_OFFSET,
			   "a regular file was expected, this is %s", kind_text(status.st_mode));
		sonde_error_set_file(err, path);
		return SONDE_UNSUPPORTED;
	}
	if (__builtin_add_overflow(status.st_size, 0, size)) {
		sonde_fail(err, SONDE_LIMIT, SONDE_NO_OFFSET, "too large to be mapped");
		sonde_error_set_file(err, path);
		return SONDE_LIMIT;
	}
	return SONDE_OK;
}

static enum sonde_status fail_mapping(const char *path, bool is_copy, struct sonde_error *err)
{
	bool is_full = errno == ENOMEM;
	enum sonde_status status;

	if (is_full && is_copy)
		return sonde_fail_nomem(err);
	status = sonde_fail_errno(err, path, is_copy ? "cannot be read" : "cannot be mapped");
	if (is_full)
		sonde_error_because(err, "too little memory, or more files than a process may map "
					 "(sysctl vm.max_map_count)");
	return status;
}

enum sonde_status sonde_mapped_file_of(struct sonde_mapped_file *file, int fd, const char *path,
				       struct sonde_error *err)
{
	enum sonde_status status;
	size_t size = 0;
	void *data;

	*file = (struct sonde_mapped_file){ 0 };
	status = look_at(fd, path, &file->identity, &size, err);
	if (status != SONDE_OK || !size)
		return status;
	file->is_copy = size <= COPIED_SIZE;
	data = file->is_copy ? copy_bytes(fd, &size) :
			       mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED)
		return fail_mapping(path, file->is_copy, err);
	file->data = data;
	file->size = size;
	return SONDE_OK;
}

/* Without O_NONBLOCK the opening of a fifo would wait for its writer. */
static int open_input(const char *path)
{
	return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

enum sonde_status sonde_mapped_file_open(struct sonde_mapped_file *file, const char *path,
					 struct sonde_error *err)
{
	enum sonde_status status;
	int fd;

	*file = (struct sonde_mapped_file){ 0 };
	fd = open_input(path);
	if (fd < 0)
		return sonde_fail_errno(err, path, "cannot be opened");
	status = sonde_mapped_file_of(file, fd, path, err);
	close(fd);
	return status;
}

static enum sonde_status map_growing(struct sonde_mapped_file *file, int fd, const char *path,
				     size_t room, struct sonde_error *err)
{
	const bool is_copy = COPIED_SIZE == SIZE_MAX;
	struct sonde_file_identity identity;
	enum sonde_status status;
	size_t size = 0;
	void *data = NULL;

	status = look_at(fd, path, &identity, &size, err);
	if (status != SONDE_OK)
		return status;
	if (is_copy || room < size)
		room = size; /* a copy does not grow */
	if (room)
		data = is_copy ? copy_bytes(fd, &size) :
				 mmap(NULL, room, PROT_READ, MAP_SHARED, fd, 0);
	if (data == MAP_FAILED)
		return fail_mapping(path, is_copy, err);
	*file = (struct sonde_mapped_file){ .data = data,
					    .size = size,
					    .room = is_copy ? 0 : room,
					    .identity = identity,
					    .is_copy = is_copy };
	return SONDE_OK;
}

enum sonde_status sonde_mapped_file_open_growing(struct sonde_mapped_file *file, const char *path,
						 size_t room, struct sonde_error *err)
{
	enum sonde_status status;
	int fd;

	*file = (struct sonde_mapped_file){ 0 };
	fd = open_input(path);
	if (fd < 0)
		return sonde_fail_errno(err, path, "cannot be opened");
	status = map_growing(file, fd, path, room, err);
	close(fd);
	return status;
}

bool sonde_mapped_file_grow(struct sonde_mapped_file *file, const char *path)
{
	struct stat status;

	/* A file that is gone grows no more; what is mapped stays. */
	if (stat(path, &status))
		return true;
	if (status.st_dev != file->identity.device || status.st_ino != file->identity.inode)
		return false;
	if (status.st_size < 0 || (uintmax_t)status.st_size <= file->size)
		return true;
	if ((uintmax_t)status.st_size > file->room)
		return false;
	file->size = (size_t)status.st_size;
	return true;
}

void sonde_mapped_file_read_ahead(const struct sonde_mapped_file *file, bool ahead)
{
	if (file->data && !file->is_copy)
		madvise((void *)file->data, file->size, ahead ? MADV_NORMAL : MADV_RANDOM);
}

void sonde_mapped_file_pass(const struct sonde_mapped_file *file, size_t from, size_t to)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	/* whole pages only: others may be in use */
	from = (from + page - 1) / page * page;
	to = to / page * page;
	if (file->data && !file->is_copy && from < to && to <= file->size)
		madvise((void *)(file->data + from), to - from, MADV_DONTNEED);
}

void sonde_mapped_file_release(struct sonde_mapped_file *file)
{
	if (file->is_copy)
		free((void *)file->data);
	else if (file->data)
		munmap((void *)file->data, file->room ? file->room : file->size);
	*file = (struct sonde_mapped_file){ 0 };
}

enum sonde_path_kind sonde_path_kind(const char *path)
{
	struct stat status;

	if (stat(path, &status))
		return SONDE_PATH_ABSENT;
	if (S_ISREG(status.st_mode))
		return SONDE_PATH_FILE;
	return S_ISDIR(status.st_mode) ? SONDE_PATH_FOLDER : SONDE_PATH_OTHER;
}

char *sonde_path_join(const char *folder, const char *name)
{
	size_t folder_length = strlen(folder), name_length = strlen(name), size;
	size_t slash = folder_length && folder[folder_length - 1] != '/';
	char *path;

	if (__builtin_add_overflow(folder_length, name_length, &size) ||
	    __builtin_add_overflow(size, slash + 1, &size))
		return NULL;
	path = malloc(size);
	if (!path)
		return NULL;
	memcpy(path, folder, folder_length);
	if (slash)
		path[folder_length] = '/';
	memcpy(path + folder_length + slash, name, name_length + 1);
	return path;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Compares two runs of digits by value and steps over them. */
static int compare_numbers(const char **a, const char **b)
{
	size_t a_length = 0, b_length = 0;
	int order;

	while (**a == '0')
		++*a;
	while (**b == '0')
		++*b;
	while (is_digit((*a)[a_length]))
		a_length++;
	while (is_digit((*b)[b_length]))
		b_length++;
	if (a_length != b_length)
		return a_length < b_length ? -1 : 1;
	order = memcmp(*a, *b, a_length);
	*a += a_length;
	*b += b_length;
	return order;
}

int sonde_name_compare(const char *a, const char *b)
{
	const char *p = a, *q = b;

	while (*p && *q) {
		if (is_digit(*p) && is_digit(*q)) {
			int order = compare_numbers(&p, &q);

			if (order)
				return order;
			continue;
		}
		if (*p != *q)
			break;
		p++;
		q++;
	}
	if (*p != *q)
		return (unsigned char)*p < (unsigned char)*q ? -1 : 1;
	/* Equal but for leading zeros: any fixed order will do. */
	return strcmp(a, b);
}

static int compare_entries(const void *a, const void *b)
{
	return sonde_name_compare(*(char *const *)a, *(char *const *)b);
}

static char *copy_name(const char *name)
{
	size_t size = strlen(name) + 1;
	char *copy = malloc(size);

	return copy ? memcpy(copy, name, size) : NULL;
}

static enum sonde_status read_names(struct sonde_folder *folder, DIR *directory, const char *path,
				    struct sonde_error *err)
{
	const struct dirent *entry;
	size_t capacity = 0;

	for (errno = 0; (entry = readdir(directory)); errno = 0) {
		char *name;

		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		if (!sonde_vec_grow(&folder->names, &capacity, folder->count, 1,
				    sizeof(*folder->names)))
			return sonde_fail_nomem(err);
		name = copy_name(entry->d_name);
		if (!name)
			return sonde_fail_nomem(err);
		folder->names[folder->count++] = name;
	}
	if (errno)
		return sonde_fail_errno(err, path, "the names in the folder cannot be read");
	if (folder->count)
		qsort(folder->names, folder->count, sizeof(*folder->names), compare_entries);
	return SONDE_OK;
}

enum sonde_status sonde_folder_read(struct sonde_folder *folder, const char *path,
				    struct sonde_error *err)
{
	enum sonde_status status;
	DIR *directory;

	*folder = (struct sonde_folder){ 0 };
	directory = opendir(path);
	if (!directory)
		return sonde_fail_errno(err, path, "the folder cannot be opened");
	status = read_names(folder, directory, path, err);
	closedir(directory);
	if (status < 0)
		sonde_folder_release(folder);
	return status;
}

void sonde_folder_release(struct sonde_folder *folder)
{
	for (size_t i = 0; i < folder->count; i++)
		free(folder->names[i]);
	free(folder->names);
	*folder = (struct sonde_folder){ 0 };
}
