/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cursors over a lane: the trace at hand is decoded and its events made, one trace at a time. A
 * second place of the same kind serves details and times elsewhere, so that next() is not
 * disturbed.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/zts/zts_read.h"

/* Events a batch at most. */
#define BATCH_EVENTS 4096

/* A piece of the lane with its events. */
struct reader {
	struct zts_recording *data;
	const struct zts_lane *lane;
	uint32_t track;
	const struct zts_piece *piece; /* NULL: none */
	struct zts_loaded loaded;
	struct zts_strands strands;
	struct sonde_event *events;
	uint32_t *records;
	size_t capacity;
	uint64_t first;
	size_t count;
};

struct zts_cursor {
	struct sonde_cursor base;
	uint64_t position;
	size_t limit;
	struct reader main, other;
	struct sonde_buffer packed; /* of the last detail */
};

static struct zts_cursor *zts_cursor_of(struct sonde_cursor *cursor)
{
	return (struct zts_cursor *)cursor;
}

static void reader_release(struct reader *reader)
{
	zts_loaded_release(&reader->loaded);
	zts_strands_release(&reader->strands);
	free(reader->events);
	free(reader->records);
}

static enum sonde_status reserve_events(struct reader *reader, size_t count,
					struct sonde_error *err)
{
	struct sonde_event *events;
	uint32_t *records;

	if (count <= reader->capacity)
		return SONDE_OK;
	events = realloc(reader->events, count * sizeof(*events));
	if (events)
		reader->events = events;
	records = realloc(reader->records, count * sizeof(*records));
	if (records)
		reader->records = records;
	if (!events || !records)
		return sonde_fail_nomem(err);
	reader->capacity = count;
	return SONDE_OK;
}

static enum sonde_status fail_changed(const struct reader *reader, const struct zts_piece *piece,
				      struct sonde_error *err)
{
	const struct zts_part *part = reader->data->parts[piece->part].part;

	sonde_fail(err, SONDE_CORRUPT, part->slots.list.items[piece->slot].data_offset,
		   "the trace here is not as it was when the store was opened; open it again");
	sonde_error_set_file(err, part->chunks.path);
	return SONDE_CORRUPT;
}

/* What every event of the piece needs beside time, kind and depth. */
static enum sonde_status finish_events(struct reader *reader, const struct zts_piece *piece,
				       struct sonde_error *err)
{
	struct zts_reading *reading = &reader->data->parts[piece->part];
	struct sonde_key_view functions = sonde_key_map_view(&reading->functions);
	const struct zts_record *records = reader->loaded.tree.records.items;
	uint64_t group = (uint64_t)reader->lane->group << 32;

	for (size_t i = 0; i < reader->count; i++) {
		struct sonde_event *event = &reader->events[i];
		uint64_t index = reader->first + i;

		event->track = reader->track;
		event->function =
			sonde_key_view_find(functions, group | records[reader->records[i]].method);
		if (event->function == UINT32_MAX)
			return fail_changed(reader, piece, err);
		if (event->kind != SONDE_EVENT_RETURN && index < SONDE_NONE)
			event->detail = (uint32_t)index;
	}
	return SONDE_OK;
}

static enum sonde_status load_piece(struct reader *reader, const struct zts_piece *piece,
				    struct sonde_error *err)
{
	enum sonde_status status;

	if (reader->piece == piece)
		return SONDE_OK;
	reader->piece = NULL;
	status = zts_recording_load(reader->data, piece->part, piece->slot, &reader->loaded, err);
	if (status == SONDE_OK)
		status = zts_strands_make(&reader->strands, &reader->loaded.tree,
					  reader->loaded.root,
					  reader->data->parts[piece->part].ns_key, err);
	if (status < 0)
		return status;
	if (piece->lane >= reader->strands.lane_count ||
	    reader->strands.lanes[piece->lane].calls != piece->calls)
		return fail_changed(reader, piece, err);
	reader->count = 2 * (size_t)piece->calls;
	reader->first = piece->at.first;
	status = reserve_events(reader, reader->count, err);
	if (status == SONDE_OK)
		status = zts_strands_events(&reader->strands, piece->lane, reader->events,
					    reader->records, err);
	if (status == SONDE_OK)
		status = finish_events(reader, piece, err);
	if (status == SONDE_OK)
		reader->piece = piece;
	return status;
}

/* The piece that has an event of the lane. */
static const struct zts_piece *find_piece(const struct reader *reader, uint64_t index)
{
	const struct zts_piece *pieces = reader->data->pieces.items + reader->lane->first_piece;
	size_t low = 0, high = reader->lane->piece_count;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (pieces[middle].at.first <= index)
			low = middle;
		else
			high = middle;
	}
	return &pieces[low];
}

static enum sonde_status load_event(struct reader *reader, uint64_t index, struct sonde_error *err)
{
	if (reader->piece && index - reader->first < reader->count)
		return SONDE_OK;
	/* most often the next one */
	if (reader->piece && index == reader->first + reader->count)
		return load_piece(reader, reader->piece + 1, err);
	return load_piece(reader, find_piece(reader, index), err);
}

static enum sonde_status zts_cursor_next(struct sonde_cursor *base, struct sonde_batch *batch,
					 struct sonde_error *err)
{
	struct zts_cursor *cursor = zts_cursor_of(base);
	struct reader *reader = &cursor->main;
	enum sonde_status status;
	size_t place, count;

	if (cursor->position >= reader->lane->events)
		return SONDE_END;
	status = load_event(reader, cursor->position, err);
	if (status < 0)
		return status;
	place = (size_t)(cursor->position - reader->first);
	count = reader->count - place;
	if (count > cursor->limit)
		count = cursor->limit;
	*batch = (struct sonde_batch){
		.events = reader->events + place,
		.count = count,
		.first_index = cursor->position,
		.details = base,
	};
	cursor->position += count;
	return SONDE_OK;
}

static void zts_cursor_seek_index(struct sonde_cursor *base, uint64_t index)
{
	zts_cursor_of(base)->position = index;
}

/* The last piece that begins before a time; the first where none does. */
static const struct zts_piece *find_piece_by_time(const struct reader *reader, uint64_t time_ns)
{
	const struct zts_piece *pieces = reader->data->pieces.items + reader->lane->first_piece;
	size_t low = 0, high = reader->lane->piece_count;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (pieces[middle].start_ns < time_ns)
			low = middle;
		else
			high = middle;
	}
	return &pieces[low];
}

static void zts_cursor_seek_time(struct sonde_cursor *base, uint64_t time_ns)
{
	struct zts_cursor *cursor = zts_cursor_of(base);
	struct reader *reader = &cursor->other;
	const struct zts_piece *piece;
	size_t low = 0, high;

	cursor->position = 0;
	if (!reader->lane->events)
		return;
	piece = find_piece_by_time(reader, time_ns);
	cursor->position = piece->at.first;
	if (piece->start_ns >= time_ns || load_piece(reader, piece, NULL) < 0)
		return;
	for (high = reader->count; low < high;) {
		size_t middle = low + (high - low) / 2;

		if (reader->events[middle].time_ns < time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	cursor->position += low;
}

static uint64_t zts_cursor_position(const struct sonde_cursor *base)
{
	const struct zts_cursor *cursor = (const struct zts_cursor *)base;
	uint64_t count = cursor->main.lane->events;

	return cursor->position < count ? cursor->position : count;
}

/* The reader that has an event loaded, else the second one, which then loads it. */
static enum sonde_status find_reader(struct zts_cursor *cursor, uint64_t index,
				     struct reader **found, struct sonde_error *err)
{
	*found = &cursor->main;
	if (cursor->main.piece && index - cursor->main.first < cursor->main.count)
		return SONDE_OK;
	*found = &cursor->other;
	return load_event(&cursor->other, index, err);
}

static enum sonde_status pack_detail(struct zts_cursor *cursor, const struct reader *reader,
				     const struct sonde_event *event, struct sonde_error *err)
{
	const struct zts_piece *piece = reader->piece;
	uint32_t record = reader->records[event - reader->events];

	sonde_buffer_clear(&cursor->packed);
	if (event->kind == SONDE_EVENT_CALL)
		return zts_detail_call(reader->data, piece->part, piece->slot, &reader->loaded,
				       record, &cursor->packed, err);
	return zts_detail_exception(reader->data, piece->part, &reader->loaded, record,
				    &cursor->packed, err);
}

static enum sonde_status zts_cursor_detail(struct sonde_cursor *base, uint64_t number,
					   struct sonde_detail *detail, struct sonde_error *err)
{
	struct zts_cursor *cursor = zts_cursor_of(base);
	const struct zts_recording *data = cursor->main.data;
	const struct sonde_event *event = NULL;
	struct reader *reader = NULL;
	enum sonde_status status = SONDE_OK;

	if (number < cursor->main.lane->events) {
		status = find_reader(cursor, number, &reader, err);
		if (status < 0)
			return status;
		event = &reader->events[number - reader->first];
	}
	if (!event || event->detail == SONDE_NONE)
		return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
				  "there is no detail %" PRIu64 " in this lane", number);
	status = pack_detail(cursor, reader, event, err);
	*detail = (struct sonde_detail){
		.kind = SONDE_DETAIL_ARGUMENTS,
		.function = SONDE_NONE,
		.event_type = event->kind == SONDE_EVENT_CALL ? data->call_type :
								data->exception_type,
		.event = number,
		.time_ns = event->time_ns,
		.bytes = (const uint8_t *)cursor->packed.data,
		.size = cursor->packed.size,
	};
	return status;
}

static void zts_cursor_limit_batch(struct sonde_cursor *base, size_t events)
{
	struct zts_cursor *cursor = zts_cursor_of(base);

	if (events < cursor->limit)
		cursor->limit = events ? events : 1;
}

static void zts_cursor_free(struct sonde_cursor *base)
{
	struct zts_cursor *cursor = zts_cursor_of(base);

	reader_release(&cursor->main);
	reader_release(&cursor->other);
	sonde_buffer_release(&cursor->packed);
	free(cursor);
}

static const struct sonde_cursor_ops zts_cursor_ops = {
	.next = zts_cursor_next,
	.seek_index = zts_cursor_seek_index,
	.seek_time = zts_cursor_seek_time,
	.position = zts_cursor_position,
	.detail = zts_cursor_detail,
	.limit_batch = zts_cursor_limit_batch,
	.free = zts_cursor_free,
};

enum sonde_status zts_cursor_open(struct sonde_recording *recording, uint32_t track,
				  struct sonde_cursor **cursor, struct sonde_error *err)
{
	struct zts_recording *data = recording->data;
	struct zts_cursor *made = calloc(1, sizeof(*made));

	if (!made)
		return sonde_fail_nomem(err);
	made->base.ops = &zts_cursor_ops;
	made->limit = BATCH_EVENTS;
	made->main.data = data;
	made->main.lane = &data->lanes.items[track];
	made->main.track = track;
	made->other = made->main;
	*cursor = &made->base;
	return SONDE_OK;
}
