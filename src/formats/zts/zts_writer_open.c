/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Going on with a part. What was synced is kept, what a killed writer left behind it goes: chunks
 * and postings without a slot were never acknowledged, an entry cut short was never referred to.
 * A part with anything else wrong is left alone (SONDE_UNSUPPORTED): damage is not written over.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/crc.h"
#include "base/file.h"
#include "formats/zts/zts_chunks.h"
#include "formats/zts/zts_findings.h"
#include "formats/zts/zts_wal.h"
#include "formats/zts/zts_writer_private.h"

#define SLOT_SIZE 96

struct opening {
	struct zts_writer *writer;
	struct sonde_diagnostics *diagnostics;
	struct sonde_folder names;
	struct sonde_buffer scratch;
};

static enum sonde_status refuse(struct sonde_error *err, const char *file, const char *why)
{
	sonde_fail(err, SONDE_UNSUPPORTED, SONDE_NO_OFFSET, "%s; a new part has to be begun", why);
	sonde_error_set_file(err, file);
	return SONDE_UNSUPPORTED;
}

static enum sonde_status examine_props(const struct opening *opening, struct sonde_error *err)
{
	const char *folder = opening->writer->folder;
	struct zts_props props = { 0 };
	enum sonde_status status = zts_props_read(&props, folder, err);
	uint64_t flags = 0, names = 0;

	if (status < 0)
		return status;
	zts_props_number(&props, "store.iflags", &flags);
	zts_props_number(&props, ZTS_PROPS_NAMES, &names);
	zts_props_release(&props);
	if (flags & ZTS_PROPS_ARCHIVED)
		return refuse(err, folder, "the part is archived");
	if (names != 1)
		return refuse(err, folder, "the part is of another program");
	return SONDE_OK;
}

/* Files of an archiving that was interrupted; made anew by the next one. */
static enum sonde_status examine_names(const struct opening *opening, struct sonde_error *err)
{
	for (size_t i = 0; i < opening->names.count; i++) {
		const char *name = opening->names.names[i], *dot = strrchr(name, '.');

		if (dot && !strcmp(dot, ".fmi"))
			return refuse(err, name, "the part is being archived");
		if (name[0] == '.' && dot && !strcmp(dot, ".partial"))
			unlinkat(opening->writer->folder_fd, name, 0);
	}
	return SONDE_OK;
}

static enum sonde_status map_in(const struct opening *opening, const char *name,
				struct sonde_mapped_file *file, struct sonde_error *err)
{
	int fd = openat(opening->writer->folder_fd, name, O_RDONLY | O_CLOEXEC);
	enum sonde_status status;

	if (fd < 0)
		return sonde_fail_errno(err, name, "cannot be opened");
	status = sonde_mapped_file_of(file, fd, name, err);
	close(fd);
	return status;
}

/* A WAL file goes on where its whole entries end; others keep seeing the file they have mapped. */
static enum sonde_status go_on_with(const struct opening *opening, struct zts_wal_out *wal,
				    const char *name, const struct sonde_mapped_file *file,
				    size_t used, struct sonde_error *err)
{
	struct zts_writer *writer = opening->writer;
	enum sonde_status status = SONDE_OK;

	if (used < 4)
		status = zts_file_replace(writer->folder, name, ZTS_WAL_MAGIC, 4, err);
	else if (used < file->size)
		status = zts_file_replace(writer->folder, name, file->data, used, err);
	if (status < 0)
		return status;
	wal->file.fd = openat(writer->folder_fd, name, O_RDWR | O_CLOEXEC);
	if (wal->file.fd < 0)
		return sonde_fail_errno(err, name, "cannot be opened");
	wal->file.size = used < 4 ? 4 : used;
	wal->file.is_dirty = writer->folder_is_dirty = true;
	return SONDE_OK;
}

/*
 * Whether the bytes from `from` on are all zero: room that other programs keep, or a size without
 * data.
 */
static bool only_zeros(const struct sonde_mapped_file *file, size_t from)
{
	for (size_t i = from; i < file->size; i++)
		if (file->data[i])
			return false;
	return true;
}

/* Every entry of a WAL in turn; *used is where the whole ones end. */
typedef bool entry_found(struct opening *opening, const struct zts_wal_entry *entry, bool *stop);
static enum sonde_status walk_wal(struct opening *opening, const char *name,
				  const struct sonde_mapped_file *file, uint32_t *next_id,
				  entry_found *found, size_t *used, struct sonde_error *err)
{
	struct zts_wal_entry entry;
	enum sonde_status status;
	bool stop = false;

	*used = 0;
	if (!file->data)
		return SONDE_OK;
	if (file->size < 4)
		return only_zeros(file, 0) || !memcmp(file->data, ZTS_WAL_MAGIC, file->size) ?
			       SONDE_OK :
			       refuse(err, name, "a WAL does not start like one");
	if (memcmp(file->data, ZTS_WAL_MAGIC, 4))
		return only_zeros(file, 0) ? SONDE_OK :
					     refuse(err, name, "a WAL does not start like one");
	for (*used = 4;; *used = entry.next) {
		status = zts_wal_at(file->data, file->size, *used, &entry, err);
		if (status == SONDE_CORRUPT)
			return refuse(err, name, "an entry of a WAL is damaged");
		if (status == SONDE_TRUNCATED) {
			zts_found(opening->diagnostics, WAL_CUT, name, *used,
				  "a whole entry\tpart of one");
			return SONDE_OK;
		}
		if (status == SONDE_END)
			return only_zeros(file, *used) ?
				       SONDE_OK :
				       refuse(err, name, "bytes behind the entries of a WAL");
		if (status < 0)
			return status;
		if (entry.id != *next_id)
			return refuse(err, name, "ids of a WAL have a gap");
		if (!found(opening, &entry, &stop))
			return sonde_fail_nomem(err);
		if (stop)
			return SONDE_OK;
		++*next_id;
	}
}

static bool load_text(struct opening *opening, const struct zts_wal_entry *entry, bool *stop)
{
	const char *text = (const char *)entry->text;
	size_t size = entry->size;

	*stop = false;
	if (zts_wal_is_escaped(entry->text, entry->size)) {
		sonde_buffer_clear(&opening->scratch);
		zts_wal_unescape(entry->text, entry->size, &opening->scratch);
		if (opening->scratch.failed)
			return false;
		text = opening->scratch.data;
		size = opening->scratch.size;
	}
	return zts_interner_load(&opening->writer->texts, text, size);
}

/* One WAL of texts; the last one is gone on with. */
static enum sonde_status open_text_wal(struct opening *opening, const struct zts_wal_name *wal,
				       bool is_last, uint32_t *next_id, struct sonde_error *err)
{
	struct zts_wal_out *out = &opening->writer->text_wal;
	struct sonde_mapped_file file = { 0 };
	enum sonde_status status;
	size_t used = 0;

	if (wal->first_id != *next_id)
		return refuse(err, wal->name, "ids of the texts have a gap");
	status = map_in(opening, wal->name, &file, err);
	if (status >= 0)
		status = walk_wal(opening, wal->name, &file, next_id, load_text, &used, err);
	if (status >= 0 && is_last)
		status = go_on_with(opening, out, wal->name, &file, used, err);
	else if (status >= 0 && !only_zeros(&file, used))
		status = refuse(err, wal->name, "a WAL before the last one is cut short");
	else
		out->finished_bytes += file.size;
	sonde_mapped_file_release(&file);
	return status;
}

static enum sonde_status open_texts(struct opening *opening, struct sonde_error *err)
{
	struct zts_writer *writer = opening->writer;
	struct zts_wal_names wals = { 0 };
	enum sonde_status status = zts_wal_names_find(&wals, &opening->names, "text", err);
	uint32_t next_id = 1;

	for (size_t i = 0; i < wals.list.count && status >= 0; i++)
		status = open_text_wal(opening, &wals.list.items[i], i + 1 == wals.list.count,
				       &next_id, err);
	sonde_vec_release(&wals.list);
	if (writer->index.id_limit < next_id)
		writer->index.id_limit = 2 * next_id;
	if (status >= 0 && writer->text_wal.file.fd < 0)
		status = refuse(err, writer->folder, "the texts are missing");
	return status;
}

/* Ends at the first entry of a slot that is not published. */
static bool look_at_posting(struct opening *opening, const struct zts_wal_entry *entry, bool *stop)
{
	const uint8_t *mark = memchr(entry->text, ZTS_META_SLOT_MARK, entry->size);
	uint32_t slot;

	if (!entry->size || entry->text[0] == ZTS_META_DEEP || entry->text[0] == ZTS_META_SHALLOW)
		return true;
	*stop = mark && zts_id_parse(entry->text, (size_t)(mark - entry->text), &slot) &&
		slot >= opening->writer->slot_count;
	return true;
}

/* One WAL of postings, the last that has any, is gone on with; one without goes. */
static enum sonde_status open_meta_wal(struct opening *opening, const struct zts_wal_name *wal,
				       struct sonde_error *err)
{
	struct zts_writer *writer = opening->writer;
	struct sonde_mapped_file file = { 0 };
	enum sonde_status status = map_in(opening, wal->name, &file, err);
	size_t used = 0;

	if (status >= 0 && writer->meta_wal.file.fd >= 0) {
		writer->meta_wal.finished_bytes += file.size;
		sonde_mapped_file_release(&file);
		return SONDE_OK;
	}
	writer->next_meta_id = wal->first_id;
	if (status >= 0)
		status = walk_wal(opening, wal->name, &file, &writer->next_meta_id, look_at_posting,
				  &used, err);
	if (status >= 0 && used <= 4 && wal->first_id != 1)
		unlinkat(writer->folder_fd, wal->name, 0);
	else if (status >= 0)
		status = go_on_with(opening, &writer->meta_wal, wal->name, &file, used, err);
	sonde_mapped_file_release(&file);
	return status;
}

/*
 * Postings of slots that were not published go: their numbers are given anew. Files from the last
 * to the first, until one has something to keep.
 */
static enum sonde_status open_meta(struct opening *opening, struct sonde_error *err)
{
	struct zts_wal_names wals = { 0 };
	enum sonde_status status = zts_wal_names_find(&wals, &opening->names, "meta", err);

	for (size_t i = wals.list.count; i-- > 0 && status >= 0;)
		status = open_meta_wal(opening, &wals.list.items[i], err);
	sonde_vec_release(&wals.list);
	if (status >= 0 && opening->writer->meta_wal.file.fd < 0)
		status = refuse(err, opening->writer->folder, "the metadata is missing");
	return status;
}

static bool is_zero_slot(const struct zts_slot *slot)
{
	return !slot->data_offset && !slot->flags && !slot->records;
}

/* The slots that are published. */
static enum sonde_status open_slots(struct opening *opening, struct zts_slots *slots,
				    struct sonde_error *err)
{
	struct zts_writer *writer = opening->writer;
	char *path = sonde_path_join(writer->folder, ZTS_QMETA_NAME);
	enum sonde_status status;

	if (!path)
		return sonde_fail_nomem(err);
	status = zts_slots_read(slots, path, opening->diagnostics, err);
	free(path);
	if (status == SONDE_CORRUPT || status == SONDE_TRUNCATED || status == SONDE_FORMAT)
		return refuse(err, ZTS_QMETA_NAME, "the list of traces is damaged");
	if (status < 0)
		return status;
	if (slots->list.count && slots->generation != 1)
		return refuse(err, ZTS_QMETA_NAME, "the part is of generation 0");
	/* Its header may have come to the disk before its slots did, before the power failed. */
	while (slots->list.count && is_zero_slot(&slots->list.items[slots->list.count - 1]))
		slots->list.count--;
	writer->slots.fd = openat(writer->folder_fd, ZTS_QMETA_NAME, O_RDWR | O_CLOEXEC);
	if (writer->slots.fd < 0)
		return sonde_fail_errno(err, ZTS_QMETA_NAME, "cannot be opened");
	writer->slot_count = (uint32_t)slots->list.count;
	writer->slots.size = ZTS_QMETA_HEADER_SIZE + slots->list.count * SLOT_SIZE;
	writer->first_tstart = slots->first_tstart;
	writer->last_tstop = slots->last_tstop;
	for (size_t i = 0; i < slots->list.count; i++) {
		const struct zts_slot *slot = &slots->list.items[i];
		uint32_t seconds = (uint32_t)(slot->start_ns / 1000000000);

		if (!writer->first_seconds || (seconds && seconds < writer->first_seconds))
			writer->first_seconds = seconds;
		zts_writer_mark_name(writer, slot->app);
		zts_writer_mark_name(writer, slot->env);
		zts_writer_mark_name(writer, slot->host);
		zts_writer_mark_name(writer, slot->type);
	}
	return SONDE_OK;
}

/* Where the last chunk ends that a slot refers to. */
static enum sonde_status find_data_end(const struct zts_chunks *chunks,
				       const struct zts_slots *slots, uint64_t *end,
				       struct sonde_error *err)
{
	uint64_t last = 0;
	struct zts_chunk chunk;
	const uint8_t *stored;

	*end = ZTS_DATA_HEADER_SIZE;
	for (size_t i = 0; i < slots->list.count; i++)
		if (slots->list.items[i].data_offset > last)
			last = slots->list.items[i].data_offset;
	if (!last)
		return SONDE_OK;
	if (zts_chunks_at(chunks, last, &chunk, err) != SONDE_OK ||
	    zts_chunk_next(&chunk) > chunks->file.size)
		return refuse(err, ZTS_DATA_NAME, "the last chunk is missing");
	stored = chunks->file.data + last + ZTS_CHUNK_HEADER_SIZE;
	if (sonde_crc32(0, stored, chunk.stored_size) != chunk.crc)
		return refuse(err, ZTS_DATA_NAME, "the last chunk is damaged");
	*end = zts_chunk_next(&chunk);
	return SONDE_OK;
}

static enum sonde_status open_data(struct opening *opening, const struct zts_slots *slots,
				   bool *is_longer, struct sonde_error *err)
{
	struct zts_writer *writer = opening->writer;
	char *path = sonde_path_join(writer->folder, ZTS_DATA_NAME);
	struct zts_chunks chunks = { 0 };
	enum sonde_status status;

	if (!path)
		return sonde_fail_nomem(err);
	status = zts_chunks_open(&chunks, path, err);
	free(path);
	if (status < 0)
		return status == SONDE_NOMEM ? status :
					       refuse(err, ZTS_DATA_NAME, "traces.dat is damaged");
	writer->codec = chunks.codec;
	status = find_data_end(&chunks, slots, &writer->data.size, err);
	*is_longer = writer->data.size < chunks.file.size;
	if (status >= 0 && !chunks.has_crc)
		status = refuse(err, ZTS_DATA_NAME, "the part has no checksums");
	if (status >= 0 && *is_longer)
		zts_found(opening->diagnostics, CHUNK_CUT, ZTS_DATA_NAME, writer->data.size,
			  "the end of the last trace\t%zu bytes of one never acknowledged",
			  chunks.file.size - (size_t)writer->data.size);
	zts_chunks_release(&chunks);
	if (status < 0)
		return status;
	writer->data.fd = openat(writer->folder_fd, ZTS_DATA_NAME, O_RDWR | O_CLOEXEC);
	if (writer->data.fd < 0)
		return sonde_fail_errno(err, ZTS_DATA_NAME, "cannot be opened");
	return SONDE_OK;
}

/* Whether all that slots refer to is there, before anything is cut. */
static enum sonde_status examine_slots(const struct zts_writer *writer,
				       const struct zts_slots *slots, struct sonde_error *err)
{
	const struct zts_slot *last;

	if (!slots->list.count)
		return SONDE_OK;
	last = &slots->list.items[slots->list.count - 1];
	if ((last->deep_entry != UINT32_MAX && last->deep_entry >= writer->next_meta_id) ||
	    (last->shallow_entry != UINT32_MAX && last->shallow_entry >= writer->next_meta_id))
		return refuse(err, writer->folder, "the metadata of the last trace is missing");
	if (last->description >= zts_interner_end(&writer->texts))
		return refuse(err, writer->folder, "texts of the last trace are missing");
	return SONDE_OK;
}

static enum sonde_status open_all(struct opening *opening, struct zts_slots *slots,
				  struct sonde_error *err)
{
	struct zts_writer *writer = opening->writer;
	enum sonde_status status = zts_writer_open_folder(writer, err);
	bool is_longer = false;

	if (status >= 0)
		status = examine_props(opening, err);
	if (status >= 0)
		status = sonde_folder_read(&opening->names, writer->folder, err);
	if (status >= 0)
		status = examine_names(opening, err);
	if (status >= 0)
		status = open_slots(opening, slots, err);
	if (status >= 0)
		status = open_data(opening, slots, &is_longer, err);
	if (status >= 0)
		status = open_texts(opening, err);
	if (status >= 0)
		status = open_meta(opening, err);
	if (status >= 0)
		status = examine_slots(writer, slots, err);
	if (status >= 0 && is_longer && ftruncate(writer->data.fd, (off_t)writer->data.size))
		status = sonde_fail_errno(err, ZTS_DATA_NAME, "cannot be shortened");
	writer->data.is_dirty = is_longer;
	return status;
}

/* The header says what is published now. */
static enum sonde_status publish_slots(struct zts_writer *writer, struct sonde_error *err)
{
	uint8_t header[ZTS_QMETA_HEADER_SIZE];

	zts_put_qmeta_header(header, (uint32_t)writer->slots.size, writer->first_tstart,
			     writer->last_tstop);
	writer->slots.is_dirty = true;
	return zts_file_write_at(writer->slots.fd, ZTS_QMETA_NAME, header, sizeof(header), 0, err);
}

enum sonde_status zts_writer_open(const char *folder, struct zts_writer **writer,
				  struct sonde_diagnostics *diagnostics, struct sonde_error *err)
{
	struct opening opening = { .diagnostics = diagnostics };
	struct zts_slots slots = { 0 };
	enum sonde_status status;

	*writer = opening.writer = zts_writer_new(folder);
	if (!*writer)
		return sonde_fail_nomem(err);
	status = open_all(&opening, &slots, err);
	if (status >= 0)
		status = publish_slots(*writer, err);
	if (status >= 0)
		status = zts_writer_sync(*writer, err);
	zts_slots_release(&slots);
	sonde_folder_release(&opening.names);
	sonde_buffer_release(&opening.scratch);
	if (status < 0) {
		zts_writer_free(*writer);
		*writer = NULL;
	}
	return status;
}
