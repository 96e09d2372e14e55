/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An open recording and its cursors. A cursor hands out batches of events of one track in the
 * order they were recorded; a merged cursor hands out those of many tracks in the order of time.
 */
#ifndef SONDE_RECORDING_H
#define SONDE_RECORDING_H

#include <sonde/diagnostics.h>
#include <sonde/event.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sonde_recording;
struct sonde_format;
struct sonde_cursor;
struct sonde_merged_cursor;

/*
 * Opens a recording of any format that is read. Damage that leaves something readable is not a
 * failure: see sonde_recording_diagnostics(). `format` names the format to take, NULL detects it.
 * Nothing is written, and the data must not be cut by others while the recording is open.
 */
enum sonde_status sonde_recording_open(const char *path, const char *format,
				       struct sonde_recording **recording, struct sonde_error *err);
void sonde_recording_close(struct sonde_recording *recording);

const struct sonde_format *sonde_recording_format(const struct sonde_recording *recording);
/* Its path, for messages; of one that came through a pipe, what to call it. */
const char *sonde_recording_path(const struct sonde_recording *recording);
const struct sonde_definitions *
sonde_recording_definitions(const struct sonde_recording *recording);

/* What was found wrong while opening. */
const struct sonde_diagnostics *
sonde_recording_diagnostics(const struct sonde_recording *recording);

/* Bits of enum sonde_lane: the lanes that hold something. */
unsigned int sonde_recording_lanes(const struct sonde_recording *recording);

uint64_t sonde_recording_event_count(const struct sonde_recording *recording);

/* Embedded resources, numbered from 0. The bytes are borrowed until the recording is closed. */
uint32_t sonde_recording_blob_count(const struct sonde_recording *recording);
enum sonde_status sonde_recording_blob(struct sonde_recording *recording, uint32_t number,
				       struct sonde_blob *blob, struct sonde_error *err);

/* First and last time over all tracks; false (and zeros) where there is no event or sample. */
bool sonde_recording_time_range(const struct sonde_recording *recording, uint64_t *first_ns,
				uint64_t *last_ns);

/* How a pipeline numbers functions anew, also those that are met only in a detail. */
struct sonde_function_map;
/* How it moves times to another clock: see <sonde/pipeline.h>. */
struct sonde_time_map;

/* A run of events, borrowed from the cursor until its next call. */
struct sonde_batch {
	const struct sonde_event *events;
	size_t count;
	uint64_t first_index;	      /* index of events[0] in its track (per-track cursors) */
	struct sonde_cursor *details; /* whence sonde_batch_detail() takes them; may be NULL */
	uint64_t *unread_details;     /* counts those it cannot read; may be NULL */
	struct sonde_function_map *function_map; /* for functions in details; NULL: as they are */
	const struct sonde_time_map *time_map;	 /* for times in details; NULL: as they are */
};

/* Cursors may be used side by side from several threads, one thread a cursor. */
enum sonde_status sonde_cursor_open(struct sonde_recording *recording, uint32_t track,
				    struct sonde_cursor **cursor, struct sonde_error *err);
void sonde_cursor_free(struct sonde_cursor *cursor);

/* The next batch, never empty with SONDE_OK; SONDE_END after the last event. */
enum sonde_status sonde_cursor_next(struct sonde_cursor *cursor, struct sonde_batch *batch,
				    struct sonde_error *err);

/* The next batch starts at this event, in O(1). Past the end gives SONDE_END there. */
void sonde_cursor_seek_index(struct sonde_cursor *cursor, uint64_t index);

/* The next batch starts at the first event not before this time, in O(log n). */
void sonde_cursor_seek_time(struct sonde_cursor *cursor, uint64_t time_ns);

/* Index of the event that the next batch starts with. */
uint64_t sonde_cursor_position(const struct sonde_cursor *cursor);

/*
 * A detail by its number in the track, in O(1); detail->event leads back with
 * sonde_cursor_seek_index(). SONDE_ARGUMENT for a number that the track does not have.
 */
enum sonde_status sonde_cursor_detail(struct sonde_cursor *cursor, uint64_t number,
				      struct sonde_detail *detail, struct sonde_error *err);

/*
 * The detail of one event of a batch; SONDE_END where it has none. `detail->event` is an index in
 * the source's track: a sink behind filters counts for itself. A batch of a merged cursor gives no
 * details (SONDE_ARGUMENT): see sonde_merged_cursor_detail().
 */
enum sonde_status sonde_batch_detail(const struct sonde_batch *batch,
				     const struct sonde_event *event, struct sonde_detail *detail,
				     struct sonde_error *err);

/*
 * Merges tracks by time; events of equal time keep the order of `tracks`, and within a track
 * their own order. `tracks` NULL takes all. The ids are copied.
 */
enum sonde_status sonde_merged_cursor_open(struct sonde_recording *recording,
					   const uint32_t *tracks, size_t count,
					   struct sonde_merged_cursor **cursor,
					   struct sonde_error *err);
void sonde_merged_cursor_free(struct sonde_merged_cursor *cursor);
enum sonde_status sonde_merged_cursor_next(struct sonde_merged_cursor *cursor,
					   struct sonde_batch *batch, struct sonde_error *err);
void sonde_merged_cursor_seek_time(struct sonde_merged_cursor *cursor, uint64_t time_ns);

/* The detail of an event that this cursor handed out; SONDE_END where it has none. */
enum sonde_status sonde_merged_cursor_detail(struct sonde_merged_cursor *cursor,
					     const struct sonde_event *event,
					     struct sonde_detail *detail, struct sonde_error *err);

#ifdef __cplusplus
}
#endif

#endif
