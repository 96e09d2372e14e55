/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts of a recovered part: all under their ids, in WAL files, with "#id" in place of those that
 * are lost.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/zts/zts_recover.h"
#include "formats/zts/zts_wal.h"

/* Up to so many ids in a row that nobody has are filled; a larger gap is left between two files. */
#define GAP_MAX 65536u

static enum sonde_status close_file(struct zts_wal_files *files, struct sonde_error *err)
{
	if (!files->next_id)
		return SONDE_OK;
	files->next_id = 0;
	return sonde_output_close(&files->output, err);
}

static enum sonde_status open_file(struct zts_wal_files *files, uint32_t id,
				   struct sonde_error *err)
{
	enum sonde_status status;
	char name[32];
	char *path;

	snprintf(name, sizeof(name), "%s-%08" PRIx32 ".wal", files->prefix, id);
	path = sonde_path_join(files->folder, name);
	if (!path)
		return sonde_fail_nomem(err);
	status = sonde_output_open(&files->output, path, err);
	free(path);
	if (status < 0)
		return status;
	files->next_id = id;
	return sonde_output_write(&files->output, ZTS_WAL_MAGIC, 4, err);
}

enum sonde_status zts_wal_files_put(struct zts_wal_files *files, uint32_t id, const void *text,
				    size_t size, struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	sonde_buffer_clear(&files->entry);
	zts_wal_put_entry(&files->entry, id, text, size);
	if (files->entry.failed)
		return sonde_fail_nomem(err);
	if (files->next_id &&
	    (id != files->next_id || files->output.written + files->entry.size > ZTS_WAL_MAX_SIZE))
		status = close_file(files, err);
	if (status == SONDE_OK && !files->next_id)
		status = open_file(files, id, err);
	if (status == SONDE_OK)
		status = sonde_output_write(&files->output, files->entry.data, files->entry.size,
					    err);
	files->next_id = id + 1;
	return status;
}

enum sonde_status zts_wal_files_end(struct zts_wal_files *files, struct sonde_error *err)
{
	return close_file(files, err);
}

void zts_wal_files_release(struct zts_wal_files *files)
{
	sonde_output_release(&files->output);
	sonde_buffer_release(&files->entry);
}

static enum sonde_status put_lost(struct zts_wal_files *files, uint32_t id, struct sonde_error *err)
{
	char text[16];
	int size = snprintf(text, sizeof(text), "#%" PRIu32, id);

	return zts_wal_files_put(files, id, text, (size_t)size, err);
}

/* Ids from `from` up to `to`, which nobody has, where they are not too many. */
static enum sonde_status fill_gap(struct zts_wal_files *files, uint32_t from, uint32_t to,
				  struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	for (uint32_t id = from; to - from <= GAP_MAX && id < to && status == SONDE_OK; id++)
		status = put_lost(files, id, err);
	return status;
}

static int compare_ids(const void *a, const void *b)
{
	uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;

	return one < other ? -1 : one > other;
}

/*
 * The next id that has a text, or needs one; `at` goes along in the list of those that are missing.
 */
static uint32_t next_id(const struct zts_part_recovery *part, uint32_t from, size_t *at)
{
	uint32_t next = zts_texts_next(part->texts, from);

	while (*at < part->missing.count && part->missing.items[*at] < from)
		++*at;
	if (*at < part->missing.count && part->missing.items[*at] < next)
		next = part->missing.items[*at];
	return next;
}

static enum sonde_status put_all(struct zts_part_recovery *part, struct zts_wal_files *files,
				 struct sonde_error *err)
{
	uint32_t end = zts_texts_end(part->texts), next = 1;
	enum sonde_status status = SONDE_OK;
	size_t at = 0;

	for (uint32_t id = next_id(part, 1, &at); id < end && status == SONDE_OK;
	     id = next_id(part, id + 1, &at)) {
		const char *text;
		size_t size;
		bool is_needed;

		is_needed = at < part->missing.count && part->missing.items[at] == id;
		status = zts_texts_get(part->texts, id, &text, &size, err);
		if (status == SONDE_NOMEM)
			return status;
		if (status != SONDE_OK && !is_needed) {
			status = SONDE_OK;
			continue;
		}
		is_needed = status != SONDE_OK;
		status = fill_gap(files, next, id, err);
		if (status == SONDE_OK)
			status = is_needed ? put_lost(files, id, err) :
					     zts_wal_files_put(files, id, text, size, err);
		next = id + 1;
	}
	for (; at < part->missing.count && status == SONDE_OK; at++) {
		uint32_t id = part->missing.items[at];

		if (id < next)
			continue;
		status = fill_gap(files, next, id, err);
		if (status == SONDE_OK)
			status = put_lost(files, id, err);
		next = id + 1;
	}
	return status;
}

enum sonde_status zts_recover_texts(struct zts_part_recovery *part, struct sonde_error *err)
{
	struct zts_wal_files files = { .folder = part->to, .prefix = "text", .output.fd = -1 };
	enum sonde_status status;

	if (part->missing.count)
		qsort(part->missing.items, part->missing.count, sizeof(*part->missing.items),
		      compare_ids);
	status = put_all(part, &files, err);
	if (status == SONDE_OK)
		status = zts_wal_files_end(&files, err);
	zts_wal_files_release(&files);
	return status;
}
