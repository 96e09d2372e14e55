/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A base folder: its numbered parts, opened all together and kept up with what writers do. A part that
 * retention removes while it is being opened is simply not there.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/zts/zts_findings.h"
#include "formats/zts/zts_part.h"

bool zts_is_base_file(const char *name)
{
	return !strcmp(name, ZTS_PROPS_NAME) || !strcmp(name, ZTS_LOCK_NAME) || name[0] == '.';
}

void zts_base_free(struct zts_base *base)
{
	if (!base)
		return;
	for (size_t i = 0; i < base->parts.count; i++)
		zts_part_free(base->parts.items[i]);
	sonde_vec_release(&base->parts);
	free(base->path);
	free(base);
}

static bool is_part(const char *path)
{
	char *data = sonde_path_join(path, ZTS_DATA_NAME);
	bool is_file = data && sonde_path_kind(data) == SONDE_PATH_FILE;

	free(data);
	return is_file;
}

/* Opens one part. SONDE_END where it is left out: it went away, or cannot be opened (a finding). */
static enum sonde_status open_part(const char *path, struct sonde_diagnostics *diagnostics,
				   struct zts_part **part, struct sonde_error *err)
{
	struct sonde_diagnostics *found = diagnostics ? sonde_diagnostics_new() : NULL;
	enum sonde_status status = zts_part_open(path, found, part, err);

	if (status < 0 && status != SONDE_NOMEM) {
		if (sonde_path_kind(path) == SONDE_PATH_ABSENT) {
			sonde_diagnostics_free(found);
			return SONDE_END;
		}
		zts_found(found, REFUSED, path, err->offset, "a part of a store\t%s", err->message);
		status = SONDE_END;
	}
	if (found)
		sonde_diagnostics_append(diagnostics, found);
	sonde_diagnostics_free(found);
	return status;
}

static enum sonde_status add_part(struct zts_base *base, const char *path,
				  struct sonde_diagnostics *diagnostics, struct sonde_error *err)
{
	struct zts_part *part, **place;
	enum sonde_status status = open_part(path, diagnostics, &part, err);

	if (status != SONDE_OK)
		return status;
	place = sonde_vec_push(&base->parts);
	if (!place) {
		zts_part_free(part);
		return sonde_fail_nomem(err);
	}
	*place = part;
	return SONDE_OK;
}

static int compare_parts(const void *a, const void *b)
{
	const struct zts_part *const *left = a, *const *right = b;

	return (*left)->number < (*right)->number ? -1 : (*left)->number > (*right)->number;
}

static void sort_parts(struct zts_base *base)
{
	if (base->parts.count)
		qsort(base->parts.items, base->parts.count, sizeof(*base->parts.items),
		      compare_parts);
}

static bool has_part(const struct zts_base *base, uint32_t number)
{
	for (size_t i = 0; i < base->parts.count; i++)
		if (base->parts.items[i]->number == number)
			return true;
	return false;
}

/* Opens the parts of a folder that are not open yet; *named counts all that there are. */
static enum sonde_status open_parts(struct zts_base *base, const struct sonde_folder *folder,
				    struct sonde_diagnostics *diagnostics, size_t *named,
				    struct sonde_error *err)
{
	size_t open_before = base->parts.count;
	enum sonde_status status = SONDE_OK;

	*named = 0;
	for (size_t i = 0; i < folder->count && status >= 0; i++) {
		uint32_t number;
		char *path;

		if (!zts_part_number(folder->names[i], &number)) {
			if (!zts_is_base_file(folder->names[i]))
				zts_found(diagnostics, FOREIGN, base->path, SONDE_NO_OFFSET,
					  "folders with six hexadecimal digits\t%s",
					  folder->names[i]);
			continue;
		}
		(*named)++;
		if (open_before && has_part(base, number))
			continue;
		path = sonde_path_join(base->path, folder->names[i]);
		status = path ? add_part(base, path, diagnostics, err) : sonde_fail_nomem(err);
		free(path);
	}
	sort_parts(base);
	return status;
}

static void report_gaps(const struct zts_base *base, struct sonde_diagnostics *diagnostics)
{
	for (size_t i = 1; i < base->parts.count; i++) {
		uint32_t before = base->parts.items[i - 1]->number;
		uint32_t number = base->parts.items[i]->number;

		if (number != before + 1)
			zts_found(diagnostics, NUMBERING, base->path, SONDE_NO_OFFSET,
				  "part %06x after %06x\tpart %06x", before + 1, before, number);
	}
}

bool zts_is_empty_store(const struct sonde_folder *folder)
{
	bool is_store = false;
	uint32_t number;

	for (size_t i = 0; i < folder->count; i++) {
		if (zts_part_number(folder->names[i], &number))
			return false;
		is_store |= folder->names[i][0] != '.' && zts_is_base_file(folder->names[i]);
	}
	return is_store;
}

static enum sonde_status open_folder(struct zts_base *base, struct sonde_diagnostics *diagnostics,
				     struct sonde_error *err)
{
	struct sonde_folder folder;
	size_t named;
	enum sonde_status status = sonde_folder_read(&folder, base->path, err);
	bool is_empty_store;

	if (status < 0)
		return status;
	status = open_parts(base, &folder, diagnostics, &named, err);
	is_empty_store = zts_is_empty_store(&folder);
	sonde_folder_release(&folder);
	if (status < 0)
		return status;
	if (!named && !is_empty_store) {
		sonde_fail(
			err, SONDE_FORMAT, SONDE_NO_OFFSET,
			"expected a trace store (a folder with folders like 000001), found none");
		sonde_error_set_file(err, base->path);
		return SONDE_FORMAT;
	}
	report_gaps(base, diagnostics);
	return SONDE_OK;
}

/* The path of a part itself: the store has only this one, and what is wrong with it is an error. */
static enum sonde_status open_single(struct zts_base *base, struct sonde_diagnostics *diagnostics,
				     struct sonde_error *err)
{
	struct zts_part *part, **place;
	enum sonde_status status = zts_part_open(base->path, diagnostics, &part, err);

	if (status < 0)
		return status;
	base->is_part = true;
	place = sonde_vec_push(&base->parts);
	if (!place) {
		zts_part_free(part);
		return sonde_fail_nomem(err);
	}
	*place = part;
	return SONDE_OK;
}

enum sonde_status zts_base_open(const char *path, struct sonde_diagnostics *diagnostics,
				struct zts_base **base, struct sonde_error *err)
{
	struct zts_base *opened = calloc(1, sizeof(*opened));
	enum sonde_status status;

	*base = NULL;
	if (!opened)
		return sonde_fail_nomem(err);
	opened->path = strdup(path);
	if (!opened->path)
		status = sonde_fail_nomem(err);
	else if (is_part(path))
		status = open_single(opened, diagnostics, err);
	else
		status = open_folder(opened, diagnostics, err);
	if (status < 0)
		zts_base_free(opened);
	else
		*base = opened;
	return status < 0 ? status : SONDE_OK;
}

/* Brings one part up to date; NULL in its place where it is gone. */
static enum sonde_status refresh_part(struct zts_part **part, struct sonde_error *err)
{
	struct zts_part *anew = NULL;
	enum sonde_status status = zts_part_refresh(*part, err);

	if (status == SONDE_OK || status == SONDE_NOMEM)
		return status;
	status = open_part((*part)->path, NULL, &anew, err);
	if (status < 0)
		return status;
	zts_part_free(*part);
	*part = anew;
	return SONDE_OK;
}

enum sonde_status zts_base_refresh(struct zts_base *base, struct sonde_error *err)
{
	struct sonde_folder folder;
	size_t kept = 0, named;
	enum sonde_status status = SONDE_OK;

	for (size_t i = 0; i < base->parts.count && status >= 0; i++)
		status = refresh_part(&base->parts.items[i], err);
	for (size_t i = 0; i < base->parts.count; i++)
		if (base->parts.items[i])
			base->parts.items[kept++] = base->parts.items[i];
	base->parts.count = kept;
	if (status < 0 || base->is_part)
		return status;
	status = sonde_folder_read(&folder, base->path, err);
	if (status < 0)
		return status;
	status = open_parts(base, &folder, NULL, &named, err);
	sonde_folder_release(&folder);
	return status < 0 ? status : SONDE_OK;
}
