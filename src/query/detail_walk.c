/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Details in the order of their numbers. One that cannot be read is not left out: it comes with the reason.
 * What event types take is understood once.
 */
#include "query/detail_walk.h"

#include <stdlib.h>
#include <string.h>

#include <sonde/arguments.h>

#include "model/recording.h"

/* --- signatures --- */

struct signature {
	struct sonde_signature *parsed;
	struct sonde_error fault;
};

struct query_signatures {
	SONDE_VEC(struct signature *) types; /* NULL: not asked for yet */
};

void query_signatures_free(struct query_signatures *signatures)
{
	if (!signatures)
		return;
	for (size_t i = 0; i < signatures->types.count; i++) {
		if (signatures->types.items[i])
			sonde_signature_free(signatures->types.items[i]->parsed);
		free(signatures->types.items[i]);
	}
	sonde_vec_release(&signatures->types);
	free(signatures);
}

/* The place of an event type; NULL where memory failed. */
static struct signature **place_of(struct query_recording *source, uint32_t event_type)
{
	struct query_signatures *signatures = source->signatures;

	if (!signatures)
		signatures = source->signatures = calloc(1, sizeof(*signatures));
	if (!signatures)
		return NULL;
	while (signatures->types.count <= event_type) {
		struct signature **added = sonde_vec_push(&signatures->types);

		if (!added)
			return NULL;
		*added = NULL;
	}
	return &signatures->types.items[event_type];
}

const struct sonde_signature *detail_walk_signature(const struct detail_walk *walk,
						    struct sonde_error *err)
{
	const struct sonde_definitions *definitions = walk->source->definitions;
	uint32_t number = walk->detail.event_type;
	const struct sonde_event_type *type = sonde_definitions_event_type(definitions, number);
	struct signature **place = type ? place_of(walk->source, number) : NULL;

	if (!type) {
		sonde_fail(err, SONDE_CORRUPT, SONDE_NO_OFFSET,
			   "there is no event type %u to tell what its arguments are", number);
		return NULL;
	}
	if (place && !*place)
		*place = calloc(1, sizeof(**place));
	if (!place || !*place) {
		sonde_fail_nomem(err);
		return NULL;
	}
	if (!(*place)->parsed && !(*place)->fault.status)
		sonde_signature_parse(sonde_definitions_string(definitions, type->arguments),
				      &(*place)->parsed, &(*place)->fault);
	if (!(*place)->parsed)
		*err = (*place)->fault;
	return (*place)->parsed;
}

/* --- places --- */

static void close_track(struct detail_walk *walk)
{
	sonde_cursor_free(walk->cursor);
	walk->cursor = NULL;
	walk->batch.count = walk->position = 0;
}

/* The next track with details that are wanted, from `track` on. */
static enum sonde_status open_track(struct detail_walk *walk, uint32_t track,
				    struct sonde_error *err)
{
	const struct sonde_definitions *definitions = walk->source->definitions;
	const struct sonde_track *found;
	int64_t first;
	enum sonde_status status;

	close_track(walk);
	do {
		walk->track = query_next_track(walk->source, walk->tracks, walk->ids, track);
		found = sonde_definitions_track(definitions, walk->track);
		track = walk->track + 1;
	} while (found && !found->detail_count);
	if (!found) {
		walk->is_over = true;
		return SONDE_OK;
	}
	first = (int64_t)walk->track << QUERY_ID_SHIFT;
	walk->next = walk->ids->low > first ? (uint64_t)(walk->ids->low - first) : 0;
	walk->end = walk->source->recording->details_by_event ? (uint64_t)QUERY_ID_NUMBER :
								found->detail_count;
	if (walk->ids->high - first < query_integer(walk->end))
		walk->end = (uint64_t)(walk->ids->high - first) + 1;
	status = sonde_cursor_open(walk->source->recording, walk->track, &walk->cursor, err);
	if (!status && walk->source->recording->details_by_event && walk->next)
		sonde_cursor_seek_index(walk->cursor, walk->next);
	return status;
}

/* Finds the next event with a detail; SONDE_END where the track has no more. */
static enum sonde_status find_event(struct detail_walk *walk, struct sonde_error *err)
{
	for (;;) {
		enum sonde_status status;

		while (walk->position < walk->batch.count) {
			const struct sonde_event *event = &walk->batch.events[walk->position++];

			if (sonde_event_has_detail(event) && event->detail >= walk->next) {
				walk->number = event->detail;
				return SONDE_OK;
			}
		}
		if (query_is_over(walk->source->query))
			return SONDE_CANCELLED;
		walk->position = 0;
		status = sonde_cursor_next(walk->cursor, &walk->batch, err);
		if (status) {
			walk->batch.count = 0;
			return status;
		}
	}
}

/* The number of the next detail in the track; SONDE_END where there is none that is wanted. */
static enum sonde_status find_number(struct detail_walk *walk, struct sonde_error *err)
{
	if (walk->next >= walk->end)
		return SONDE_END;
	if (walk->source->recording->details_by_event) {
		enum sonde_status status = find_event(walk, err);

		if (status)
			return status;
	} else {
		walk->number = walk->next;
	}
	if (walk->number >= walk->end)
		return SONDE_END;
	walk->next = walk->number + 1;
	return SONDE_OK;
}

static enum sonde_status read_detail(struct detail_walk *walk, struct sonde_error *err)
{
	enum sonde_status status;

	walk->fault.status = SONDE_OK;
	memset(&walk->detail, 0, sizeof(walk->detail));
	walk->detail.event = UINT64_MAX;
	status = sonde_cursor_detail(walk->cursor, walk->number, &walk->detail, &walk->fault);
	if (status == SONDE_NOMEM || status == SONDE_CANCELLED) {
		*err = walk->fault;
		return status;
	}
	if (status == SONDE_OK)
		walk->fault.status = SONDE_OK;
	return SONDE_OK;
}

enum sonde_status detail_walk_next(struct detail_walk *walk, struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	while (!status && !walk->is_over) {
		status = find_number(walk, err);
		if (status == SONDE_OK)
			return read_detail(walk, err);
		if (status == SONDE_END)
			status = open_track(walk, walk->track + 1, err);
	}
	return status;
}

enum sonde_status detail_walk_start(struct detail_walk *walk, struct query_recording *source,
				    const struct query_wish *tracks, const struct query_wish *ids,
				    struct sonde_error *err)
{
	enum sonde_status status;

	close_track(walk);
	walk->source = source;
	walk->tracks = tracks;
	walk->ids = ids;
	walk->is_over = false;
	status = open_track(walk, 0, err);
	return status ? status : detail_walk_next(walk, err);
}

void detail_walk_release(struct detail_walk *walk)
{
	close_track(walk);
}

void detail_walk_result_event(const struct detail_walk *walk, sqlite3_context *context)
{
	if (walk->detail.event <= (uint64_t)QUERY_ID_NUMBER)
		sqlite3_result_int64(context, (int64_t)walk->track << QUERY_ID_SHIFT |
						      (int64_t)walk->detail.event);
}
