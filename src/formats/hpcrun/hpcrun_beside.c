/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What lies beside the profiles of a folder: structure files, binaries that are in no file of the system,
 * logs. `prof` takes names from them, so they go with the profiles: resources of the recording, by their
 * path in the folder, mapped when they are asked for.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "formats/hpcrun/hpcrun_beside.h"

bool hpcrun_is_side_folder(const char *name)
{
	static const char *const folders[] = { "vdso", "gpubins", "structs", "kernel_symbols" };

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		if (!strcmp(name, folders[i]))
			return true;
	return false;
}

bool hpcrun_is_beside(const char *name)
{
	return !hpcrun_has_ending(name, ".hpcrun") && !hpcrun_has_ending(name, ".hpctrace");
}

static enum sonde_status add_file(struct hpcrun_beside *beside,
				  struct sonde_definitions *definitions, const char *folder,
				  const char *name, struct sonde_error *err)
{
	char *path = *folder ? sonde_path_join(folder, name) : strdup(name);
	struct hpcrun_beside_file *file = path ? sonde_vec_push(&beside->files) : NULL;
	enum sonde_status status = SONDE_NOMEM;

	if (file) {
		*file = (struct hpcrun_beside_file){ 0 };
		status = sonde_definitions_add_string(definitions, path, strlen(path), &file->name,
						      err);
	} else {
		sonde_fail_nomem(err);
	}
	free(path);
	return status;
}

/* The files of one of the folders; "" is that of the profiles. One that cannot be listed is passed over. */
static enum sonde_status list_files(struct hpcrun_beside *beside,
				    struct sonde_definitions *definitions, const char *place,
				    const char *folder, struct sonde_error *err)
{
	struct sonde_folder names = { 0 };
	enum sonde_status status = SONDE_OK;

	if (sonde_folder_read(&names, place, NULL))
		return SONDE_OK;
	for (size_t i = 0; i < names.count && !status; i++) {
		const char *name = names.names[i];
		char *path = sonde_path_join(place, name);
		enum sonde_path_kind kind = path ? sonde_path_kind(path) : SONDE_PATH_ABSENT;

		if (!path)
			status = sonde_fail_nomem(err);
		else if (kind == SONDE_PATH_FILE && (*folder || hpcrun_is_beside(name)))
			status = add_file(beside, definitions, folder, name, err);
		else if (kind == SONDE_PATH_FOLDER && !*folder && hpcrun_is_side_folder(name))
			status = list_files(beside, definitions, path, name, err);
		free(path);
	}
	sonde_folder_release(&names);
	return status;
}

enum sonde_status hpcrun_beside_open(struct hpcrun_beside *beside,
				     struct sonde_definitions *definitions, const char *folder,
				     struct sonde_error *err)
{
	return list_files(beside, definitions, folder, "", err);
}

enum sonde_status hpcrun_beside_map(struct hpcrun_beside *beside, const char *folder,
				    const struct sonde_definitions *definitions, uint32_t number,
				    struct sonde_blob *blob, struct sonde_error *err)
{
	struct hpcrun_beside_file *file = &beside->files.items[number];
	const char *name = sonde_definitions_string(definitions, file->name);
	enum sonde_status status = SONDE_OK;

	pthread_mutex_lock(&beside->lock);
	if (!file->is_open) {
		char *path = sonde_path_join(folder, name);

		status = path ? sonde_mapped_file_open(&file->mapped, path, err) :
				sonde_fail_nomem(err);
		file->is_open = status == SONDE_OK;
		free(path);
	}
	pthread_mutex_unlock(&beside->lock);
	/* one that cannot be read does not keep others from being carried over */
	if (status && status != SONDE_NOMEM)
		return SONDE_CORRUPT;
	if (status == SONDE_OK)
		*blob = (struct sonde_blob){
			.name = file->name,
			.is_text = hpcrun_has_ending(name, ".hpcstruct") ||
				   hpcrun_has_ending(name, ".log") ||
				   !strcmp(name, "original-path"),
			.bytes = file->mapped.data,
			.size = file->mapped.size,
		};
	return status;
}

void hpcrun_beside_release(struct hpcrun_beside *beside)
{
	for (size_t i = 0; i < beside->files.count; i++)
		if (beside->files.items[i].is_open)
			sonde_mapped_file_release(&beside->files.items[i].mapped);
	sonde_vec_release(&beside->files);
}

/* The name of one file within a folder, and of nothing else. */
static bool is_file_name(const char *name)
{
	size_t length = strlen(name);

	return length && length <= NAME_MAX && !strchr(name, '/') && strcmp(name, ".") != 0 &&
	       strcmp(name, "..") != 0;
}

/* Splits "folder/name"; false where that is no place beside profiles. `folder` has room for NAME_MAX. */
static bool split_place(const char *place, char *folder, const char **name)
{
	const char *slash = strchr(place, '/');
	size_t length = slash ? (size_t)(slash - place) : 0;

	*name = slash ? slash + 1 : place;
	*folder = '\0';
	if (!is_file_name(*name))
		return false;
	if (!slash)
		return hpcrun_is_beside(place) && !hpcrun_is_side_folder(place);
	if (length > NAME_MAX)
		return false;
	memcpy(folder, place, length);
	folder[length] = '\0';
	return hpcrun_is_side_folder(folder);
}

static enum sonde_status write_bytes(const char *path, const struct sonde_blob *blob,
				     struct sonde_error *err)
{
	struct sonde_output output = { .fd = -1 };
	enum sonde_status status = sonde_output_open(&output, path, err);

	if (!status)
		status = sonde_output_write(&output, blob->bytes, blob->size, err);
	if (!status)
		status = sonde_output_close(&output, err);
	sonde_output_release(&output);
	return status;
}

/* Counts a resource that has no place here; SONDE_END. */
static enum sonde_status lose(struct sonde_loss *loss, const char *what, const char *reason,
			      struct sonde_error *err)
{
	enum sonde_status status = sonde_loss_add(loss, what, reason, 1, err);

	return status ? status : SONDE_END;
}

/* Several sources may have the same file; of different ones the first stays. */
static enum sonde_status compare_bytes(const char *path, const struct sonde_blob *blob,
				       struct sonde_loss *loss, struct sonde_error *err)
{
	struct sonde_mapped_file there = { 0 };
	enum sonde_status status = sonde_mapped_file_open(&there, path, err);
	bool is_same;

	if (status)
		return status;
	is_same = there.size == blob->size &&
		  (!blob->size || !memcmp(there.data, blob->bytes, blob->size));
	sonde_mapped_file_release(&there);
	return is_same ? SONDE_OK :
			 lose(loss, "resources of the same name", "the first of them is kept", err);
}

static enum sonde_status write_file(const char *folder, const char *name,
				    const struct sonde_blob *blob, struct sonde_loss *loss,
				    struct sonde_error *err)
{
	char *path = sonde_path_join(folder, name);
	enum sonde_status status = SONDE_OK;

	if (!path)
		return sonde_fail_nomem(err);
	status = sonde_path_kind(path) == SONDE_PATH_ABSENT ? write_bytes(path, blob, err) :
							      compare_bytes(path, blob, loss, err);
	free(path);
	return status;
}

enum sonde_status hpcrun_beside_write(const char *folder, const char *place,
				      const struct sonde_blob *blob, struct sonde_loss *loss,
				      struct sonde_error *err)
{
	char side[NAME_MAX + 1];
	enum sonde_status status = SONDE_OK;
	const char *name;
	char *within;

	if (!split_place(place, side, &name))
		return lose(loss, "resources",
			    "beside hpcrun profiles there are files, and those in structs/, vdso/, "
			    "gpubins/ and kernel_symbols/ only",
			    err);
	if (!*side)
		return write_file(folder, name, blob, loss, err);
	within = sonde_path_join(folder, side);
	if (!within)
		return sonde_fail_nomem(err);
	if (sonde_path_kind(within) == SONDE_PATH_ABSENT)
		status = sonde_folder_create(within, err);
	if (!status)
		status = write_file(within, name, blob, loss, err);
	free(within);
	return status;
}
