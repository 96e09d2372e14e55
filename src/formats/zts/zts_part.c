/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One part of a store: opens its files in the order that a writer relies on (slots first, because all
 * that they refer to was written before them), and has the metadata made anew where it is missing or
 * damaged.
 */
#include "formats/zts/zts_part.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "formats/zts/zts_findings.h"

#define GENERATION_2_NAME "meta.db"
/* How often a part is opened while its files change under way. */
#define OPEN_TRIES 5

static _Atomic uint64_t last_serial;

/* What is in the folder, as far as opening cares. */
struct listing {
	bool has_qmeta, has_map, has_meta_index;
	uint64_t hash;
};

static uint64_t hash_name(uint64_t hash, const char *name)
{
	for (;; name++) {
		hash = (hash ^ (uint8_t)*name) * 0x100000001b3u;
		if (!*name)
			return hash;
	}
}

static bool is_index_file(const char *name, const char *prefix)
{
	size_t size = strlen(name), prefix_size = strlen(prefix);

	return size > prefix_size + 4 && memcmp(name, prefix, prefix_size) == 0 &&
	       (strcmp(name + size - 4, ".wal") == 0 || strcmp(name + size - 4, ".fmi") == 0);
}

static enum sonde_status list_files(const char *path, struct listing *listing,
				    struct sonde_error *err)
{
	struct sonde_folder folder;
	enum sonde_status status = sonde_folder_read(&folder, path, err);

	*listing = (struct listing){ .hash = 0xcbf29ce484222325u };
	if (status < 0)
		return status;
	for (size_t i = 0; i < folder.count; i++) {
		const char *name = folder.names[i];

		listing->has_qmeta |= strcmp(name, ZTS_QMETA_NAME) == 0;
		listing->has_map |= strcmp(name, GENERATION_2_NAME) == 0;
		listing->has_meta_index |= is_index_file(name, "meta-");
		listing->hash = hash_name(listing->hash, name);
	}
	sonde_folder_release(&folder);
	return SONDE_OK;
}

bool zts_part_number(const char *name, uint32_t *number)
{
	uint32_t value = 0;

	for (size_t i = 0; i < 6; i++) {
		char c = name[i];

		if (c >= '0' && c <= '9')
			value = value << 4 | (uint32_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			value = value << 4 | (uint32_t)(c - 'a' + 10);
		else
			return false;
	}
	*number = value;
	return !name[6];
}

uint32_t zts_part_number_of_path(const char *path)
{
	size_t end = strlen(path), start;
	uint32_t number;
	char name[7];

	while (end && path[end - 1] == '/')
		end--;
	for (start = end; start && path[start - 1] != '/'; start--)
		;
	if (end - start != 6)
		return 0;
	memcpy(name, path + start, 6);
	name[6] = 0;
	return zts_part_number(name, &number) ? number : 0;
}

void zts_part_free(struct zts_part *part)
{
	if (!part)
		return;
	zts_texts_free(part->meta);
	sonde_buffer_release(&part->rebuilt_meta);
	zts_texts_free(part->texts);
	zts_chunks_release(&part->chunks);
	zts_slots_release(&part->slots);
	zts_props_release(&part->props);
	free(part->next_chunk);
	free(part->first_chunk);
	free(part->path);
	free(part);
}

static enum sonde_status read_props(struct zts_part *part, struct sonde_diagnostics *diagnostics,
				    struct sonde_error *err)
{
	uint64_t flags = 0, names = 0;
	size_t size;
	enum sonde_status status = zts_props_read(&part->props, part->path, err);

	if (status == SONDE_NOMEM)
		return status;
	if (status < 0)
		zts_found(diagnostics, PROPS, part->path, SONDE_NO_OFFSET, "a file of settings\t%s",
			  err->message);
	if (!zts_props_number(&part->props, "store.iflags", &flags) &&
	    zts_props_get(&part->props, "store.iflags", &size))
		zts_found(diagnostics, PROPS, part->path, SONDE_NO_OFFSET,
			  "a number as store.iflags\tother text");
	part->archived = flags & ZTS_PROPS_ARCHIVED;
	part->has_names = zts_props_number(&part->props, ZTS_PROPS_NAMES, &names) && names;
	part->slots.has_names = part->has_names;
	return SONDE_OK;
}

/* Reads the slots; *damaged where they must be made anew. A qmeta.idx that went away is none. */
static enum sonde_status read_slots(struct zts_part *part, struct sonde_diagnostics *diagnostics,
				    bool *damaged, struct sonde_error *err)
{
	char *path = sonde_path_join(part->path, ZTS_QMETA_NAME);
	enum sonde_status status;

	if (!path)
		return sonde_fail_nomem(err);
	status = zts_slots_read(&part->slots, path, diagnostics, err);
	free(path);
	if (status == SONDE_NOMEM)
		return status;
	*damaged = status < 0;
	part->generation = part->slots.list.count ? part->slots.generation : 1;
	return SONDE_OK;
}

static enum sonde_status open_data(struct zts_part *part, struct sonde_diagnostics *diagnostics,
				   struct sonde_error *err)
{
	char *path = sonde_path_join(part->path, ZTS_DATA_NAME);
	enum sonde_status status;

	if (!path)
		return sonde_fail_nomem(err);
	status = zts_chunks_open(&part->chunks, path, err);
	if (status == SONDE_FORMAT || status == SONDE_TRUNCATED || status == SONDE_CORRUPT)
		zts_found(diagnostics, DATA_MAGIC, path, 0, "ZTS0\t%s", err->message);
	else if (status < 0 && sonde_path_kind(path) == SONDE_PATH_ABSENT)
		zts_found(diagnostics, DATA_MISSING, path, SONDE_NO_OFFSET, "a file\tnone");
	free(path);
	return status;
}

/* Whether every slot points into the data; the first that does not is reported. */
static bool slots_fit(const struct zts_part *part, struct sonde_diagnostics *diagnostics)
{
	uint64_t size = part->chunks.file.size;

	for (size_t i = 0; i < part->slots.list.count; i++) {
		uint64_t offset = part->slots.list.items[i].data_offset;

		if (offset >= ZTS_DATA_HEADER_SIZE && offset < size &&
		    size - offset >= ZTS_CHUNK_HEADER_SIZE)
			continue;
		zts_found(diagnostics, SLOT_PLACE, part->path, SONDE_NO_OFFSET,
			  "slot %zu within %llu bytes of data\toffset %llu", i,
			  (unsigned long long)size, (unsigned long long)offset);
		return false;
	}
	return true;
}

/* The old metadata index, where it is left, still knows the UUIDs of a lost list of slots. */
static enum sonde_status recall(struct zts_part *part, struct sonde_error *err)
{
	struct zts_texts *meta;
	enum sonde_status status = zts_texts_open(part->path, "meta", NULL, &meta, err);
	bool all;

	if (status < 0)
		return status == SONDE_NOMEM ? status : SONDE_OK;
	all = zts_part_recall_uuids(part, meta);
	zts_texts_free(meta);
	/* once more, so that lines and slots agree: with these UUIDs, or without any of them */
	if (!all)
		part->slots.list.count = 0;
	return zts_rebuild(&part->chunks, part->texts, &part->slots, &part->rebuilt_meta, NULL,
			   err);
}

static enum sonde_status rebuild(struct zts_part *part, const struct listing *listing,
				 struct sonde_diagnostics *diagnostics, struct sonde_error *err)
{
	bool is_lost = !part->slots.list.count;
	enum sonde_status status = zts_rebuild(&part->chunks, part->texts, &part->slots,
					       &part->rebuilt_meta, diagnostics, err);

	if (status >= 0 && is_lost && listing->has_meta_index && part->slots.list.count)
		status = recall(part, err);
	if (status < 0)
		return status;
	part->is_rebuilt = true;
	return zts_texts_of((const uint8_t *)part->rebuilt_meta.data, part->rebuilt_meta.size,
			    &part->meta, err);
}

/* Slots and postings, from the files or made anew. */
static enum sonde_status open_metadata(struct zts_part *part, const struct listing *listing,
				       bool damaged, struct sonde_diagnostics *diagnostics,
				       struct sonde_error *err)
{
	bool has_data = part->chunks.file.size > ZTS_DATA_HEADER_SIZE;

	if (!listing->has_qmeta && listing->has_map) {
		part->generation = 2;
		zts_found(diagnostics, GENERATION_2, part->path, SONDE_NO_OFFSET,
			  "generation 1\tgeneration 2");
		return rebuild(part, listing, diagnostics, err);
	}
	if (!listing->has_qmeta && has_data)
		zts_found(diagnostics, META_MISSING, part->path, SONDE_NO_OFFSET, "%s\tnone",
			  ZTS_QMETA_NAME);
	if (listing->has_qmeta && !damaged && !part->slots.used && has_data) {
		zts_found(diagnostics, QMETA, part->path, 4, "slots of the data\tnone was written");
		damaged = true;
	}
	if (!listing->has_qmeta || damaged || !slots_fit(part, diagnostics))
		return rebuild(part, listing, diagnostics, err);
	if (listing->has_meta_index)
		return zts_texts_open(part->path, "meta", diagnostics, &part->meta, err);
	if (!part->slots.list.count)
		return SONDE_OK;
	zts_found(diagnostics, META_MISSING, part->path, SONDE_NO_OFFSET, "meta-* files\tnone");
	return rebuild(part, listing, diagnostics, err);
}

static enum sonde_status open_files(struct zts_part *part, struct sonde_diagnostics *diagnostics,
				    struct sonde_error *err)
{
	struct listing listing;
	bool damaged = false;
	enum sonde_status status = list_files(part->path, &listing, err);

	if (status < 0)
		return status;
	part->names_hash = listing.hash;
	part->generation = 1;
	status = read_props(part, diagnostics, err);
	if (status >= 0 && listing.has_qmeta)
		status = read_slots(part, diagnostics, &damaged, err);
	if (status >= 0)
		status = open_data(part, diagnostics, err);
	if (status >= 0)
		status = zts_texts_open(part->path, "text", diagnostics, &part->texts, err);
	if (status >= 0)
		status = open_metadata(part, &listing, damaged, diagnostics, err);
	return status < 0 ? status : zts_part_link_chunks(part, err);
}

static enum sonde_status try_open(const char *path, struct sonde_diagnostics *diagnostics,
				  struct zts_part **opened, struct sonde_error *err)
{
	struct zts_part *part = calloc(1, sizeof(*part));
	enum sonde_status status;

	*opened = NULL;
	if (!part)
		return sonde_fail_nomem(err);
	part->number = zts_part_number_of_path(path);
	part->serial = atomic_fetch_add(&last_serial, 1) + 1;
	part->path = strdup(path);
	status = part->path ? open_files(part, diagnostics, err) : sonde_fail_nomem(err);
	if (status < 0)
		zts_part_free(part);
	else
		*opened = part;
	return status;
}

/* Whether files came or went since they were listed: an archiver or a writer is at work. */
static bool has_changed(const char *path, uint64_t hash)
{
	struct listing now;

	return list_files(path, &now, NULL) == SONDE_OK && now.hash != hash;
}

enum sonde_status zts_part_open(const char *path, struct sonde_diagnostics *diagnostics,
				struct zts_part **part, struct sonde_error *err)
{
	enum sonde_status status;

	*part = NULL;
	for (unsigned int i = 1;; i++) {
		/* what is found in files that are just being replaced is no finding */
		struct sonde_diagnostics *found = diagnostics ? sonde_diagnostics_new() : NULL;
		struct listing before = { 0 };

		list_files(path, &before, NULL);
		status = try_open(path, found, part, err);
		if (status == SONDE_NOMEM || i == OPEN_TRIES ||
		    !has_changed(path, *part ? (*part)->names_hash : before.hash)) {
			if (found)
				sonde_diagnostics_append(diagnostics, found);
			sonde_diagnostics_free(found);
			return status;
		}
		sonde_diagnostics_free(found);
		zts_part_free(*part);
		*part = NULL;
	}
}

/* What the new slots refer to: all of it was written before them. */
static enum sonde_status refresh_files(struct zts_part *part, struct sonde_error *err)
{
	enum sonde_status status = zts_chunks_refresh(&part->chunks, err);

	if (status >= 0)
		status = zts_texts_refresh(part->texts, err);
	if (status >= 0 && part->meta)
		status = zts_texts_refresh(part->meta, err);
	if (status >= 0 && !slots_fit(part, NULL))
		return SONDE_END;
	if (part->ns_key == UINT32_MAX)
		part->ns_key_known = false;
	return status < 0 ? status : zts_part_link_chunks(part, err);
}

/* Whether qmeta.idx can be read by now: a writer mended it, or began to write slots. */
static bool has_good_slots(const struct zts_part *part)
{
	char *path = sonde_path_join(part->path, ZTS_QMETA_NAME);
	struct zts_slots slots = { 0 };
	bool is_good = false;

	if (path)
		is_good = zts_slots_read(&slots, path, NULL, NULL) == SONDE_OK && slots.used &&
			  slots.used != part->slots.used;
	zts_slots_release(&slots);
	free(path);
	return is_good;
}

/* A part whose metadata was made anew: new data or new files mean that it must be made again. */
static enum sonde_status refresh_rebuilt(struct zts_part *part, const struct listing *listing,
					 struct sonde_error *err)
{
	size_t size = part->chunks.file.size;
	enum sonde_status status;

	if (listing->hash != part->names_hash || (listing->has_qmeta && has_good_slots(part)))
		return SONDE_END;
	status = zts_chunks_refresh(&part->chunks, err);
	return status < 0 || part->chunks.file.size == size ? status : SONDE_END;
}

enum sonde_status zts_part_refresh(struct zts_part *part, struct sonde_error *err)
{
	size_t before = part->slots.list.count;
	struct listing listing;
	enum sonde_status status = list_files(part->path, &listing, err);
	bool damaged = false, same_names;

	if (status < 0)
		return status;
	if (part->is_rebuilt)
		return refresh_rebuilt(part, &listing, err);
	if (!listing.has_qmeta || (!part->meta && listing.has_meta_index))
		return SONDE_END;
	same_names = listing.hash == part->names_hash;
	if (!same_names)
		status = read_props(part, NULL, err);
	if (status >= 0)
		status = read_slots(part, NULL, &damaged, err);
	if (status < 0)
		return status;
	part->names_hash = listing.hash;
	if (damaged)
		return SONDE_END;
	if (same_names && part->slots.list.count == before)
		return SONDE_OK;
	return refresh_files(part, err);
}
