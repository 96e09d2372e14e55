/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a part comes to the disk: texts, data and postings first, then the slots that refer to them,
 * then the header of qmeta.idx that makes the slots count. Who is killed between leaves nothing
 * half published.
 */
#include <stdlib.h>
#include <unistd.h>

#include "formats/zts/zts_writer_private.h"

enum sonde_status zts_writer_write_out(struct zts_writer *writer, struct sonde_error *err)
{
	enum sonde_status status = zts_writer_failed(writer, err);
	struct sonde_error failure;

	if (status < 0)
		return status;
	status = zts_grown_write(&writer->text_wal.file, "text-*.wal", &failure);
	if (status >= 0)
		status = zts_grown_write(&writer->data, ZTS_DATA_NAME, &failure);
	if (status >= 0)
		status = zts_grown_write(&writer->meta_wal.file, "meta-*.wal", &failure);
	if (status < 0) {
		zts_writer_fail(writer, &failure);
		return zts_writer_failed(writer, err);
	}
	return SONDE_OK;
}

/* The slots that wait, and the header that makes them count. */
static enum sonde_status publish(int fd, const struct sonde_buffer *slots, uint64_t offset,
				 uint32_t first_tstart, uint32_t last_tstop,
				 struct sonde_error *err)
{
	uint8_t header[ZTS_QMETA_HEADER_SIZE];
	enum sonde_status status;

	status = zts_file_write_at(fd, ZTS_QMETA_NAME, slots->data, slots->size, offset, err);
	if (status < 0)
		return status;
	zts_put_qmeta_header(header, (uint32_t)(offset + slots->size), first_tstart, last_tstop);
	return zts_file_write_at(fd, ZTS_QMETA_NAME, header, sizeof(header), 0, err);
}

#define SYNC_FILES 4

/*
 * What one sync brings to the disk. Descriptors in `files` are the writer's, retired ones its own.
 */
struct zts_writer_sync {
	int files[SYNC_FILES];
	unsigned int file_count;
	int *retired; /* their number is retired_count */
	size_t retired_count;
	int slots_fd;
	bool slots_are_dirty;
	struct sonde_buffer slots;
	uint64_t slots_offset;
	uint32_t first_tstart, last_tstop;
};

static void add_file(struct zts_writer_sync *sync, int fd, bool *is_dirty)
{
	if (!*is_dirty)
		return;
	sync->files[sync->file_count++] = fd;
	*is_dirty = false;
}

enum sonde_status zts_writer_sync_begin(struct zts_writer *writer, struct zts_writer_sync **sync,
					struct sonde_error *err)
{
	struct zts_grown *slots = &writer->slots;
	enum sonde_status status = zts_writer_write_out(writer, err);
	struct zts_writer_sync *taken;

	*sync = NULL;
	if (status < 0)
		return status;
	taken = calloc(1, sizeof(*taken));
	if (!taken)
		return sonde_fail_nomem(err);
	add_file(taken, writer->text_wal.file.fd, &writer->text_wal.file.is_dirty);
	add_file(taken, writer->data.fd, &writer->data.is_dirty);
	add_file(taken, writer->meta_wal.file.fd, &writer->meta_wal.file.is_dirty);
	add_file(taken, writer->folder_fd, &writer->folder_is_dirty);
	taken->retired = writer->retired.items;
	taken->retired_count = writer->retired.items ? writer->retired.count : 0;
	writer->retired.items = NULL;
	writer->retired.count = writer->retired.capacity = 0;
	taken->slots_fd = slots->fd;
	taken->slots_are_dirty = slots->is_dirty || slots->pending.size;
	taken->slots = slots->pending;
	taken->slots_offset = slots->size;
	taken->first_tstart = writer->first_tstart;
	taken->last_tstop = writer->last_tstop;
	slots->size += slots->pending.size;
	slots->pending = (struct sonde_buffer){ 0 };
	slots->is_dirty = false;
	*sync = taken;
	return SONDE_OK;
}

static enum sonde_status sync_files(const struct zts_writer_sync *sync, struct sonde_error *err)
{
	for (size_t i = 0; i < sync->retired_count; i++)
		if (fdatasync(sync->retired[i]))
			return sonde_fail_errno(err, "*.wal", "cannot be synced");
	for (unsigned int i = 0; i < sync->file_count; i++)
		if (fdatasync(sync->files[i]))
			return sonde_fail_errno(err, "a part's file", "cannot be synced");
	return SONDE_OK;
}

enum sonde_status zts_writer_sync_finish(struct zts_writer_sync *sync, struct sonde_error *err)
{
	enum sonde_status status;

	if (!sync)
		return SONDE_OK;
	status = sync_files(sync, err);
	if (status >= 0 && sync->slots.size)
		status = publish(sync->slots_fd, &sync->slots, sync->slots_offset,
				 sync->first_tstart, sync->last_tstop, err);
	if (status >= 0 && sync->slots_are_dirty && fdatasync(sync->slots_fd))
		status = sonde_fail_errno(err, ZTS_QMETA_NAME, "cannot be synced");
	for (size_t i = 0; i < sync->retired_count; i++)
		close(sync->retired[i]);
	free(sync->retired);
	sonde_buffer_release(&sync->slots);
	free(sync);
	return status;
}

enum sonde_status zts_writer_sync(struct zts_writer *writer, struct sonde_error *err)
{
	struct zts_writer_sync *sync;
	enum sonde_status status = zts_writer_sync_begin(writer, &sync, err);
	struct sonde_error failure;

	if (status < 0)
		return status;
	status = zts_writer_sync_finish(sync, &failure);
	if (status < 0) {
		zts_writer_fail(writer, &failure);
		return zts_writer_failed(writer, err);
	}
	return SONDE_OK;
}
