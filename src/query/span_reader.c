/* SPDX-License-Identifier: Apache-2.0 */
/* One pass over the tracks with a stack of open calls. */
#include "query/span_reader.h"

/* So far up is looked for a call of the same function and the depth of a return. */
#define SEARCHED 256

static int64_t id_of(const struct span_reader *reader, uint64_t index)
{
	return (int64_t)reader->track << QUERY_ID_SHIFT | (int64_t)index;
}

static int64_t parent_of(const struct span_reader *reader, size_t place)
{
	return place ? id_of(reader, reader->open.items[place - 1].index) : QUERY_NULL;
}

/* A call at this place of the stack, if it was pushed there. */
static bool is_wanted(const struct span_reader *reader, const struct span_call *call, size_t place)
{
	const struct span_wants *wants = &reader->wants;
	uint32_t slot = span_slot(call->function);

	if (call->start_ns < reader->low_ns || call->start_ns > reader->high_ns ||
	    call->index < reader->low_index || call->index > reader->high_index)
		return false;
	if (!reader->looks_closer)
		return true;
	return slot >= wants->first_slot && slot <= wants->last_slot &&
	       query_wish_fits(wants->functions,
			       call->function == SONDE_NONE ? QUERY_NULL : call->function) &&
	       query_wish_fits(wants->depths, call->depth) &&
	       (wants->mode == SPAN_MODE_CALLS ||
		query_wish_fits(wants->parents, parent_of(reader, place)));
}

static void give(struct span_reader *reader, const struct span_call *call, size_t place)
{
	reader->row.track = reader->track;
	reader->row.function = call->function;
	reader->row.depth = call->depth;
	reader->row.start_ns = call->start_ns;
	reader->row.children_ns = call->children_ns;
	reader->row.id = id_of(reader, call->index);
	reader->row.parent = parent_of(reader, place);
}

/* --- tracks and batches --- */

static void close_track(struct span_reader *reader)
{
	sonde_cursor_free(reader->events);
	reader->events = NULL;
	reader->position = reader->count = 0;
	reader->open.count = reader->keep = reader->wanted_open = 0;
	reader->track_ends = false;
	reader->parent_place = SIZE_MAX;
}

static void limit_index(struct span_reader *reader)
{
	int64_t first = (int64_t)reader->track << QUERY_ID_SHIFT;

	reader->low_index = reader->low_id > first ? (uint64_t)(reader->low_id - first) : 0;
	reader->high_index = reader->high_id - first < QUERY_ID_NUMBER ?
				     (uint64_t)(reader->high_id - first) :
				     (uint64_t)QUERY_ID_NUMBER;
}

/* Starts as near to what is wanted as what is known allows. */
static enum sonde_status seek(struct span_reader *reader, struct sonde_error *err)
{
	uint64_t from = reader->has_parent ? reader->parent_index : reader->low_index;
	enum sonde_status status;

	reader->index = 0;
	if (reader->source->derives_events)
		return SONDE_OK;
	if (reader->wants.mode == SPAN_MODE_CALLS) {
		if (reader->low_ns)
			sonde_cursor_seek_time(reader->events, reader->low_ns);
		if (sonde_cursor_position(reader->events) < reader->low_index)
			sonde_cursor_seek_index(reader->events, reader->low_index);
		return SONDE_OK;
	}
	status = query_marks_find(reader->source, reader->track, from,
				  reader->has_parent ? 0 : reader->low_ns, &reader->open,
				  &reader->index, err);
	if (status || !reader->index)
		return status;
	for (size_t i = 0; i < reader->open.count; i++) {
		struct span_call *call = &reader->open.items[i];

		call->wanted = reader->wants.mode == SPAN_MODE_WITH_ENDS &&
			       is_wanted(reader, call, i);
		reader->wanted_open += call->wanted;
	}
	reader->keep = reader->open.count;
	sonde_cursor_seek_index(reader->events, reader->index);
	return SONDE_OK;
}

/* Opens the next wanted track from `track` on; after the last the reader is at its end. */
static enum sonde_status open_track(struct span_reader *reader, uint32_t track,
				    struct sonde_error *err)
{
	struct query_wish ids = { .low = reader->low_id, .high = reader->high_id };
	enum sonde_status status;

	close_track(reader);
	reader->track = query_next_track(reader->source, reader->wants.tracks, &ids, track);
	if (reader->track == SONDE_NONE) {
		reader->is_over = true;
		return SONDE_OK;
	}
	limit_index(reader);
	status = query_events_open(reader->source, reader->track, &reader->events, err);
	if (status)
		return status;
	reader->frontier = reader->wants.mode == SPAN_MODE_CALLS ?
				   UINT64_MAX :
				   query_marks_frontier(reader->source, reader->track);
	return seek(reader, err);
}

/* The next batch; SONDE_END where the track has no more. */
static enum sonde_status read_batch(struct span_reader *reader, struct sonde_error *err)
{
	struct query_recording *source = reader->source;
	struct sonde_batch batch;
	enum sonde_status status;

	if (query_is_over(source->query))
		return SONDE_CANCELLED;
	status = sonde_cursor_next(reader->events, &batch, err);
	if (status)
		return status;
	reader->batch = batch.events;
	reader->count = batch.count;
	reader->position = 0;
	reader->index = batch.first_index;
	if (reader->index >= reader->frontier) {
		query_marks_add(source, reader->track, &reader->open, reader->index,
				batch.events[0].time_ns);
		reader->frontier = query_marks_frontier(source, reader->track);
	}
	return SONDE_OK;
}

/* --- calls --- */

/* Ends the innermost call; true where it is a row. */
static inline bool end_call(struct span_reader *reader)
{
	struct span_stack *open = &reader->open;
	const struct span_call *call = &open->items[--open->count];
	uint64_t duration_ns = reader->now_ns > call->start_ns ? reader->now_ns - call->start_ns :
								 0;

	if (open->count)
		open->items[open->count - 1].children_ns += duration_ns;
	if (!call->wanted)
		return false;
	reader->wanted_open--;
	if (!query_wish_fits(reader->wants.durations, query_integer(duration_ns)))
		return false;
	give(reader, call, open->count);
	reader->row.end_ns = call->start_ns + duration_ns;
	reader->row.ended_by = open->count == reader->left ? reader->left_by : SPAN_END_LOSS;
	if (reader->track_ends)
		reader->row.ended_by = SPAN_END_TRACK;
	return true;
}

/* Nothing that is still to come is wanted, and nothing that is open is. */
static bool is_done(struct span_reader *reader, uint64_t time_ns)
{
	if (reader->wanted_open)
		return false;
	if (time_ns > reader->high_ns || reader->index > reader->high_index)
		return true;
	return reader->has_parent && reader->index > reader->parent_index &&
	       reader->open.count <= reader->parent_place;
}

/* Opens a call; those at its depth or deeper must be over before. False where memory failed. */
static inline bool begin_call(struct span_reader *reader, const struct sonde_event *event,
			      bool *is_row)
{
	struct span_call call = {
		.function = event->function,
		.depth = event->depth ? event->depth : (uint32_t)reader->open.count + 1,
		.start_ns = event->time_ns,
		.index = reader->index,
	};
	bool wanted = is_wanted(reader, &call, reader->open.count);
	struct span_call *place;

	if (wanted && reader->wants.mode != SPAN_MODE_WITH_ENDS) {
		give(reader, &call, reader->open.count);
		*is_row = true;
	}
	if (reader->wants.mode == SPAN_MODE_CALLS)
		return true;
	call.wanted = wanted && reader->wants.mode == SPAN_MODE_WITH_ENDS;
	reader->wanted_open += call.wanted;
	if (reader->has_parent && call.index == reader->parent_index)
		reader->parent_place = reader->open.count;
	place = sonde_vec_push(&reader->open);
	if (!place)
		return false;
	*place = call;
	reader->keep = reader->open.count;
	return true;
}

/* Where a call at this depth goes: those at its depth or deeper are over, though their returns are lost. */
static size_t place_for_depth(const struct span_stack *open, uint32_t depth)
{
	size_t place = open->count;

	/* depth 0 is no depth: a source that does not say */
	while (depth && place && open->items[place - 1].depth >= depth)
		place--;
	return place;
}

static size_t search_function(const struct span_stack *open, uint32_t function)
{
	size_t end = open->count > SEARCHED ? open->count - SEARCHED : 0;

	for (size_t i = open->count; i > end; i--) {
		if (function == SONDE_NONE || open->items[i - 1].function == function)
			return i - 1;
	}
	return SIZE_MAX;
}

/* The call that a return leaves which does not fit the innermost one; SIZE_MAX: none. */
static size_t search_left(const struct span_stack *open, const struct sonde_event *event)
{
	size_t left = search_function(open, event->function);
	size_t end = open->count > SEARCHED ? open->count - SEARCHED : 0;

	if (left == SIZE_MAX || event->function == SONDE_NONE || !event->depth)
		return left;
	for (size_t i = left + 1; i > end; i--) {
		const struct span_call *call = &open->items[i - 1];

		if (call->depth == event->depth && call->function == event->function)
			return i - 1;
	}
	/* deeper than all that is open, and only a caller has that function: its call is lost */
	if (left + 1 < open->count && event->depth > open->items[open->count - 1].depth)
		return SIZE_MAX;
	return left;
}

static inline void leave_call(struct span_reader *reader, const struct sonde_event *event)
{
	const struct span_stack *open = &reader->open;
	size_t left = open->count - 1;

	if (!open->count)
		return;
	if (__builtin_expect(open->items[left].function != event->function ||
				     open->items[left].depth != event->depth,
			     0))
		left = search_left(open, event);
	if (left == SIZE_MAX)
		return;
	reader->keep = reader->left = left;
	reader->left_by = event->kind == SONDE_EVENT_RETURN ? SPAN_END_RETURN : SPAN_END_EXCEPTION;
}

/* --- rows --- */

/* At the end of a batch: another one, the end of what is open, or another track. */
static enum sonde_status go_on(struct span_reader *reader, struct sonde_error *err)
{
	enum sonde_status status;

	if (reader->track_ends)
		return open_track(reader, reader->track + 1, err);
	status = read_batch(reader, err);
	if (status != SONDE_END)
		return status;
	reader->track_ends = true;
	reader->keep = 0;
	return SONDE_OK;
}

/* Takes one event, or ends calls that cannot be open before it; then it comes again. */
static inline enum sonde_status take_event(struct span_reader *reader, bool *is_row,
					   struct sonde_error *err)
{
	const struct sonde_event *event = &reader->batch[reader->position];

	reader->now_ns = event->time_ns;
	if (event->kind == SONDE_EVENT_CALL) {
		size_t place = place_for_depth(&reader->open, event->depth);

		if (__builtin_expect(place < reader->open.count, 0)) {
			reader->keep = place;
			reader->left = SIZE_MAX;
			return SONDE_OK;
		}
		if (is_done(reader, event->time_ns))
			return open_track(reader, reader->track + 1, err);
		if (!begin_call(reader, event, is_row))
			return sonde_fail_nomem(err);
	} else if (sonde_event_leaves(event) && reader->wants.mode != SPAN_MODE_CALLS) {
		leave_call(reader, event);
	}
	reader->position++;
	reader->index++;
	return SONDE_OK;
}

enum sonde_status span_reader_next(struct span_reader *reader, struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;
	bool is_row = false;

	while (!status && !is_row && !reader->is_over) {
		if (reader->open.count > reader->keep)
			is_row = end_call(reader);
		else if (reader->position == reader->count)
			status = go_on(reader, err);
		else
			status = take_event(reader, &is_row, err);
	}
	return status || is_row ? status : SONDE_END;
}

/* Children of one call lie behind it in its track. */
static void limit_to_parent(struct span_reader *reader)
{
	const struct query_wish *parent = reader->wants.parents;

	reader->has_parent = parent->low == parent->high;
	if (!reader->has_parent)
		return;
	reader->parent_index = (uint64_t)(parent->low & QUERY_ID_NUMBER);
	if (reader->low_id < parent->low)
		reader->low_id = parent->low;
	if (reader->high_id > (parent->low | QUERY_ID_NUMBER))
		reader->high_id = parent->low | QUERY_ID_NUMBER;
}

enum sonde_status span_reader_start(struct span_reader *reader, struct query_recording *source,
				    const struct span_wants *wants, struct sonde_error *err)
{
	close_track(reader);
	reader->source = source;
	reader->wants = *wants;
	reader->low_id = wants->ids->low > 0 ? wants->ids->low : 0;
	reader->high_id = wants->ids->high;
	limit_to_parent(reader);
	reader->looks_closer = wants->first_slot || wants->last_slot != UINT32_MAX ||
			       !query_wish_is_any(wants->functions) ||
			       !query_wish_is_any(wants->depths) ||
			       !query_wish_is_any(wants->parents);
	reader->is_over = !query_wish_times(wants->starts, &reader->low_ns, &reader->high_ns) ||
			  reader->high_id < reader->low_id;
	return reader->is_over ? SONDE_OK : open_track(reader, 0, err);
}

void span_reader_release(struct span_reader *reader)
{
	close_track(reader);
	sonde_vec_release(&reader->open);
}
