/* SPDX-License-Identifier: Apache-2.0 */
/* Open calls of tracks, kept every so many events. Memory is a small share of the events', whatever the depth. */
#include "query/span_marks.h"

#include <stdlib.h>
#include <string.h>

/* Events between two marks; more where many calls are open, so that marks stay small beside events. */
#define MARK_DISTANCE 65536
#define EVENTS_PER_CALL 16

struct track_marks {
	SONDE_VEC(struct span_mark) marks;
	struct span_stack calls;
	uint64_t frontier;
};

struct query_marks {
	uint32_t count;
	struct track_marks tracks[];
};

void query_marks_free(struct query_marks *marks)
{
	if (!marks)
		return;
	for (uint32_t i = 0; i < marks->count; i++) {
		sonde_vec_release(&marks->tracks[i].marks);
		sonde_vec_release(&marks->tracks[i].calls);
	}
	free(marks);
}

static struct track_marks *marks_of(const struct query_recording *source, uint32_t track)
{
	return source->marks && track < source->marks->count ? &source->marks->tracks[track] : NULL;
}

uint64_t query_marks_frontier(struct query_recording *source, uint32_t track)
{
	const struct track_marks *known;

	if (source->derives_events)
		return UINT64_MAX; /* their cursors cannot go anywhere */
	if (!source->marks) {
		uint32_t count = sonde_definitions_track_count(source->definitions);

		source->marks = calloc(1, sizeof(*source->marks) +
						  count * sizeof(source->marks->tracks[0]));
		if (!source->marks)
			return UINT64_MAX;
		source->marks->count = count;
		for (uint32_t i = 0; i < count; i++)
			source->marks->tracks[i].frontier = MARK_DISTANCE;
	}
	known = marks_of(source, track);
	return known ? known->frontier : UINT64_MAX;
}

void query_marks_add(struct query_recording *source, uint32_t track, const struct span_stack *open,
		     uint64_t index, uint64_t time_ns)
{
	struct track_marks *known = marks_of(source, track);
	struct span_mark *mark;
	uint64_t distance = open->count * (uint64_t)EVENTS_PER_CALL;

	if (!known || index < known->frontier || !sonde_vec_reserve(&known->calls, open->count))
		return;
	mark = sonde_vec_push(&known->marks);
	if (!mark)
		return;
	*mark = (struct span_mark){
		.index = index,
		.time_ns = time_ns,
		.first = known->calls.count,
		.count = open->count,
	};
	if (open->count)
		memcpy(known->calls.items + known->calls.count, open->items,
		       open->count * sizeof(*open->items));
	known->calls.count += open->count;
	known->frontier = index + (distance > MARK_DISTANCE ? distance : MARK_DISTANCE);
}

/* Both ascend with the marks of a track. */
static bool is_before(const struct span_mark *mark, uint64_t index, uint64_t time_ns)
{
	return mark->index <= index || mark->time_ns < time_ns;
}

enum sonde_status query_marks_find(const struct query_recording *source, uint32_t track,
				   uint64_t index, uint64_t time_ns, struct span_stack *open,
				   uint64_t *place, struct sonde_error *err)
{
	const struct track_marks *known = marks_of(source, track);
	size_t low = 0, high = known ? known->marks.count : 0;
	const struct span_mark *mark;

	*place = 0;
	open->count = 0;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (is_before(&known->marks.items[middle], index, time_ns))
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return SONDE_OK;
	mark = &known->marks.items[low - 1];
	if (!sonde_vec_reserve(open, mark->count))
		return sonde_fail_nomem(err);
	if (mark->count)
		memcpy(open->items, known->calls.items + mark->first,
		       mark->count * sizeof(*open->items));
	open->count = mark->count;
	*place = mark->index;
	return SONDE_OK;
}
