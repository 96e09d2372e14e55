/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checking a store: its parts on several threads, each with a list of findings of its own. Here:
 * folders, their names and settings; the rest is in zts_check_*.c.
 */
#include "formats/zts/zts_check.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/zts/zts_findings.h"
#include "formats/zts/zts_part_private.h"

static bool has_affixes(const char *name, const char *prefix, const char *suffix)
{
	size_t length = strlen(name), end = strlen(suffix);

	return !strncmp(name, prefix, strlen(prefix)) && length > end &&
	       !strcmp(name + length - end, suffix);
}

bool zts_is_part_file(const char *name)
{
	static const char *const names[] = { ZTS_DATA_NAME,  ZTS_QMETA_NAME,
					     ZTS_PROPS_NAME, ZTS_PROPS_NAME_DOCUMENT,
					     "meta.db",	     "meta.db.p",
					     "meta.db.t" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!strcmp(name, names[i]))
			return true;
	}
	return has_affixes(name, "text-", ".wal") || has_affixes(name, "text-", ".fmi") ||
	       has_affixes(name, "meta-", ".wal") || has_affixes(name, "meta-", ".fmi");
}

/* Settings that are numbers. */
static enum sonde_status check_props(struct zts_part_check *check, struct sonde_error *err)
{
	static const char *const numbers[] = {
		ZTS_PROPS_FLAGS,       "store.rotate.max-size", "store.rotate.max-num",
		"ingest.min.duration", "store.text.wal-size",	"store.text.wal-num",
		"store.meta.wal-size", "store.meta.wal-num",	ZTS_PROPS_NAMES,
	};
	struct zts_props props = { 0 };
	struct sonde_error fault;
	enum sonde_status status = zts_props_read(&props, check->folder, &fault);

	if (status == SONDE_NOMEM)
		return sonde_fail_nomem(err);
	if (status < 0)
		zts_found(check->found, PROPS, check->folder, SONDE_NO_OFFSET,
			  "settings that can be read\t%s", fault.message);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		size_t size;
		const char *value = zts_props_get(&props, numbers[i], &size);
		uint64_t number;

		if (value && !zts_props_number(&props, numbers[i], &number))
			zts_found(check->found, PROPS, check->folder, SONDE_NO_OFFSET,
				  "%s to be a number\t\"%.*s\"", numbers[i],
				  (int)(size < 60 ? size : 60), value);
		else if (value && !strcmp(numbers[i], ZTS_PROPS_NAMES))
			check->has_names = number != 0;
	}
	zts_props_release(&props);
	return SONDE_OK;
}

static enum sonde_status check_names(struct zts_part_check *check, struct sonde_error *err)
{
	struct sonde_folder folder;
	enum sonde_status status = sonde_folder_read(&folder, check->folder, err);

	if (status < 0)
		return status;
	for (size_t i = 0; i < folder.count; i++) {
		if (!zts_is_part_file(folder.names[i]) && folder.names[i][0] != '.')
			zts_found(check->found, FOREIGN, check->folder, SONDE_NO_OFFSET,
				  "files of a store\t\"%.60s\"", folder.names[i]);
		check->is_generation_2 |= !strcmp(folder.names[i], "meta.db");
	}
	sonde_folder_release(&folder);
	if (check->is_generation_2)
		zts_found(check->found, GENERATION_2, check->folder, SONDE_NO_OFFSET,
			  "qmeta.idx\tmeta.db");
	return SONDE_OK;
}

/* Opens traces.dat; *is_there is false where that cannot be, and the finding tells why. */
static enum sonde_status open_data(struct zts_part_check *check, bool *is_there,
				   struct sonde_error *err)
{
	char *path = sonde_path_join(check->folder, ZTS_DATA_NAME);
	struct sonde_error fault;
	enum sonde_status status;

	*is_there = false;
	if (!path)
		return sonde_fail_nomem(err);
	status = zts_chunks_open(&check->chunks, path, &fault);
	*is_there = status == SONDE_OK;
	if (status == SONDE_NOMEM)
		status = sonde_fail_nomem(err);
	else if (status == SONDE_IO && sonde_path_kind(path) == SONDE_PATH_FILE) {
		*err = fault;
	} else if (status < 0) {
		if (status == SONDE_IO)
			zts_found(check->found, DATA_MISSING, path, SONDE_NO_OFFSET, "a file\t%s",
				  fault.message);
		else
			zts_found(check->found, DATA_MAGIC, path, 0, "\"ZTS0\"\t%s", fault.message);
		status = SONDE_OK;
	}
	free(path);
	return status;
}

static void check_flags(struct zts_part_check *check)
{
	const uint8_t *header = check->chunks.file.data;
	uint32_t flags = check->chunks.flags, codec = flags & ZTS_FLAG_CODEC_MASK;

	if (codec > ZTS_FLAG_CODEC_LZ4 || flags & ~(ZTS_FLAG_CODEC_MASK | ZTS_FLAG_CRC))
		zts_found(check->found, DATA_FLAGS, check->chunks.path, 4,
			  "flags 0x00 to 0x02, with or without 0x10\t0x%" PRIx32, flags);
	for (size_t i = 8; i < ZTS_DATA_HEADER_SIZE; i++) {
		if (header[i]) {
			zts_found(check->found, DATA_FLAGS, check->chunks.path, 8,
				  "zeros\ta checksum, which no program writes");
			return;
		}
	}
}

static enum sonde_status check_part(struct zts_part_check *check, struct sonde_error *err)
{
	bool is_there = false;
	enum sonde_status status = check_names(check, err);

	if (status == SONDE_OK)
		status = check_props(check, err);
	if (status == SONDE_OK)
		status = zts_check_texts(check, err);
	if (status == SONDE_OK)
		status = open_data(check, &is_there, err);
	if (status < 0 || !is_there)
		return status;
	check_flags(check);
	status = zts_check_data(check, err);
	if (status == SONDE_OK)
		status = zts_check_meta(check, err);
	return status;
}

/* All parts, on a few threads. */
struct store_check {
	struct sonde_folder folder;
	char **parts;
	size_t count;
	struct sonde_diagnostics **found;
	struct sonde_meter meter;
};

static enum sonde_status run_part(void *user, size_t number, struct sonde_error *err)
{
	struct store_check *store = user;
	struct zts_part_check check = {
		.folder = store->parts[number],
		.found = store->found[number],
		.meter = &store->meter,
	};
	enum sonde_status status = check_part(&check, err);

	if (status == SONDE_OK && check.texts && zts_texts_failed(check.texts))
		status = sonde_fail_nomem(err);
	zts_chunks_release(&check.chunks);
	zts_texts_free(check.texts);
	zts_set_release(&check.present);
	sonde_buffer_release(&check.scratch);
	return status;
}

static enum sonde_status add_part(struct store_check *store, const char *folder, const char *name,
				  struct sonde_error *err)
{
	store->parts[store->count] = name ? sonde_path_join(folder, name) : strdup(folder);
	store->found[store->count] = sonde_diagnostics_new();
	if (!store->parts[store->count] || !store->found[store->count]) {
		store->count++;
		return sonde_fail_nomem(err);
	}
	store->count++;
	return SONDE_OK;
}

/* The parts of a base folder; a gap in their numbers is told of. */
static enum sonde_status list_parts(struct store_check *store, const char *path,
				    struct sonde_diagnostics *diagnostics, struct sonde_error *err)
{
	uint64_t last = UINT64_MAX;
	enum sonde_status status = SONDE_OK;

	for (size_t i = 0; i < store->folder.count && status == SONDE_OK; i++) {
		const char *name = store->folder.names[i];
		uint32_t number;

		if (!zts_part_number(name, &number)) {
			if (!zts_is_base_file(name))
				zts_found(diagnostics, FOREIGN, path, SONDE_NO_OFFSET,
					  "numbered folders\t\"%.60s\"", name);
			continue;
		}
		if (last != UINT64_MAX && number != last + 1)
			zts_found(diagnostics, NUMBERING, path, SONDE_NO_OFFSET,
				  "store %06" PRIx64 "\tstore %06" PRIx32, last + 1, number);
		last = number;
		status = add_part(store, path, name, err);
	}
	return status;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool is_single(const struct sonde_folder *folder)
{
	for (size_t i = 0; i < folder->count; i++) {
		if (!strcmp(folder->names[i], ZTS_DATA_NAME))
			return true;
	}
	return false;
}

static enum sonde_status check_store(struct store_check *store, const char *path,
				     unsigned int threads, struct sonde_diagnostics *diagnostics,
				     struct sonde_error *err)
{
	enum sonde_status status;

	/* numbers are hexadecimal: the order of the characters, not of runs of digits */
	if (store->folder.count)
		qsort(store->folder.names, store->folder.count, sizeof(*store->folder.names),
		      compare_names);
	store->parts = calloc(store->folder.count + 1, sizeof(*store->parts));
	store->found = calloc(store->folder.count + 1, sizeof(*store->found));
	if (!store->parts || !store->found)
		return sonde_fail_nomem(err);
	if (is_single(&store->folder))
		status = add_part(store, path, NULL, err);
	else
		status = list_parts(store, path, diagnostics, err);
	if (status == SONDE_OK && !store->count && !zts_is_empty_store(&store->folder))
		zts_found(diagnostics, REFUSED, path, SONDE_NO_OFFSET,
			  "folders 000000 to ffffff\tnone");
	if (status == SONDE_OK)
		status = sonde_pool_run(store->count, threads, run_part, store, err);
	for (size_t i = 0; i < store->count; i++) {
		if (store->found[i])
			sonde_diagnostics_append(diagnostics, store->found[i]);
	}
	return status;
}

enum sonde_status zts_check(const char *path, const struct sonde_check_options *options,
			    struct sonde_diagnostics *diagnostics, struct sonde_error *err)
{
	struct store_check store = { .meter.progress = options->progress };
	enum sonde_status status = sonde_folder_read(&store.folder, path, err);

	if (status < 0)
		return status;
	status = check_store(&store, path, options->threads, diagnostics, err);
	for (size_t i = 0; i < store.count; i++) {
		free(store.parts[i]);
		sonde_diagnostics_free(store.found[i]);
	}
	free(store.parts);
	free(store.found);
	sonde_folder_release(&store.folder);
	return status;
}
