/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The writer of a part: its files, and traces that are appended whole. Records are written in
 * zts_writer_record.c, texts interned in zts_writer_texts.c; going on after a crash is in
 * zts_writer_open.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sonde/definitions.h>

#include "base/crc.h"
#include "base/file.h"
#include "formats/zts/zts_chunks.h"
#include "formats/zts/zts_wal.h"
#include "formats/zts/zts_writer_private.h"

#define SLOT_SIZE ((size_t)ZTS_QMETA_SLOT_WORDS * 8)
#define CHUNK_SIZE ((size_t)16 << 20)
#define WRITE_OUT_SIZE ((size_t)1 << 20) /* so much is collected before it is written */
#define FIRST_ID_LIMIT 65536		 /* of zts_index, which makes tables up to it at a time */
#define INDEX_BYTES_PER_TEXT 12		 /* what zts_index marks texts with */
#define CONTENT_KEPT ((size_t)1 << 20)	 /* memory kept from trace to trace */

enum sonde_status zts_writer_fail(struct zts_writer *writer, const struct sonde_error *err)
{
	if (writer->failure.status >= 0)
		writer->failure = *err;
	return writer->failure.status;
}

enum sonde_status zts_writer_fail_nomem(struct zts_writer *writer)
{
	struct sonde_error err;

	sonde_fail_nomem(&err);
	return zts_writer_fail(writer, &err);
}

enum sonde_status zts_writer_failed(const struct zts_writer *writer, struct sonde_error *err)
{
	if (writer->failure.status < 0 && err)
		*err = writer->failure;
	return writer->failure.status;
}

static bool text_of(void *context, uint32_t id, const char **text, size_t *size)
{
	const struct zts_interner *interner = &((struct zts_writer *)context)->texts;

	if (!id || id >= interner->texts.count)
		return false;
	*text = interner->texts.items[id].bytes;
	*size = interner->texts.items[id].size;
	return true;
}

struct zts_writer *zts_writer_new(const char *folder)
{
	struct zts_writer *writer = calloc(1, sizeof(*writer));

	if (!writer)
		return NULL;
	writer->folder = strdup(folder);
	if (!writer->folder) {
		free(writer);
		return NULL;
	}
	zts_interner_init(&writer->texts);
	writer->folder_fd = -1;
	writer->data.fd = writer->slots.fd = -1;
	writer->text_wal = (struct zts_wal_out){ .prefix = "text", .file.fd = -1 };
	writer->meta_wal = (struct zts_wal_out){ .prefix = "meta", .file.fd = -1 };
	writer->next_meta_id = 1;
	writer->chunk_size = CHUNK_SIZE;
	writer->slots.size = ZTS_QMETA_HEADER_SIZE;
	writer->index.ended = zts_writer_trace_ended;
	writer->index.text = text_of;
	writer->index.context = writer;
	writer->index.id_limit = FIRST_ID_LIMIT;
	return writer;
}

static void release_file(struct zts_grown *file)
{
	if (file->fd >= 0)
		close(file->fd);
	sonde_buffer_release(&file->pending);
}

void zts_writer_free(struct zts_writer *writer)
{
	if (!writer)
		return;
	release_file(&writer->text_wal.file);
	release_file(&writer->meta_wal.file);
	release_file(&writer->data);
	release_file(&writer->slots);
	for (size_t i = 0; i < writer->retired.count; i++)
		close(writer->retired.items[i]);
	sonde_vec_release(&writer->retired);
	if (writer->folder_fd >= 0)
		close(writer->folder_fd);
	sonde_codec_state_release(&writer->codec_state);
	zts_interner_release(&writer->texts);
	sonde_buffer_release(&writer->content);
	sonde_buffer_release(&writer->pairs);
	sonde_vec_release(&writer->open);
	sonde_vec_release(&writer->open_traces);
	zts_index_release(&writer->index);
	sonde_buffer_release(&writer->trace_meta);
	sonde_vec_release(&writer->trace_slots);
	free(writer->folder);
	free(writer);
}

enum sonde_status zts_writer_open_folder(struct zts_writer *writer, struct sonde_error *err)
{
	writer->folder_fd = open(writer->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (writer->folder_fd < 0)
		return sonde_fail_errno(err, writer->folder, "cannot be opened");
	return SONDE_OK;
}

static enum sonde_status create_file(struct zts_writer *writer, struct zts_grown *file,
				     const char *name, const void *header, size_t size,
				     struct sonde_error *err)
{
	enum sonde_status status;

	file->fd = openat(writer->folder_fd, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (file->fd < 0)
		return sonde_fail_errno(err, name, "cannot be made");
	status = zts_file_write_at(file->fd, name, header, size, 0, err);
	file->size = size;
	file->is_dirty = true;
	return status;
}

static uint32_t codec_flags(enum sonde_codec codec)
{
	switch (codec) {
	case SONDE_CODEC_DEFLATE:
		return ZTS_FLAG_CODEC_ZLIB;
	case SONDE_CODEC_LZ4:
		return ZTS_FLAG_CODEC_LZ4;
	case SONDE_CODEC_ZSTD: /* stores do not have it */
	case SONDE_CODEC_NONE:
		break;
	}
	return 0;
}

static enum sonde_status create_props(const struct zts_writer *writer, const char *lines,
				      struct sonde_error *err)
{
	static const char defaults[] = "store.rotate.max-size=16\n"
				       "store.rotate.max-num=16\n";
	struct zts_props props = { 0 };
	enum sonde_status status;

	sonde_buffer_put_text(&props.text, lines ? lines : defaults);
	zts_props_set(&props, "store.iflags", "0");
	zts_props_set(&props, "store.dflags", "0");
	zts_props_set(&props, ZTS_PROPS_NAMES, "1");
	status = props.text.failed ? sonde_fail_nomem(err) :
				     zts_props_write(&props, writer->folder, err);
	zts_props_release(&props);
	return status;
}

/* All files of an empty part. */
static enum sonde_status create_files(struct zts_writer *writer,
				      const struct zts_writer_options *options,
				      struct sonde_error *err)
{
	uint8_t data_header[ZTS_DATA_HEADER_SIZE], slots_header[ZTS_QMETA_HEADER_SIZE];
	enum sonde_status status = zts_writer_open_folder(writer, err);

	zts_put_data_header(data_header, codec_flags(options->codec) | ZTS_FLAG_CRC);
	zts_put_qmeta_header(slots_header, ZTS_QMETA_HEADER_SIZE, 0, 0);
	if (status >= 0)
		status = create_file(writer, &writer->data, ZTS_DATA_NAME, data_header,
				     sizeof(data_header), err);
	if (status >= 0)
		status = zts_wal_out_begin(writer, &writer->text_wal, 1, err);
	if (status >= 0)
		status = zts_wal_out_begin(writer, &writer->meta_wal, 1, err);
	if (status >= 0)
		status = create_file(writer, &writer->slots, ZTS_QMETA_NAME, slots_header,
				     sizeof(slots_header), err);
	if (status >= 0)
		status = create_props(writer, options->props, err);
	return status;
}

/* Gives the folder its name, and makes sure that it stays. */
static enum sonde_status publish_folder(struct zts_writer *writer, const char *folder,
					struct sonde_error *err)
{
	enum sonde_status status = zts_writer_sync(writer, err);
	char *path = strdup(folder), *around = NULL;

	if (status >= 0)
		around = path ? sonde_path_join(folder, "..") : NULL;
	if (status >= 0 && !around)
		status = sonde_fail_nomem(err);
	if (status >= 0 && rename(writer->folder, folder))
		status = sonde_fail_errno(err, folder, "cannot be made");
	if (status >= 0) {
		free(writer->folder);
		writer->folder = path;
		path = NULL;
		status = zts_folder_sync(around, err);
	}
	free(path);
	free(around);
	return status;
}

/* The name under which a part is made before it has its own: "<around>/.<name>.partial". */
static char *partial_name(const char *folder)
{
	const char *slash = strrchr(folder, '/');
	size_t around = slash ? (size_t)(slash - folder) + 1 : 0;
	struct sonde_buffer name = { 0 };

	sonde_buffer_put(&name, folder, around);
	sonde_buffer_put_format(&name, ".%s.partial", folder + around);
	if (!sonde_buffer_text(&name))
		sonde_buffer_release(&name);
	return name.data;
}

enum sonde_status zts_writer_create(const char *folder, const struct zts_writer_options *options,
				    struct zts_writer **writer, struct sonde_error *err)
{
	char *partial = partial_name(folder);
	enum sonde_status status;

	*writer = partial ? zts_writer_new(partial) : NULL;
	if (!*writer) {
		free(partial);
		return sonde_fail_nomem(err);
	}
	(*writer)->codec = options->codec;
	(*writer)->min_duration_ns = options->min_duration_ns;
	if (options->chunk_size)
		(*writer)->chunk_size = options->chunk_size;
	sonde_path_remove(partial);
	if (mkdir(partial, 0777))
		status = sonde_fail_errno(err, partial, "cannot be made");
	else if (sonde_path_kind(folder) != SONDE_PATH_ABSENT)
		status = sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
				    "there is something already; a new part needs a new folder");
	else
		status = create_files(*writer, options, err);
	if (status >= 0)
		status = publish_folder(*writer, folder, err);
	if (status < 0) {
		if (err)
			sonde_error_set_file(err, folder);
		/* Under whichever name it is now. */
		sonde_path_remove((*writer)->folder);
		zts_writer_free(*writer);
		*writer = NULL;
	}
	free(partial);
	return status;
}

void zts_writer_set_min_duration(struct zts_writer *writer, uint64_t min_duration_ns)
{
	writer->min_duration_ns = min_duration_ns;
}

enum sonde_status zts_writer_close(struct zts_writer *writer, struct sonde_error *err)
{
	enum sonde_status status;

	if (!writer)
		return SONDE_OK;
	zts_writer_abandon_trace(writer);
	status = zts_writer_sync(writer, err);
	zts_writer_free(writer);
	return status;
}

/* Nothing of a trace, memory kept. */
static void clear_trace(struct zts_writer *writer)
{
	writer->in_trace = writer->has_ended = writer->is_short = writer->has_high_name = false;
	writer->fault = NULL;
	writer->open.count = writer->open_traces.count = 0;
	writer->trace = SONDE_NONE;
	writer->pair_count = writer->chunk_number = 0;
	writer->trace_slots.count = 0;
	writer->stop = writer->trace_records = 0;
	if (writer->content.capacity > CONTENT_KEPT)
		sonde_buffer_release(&writer->content);
	if (writer->pairs.capacity > CONTENT_KEPT)
		sonde_buffer_release(&writer->pairs);
	sonde_buffer_clear(&writer->content);
	sonde_buffer_clear(&writer->pairs);
	sonde_buffer_clear(&writer->trace_meta);
	writer->trace_meta_id = writer->next_meta_id;
}

void zts_writer_begin_trace(struct zts_writer *writer, const struct zts_trace_head *head)
{
	zts_writer_abandon_trace(writer);
	clear_trace(writer);
	zts_index_reset(&writer->index);
	writer->in_trace = true;
	writer->head = *head;
	writer->has_high_name = head->app > ZTS_MAX_NAME_ID || head->env > ZTS_MAX_NAME_ID ||
				head->host > ZTS_MAX_NAME_ID;
	writer->trace_data_start = writer->data.size + writer->data.pending.size;
}

/* Takes back chunks of the trace: nothing refers to them yet. */
static void take_back_chunks(struct zts_writer *writer)
{
	struct sonde_error err;

	if (writer->data.size <= writer->trace_data_start) {
		writer->data.pending.size = (size_t)(writer->trace_data_start - writer->data.size);
		return;
	}
	sonde_buffer_clear(&writer->data.pending);
	writer->data.size = writer->trace_data_start;
	if (ftruncate(writer->data.fd, (off_t)writer->trace_data_start)) {
		sonde_fail_errno(&err, ZTS_DATA_NAME, "cannot be shortened");
		zts_writer_fail(writer, &err);
	}
}

void zts_writer_abandon_trace(struct zts_writer *writer)
{
	if (writer->in_trace)
		take_back_chunks(writer);
	clear_trace(writer);
}

/* Compresses the content behind a chunk's header in `pending`. */
static enum sonde_status compress(struct zts_writer *writer, struct sonde_error *err)
{
	struct sonde_buffer *pending = &writer->data.pending;
	struct zts_chunk chunk = { .size = (uint32_t)writer->content.size };
	size_t start = pending->size;
	enum sonde_status status;

	if (!sonde_buffer_reserve(pending, ZTS_CHUNK_HEADER_SIZE))
		return sonde_fail_nomem(err);
	pending->size += ZTS_CHUNK_HEADER_SIZE;
	status = sonde_codec_compress(&writer->codec_state, writer->codec, writer->content.data,
				      writer->content.size, pending, err);
	if (status >= 0 && pending->failed)
		status = sonde_fail_nomem(err);
	if (status < 0) {
		pending->failed = false;
		pending->size = start;
		return status;
	}
	chunk.stored_size = (uint32_t)(pending->size - start - ZTS_CHUNK_HEADER_SIZE);
	chunk.crc =
		sonde_crc32(0, pending->data + start + ZTS_CHUNK_HEADER_SIZE, chunk.stored_size);
	zts_put_chunk_header((uint8_t *)pending->data + start, &chunk);
	return SONDE_OK;
}

enum sonde_status zts_writer_put_chunk(struct zts_writer *writer, struct sonde_error *err)
{
	enum sonde_status status;

	status = compress(writer, err);
	if (status >= 0 && writer->data.pending.size >= WRITE_OUT_SIZE)
		status = zts_grown_write(&writer->data, ZTS_DATA_NAME, err);
	sonde_buffer_clear(&writer->content);
	return status;
}

/* The entries of the trace's slots, each into the WAL where it fits. */
static enum sonde_status put_meta(struct zts_writer *writer, struct sonde_error *err)
{
	const struct sonde_buffer *entries = &writer->trace_meta;
	struct zts_grown *file = &writer->meta_wal.file;
	struct zts_wal_entry entry = { .next = 0 };
	enum sonde_status status = SONDE_OK;

	if (!sonde_buffer_reserve(&file->pending, entries->size))
		return sonde_fail_nomem(err);
	if (file->size + file->pending.size + entries->size < ZTS_WAL_MAX_SIZE) {
		sonde_buffer_put(&file->pending, entries->data, entries->size);
		return SONDE_OK;
	}
	while (status >= 0 && entry.next < entries->size) {
		size_t start = file->pending.size;

		status = zts_wal_at((const uint8_t *)entries->data, entries->size, entry.next,
				    &entry, err);
		if (status != SONDE_OK)
			return status;
		sonde_buffer_put(&file->pending, entries->data + entry.offset,
				 entry.next - entry.offset);
		status = zts_wal_out_entry(writer, &writer->meta_wal, start, entry.id, err);
	}
	return status;
}

/* What makes a trace impossible to keep; SONDE_OK where nothing does. */
static enum sonde_status examine_trace(struct zts_writer *writer, struct sonde_error *err)
{
	if (writer->failure.status < 0)
		return zts_writer_failed(writer, err);
	if (writer->fault)
		return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET, "%s", writer->fault);
	if (writer->content.failed || writer->pairs.failed || writer->index.failed ||
	    writer->trace_meta.failed)
		return sonde_fail_nomem(err);
	if (!writer->in_trace || !writer->has_ended)
		return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
				  "a trace ends with %zu records open", writer->open.count);
	if (!writer->has_high_name &&
	    writer->trace_slots.count <= ZTS_MAX_SLOTS - writer->slot_count)
		return SONDE_OK;
	writer->is_full = true;
	return sonde_fail(
		err, SONDE_LIMIT, SONDE_NO_OFFSET,
		writer->has_high_name ?
			"the part has more than 65535 texts before a name: begin a new one" :
			"the part has no slots left: begin a new one");
}

bool zts_writer_name_fits(struct zts_writer *writer, uint32_t id)
{
	writer->is_full |= id > ZTS_MAX_NAME_ID;
	return id <= ZTS_MAX_NAME_ID;
}

void zts_writer_give_up(struct zts_writer *writer, const struct sonde_error *reason)
{
	zts_writer_fail(writer, reason);
}

/* Keeps in mind what the header says of all traces. */
static void count_trace(struct zts_writer *writer)
{
	const struct zts_slot *slot = &writer->trace_slots.items[writer->trace_slots.count - 1];
	uint64_t start_ns = slot->start_ns, duration_ns = slot->duration_ns;

	if (!writer->slot_count || (uint32_t)(start_ns / 1000000) < writer->first_tstart)
		writer->first_tstart = (uint32_t)(start_ns / 1000000);
	if (!writer->slot_count ||
	    (uint32_t)((start_ns + duration_ns) / 1000000) > writer->last_tstop)
		writer->last_tstop = (uint32_t)((start_ns + duration_ns) / 1000000);
	if (!writer->first_seconds || start_ns / 1000000000 < writer->first_seconds)
		writer->first_seconds = (uint32_t)(start_ns / 1000000000);
	zts_writer_mark_name(writer, writer->head.app);
	zts_writer_mark_name(writer, writer->head.env);
	zts_writer_mark_name(writer, writer->head.host);
	writer->traces++;
	writer->records += writer->trace_records;
}

/* The chunk, the postings and the slots of a trace that is whole. */
static enum sonde_status append_trace(struct zts_writer *writer, struct sonde_error *err)
{
	size_t size = writer->trace_slots.count * SLOT_SIZE;
	char *place = sonde_buffer_reserve(&writer->slots.pending, size);
	enum sonde_status status;

	if (!place)
		return sonde_fail_nomem(err);
	status = zts_writer_put_chunk(writer, err);
	if (status < 0)
		return status;
	status = put_meta(writer, err);
	if (status < 0) {
		/* Some of its entries may be in a file: numbers would be used twice. */
		struct sonde_error failure;

		sonde_fail(&failure, status, SONDE_NO_OFFSET, "the metadata cannot be written");
		zts_writer_fail(writer, err ? err : &failure);
		return status;
	}
	count_trace(writer);
	for (size_t i = 0; i < writer->trace_slots.count; i++)
		zts_put_slot((uint8_t *)place + i * SLOT_SIZE, &writer->trace_slots.items[i]);
	writer->slots.pending.size += size;
	writer->slot_count += (uint32_t)writer->trace_slots.count;
	writer->next_meta_id = writer->trace_meta_id;
	return SONDE_OK;
}

enum sonde_status zts_writer_end_trace(struct zts_writer *writer, struct sonde_error *err)
{
	enum sonde_status status = examine_trace(writer, err);

	if (status >= 0 && writer->is_short) {
		writer->short_traces++;
		zts_writer_abandon_trace(writer);
		return SONDE_OK;
	}
	if (status >= 0)
		status = append_trace(writer, err);
	if (status < 0) {
		zts_writer_abandon_trace(writer);
		return status;
	}
	clear_trace(writer);
	if (writer->text_wal.file.pending.size + writer->data.pending.size +
		    writer->meta_wal.file.pending.size >=
	    WRITE_OUT_SIZE)
		return zts_writer_write_out(writer, err);
	return SONDE_OK;
}

struct zts_writer_size zts_writer_size(const struct zts_writer *writer)
{
	const struct zts_grown *files[] = { &writer->text_wal.file, &writer->meta_wal.file,
					    &writer->data, &writer->slots };
	struct zts_writer_size size = {
		.data_bytes = writer->data.size + writer->data.pending.size,
		.total_bytes = writer->text_wal.finished_bytes + writer->meta_wal.finished_bytes,
		.memory_bytes = zts_interner_memory(&writer->texts) +
				writer->texts.texts.count * INDEX_BYTES_PER_TEXT,
		.texts = zts_interner_end(&writer->texts) - 1,
		.slots = writer->slot_count,
		.first_seconds = writer->first_seconds,
		.traces = writer->traces,
		.records = writer->records,
		.short_traces = writer->short_traces,
		.is_full = writer->is_full,
	};

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		size.total_bytes += files[i]->size + files[i]->pending.size;
	return size;
}
