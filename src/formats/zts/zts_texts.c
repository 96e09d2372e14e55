/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text index of a store: its files, the text of an id, and what a writer adds. Searching is in
 * zts_texts_find.c, what texts mean in zts_texts_typed.c.
 */
#include <stdlib.h>

#include "formats/zts/zts_findings.h"
#include "formats/zts/zts_texts_private.h"

#define MAGIC_SIZE 4
/* How often a folder is read anew whose files vanish while it is read. */
#define VANISHED_TRIES 8

static void source_free(struct texts_source *source)
{
	if (!source)
		return;
	free(source->path);
	zts_fmi_free(source->fmi);
	sonde_mapped_file_release(&source->file);
	sonde_buffer_release(&source->unpacked);
	sonde_vec_release(&source->places);
	sonde_vec_release(&source->composed);
	free(source);
}

void zts_texts_free(struct zts_texts *texts)
{
	if (!texts)
		return;
	for (size_t i = 0; i < texts->sources.count; i++)
		source_free(texts->sources.items[i]);
	for (size_t i = 0; i < texts->retired.count; i++)
		sonde_mapped_file_release(&texts->retired.items[i]);
	sonde_vec_release(&texts->sources);
	sonde_vec_release(&texts->retired);
	sonde_vec_release(&texts->copies);
	sonde_key_map_release(&texts->copy_of);
	sonde_arena_release(&texts->arena);
	sonde_buffer_release(&texts->scratch);
	free(texts->folder);
	free(texts->prefix);
	free(texts);
}

/* "text-0000001f.wal", "text-00000001-0000055b.fmi": the prefix, numbers, and what follows. */
static bool is_named(const char *name, const char *prefix, const char *suffix)
{
	size_t length = strlen(name), start = strlen(prefix), end = strlen(suffix);

	if (length <= start + 1 + end || strncmp(name, prefix, start) != 0 || name[start] != '-' ||
	    strcmp(name + length - end, suffix) != 0)
		return false;
	start++;
	return strspn(name + start, "0123456789abcdefABCDEF-") == length - start - end;
}

static struct texts_source *source_new(const char *path)
{
	struct texts_source *source = calloc(1, sizeof(*source));
	const char *slash = strrchr(path, '/');

	if (!source)
		return NULL;
	source->path = strdup(path);
	if (!source->path) {
		free(source);
		return NULL;
	}
	source->name = slash ? source->path + (slash + 1 - path) : source->path;
	return source;
}

/* Keeps a source; FMIs come before WALs. Frees it where memory failed. */
static enum sonde_status keep_source(struct zts_texts *texts, struct texts_source *source,
				     struct sonde_error *err)
{
	size_t place = texts->sources.count;

	if (!sonde_vec_reserve(&texts->sources, 1)) {
		source_free(source);
		return sonde_fail_nomem(err);
	}
	texts->sources.count++;
	while (source->fmi && place && !texts->sources.items[place - 1]->fmi) {
		texts->sources.items[place] = texts->sources.items[place - 1];
		place--;
	}
	texts->sources.items[place] = source;
	if (source->end_id > texts->end_id)
		texts->end_id = source->end_id;
	return SONDE_OK;
}

/* Entries in the bytes of a WAL; a file that is empty yet has none. */
static enum sonde_status take_wal(struct texts_source *source,
				  struct sonde_diagnostics *diagnostics, struct sonde_error *err)
{
	size_t known = source->size < MAGIC_SIZE ? source->size : MAGIC_SIZE;

	if (source->size > UINT32_MAX)
		return sonde_fail(err, SONDE_LIMIT, SONDE_NO_OFFSET,
				  "a WAL of more than 4 GiB cannot be");
	if (known && memcmp(source->bytes, ZTS_WAL_MAGIC, known) != 0) {
		zts_found(diagnostics, WAL_MAGIC, source->path, 0, "WAL 03\tother bytes");
		return SONDE_OK;
	}
	if (source->size > ZTS_WAL_MAX_SIZE)
		zts_found(diagnostics, WAL_LONG, source->path, ZTS_WAL_MAX_SIZE,
			  "at most %u bytes\t%zu bytes", ZTS_WAL_MAX_SIZE, source->size);
	if (!source->parsed)
		source->parsed = MAGIC_SIZE;
	return texts_index_entries(source, diagnostics) ? SONDE_OK : sonde_fail_nomem(err);
}

static enum sonde_status open_wal(struct zts_texts *texts, const char *path,
				  struct sonde_diagnostics *diagnostics, struct sonde_error *err)
{
	struct texts_source *source = source_new(path);
	enum sonde_status status;

	if (!source)
		return sonde_fail_nomem(err);
	status = sonde_mapped_file_open_growing(&source->file, path, ZTS_WAL_MAX_SIZE, err);
	if (status == SONDE_OK) {
		source->bytes = source->file.data ? source->file.data : (const uint8_t *)"";
		source->size = source->file.size;
		status = take_wal(source, diagnostics, err);
	}
	if (status == SONDE_OK)
		return keep_source(texts, source, err);
	source_free(source);
	return status;
}

static enum sonde_status open_fmi(struct zts_texts *texts, const char *path,
				  struct sonde_diagnostics *diagnostics, struct sonde_error *err)
{
	struct texts_source *source = source_new(path);
	enum sonde_status status;

	if (!source)
		return sonde_fail_nomem(err);
	status = zts_fmi_open(path, &source->fmi, err);
	if (status == SONDE_OK) {
		if (!zts_fmi_header_is_whole(source->fmi))
			zts_found(diagnostics, FMI_DAMAGED, path, 24,
				  "the checksum of the header\tanother one");
		source->first_id = zts_fmi_first_id(source->fmi);
		source->end_id = source->first_id + zts_fmi_words(source->fmi);
		return keep_source(texts, source, err);
	}
	source_free(source);
	return status;
}

/* Nothing is known of what is in the file: it may be whole. */
static void note_unreadable(struct zts_texts *texts, const char *path,
			    const struct sonde_error *reason, struct sonde_diagnostics *diagnostics)
{
	zts_found(diagnostics, TEXT_UNREADABLE, path, SONDE_NO_OFFSET,
		  "a file that can be read\t%s", reason->message);
	if (texts->unreadable.status < 0)
		return;
	texts->unreadable = *reason;
	sonde_error_set_file(&texts->unreadable, path);
}

static enum sonde_status open_file(struct zts_texts *texts, const char *name,
				   struct sonde_diagnostics *diagnostics, struct sonde_error *err)
{
	bool is_fmi = is_named(name, texts->prefix, ".fmi");
	struct sonde_error own = { 0 };
	enum sonde_status status;
	char *path;

	if (!is_fmi && !is_named(name, texts->prefix, ".wal"))
		return SONDE_OK;
	path = sonde_path_join(texts->folder, name);
	if (!path)
		return sonde_fail_nomem(err);
	status = is_fmi ? open_fmi(texts, path, diagnostics, &own) :
			  open_wal(texts, path, diagnostics, &own);
	if (status == SONDE_NOMEM) {
		sonde_fail_nomem(err);
	} else if (status < 0) {
		/* A damaged file leaves its ids without texts. */
		if (is_fmi && status == SONDE_FORMAT)
			zts_found(diagnostics, FMI_MAGIC, path, 0, "0MFZ\tother bytes");
		else if (is_fmi && (status == SONDE_CORRUPT || status == SONDE_TRUNCATED))
			zts_found(diagnostics, FMI_DAMAGED, path, own.offset, "a sound index\t%s",
				  own.message);
		else if (sonde_path_kind(path) == SONDE_PATH_ABSENT)
			texts->vanished = true;
		else
			note_unreadable(texts, path, &own, diagnostics);
		status = SONDE_OK;
	}
	free(path);
	return status;
}

static bool is_open(const struct zts_texts *texts, const char *name)
{
	for (size_t i = 0; i < texts->sources.count; i++)
		if (!strcmp(texts->sources.items[i]->name, name))
			return true;
	return false;
}

static enum sonde_status open_listed(struct zts_texts *texts, struct sonde_diagnostics *diagnostics,
				     struct sonde_error *err)
{
	struct sonde_folder folder;
	enum sonde_status status = sonde_folder_read(&folder, texts->folder, err);

	if (status < 0)
		return status;
	for (size_t i = 0; status == SONDE_OK && i < folder.count; i++)
		if (!is_open(texts, folder.names[i]))
			status = open_file(texts, folder.names[i], diagnostics, err);
	sonde_folder_release(&folder);
	return status;
}

/* A WAL that goes while the folder is read was packed just then: its FMI is there now. */
static enum sonde_status open_files(struct zts_texts *texts, struct sonde_diagnostics *diagnostics,
				    struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;
	unsigned int tries = VANISHED_TRIES;

	do {
		texts->vanished = false;
		status = open_listed(texts, diagnostics, err);
	} while (status == SONDE_OK && texts->vanished && --tries);
	return status;
}

/* WALs whose ids are all in an FMI are not looked at any more. */
static void replace_wals(struct zts_texts *texts)
{
	for (size_t i = 0; i < texts->sources.count; i++) {
		struct texts_source *wal = texts->sources.items[i];

		for (size_t k = 0; !wal->fmi && wal->end_id && k < i; k++) {
			const struct texts_source *fmi = texts->sources.items[k];

			if (fmi->fmi && fmi->first_id <= wal->first_id &&
			    fmi->end_id >= wal->end_id)
				wal->replaced = true;
		}
	}
}

enum sonde_status zts_texts_open(const char *folder, const char *prefix,
				 struct sonde_diagnostics *diagnostics, struct zts_texts **texts,
				 struct sonde_error *err)
{
	struct zts_texts *opened = calloc(1, sizeof(*opened));
	enum sonde_status status;

	*texts = NULL;
	if (!opened)
		return sonde_fail_nomem(err);
	opened->folder = strdup(folder);
	opened->prefix = strdup(prefix);
	if (opened->folder && opened->prefix)
		status = open_files(opened, diagnostics, err);
	else
		status = sonde_fail_nomem(err);
	if (status < 0) {
		zts_texts_free(opened);
		return status;
	}
	replace_wals(opened);
	*texts = opened;
	return SONDE_OK;
}

enum sonde_status zts_texts_of(const uint8_t *wal, size_t size, struct zts_texts **texts,
			       struct sonde_error *err)
{
	struct zts_texts *opened = calloc(1, sizeof(*opened));
	struct texts_source *source = source_new("memory");
	enum sonde_status status;

	*texts = NULL;
	if (!opened || !source) {
		free(opened);
		source_free(source);
		return sonde_fail_nomem(err);
	}
	source->bytes = wal ? wal : (const uint8_t *)"";
	source->size = size;
	status = take_wal(source, NULL, err);
	if (status == SONDE_OK)
		status = keep_source(opened, source, err);
	else
		source_free(source);
	if (status == SONDE_OK)
		*texts = opened;
	else
		zts_texts_free(opened);
	return status;
}

/* Maps a WAL anew; the old mapping stays for what was borrowed. */
static enum sonde_status map_anew(struct zts_texts *texts, struct texts_source *source,
				  struct sonde_error *err)
{
	struct sonde_mapped_file file = { 0 };
	enum sonde_status status;

	if (!sonde_vec_reserve(&texts->retired, 1))
		return sonde_fail_nomem(err);
	status = sonde_mapped_file_open_growing(&file, source->path, ZTS_WAL_MAX_SIZE, NULL);
	if (status == SONDE_NOMEM)
		return sonde_fail_nomem(err);
	if (status != SONDE_OK || file.size <= source->size) {
		sonde_mapped_file_release(&file);
		return SONDE_OK;
	}
	texts->retired.items[texts->retired.count++] = source->file;
	source->file = file;
	return SONDE_OK;
}

/* Takes what was appended to a WAL. */
static enum sonde_status grow_wal(struct zts_texts *texts, struct texts_source *source,
				  struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	if (!sonde_mapped_file_grow(&source->file, source->path))
		status = map_anew(texts, source, err);
	if (status < 0)
		return status;
	if (source->file.data)
		source->bytes = source->file.data;
	source->size = source->file.size;
	status = take_wal(source, NULL, err);
	if (source->end_id > texts->end_id)
		texts->end_id = source->end_id;
	return status;
}

enum sonde_status zts_texts_refresh(struct zts_texts *texts, struct sonde_error *err)
{
	enum sonde_status status;

	if (!texts->folder)
		return SONDE_OK;
	for (size_t i = 0; i < texts->sources.count; i++) {
		struct texts_source *source = texts->sources.items[i];

		if (source->fmi || source->replaced)
			continue;
		status = grow_wal(texts, source, err);
		if (status < 0)
			return status;
	}
	status = open_files(texts, NULL, err);
	if (status == SONDE_OK)
		replace_wals(texts);
	return status;
}

enum sonde_status zts_texts_all_readable(const struct zts_texts *texts, struct sonde_error *err)
{
	if (texts->unreadable.status < 0 && err)
		*err = texts->unreadable;
	return texts->unreadable.status;
}

bool zts_texts_failed(struct zts_texts *texts)
{
	bool failed = texts->failed;

	texts->failed = false;
	return failed;
}

void zts_texts_set_failed(struct zts_texts *texts)
{
	texts->failed = true;
}

uint32_t zts_texts_end(const struct zts_texts *texts)
{
	return texts->end_id;
}

uint32_t zts_texts_next(const struct zts_texts *texts, uint32_t from)
{
	uint32_t next = texts->end_id;

	for (size_t i = 0; i < texts->sources.count; i++) {
		const struct texts_source *source = texts->sources.items[i];
		uint32_t first = source->first_id > from ? source->first_id : from;

		if (first < source->end_id && first < next)
			next = first;
	}
	return next;
}

/* Keeps a copy of a text under its id. */
static enum sonde_status keep_copy(struct zts_texts *texts, uint32_t id,
				   const struct sonde_buffer *plain, struct sonde_error *err)
{
	char *copy =
		sonde_arena_copy_text(&texts->arena, plain->size ? plain->data : "", plain->size);

	if (plain->failed || !copy || !sonde_vec_reserve(&texts->copies, 1) ||
	    texts->copies.count >= UINT32_MAX - 1 ||
	    !sonde_key_map_add(&texts->copy_of, id, (uint32_t)texts->copies.count))
		return sonde_fail_nomem(err);
	texts->copies.items[texts->copies.count++] =
		(struct texts_copy){ .text = copy, .size = plain->size };
	return SONDE_OK;
}

/* From the bytes of a WAL. SONDE_END: it has no entry for the id. */
static enum sonde_status get_entry(struct zts_texts *texts, const struct texts_source *source,
				   uint32_t id, const char **text, size_t *size,
				   struct sonde_error *err)
{
	uint32_t place = source->places.items[id - source->first_id];
	struct zts_wal_entry entry;
	enum sonde_status status;

	/* Another id: the file was replaced meanwhile. */
	if (!place || zts_wal_at(source->bytes, source->size, place, &entry, NULL) != SONDE_OK ||
	    entry.id != id)
		return SONDE_END;
	if (!zts_wal_is_escaped(entry.text, entry.size)) {
		*text = (const char *)entry.text;
		*size = entry.size;
		return SONDE_OK;
	}
	sonde_buffer_clear(&texts->scratch);
	zts_wal_unescape(entry.text, entry.size, &texts->scratch);
	status = keep_copy(texts, id, &texts->scratch, err);
	if (status == SONDE_OK) {
		*text = texts->copies.items[texts->copies.count - 1].text;
		*size = texts->scratch.size;
	}
	return status;
}

/* When so many of an FMI's texts were asked for, one by one takes longer than all at once. */
#define UNPACK_SHARE 4
#define UNPACK_SMALLEST 64

static enum sonde_status get_extracted(struct zts_texts *texts, struct texts_source *source,
				       uint32_t id, const char **text, size_t *size,
				       struct sonde_error *err)
{
	struct sonde_buffer *scratch = &texts->scratch;
	enum sonde_status status;
	size_t raw_size;

	sonde_buffer_clear(scratch);
	status = zts_fmi_text(source->fmi, id, scratch, err);
	if (status != SONDE_OK)
		return status == SONDE_NOMEM ? status : SONDE_END;
	source->asked++;
	raw_size = scratch->size;
	if (zts_wal_is_escaped((const uint8_t *)scratch->data, raw_size)) {
		struct sonde_buffer plain = { 0 };

		zts_wal_unescape((const uint8_t *)scratch->data, raw_size, &plain);
		status = keep_copy(texts, id, &plain, err);
		sonde_buffer_release(&plain);
	} else {
		status = keep_copy(texts, id, scratch, err);
	}
	if (status == SONDE_OK) {
		*text = texts->copies.items[texts->copies.count - 1].text;
		*size = texts->copies.items[texts->copies.count - 1].size;
	}
	return status;
}

static enum sonde_status get_from(struct zts_texts *texts, struct texts_source *source, uint32_t id,
				  const char **text, size_t *size, struct sonde_error *err)
{
	if (!texts_has_entries(source) && source->asked > UNPACK_SMALLEST &&
	    source->asked > (source->end_id - source->first_id) / UNPACK_SHARE &&
	    texts_unpack(source, err) == SONDE_NOMEM)
		return SONDE_NOMEM;
	if (texts_has_entries(source))
		return get_entry(texts, source, id, text, size, err);
	return get_extracted(texts, source, id, text, size, err);
}

enum sonde_status zts_texts_get(struct zts_texts *texts, uint32_t id, const char **text,
				size_t *size, struct sonde_error *err)
{
	uint32_t copy;

	*text = "";
	*size = 0;
	if (id >= texts->end_id)
		return SONDE_END;
	copy = sonde_key_map_find(&texts->copy_of, id);
	if (copy != UINT32_MAX) {
		*text = texts->copies.items[copy].text;
		*size = texts->copies.items[copy].size;
		return SONDE_OK;
	}
	for (size_t i = 0; i < texts->sources.count; i++) {
		struct texts_source *source = texts->sources.items[i];
		enum sonde_status status;

		if (id < source->first_id || id >= source->end_id)
			continue;
		status = get_from(texts, source, id, text, size, err);
		texts->failed |= status == SONDE_NOMEM;
		if (status != SONDE_END)
			return status;
	}
	return SONDE_END;
}
