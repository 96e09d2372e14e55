/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cursor that merges tracks by time. A tree of losers finds the track to take from, event by
 * event; once a track wins several times in a row, as many events are taken from it in one go as
 * come before the next best track's. Where a track's own times go backwards its order stays.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/loser_tree.h"
#include "model/recording.h"

#define MERGED_BATCH 1024

/* Events in the batches of all tracks together (16 MiB), and the least in one. */
#define BATCHED_EVENTS ((size_t)1 << 19)
#define BATCH_MIN 32

/* So many wins in a row make a run likely enough to look for its end. */
#define RUN_LIKELY 4

/* One track, and what of its present batch is not taken yet. */
struct stream {
	const struct sonde_event *next;
	const struct sonde_event *end;
	struct sonde_cursor *cursor;
};

struct sonde_merged_cursor {
	struct stream *streams; /* of the tracks that have events, in the order asked for */
	uint32_t stream_count;
	uint32_t *stream_of; /* by track; SONDE_NONE: not merged here */
	uint32_t track_count;
	size_t batch_limit; /* events a batch of one track */
	struct sonde_loser_tree tree;
	bool is_primed;		   /* every stream has its first batch, and the tree is built */
	enum sonde_status failure; /* to be told when what was read before it is given out */
	struct sonde_error error;
	struct sonde_event events[MERGED_BATCH];
};

void sonde_merged_cursor_free(struct sonde_merged_cursor *cursor)
{
	if (!cursor)
		return;
	for (uint32_t i = 0; i < cursor->stream_count; i++)
		sonde_cursor_free(cursor->streams[i].cursor);
	sonde_loser_tree_release(&cursor->tree);
	free(cursor->stream_of);
	free(cursor->streams);
	free(cursor);
}

/* A track that is named twice is taken once. */
static enum sonde_status add_stream(struct sonde_merged_cursor *cursor,
				    struct sonde_recording *recording, uint32_t track,
				    struct sonde_error *err)
{
	const struct sonde_track *definition =
		sonde_definitions_track(recording->definitions, track);
	struct stream *stream = &cursor->streams[cursor->stream_count];
	enum sonde_status status;

	if (track >= cursor->track_count)
		return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
				  "there is no track %" PRIu32 ": the recording has %" PRIu32
				  ", numbered from 0",
				  track, cursor->track_count);
	if (!definition->event_count || cursor->stream_of[track] != SONDE_NONE)
		return SONDE_OK;
	status = sonde_cursor_open(recording, track, &stream->cursor, err);
	if (status)
		return status;
	if (stream->cursor->ops->limit_batch)
		stream->cursor->ops->limit_batch(stream->cursor, cursor->batch_limit);
	cursor->stream_of[track] = cursor->stream_count++;
	return SONDE_OK;
}

static enum sonde_status add_streams(struct sonde_merged_cursor *cursor,
				     struct sonde_recording *recording, const uint32_t *tracks,
				     size_t count, struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	cursor->track_count = sonde_definitions_track_count(recording->definitions);
	cursor->streams = calloc((size_t)cursor->track_count + 1, sizeof(*cursor->streams));
	cursor->stream_of = malloc(((size_t)cursor->track_count + 1) * sizeof(uint32_t));
	if (!cursor->streams || !cursor->stream_of)
		return sonde_fail_nomem(err);
	memset(cursor->stream_of, 0xFF, ((size_t)cursor->track_count + 1) * sizeof(uint32_t));
	if (!tracks)
		count = cursor->track_count;
	cursor->batch_limit = count > BATCHED_EVENTS / BATCH_MIN ? BATCH_MIN :
								   BATCHED_EVENTS / (count + 1);
	for (size_t i = 0; !status && i < count; i++)
		status = add_stream(cursor, recording, tracks ? tracks[i] : (uint32_t)i, err);
	if (!status && !sonde_loser_tree_init(&cursor->tree, cursor->stream_count))
		status = sonde_fail_nomem(err);
	return status;
}

enum sonde_status sonde_merged_cursor_open(struct sonde_recording *recording,
					   const uint32_t *tracks, size_t count,
					   struct sonde_merged_cursor **cursor,
					   struct sonde_error *err)
{
	struct sonde_merged_cursor *made = calloc(1, sizeof(*made));
	enum sonde_status status;

	*cursor = NULL;
	if (!made)
		return sonde_fail_nomem(err);
	status = add_streams(made, recording, tracks, count, err);
	if (status) {
		sonde_merged_cursor_free(made);
		return status;
	}
	*cursor = made;
	return SONDE_OK;
}

/* The next batch of a stream; false at its end and where reading failed. */
static bool refill(struct sonde_merged_cursor *cursor, struct stream *stream)
{
	struct sonde_batch batch;
	enum sonde_status status = sonde_cursor_next(stream->cursor, &batch, &cursor->error);

	if (status == SONDE_OK) {
		stream->next = batch.events;
		stream->end = batch.events + batch.count;
		return true;
	}
	if (status != SONDE_END)
		cursor->failure = status;
	return false;
}

static void prime(struct sonde_merged_cursor *cursor)
{
	for (uint32_t i = 0; i < cursor->stream_count && !cursor->failure; i++) {
		struct stream *stream = &cursor->streams[i];
		bool live = refill(cursor, stream);

		sonde_loser_tree_set(&cursor->tree, i, live ? stream->next->time_ns : 0, live);
	}
	sonde_loser_tree_build(&cursor->tree);
	cursor->is_primed = true;
}

/* Moves the winner's events up to the bound to the output; gives the new end of the output. */
static size_t take_run(struct sonde_merged_cursor *cursor, struct stream *stream, size_t count,
		       uint64_t bound)
{
	const struct sonde_event *next = stream->next, *end = stream->end;

	if ((size_t)(end - next) > MERGED_BATCH - count)
		end = next + (MERGED_BATCH - count);
	do {
		cursor->events[count++] = *next++;
	} while (next < end && next->time_ns <= bound);
	stream->next = next;
	return count;
}

/*
 * Fills the output as far as there are events and nothing fails; gives how many. It runs once an
 * event: what the compiler could not keep in registers, since events are stored, is copied first.
 */
static size_t merge(struct sonde_merged_cursor *cursor)
{
	struct sonde_loser_tree tree = cursor->tree; /* the nodes are shared */
	struct stream *const streams = cursor->streams;
	uint32_t winner = sonde_loser_tree_winner(&tree), wins = 0;
	size_t count = 0;

	while (count < MERGED_BATCH && winner != UINT32_MAX) {
		struct stream *stream = &streams[winner];
		uint32_t before = winner;
		bool live = true;

		if (wins < RUN_LIKELY)
			cursor->events[count++] = *stream->next++;
		else
			count = take_run(cursor, stream, count, sonde_loser_tree_run_bound(&tree));
		if (stream->next == stream->end) {
			live = refill(cursor, stream);
			if (cursor->failure)
				break;
		}
		sonde_loser_tree_replace_winner(&tree, live ? stream->next->time_ns : 0, live);
		winner = sonde_loser_tree_winner(&tree);
		wins = winner == before ? wins + 1 : 0;
	}
	return count;
}

/* With one track there is nothing to merge and nothing to copy. */
static enum sonde_status next_of_one(struct sonde_merged_cursor *cursor, struct sonde_batch *batch,
				     struct sonde_error *err)
{
	enum sonde_status status = sonde_cursor_next(cursor->streams[0].cursor, batch, err);

	batch->details = NULL;
	return status;
}

enum sonde_status sonde_merged_cursor_next(struct sonde_merged_cursor *cursor,
					   struct sonde_batch *batch, struct sonde_error *err)
{
	if (cursor->stream_count == 1)
		return next_of_one(cursor, batch, err);
	if (!cursor->is_primed)
		prime(cursor);
	*batch = (struct sonde_batch){ .events = cursor->events };
	if (!cursor->failure)
		batch->count = merge(cursor);
	if (batch->count)
		return SONDE_OK;
	if (!cursor->failure)
		return SONDE_END;
	if (err)
		*err = cursor->error;
	return cursor->failure;
}

void sonde_merged_cursor_seek_time(struct sonde_merged_cursor *cursor, uint64_t time_ns)
{
	for (uint32_t i = 0; i < cursor->stream_count; i++)
		sonde_cursor_seek_time(cursor->streams[i].cursor, time_ns);
	cursor->is_primed = false;
	cursor->failure = SONDE_OK;
}

enum sonde_status sonde_merged_cursor_detail(struct sonde_merged_cursor *cursor,
					     const struct sonde_event *event,
					     struct sonde_detail *detail, struct sonde_error *err)
{
	uint32_t stream = SONDE_NONE;

	if (!sonde_event_has_detail(event))
		return SONDE_END;
	if (event->track < cursor->track_count)
		stream = cursor->stream_of[event->track];
	if (stream == SONDE_NONE)
		return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
				  "an event of track %" PRIu32 " does not come from this cursor",
				  event->track);
	return sonde_cursor_detail(cursor->streams[stream].cursor, event->detail, detail, err);
}
