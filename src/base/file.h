/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files: mapped input, buffered output, folders that appear whole or not at all, and the names in
 * a folder. Everything that touches the file system is here.
 */
#ifndef SONDE_BASE_FILE_H
#define SONDE_BASE_FILE_H

#include <stdbool.h>
#include <sys/types.h>

#include <sonde/status.h>

/* Which file it is, and which state of it, as far as the system can tell. */
struct sonde_file_identity {
	uint64_t device, inode, size;
	uint64_t changed_ns; /* since 1970; SONDE_FILE_UNNAMED: nobody else can ever find it */
};

#define SONDE_FILE_UNNAMED UINT64_MAX

struct stat;
struct sonde_file_identity sonde_file_identity(const struct stat *status);

/* A whole file for reading, mapped where it is not small; size 0 has data NULL. */
struct sonde_mapped_file {
	const uint8_t *data;
	size_t size;
	struct sonde_file_identity identity; /* when it was mapped */
	size_t room;			     /* of a growing file: how much is mapped */
	bool is_copy;			     /* a small file is not mapped but copied */
};

/* Only regular files: a fifo, a device or a folder is refused with a message that says so. */
enum sonde_status sonde_mapped_file_open(struct sonde_mapped_file *file, const char *path,
					 struct sonde_error *err);
/* The same of a descriptor, which may be closed afterwards; `path` is for messages. */
enum sonde_status sonde_mapped_file_of(struct sonde_mapped_file *file, int fd, const char *path,
				       struct sonde_error *err);
void sonde_mapped_file_release(struct sonde_mapped_file *file);

/*
 * A file that another program appends to: mapped with room for `room` bytes, so that what comes
 * later is seen without mapping it anew.
 */
enum sonde_status sonde_mapped_file_open_growing(struct sonde_mapped_file *file, const char *path,
						 size_t room, struct sonde_error *err);
/*
 * Takes what was appended. False where it must be opened anew: it is another file, or there is no
 * more room.
 */
bool sonde_mapped_file_grow(struct sonde_mapped_file *file, const char *path);

/*
 * Whether the system may read more of it than is asked for, which it does at first. Who looks at a
 * few bytes here and there does not want it: it can be megabytes each time.
 */
void sonde_mapped_file_read_ahead(const struct sonde_mapped_file *file, bool ahead);

/*
 * These bytes were read and will hardly be read again: they need not count as memory of this process.
 * Who reads them all the same gets them.
 */
void sonde_mapped_file_pass(const struct sonde_mapped_file *file, size_t from, size_t to);

/* What was read of a file and not passed yet; zeroed to begin with. */
struct sonde_trail {
	size_t from, to, bytes;
};

/* Passes all of a trail: nothing more will be read. */
static inline void sonde_mapped_file_leave_all(const struct sonde_mapped_file *file,
					       struct sonde_trail *trail)
{
	sonde_mapped_file_pass(file, trail->from, trail->to);
	*trail = (struct sonde_trail){ 0 };
}

/* These bytes were read: passes them with others now and then, so that it is cheap to say it often. */
static inline void sonde_mapped_file_leave(const struct sonde_mapped_file *file,
					   struct sonde_trail *trail, size_t from, size_t to)
{
	const size_t enough = (size_t)4 << 20;

	if (!trail->bytes || from < trail->from)
		trail->from = from;
	if (to > trail->to)
		trail->to = to;
	trail->bytes += to - from;
	if (trail->bytes >= enough)
		sonde_mapped_file_leave_all(file, trail);
}

enum sonde_path_kind { SONDE_PATH_ABSENT, SONDE_PATH_FILE, SONDE_PATH_FOLDER, SONDE_PATH_OTHER };

/* What is there, following links. Anything that cannot be looked at is ABSENT. */
enum sonde_path_kind sonde_path_kind(const char *path);

/* "folder/name", malloc'd; NULL where memory failed. */
char *sonde_path_join(const char *folder, const char *name);

/* The names in a folder (without . and ..), sorted so that thread_2 comes before thread_10. */
struct sonde_folder {
	char **names;
	size_t count;
};

enum sonde_status sonde_folder_read(struct sonde_folder *folder, const char *path,
				    struct sonde_error *err);
void sonde_folder_release(struct sonde_folder *folder);

/* Compares names with runs of digits by value. */
int sonde_name_compare(const char *a, const char *b);

/* All of it to a descriptor; false with errno. For what is no file of its own: pipes, terminals. */
bool sonde_write_all(int fd, const void *data, size_t size);

/* Buffered sequential output to one file descriptor. */
struct sonde_output {
	int fd;
	char *path; /* for messages */
	uint8_t *data;
	size_t used;
	uint64_t written; /* bytes handed in so far */
	bool failed;	  /* a write failed: what is in the file is not known any more */
};

enum sonde_status sonde_output_open(struct sonde_output *output, const char *path,
				    struct sonde_error *err);
/* A file without a name in $TMPDIR or /tmp, or in memory where that cannot be; read by map. */
enum sonde_status sonde_output_open_unnamed(struct sonde_output *output, struct sonde_error *err);
/* Flushes, maps what was written, and closes. */
enum sonde_status sonde_output_map(struct sonde_output *output, struct sonde_mapped_file *file,
				   struct sonde_error *err);
enum sonde_status sonde_output_write(struct sonde_output *output, const void *data, size_t size,
				     struct sonde_error *err);
/* All that was written is in the file, for who reads it there. */
enum sonde_status sonde_output_flush(struct sonde_output *output, struct sonde_error *err);
/* Overwrites bytes that were written before (a header finalised last). */
enum sonde_status sonde_output_patch(struct sonde_output *output, uint64_t offset, const void *data,
				     size_t size, struct sonde_error *err);
/* Flushes and closes. The commit of what it belongs to brings it to the disk. */
enum sonde_status sonde_output_close(struct sonde_output *output, struct sonde_error *err);
/* Closes without more ado; fine after close and on a zeroed struct with fd -1. */
void sonde_output_release(struct sonde_output *output);

/*
 * A file or folder that appears under its name only when it is whole. Work in `work`, a fresh
 * folder (or a fresh name for a file) beside the target; then commit.
 */
struct sonde_staged {
	char *target;
	char *work;
	bool is_folder;
	bool replace;
};

/*
 * Refuses an existing target unless `replace` (an existing empty folder is no obstacle).
 * Creates missing parent folders of the target never: says which one is missing.
 */
enum sonde_status sonde_staged_begin(struct sonde_staged *staged, const char *target,
				     bool is_folder, bool replace, struct sonde_error *err);
/* Syncs and renames; an old target is removed only after the new one is in its place. */
enum sonde_status sonde_staged_commit(struct sonde_staged *staged, struct sonde_error *err);
/* Removes the work where it was not committed; releases the rest. */
void sonde_staged_release(struct sonde_staged *staged);

/* One file that is written from start to end and appears under its name only when it is whole. */
struct sonde_new_file {
	struct sonde_staged staged;
	struct sonde_output output;
};

enum sonde_status sonde_new_file_begin(struct sonde_new_file *file, const char *target,
				       bool replace, struct sonde_error *err);
/* After sonde_output_close(), or closing it. */
enum sonde_status sonde_new_file_commit(struct sonde_new_file *file, struct sonde_error *err);
/* Fine on a zeroed struct. */
void sonde_new_file_release(struct sonde_new_file *file);

/* A whole file at once, in the place of what is there. */
enum sonde_status sonde_file_replace(const char *path, const void *data, size_t size,
				     struct sonde_error *err);

/* Removes a file, or a folder with all that is in it. False with errno where something stays. */
bool sonde_path_remove(const char *path);

enum sonde_status sonde_folder_create(const char *path, struct sonde_error *err);

#endif
