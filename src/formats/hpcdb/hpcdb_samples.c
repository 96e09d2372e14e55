/* SPDX-License-Identifier: Apache-2.0 */
/* The samples of a track: a line of trace.db in batches. */
#include <stdlib.h>

#include "formats/hpcdb/hpcdb_read.h"

#define BATCH 1024

struct samples {
	struct sonde_sample_cursor base;
	const struct hpcdb_ids *ids;
	const struct hpcdb_file *file;
	struct hpcdb_line line;
	struct sonde_trail trail;
	uint64_t next;
	uint32_t track;
	struct sonde_sample batch[BATCH];
};

static enum sonde_status samples_next(struct sonde_sample_cursor *cursor,
				      const struct sonde_sample **samples, size_t *count,
				      struct sonde_error *err)
{
	struct samples *self = (struct samples *)cursor;
	const uint64_t first = self->next;

	(void)err;
	*samples = self->batch;
	for (*count = 0; *count < BATCH && self->next < self->line.count; self->next++) {
		uint32_t place =
			hpcdb_ids_find(self->ids, hpcdb_line_context(&self->line, self->next));

		self->batch[(*count)++] = (struct sonde_sample){
			.time_ns = hpcdb_line_time(&self->line, self->next),
			.track = self->track,
			.context = place == HPCDB_NO_RECORD ? 0 : place,
		};
	}
	if (*count) {
		size_t offset = (size_t)(self->line.samples - self->file->data);

		sonde_mapped_file_leave(&self->file->mapped, &self->trail,
					offset + first * HPCDB_SAMPLE_SIZE,
					offset + self->next * HPCDB_SAMPLE_SIZE);
	}
	return *count ? SONDE_OK : SONDE_END;
}

static void samples_seek(struct sonde_sample_cursor *cursor, uint64_t time_ns)
{
	struct samples *self = (struct samples *)cursor;

	self->next = hpcdb_line_seek(&self->line, time_ns);
}

static void samples_free(struct sonde_sample_cursor *cursor)
{
	struct samples *self = (struct samples *)cursor;

	sonde_mapped_file_leave_all(&self->file->mapped, &self->trail);
	free(self);
}

static const struct sonde_sample_cursor_ops samples_ops = {
	.next = samples_next,
	.seek_time = samples_seek,
	.free = samples_free,
};

enum sonde_status hpcdb_samples_open(struct sonde_recording *recording, uint32_t track,
				     struct sonde_sample_cursor **cursor, struct sonde_error *err)
{
	struct hpcdb_recording *database = recording->data;
	const struct sonde_context *contexts;
	enum sonde_status status;
	struct samples *self;
	uint32_t count;

	*cursor = NULL;
	status = hpcdb_contexts(recording, &contexts, &count, err);
	if (status < 0)
		return status;
	self = malloc(sizeof(*self));
	if (!self)
		return sonde_fail_nomem(err);
	self->base.ops = &samples_ops;
	self->ids = &database->ids;
	self->file = &database->trace.file;
	self->line = (struct hpcdb_line){ 0 };
	self->trail = (struct sonde_trail){ 0 };
	self->next = 0;
	self->track = track;
	if (track < database->track_count && database->track_lines[track] != SONDE_NONE)
		self->line = hpcdb_trace_at(&database->trace, database->track_lines[track]);
	*cursor = &self->base;
	return SONDE_OK;
}
