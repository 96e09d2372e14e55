/* SPDX-License-Identifier: Apache-2.0 */
/* Spans by function: counted, then put in their places a part at a time. */
#include "query/span_groups.h"

static bool grow_counts(struct span_groups *groups, size_t slot)
{
	while (groups->counts.count <= slot) {
		uint64_t *added = sonde_vec_push(&groups->counts);

		if (!added)
			return false;
		*added = 0;
	}
	return true;
}

/* How many calls each function has at most. */
static enum sonde_status count_calls(struct span_groups *groups, struct sonde_error *err)
{
	static const struct query_wish any = { .low = INT64_MIN, .high = INT64_MAX };
	struct span_wants wants = groups->wants;
	enum sonde_status status;

	/* what is found out only by pairing is left out: there may be less than that */
	wants.mode = SPAN_MODE_CALLS;
	wants.depths = wants.parents = &any;
	status = span_reader_start(&groups->reader, groups->source, &wants, err);
	while (!status) {
		size_t slot;

		status = span_reader_next(&groups->reader, err);
		slot = span_slot(groups->reader.row.function);
		if (status)
			break;
		if (slot >= groups->counts.count && !grow_counts(groups, slot))
			return sonde_fail_nomem(err);
		groups->counts.items[slot]++;
	}
	return status == SONDE_END ? SONDE_OK : status;
}

enum sonde_status span_groups_start(struct span_groups *groups, struct query_recording *source,
				    const struct span_wants *wants, struct sonde_error *err)
{
	groups->source = source;
	groups->wants = *wants;
	groups->counts.count = 0;
	groups->next_slot = groups->room = groups->position = 0;
	groups->rooms.count = 0;
	groups->streams = false;
	return count_calls(groups, err);
}

/* Which functions the next pass takes; false where none are left. */
static bool choose_slots(struct span_groups *groups)
{
	const uint64_t *counts = groups->counts.items;
	uint64_t slots = groups->counts.count, most = groups->source->query->spans_at_once;
	uint64_t sum, last;

	while (groups->next_slot < slots && !counts[groups->next_slot])
		groups->next_slot++;
	if (groups->next_slot >= slots)
		return false;
	last = groups->next_slot;
	sum = counts[last];
	groups->streams = sum > most;
	while (!groups->streams && last + 1 < slots && sum + counts[last + 1] <= most)
		sum += counts[++last];
	groups->wants.first_slot = (uint32_t)groups->next_slot;
	groups->wants.last_slot = (uint32_t)last;
	groups->next_slot = last + 1;
	return true;
}

/* Room for the spans of each function of this pass, one after the other. */
static bool make_room(struct span_groups *groups)
{
	uint32_t first = groups->wants.first_slot, last = groups->wants.last_slot;
	uint64_t sum = 0;

	if (!sonde_vec_reserve(&groups->rooms, (size_t)last - first + 1))
		return false;
	for (uint32_t slot = first; slot <= last; slot++) {
		struct span_room *room = &groups->rooms.items[groups->rooms.count++];

		room->end = sum;
		sum += groups->counts.items[slot];
		room->limit = sum;
	}
	return sonde_vec_reserve(&groups->spans, sum);
}

static enum sonde_status read_pass(struct span_groups *groups, struct sonde_error *err)
{
	enum sonde_status status;

	while (!(status = span_reader_next(&groups->reader, err))) {
		const struct span *span = &groups->reader.row;
		struct span_room *room =
			&groups->rooms.items[span_slot(span->function) - groups->wants.first_slot];

		if (room->end >= room->limit)
			return sonde_fail(err, SONDE_CORRUPT, SONDE_NO_OFFSET,
					  "the recording has changed while it was read");
		groups->spans.items[room->end++] = *span;
	}
	groups->room = groups->position = 0;
	return status == SONDE_END ? SONDE_OK : status;
}

static enum sonde_status start_pass(struct span_groups *groups, struct sonde_error *err)
{
	enum sonde_status status;

	groups->rooms.count = groups->room = 0;
	if (!choose_slots(groups))
		return SONDE_END;
	status = span_reader_start(&groups->reader, groups->source, &groups->wants, err);
	if (status || groups->streams)
		return status;
	return make_room(groups) ? read_pass(groups, err) : sonde_fail_nomem(err);
}

/* The next span of the present pass; NULL where it has no more. */
static const struct span *take(struct span_groups *groups)
{
	while (groups->room < groups->rooms.count) {
		const struct span_room *room = &groups->rooms.items[groups->room];

		if (groups->position < room->end)
			return &groups->spans.items[groups->position++];
		groups->position = room->limit;
		groups->room++;
	}
	return NULL;
}

enum sonde_status span_groups_next(struct span_groups *groups, const struct span **span,
				   struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	while (!status) {
		if (groups->streams) {
			*span = &groups->reader.row;
			status = span_reader_next(&groups->reader, err);
			if (status != SONDE_END)
				return status;
			groups->streams = false;
		}
		*span = take(groups);
		if (*span)
			return SONDE_OK;
		status = start_pass(groups, err);
	}
	return status;
}

void span_groups_release(struct span_groups *groups)
{
	span_reader_release(&groups->reader);
	sonde_vec_release(&groups->counts);
	sonde_vec_release(&groups->spans);
	sonde_vec_release(&groups->rooms);
}
