/* SPDX-License-Identifier: Apache-2.0 */
/* Which profiles and traces there are: the files of a measurement folder, or one file by itself. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/hpcrun/hpcrun_layout.h"
#include "formats/hpcrun/hpcrun_read.h"

#define PROFILE_ENDING ".hpcrun"
#define TRACE_ENDING ".hpctrace"

bool hpcrun_has_ending(const char *name, const char *ending)
{
	size_t length = strlen(name), size = strlen(ending);

	return length > size && !strcmp(name + length - size, ending);
}

/* The first bytes, enough to tell a profile. */
static bool starts_like_profile(const char *path)
{
	char start[HPCRUN_MAGIC_SHORT_SIZE];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t got;

	if (fd < 0)
		return false;
	got = read(fd, start, sizeof(start));
	close(fd);
	if (got != (ssize_t)sizeof(start))
		return false;
	return !memcmp(start, HPCRUN_MAGIC_LONG, sizeof(start)) ||
	       !memcmp(start, HPCRUN_MAGIC_SHORT, sizeof(start));
}

int hpcrun_probe(const char *path)
{
	struct sonde_folder folder;
	int sure = 0;

	if (sonde_path_kind(path) == SONDE_PATH_FILE) {
		if (starts_like_profile(path))
			return 100;
		return hpcrun_has_ending(path, PROFILE_ENDING) ? 30 : 0;
	}
	if (sonde_path_kind(path) != SONDE_PATH_FOLDER || sonde_folder_read(&folder, path, NULL))
		return 0;
	for (size_t i = 0; i < folder.count && sure < 90; i++) {
		char *joined;

		if (!hpcrun_has_ending(folder.names[i], PROFILE_ENDING))
			continue;
		joined = sonde_path_join(path, folder.names[i]);
		sure = joined && starts_like_profile(joined) ? 90 : 60;
		free(joined);
	}
	sonde_folder_release(&folder);
	return sure;
}

/* The name of the other file of a profile or trace; malloc'd. */
static char *other_file(const char *path, const char *ending, const char *other)
{
	size_t stem = strlen(path) - strlen(ending);
	char *result = malloc(stem + strlen(other) + 1);

	if (!result)
		return NULL;
	memcpy(result, path, stem);
	memcpy(result + stem, other, strlen(other) + 1);
	return result;
}

static enum sonde_status add_profile(struct hpcrun_folder *folder, const char *path,
				     struct sonde_error *err)
{
	struct hpcrun_files *files = sonde_vec_push(&folder->profiles);

	if (!files)
		return sonde_fail_nomem(err);
	*files = (struct hpcrun_files){ .path = strdup(path) };
	if (!files->path)
		return sonde_fail_nomem(err);
	if (!hpcrun_has_ending(path, PROFILE_ENDING))
		return SONDE_OK;
	files->trace = other_file(path, PROFILE_ENDING, TRACE_ENDING);
	if (!files->trace)
		return sonde_fail_nomem(err);
	if (sonde_path_kind(files->trace) != SONDE_PATH_FILE) {
		free(files->trace);
		files->trace = NULL;
	}
	return SONDE_OK;
}

static enum sonde_status add_orphan(struct hpcrun_folder *folder, char **path,
				    struct sonde_error *err)
{
	char *profile = other_file(*path, TRACE_ENDING, PROFILE_ENDING);
	char **orphan;

	if (!profile)
		return sonde_fail_nomem(err);
	if (sonde_path_kind(profile) == SONDE_PATH_ABSENT) {
		orphan = sonde_vec_push(&folder->orphans);
		if (!orphan) {
			free(profile);
			return sonde_fail_nomem(err);
		}
		*orphan = *path;
		*path = NULL;
	}
	free(profile);
	return SONDE_OK;
}

static enum sonde_status add_name(struct hpcrun_folder *folder, const char *path, const char *name,
				  struct sonde_error *err)
{
	bool is_profile = hpcrun_has_ending(name, PROFILE_ENDING);
	enum sonde_status status = SONDE_OK;
	char *joined;

	if (!is_profile && !hpcrun_has_ending(name, TRACE_ENDING))
		return SONDE_OK;
	joined = sonde_path_join(path, name);
	if (!joined)
		return sonde_fail_nomem(err);
	status = is_profile ? add_profile(folder, joined, err) : add_orphan(folder, &joined, err);
	free(joined);
	return status;
}

enum sonde_status hpcrun_folder_open(struct hpcrun_folder *folder, const char *path,
				     struct sonde_error *err)
{
	struct sonde_folder names;
	enum sonde_status status;

	*folder = (struct hpcrun_folder){
		.is_folder = sonde_path_kind(path) == SONDE_PATH_FOLDER,
	};
	if (!folder->is_folder)
		return add_profile(folder, path, err);
	status = sonde_folder_read(&names, path, err);
	if (status)
		return status;
	for (size_t i = 0; i < names.count && !status; i++)
		status = add_name(folder, path, names.names[i], err);
	sonde_folder_release(&names);
	if (!status && !folder->profiles.count) {
		status = sonde_fail(err, SONDE_FORMAT, SONDE_NO_OFFSET,
				    "expected files with names that end in %s, found none",
				    PROFILE_ENDING);
		sonde_error_set_file(err, path);
	}
	return status;
}

void hpcrun_folder_release(struct hpcrun_folder *folder)
{
	for (size_t i = 0; i < folder->profiles.count; i++) {
		free(folder->profiles.items[i].path);
		free(folder->profiles.items[i].trace);
	}
	for (size_t i = 0; i < folder->orphans.count; i++)
		free(folder->orphans.items[i]);
	sonde_vec_release(&folder->profiles);
	sonde_vec_release(&folder->orphans);
}
