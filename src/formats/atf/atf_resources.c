/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resources: files beside the threads of a process. Those of an open session are mapped when
 * somebody asks for them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/atf/atf_findings.h"
#include "formats/atf/atf_manifest_write.h"
#include "formats/atf/atf_session.h"

static enum sonde_status add_resource(struct sonde_recording *recording,
				      const struct atf_part *part,
				      const struct atf_manifest_resource *entry,
				      struct sonde_error *err)
{
	struct atf_session *session = recording->data;
	const char *file = sonde_definitions_string(recording->definitions, entry->file);
	char *path = sonde_path_join(part->folder, file);
	struct atf_resource *resource;

	if (!path)
		return sonde_fail_nomem(err);
	if (sonde_path_kind(path) != SONDE_PATH_FILE) {
		ATF_FIND(recording->diagnostics, RESOURCE_MISSING, part->manifest.path,
			 SONDE_NO_OFFSET, "a file %s\tnone", file);
		free(path);
		return SONDE_OK;
	}
	resource = sonde_vec_push(&session->resources);
	if (!resource) {
		free(path);
		return sonde_fail_nomem(err);
	}
	*resource = (struct atf_resource){
		.path = path,
		.name = entry->name,
		.is_text = entry->is_text,
	};
	recording->blob_count++;
	recording->lanes |= SONDE_LANE_BLOBS;
	return SONDE_OK;
}

enum sonde_status atf_resources_open(struct sonde_recording *recording, const struct atf_part *part,
				     struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	for (size_t i = 0; i < part->manifest.resources.count && status == SONDE_OK; i++)
		status = add_resource(recording, part, &part->manifest.resources.items[i], err);
	return status;
}

enum sonde_status atf_resource_read(struct sonde_recording *recording, uint32_t number,
				    struct sonde_blob *blob, struct sonde_error *err)
{
	struct atf_session *session = recording->data;
	struct atf_resource *resource = &session->resources.items[number];
	enum sonde_status status = SONDE_OK;

	pthread_mutex_lock(&session->resource_lock);
	if (!resource->mapped)
		status = sonde_mapped_file_open(&resource->file, resource->path, err);
	resource->mapped = status == SONDE_OK;
	pthread_mutex_unlock(&session->resource_lock);
	if (status < 0)
		return status;
	*blob = (struct sonde_blob){
		.name = resource->name,
		.is_text = resource->is_text,
		.bytes = resource->file.data,
		.size = resource->file.size,
	};
	return SONDE_OK;
}

void atf_resources_release(struct atf_session *session)
{
	for (size_t i = 0; i < session->resources.count; i++) {
		struct atf_resource *resource = &session->resources.items[i];

		if (resource->mapped)
			sonde_mapped_file_release(&resource->file);
		free(resource->path);
	}
	sonde_vec_release(&session->resources);
	pthread_mutex_destroy(&session->resource_lock);
}

static enum sonde_status write_file(const char *folder, uint32_t number,
				    const struct sonde_blob *blob, struct sonde_error *err)
{
	struct sonde_output output = { .fd = -1 };
	char name[16], *path;
	enum sonde_status status;

	snprintf(name, sizeof(name), "%u", number);
	path = sonde_path_join(folder, name);
	if (!path)
		return sonde_fail_nomem(err);
	status = sonde_output_open(&output, path, err);
	if (status == SONDE_OK && blob->size)
		status = sonde_output_write(&output, blob->bytes, blob->size, err);
	if (status == SONDE_OK)
		status = sonde_output_close(&output, err);
	sonde_output_release(&output);
	free(path);
	return status;
}

enum sonde_status atf_resource_write(struct atf_written_resources *resources, uint32_t process,
				     const char *process_folder, const char *name,
				     const struct sonde_blob *blob, struct sonde_error *err)
{
	uint32_t number = (uint32_t)resources->count;
	char *folder = sonde_path_join(process_folder, ATF_RESOURCES_NAME);
	char *copy = strdup(name);
	enum sonde_status status = SONDE_OK;

	if (!folder || !copy || !sonde_vec_reserve(resources, 1))
		status = sonde_fail_nomem(err);
	else if (sonde_path_kind(folder) == SONDE_PATH_ABSENT)
		status = sonde_folder_create(folder, err);
	if (status == SONDE_OK)
		status = write_file(folder, number, blob, err);
	free(folder);
	if (status < 0) {
		free(copy);
		return status;
	}
	resources->items[resources->count++] = (struct atf_written_resource){
		.process = process,
		.number = number,
		.name = copy,
		.is_text = blob->is_text,
	};
	return SONDE_OK;
}

void atf_written_resources_release(struct atf_written_resources *resources)
{
	for (size_t i = 0; i < resources->count; i++)
		free(resources->items[i].name);
	sonde_vec_release(resources);
}
