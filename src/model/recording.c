/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording and its per-track cursors, as far as all formats are alike: opening through the
 * registry, the sums over tracks, and the checks around a format's hooks.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/now.h"
#include "formats/format.h"
#include "model/recording.h"
#include "model/remap.h"
#include "model/time_map.h"

struct sonde_recording *sonde_recording_new(const struct sonde_format *format, const char *path)
{
	struct sonde_recording *recording = calloc(1, sizeof(*recording));

	if (!recording)
		return NULL;
	recording->format = format;
	recording->opened_ns = sonde_now_ns(CLOCK_REALTIME);
	recording->path = strdup(path);
	recording->definitions = sonde_definitions_new();
	recording->diagnostics = sonde_diagnostics_new();
	if (recording->path && recording->definitions && recording->diagnostics)
		return recording;
	sonde_recording_close(recording);
	return NULL;
}

void sonde_recording_close(struct sonde_recording *recording)
{
	if (!recording)
		return;
	if (recording->ops && recording->ops->close)
		recording->ops->close(recording);
	sonde_diagnostics_free(recording->diagnostics);
	sonde_definitions_free(recording->definitions);
	free(recording->path);
	free(recording);
}

enum sonde_status sonde_recording_open(const char *path, const char *format,
				       struct sonde_recording **recording, struct sonde_error *err)
{
	const struct sonde_format *found;
	struct sonde_recording *opened;
	enum sonde_status status;

	*recording = NULL;
	status = sonde_format_choose(path, format, &found, err);
	if (status)
		return status;
	if (!found->open)
		return sonde_fail(err, SONDE_UNSUPPORTED, SONDE_NO_OFFSET,
				  "recordings in format %s are written here, not read",
				  found->info.name);
	opened = sonde_recording_new(found, path);
	if (!opened)
		return sonde_fail_nomem(err);
	status = found->open(opened, err);
	if (status) {
		sonde_recording_close(opened);
		sonde_error_set_file(err, path);
		return status;
	}
	*recording = opened;
	return SONDE_OK;
}

const struct sonde_format *sonde_recording_format(const struct sonde_recording *recording)
{
	return recording->format;
}

const char *sonde_recording_path(const struct sonde_recording *recording)
{
	return recording->title ? recording->title : recording->path;
}

const struct sonde_definitions *sonde_recording_definitions(const struct sonde_recording *recording)
{
	return recording->definitions;
}

const struct sonde_diagnostics *sonde_recording_diagnostics(const struct sonde_recording *recording)
{
	return recording->diagnostics;
}

unsigned int sonde_recording_lanes(const struct sonde_recording *recording)
{
	return recording->lanes;
}

uint64_t sonde_recording_event_count(const struct sonde_recording *recording)
{
	uint32_t tracks = sonde_definitions_track_count(recording->definitions);
	uint64_t count = 0;

	for (uint32_t i = 0; i < tracks; i++)
		count += sonde_definitions_track(recording->definitions, i)->event_count;
	return count;
}

uint32_t sonde_recording_blob_count(const struct sonde_recording *recording)
{
	return recording->blob_count;
}

enum sonde_status sonde_recording_blob(struct sonde_recording *recording, uint32_t number,
				       struct sonde_blob *blob, struct sonde_error *err)
{
	if (number >= recording->blob_count)
		return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
				  "there is no resource %" PRIu32 ": the recording has %" PRIu32
				  ", numbered from 0",
				  number, recording->blob_count);
	return recording->ops->blob(recording, number, blob, err);
}

bool sonde_recording_time_range(const struct sonde_recording *recording, uint64_t *first_ns,
				uint64_t *last_ns)
{
	uint32_t tracks = sonde_definitions_track_count(recording->definitions);
	bool found = false;

	*first_ns = *last_ns = 0;
	for (uint32_t i = 0; i < tracks; i++) {
		const struct sonde_track *track =
			sonde_definitions_track(recording->definitions, i);

		if (!track->event_count && !track->sample_count)
			continue;
		if (!found || track->time_first_ns < *first_ns)
			*first_ns = track->time_first_ns;
		if (!found || track->time_last_ns > *last_ns)
			*last_ns = track->time_last_ns;
		found = true;
	}
	return found;
}

static enum sonde_status empty_next(struct sonde_cursor *cursor, struct sonde_batch *batch,
				    struct sonde_error *err)
{
	(void)cursor;
	(void)batch;
	(void)err;
	return SONDE_END;
}

static void empty_seek(struct sonde_cursor *cursor, uint64_t place)
{
	(void)cursor;
	(void)place;
}

static uint64_t empty_position(const struct sonde_cursor *cursor)
{
	(void)cursor;
	return 0;
}

static void empty_free(struct sonde_cursor *cursor)
{
	free(cursor);
}

/* The cursor of a recording that has other lanes in place of events. */
static enum sonde_status open_empty(struct sonde_cursor **cursor, struct sonde_recording *recording,
				    uint32_t track, struct sonde_error *err)
{
	static const struct sonde_cursor_ops ops = {
		.next = empty_next,
		.seek_index = empty_seek,
		.seek_time = empty_seek,
		.position = empty_position,
		.free = empty_free,
	};

	*cursor = malloc(sizeof(**cursor));
	if (!*cursor)
		return sonde_fail_nomem(err);
	**cursor = (struct sonde_cursor){ .ops = &ops, .recording = recording, .track = track };
	return SONDE_OK;
}

enum sonde_status sonde_cursor_open(struct sonde_recording *recording, uint32_t track,
				    struct sonde_cursor **cursor, struct sonde_error *err)
{
	uint32_t tracks = sonde_definitions_track_count(recording->definitions);
	enum sonde_status status;

	*cursor = NULL;
	if (track >= tracks)
		return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
				  "there is no track %" PRIu32 ": the recording has %" PRIu32
				  ", numbered from 0",
				  track, tracks);
	if (!recording->ops->cursor_open)
		return open_empty(cursor, recording, track, err);
	status = recording->ops->cursor_open(recording, track, cursor, err);
	if (status)
		return status;
	(*cursor)->recording = recording;
	(*cursor)->track = track;
	return SONDE_OK;
}

void sonde_cursor_free(struct sonde_cursor *cursor)
{
	if (cursor)
		cursor->ops->free(cursor);
}

enum sonde_status sonde_cursor_next(struct sonde_cursor *cursor, struct sonde_batch *batch,
				    struct sonde_error *err)
{
	*batch = (struct sonde_batch){ .details = cursor->ops->detail ? cursor : NULL };
	return cursor->ops->next(cursor, batch, err);
}

void sonde_cursor_seek_index(struct sonde_cursor *cursor, uint64_t index)
{
	cursor->ops->seek_index(cursor, index);
}

void sonde_cursor_seek_time(struct sonde_cursor *cursor, uint64_t time_ns)
{
	cursor->ops->seek_time(cursor, time_ns);
}

uint64_t sonde_cursor_position(const struct sonde_cursor *cursor)
{
	return cursor->ops->position(cursor);
}

enum sonde_status sonde_cursor_detail(struct sonde_cursor *cursor, uint64_t number,
				      struct sonde_detail *detail, struct sonde_error *err)
{
	if (!cursor->ops->detail)
		return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
				  "there is no detail %" PRIu64 ": the track has none", number);
	return cursor->ops->detail(cursor, number, detail, err);
}

enum sonde_status sonde_batch_detail(const struct sonde_batch *batch,
				     const struct sonde_event *event, struct sonde_detail *detail,
				     struct sonde_error *err)
{
	enum sonde_status status;

	if (!sonde_event_has_detail(event))
		return SONDE_END;
	if (!batch->details)
		return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
				  "this batch does not lead to details; a merged cursor does");
	status = sonde_cursor_detail(batch->details, event->detail, detail, err);
	if (status < 0 && batch->unread_details)
		++*batch->unread_details;
	if (status)
		return status;
	if (batch->time_map)
		detail->time_ns = sonde_time_map_apply(batch->time_map, detail->time_ns);
	if (!batch->function_map)
		return SONDE_OK;
	if (detail->kind == SONDE_DETAIL_ARGUMENTS)
		return sonde_remap_event_type(batch->function_map->remap, detail->event_type,
					      &detail->event_type, err);
	if (detail->function == SONDE_NONE)
		return SONDE_OK;
	return sonde_function_map_get(batch->function_map, detail->function, &detail->function,
				      err);
}
