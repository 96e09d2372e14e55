/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way back along the path. Each event of a track is looked at once at most: a track is only gone on with
 * below where it was left, so the walk ends, whatever the recording says.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/critical_private.h"
#include "analyse/critical_walk.h"

/* Looking so far back for where a wait began. */
#define WAIT_EVENTS 10000

/* How a flow that arrived on the track may have been waited for, going back from its arrival. */
enum phase {
	PHASE_CALLS,   /* only calls were made since: it began them */
	PHASE_WAITING, /* within a function that waits */
	PHASE_BETWEEN, /* before one, where another may come */
};

struct pending_flow {
	const struct critical_tie *tie; /* NULL: none */
	enum phase phase;
	uint32_t wait_depth; /* WAITING: of the outermost function that waits */
};

static uint32_t function_at(const struct critical_work *work, uint32_t node)
{
	return work->nodes.items[node].function;
}

static void begin_segment(struct critical_walk *walk)
{
	walk->segment_to_ns = walk->now_ns;
	walk->touched.count = 0;
}

/* Time in a node, down to `from_ns`. */
static void account(struct critical_walk *walk, uint32_t node, uint64_t from_ns)
{
	uint64_t spent;

	if (from_ns < walk->work->from_ns)
		from_ns = walk->work->from_ns;
	if (from_ns >= walk->now_ns)
		return;
	spent = walk->now_ns - from_ns;
	walk->now_ns = from_ns;
	if (!walk->segment_ns[node]) {
		uint32_t *touched = sonde_vec_push(&walk->touched);

		if (!touched) {
			walk->failed = true;
			return;
		}
		*touched = node;
	}
	walk->segment_ns[node] += spent;
}

static void put_segment(struct critical_walk *walk, const struct critical_segment *segment)
{
	struct critical_segment *kept = NULL;

	walk->work->path->counts[segment->reason]++;
	if (walk->segments.count < CRITICAL_SEGMENT_LIMIT)
		kept = sonde_vec_push(&walk->segments);
	if (kept)
		*kept = *segment;
	else
		walk->work->path->segments_cut++;
}

/* The part of the path on this track begins now, for that reason. */
static void end_segment(struct critical_walk *walk, const struct critical_jump *jump)
{
	struct critical_segment segment = {
		.from_ns = walk->now_ns,
		.to_ns = walk->segment_to_ns,
		.track = walk->track,
		.reason = jump->reason,
		.waited_ns = jump->waited_ns,
		.by = jump->by,
	};

	for (size_t i = 0; i < walk->touched.count; i++) {
		uint32_t node = walk->touched.items[i];

		uint64_t spent = walk->segment_ns[node];

		if (spent > segment.node_ns || (spent == segment.node_ns && node < segment.node)) {
			segment.node = node;
			segment.node_ns = spent;
		}
		walk->path_ns[node] += spent;
		walk->segment_ns[node] = 0;
	}
	if (segment.to_ns > segment.from_ns || jump->reason == CRITICAL_START)
		put_segment(walk, &segment);
	else
		walk->passed++;
	begin_segment(walk);
}

/* Goes on with another track, from before event `jump->index` of it on. */
static void take_jump(struct critical_walk *walk, const struct critical_jump *jump)
{
	struct critical_work *work = walk->work;

	if (jump->waited_ns)
		walk->waited_ns[jump->waiting_node] += jump->waited_ns;
	end_segment(walk, jump);
	work->tracks[walk->track].left = walk->index;
	walk->track = jump->track;
	walk->index = jump->index;
}

static bool may_go_to(const struct critical_work *work, uint32_t track, uint64_t index)
{
	return work->tracks[track].is_wanted && index && index <= work->tracks[track].left;
}

/* When the call that the track is in began, as far as that is near. */
static uint64_t wait_begin(struct critical_walk *walk, uint32_t node, uint64_t otherwise)
{
	uint64_t least = walk->index > WAIT_EVENTS ? walk->index - WAIT_EVENTS : 0;

	for (uint64_t i = walk->index; i-- > least;) {
		uint32_t after;
		const struct sonde_event *event =
			critical_event(walk->work, walk->track, i, &after, NULL);

		if (!event)
			return otherwise;
		if (event->kind == SONDE_EVENT_CALL && after == node)
			return event->time_ns;
	}
	return otherwise;
}

/* The outermost function around a node that waits; 0: none does. */
static uint32_t waiting_node(struct critical_walk *walk, uint32_t node)
{
	uint32_t found = 0;
	unsigned int most = 64;

	for (; node && most; node = walk->work->nodes.items[node].parent, most--) {
		if (critical_role_of(&walk->work->names, function_at(walk->work, node)).waits_for)
			found = node;
	}
	return found;
}

static void take_flow(struct critical_walk *walk, const struct critical_tie *tie, uint32_t node,
		      uint64_t before_ns)
{
	uint32_t waiting = waiting_node(walk, node);
	uint64_t since = waiting ? wait_begin(walk, waiting, before_ns) : before_ns;
	struct critical_jump jump = {
		.reason = CRITICAL_FLOW,
		.track = tie->from_track,
		.index = tie->from_index + 1,
		.by = tie->by,
		.waiting_node = waiting ? waiting : node,
	};

	if (since < walk->work->from_ns)
		since = walk->work->from_ns;
	if (walk->now_ns > since)
		jump.waited_ns = walk->now_ns - since;
	take_jump(walk, &jump);
}

/* The flow that an event of this track got, where the path may go along it. */
static const struct critical_tie *find_flow(const struct critical_walk *walk, uint64_t index)
{
	const struct critical_track *track = &walk->work->tracks[walk->track];
	struct critical_tie key = { .to_index = index };
	size_t low = 0, high = track->flows.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (track->flows.items[middle].to_index < key.to_index)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == track->flows.count || track->flows.items[low].to_index != index ||
	    track->flows.items[low].from_ns > walk->now_ns ||
	    !may_go_to(walk->work, track->flows.items[low].from_track,
		       track->flows.items[low].from_index + 1))
		return NULL;
	return &track->flows.items[low];
}

/* What an event means for the flow that may have been waited for. */
static void follow_pending(struct critical_walk *walk, struct pending_flow *pending,
			   const struct sonde_event *event, uint64_t index, uint32_t after,
			   uint32_t before)
{
	const struct critical_node *nodes = walk->work->nodes.items;
	const struct critical_tie *tie;

	if (event->kind == SONDE_EVENT_FLOW_STEP || event->kind == SONDE_EVENT_FLOW_END) {
		tie = find_flow(walk, index);
		if (!tie || (pending->tie && tie->from_ns <= pending->tie->from_ns))
			return;
		if (!pending->tie)
			pending->phase = PHASE_CALLS;
		pending->tie = tie;
		return;
	}
	if (!pending->tie || event->kind == SONDE_EVENT_OTHER || !sonde_event_has_function(event) ||
	    after == before)
		return;
	if (sonde_event_leaves(event)) {
		bool is_inside = pending->phase == PHASE_WAITING &&
				 nodes[before].depth > pending->wait_depth;
		uint32_t waiting = is_inside ? 0 : waiting_node(walk, before);

		if (is_inside)
			return;
		pending->phase = PHASE_WAITING;
		pending->wait_depth = nodes[waiting].depth;
		if (!waiting)
			pending->tie = NULL;
		return;
	}
	if (pending->phase == PHASE_WAITING && nodes[after].depth == pending->wait_depth)
		pending->phase = PHASE_BETWEEN;
	else if (pending->phase == PHASE_BETWEEN)
		pending->tie = NULL;
}

/* A span on another track that ended while this one was in the call that began it. */
static struct critical_span_end *find_span_end(struct critical_walk *walk, uint32_t node,
					       uint64_t from_ns)
{
	struct critical_track *track = &walk->work->tracks[walk->track];
	size_t low = 0, high = track->span_ends.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (track->span_ends.items[middle].time_ns <= walk->now_ns)
			low = middle + 1;
		else
			high = middle;
	}
	while (low-- > 0 && track->span_ends.items[low].time_ns > from_ns) {
		struct critical_span_end *end = &track->span_ends.items[low];

		if (!end->is_used && end->depth == walk->work->nodes.items[node].depth &&
		    may_go_to(walk->work, end->from_track, end->from_index + 1))
			return end;
	}
	return NULL;
}

static bool take_span_end(struct critical_walk *walk, uint32_t node, uint64_t from_ns)
{
	struct critical_span_end *end = find_span_end(walk, node, from_ns);
	struct critical_jump jump = { .reason = CRITICAL_SPAN_END, .by = SONDE_NONE };

	if (!end)
		return false;
	account(walk, node, end->time_ns);
	end->is_used = true;
	jump.track = end->from_track;
	jump.index = end->from_index + 1;
	take_jump(walk, &jump);
	return true;
}

static bool take_span_begin(struct critical_walk *walk, uint64_t index)
{
	const struct critical_track *track = &walk->work->tracks[walk->track];
	struct critical_jump jump = { .reason = CRITICAL_SPAN_BEGIN, .by = SONDE_NONE };
	size_t low = 0, high = track->span_begins.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (track->span_begins.items[middle].index < index)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == track->span_begins.count || track->span_begins.items[low].index != index)
		return false;
	jump.track = track->span_begins.items[low].from_track;
	jump.index = critical_index_after(walk->work, jump.track, walk->now_ns);
	if (jump.index > walk->work->tracks[jump.track].left)
		jump.index = walk->work->tracks[jump.track].left;
	if (!may_go_to(walk->work, jump.track, jump.index))
		return false;
	take_jump(walk, &jump);
	return true;
}

static bool ends_wait(struct critical_walk *walk, const struct sonde_event *event, uint32_t before)
{
	return sonde_event_leaves(event) && waiting_node(walk, before);
}

/* One event back. */
static enum sonde_status step_back(struct critical_walk *walk, struct pending_flow *pending,
				   bool *has_jumped, struct sonde_error *err)
{
	struct critical_work *work = walk->work;
	uint64_t index = walk->index - 1;
	uint32_t after, before = 0;
	const struct sonde_event *found = critical_event(work, walk->track, index, &after, err);
	struct sonde_event event;
	struct critical_jump jump;

	*has_jumped = false;
	if (!found)
		return err && err->status < 0 ? err->status : SONDE_CORRUPT;
	event = *found;
	if (index && !critical_event(work, walk->track, index - 1, &before, err))
		return err && err->status < 0 ? err->status : SONDE_CORRUPT;
	if (pending->phase == PHASE_BETWEEN && !ends_wait(walk, &event, before))
		pending->tie = NULL;
	if (pending->tie && pending->tie->from_ns >= event.time_ns) {
		account(walk, after, pending->tie->from_ns);
		take_flow(walk, pending->tie, after, event.time_ns);
		*has_jumped = true;
		return SONDE_OK;
	}
	*has_jumped = take_span_end(walk, after, event.time_ns);
	if (*has_jumped)
		return SONDE_OK;
	account(walk, after, event.time_ns);
	walk->index = index;
	follow_pending(walk, pending, &event, index, after, before);
	if (pending->tie)
		return SONDE_OK;
	if (event.kind == SONDE_EVENT_CALL && !before)
		*has_jumped = take_span_begin(walk, index);
	else if (sonde_event_leaves(&event) && after != before &&
		 critical_guess_wake(walk, before, event.time_ns, &jump)) {
		/* the wait itself is on the path from when it could have ended */
		account(walk, before, jump.time_ns);
		take_jump(walk, &jump);
		*has_jumped = true;
	}
	return SONDE_OK;
}

/* Where the track begins: a flow that began it, or a guess. False: the path begins here. */
static bool leave_beginning(struct critical_walk *walk, const struct pending_flow *pending)
{
	struct critical_jump jump = { 0 };

	if (walk->is_alone)
		return false;
	if (pending->tie && pending->phase != PHASE_BETWEEN) {
		account(walk, 0, pending->tie->from_ns);
		take_flow(walk, pending->tie, 0, walk->now_ns);
		return true;
	}
	if (!critical_guess_beginning(walk, &jump))
		return false;
	if (jump.reason == CRITICAL_CREATE)
		account(walk, 0, jump.time_ns);
	take_jump(walk, &jump);
	if (walk->now_ns > jump.time_ns) {
		/* nothing was recorded between the end of that track and the beginning of this */
		struct critical_segment gap = {
			.from_ns = jump.time_ns,
			.to_ns = walk->now_ns,
			.track = SONDE_NONE,
			.reason = CRITICAL_GAP,
			.by = SONDE_NONE,
		};

		walk->now_ns = jump.time_ns;
		walk->path_ns[0] += gap.to_ns - gap.from_ns;
		put_segment(walk, &gap);
		begin_segment(walk);
	}
	return true;
}

enum sonde_status critical_walk_from(struct critical_walk *walk, uint32_t track,
				     struct sonde_error *err)
{
	static const struct critical_jump start = { .reason = CRITICAL_START, .by = SONDE_NONE };
	struct critical_work *work = walk->work;
	struct pending_flow pending = { 0 };
	enum sonde_status status = SONDE_OK;
	bool has_jumped = true;
	uint64_t steps = 0;

	walk->track = track;
	walk->index = work->tracks[track].event_count;
	walk->now_ns = work->tracks[track].last_ns;
	work->path->to_ns = walk->now_ns;
	begin_segment(walk);
	while (status == SONDE_OK && walk->now_ns > work->from_ns) {
		if (has_jumped)
			pending = (struct pending_flow){ 0 };
		has_jumped = false;
		if (walk->index)
			status = step_back(walk, &pending, &has_jumped, err);
		else if (leave_beginning(walk, &pending))
			has_jumped = true;
		else
			break;
		if (status == SONDE_OK && ++steps % BLOCK_EVENTS == 0)
			status = sonde_meter_add(&work->meter, 0, err);
	}
	if (status != SONDE_OK)
		return status;
	if (walk->failed)
		return sonde_fail_nomem(err);
	work->path->from_ns = walk->now_ns;
	end_segment(walk, &start);
	return SONDE_OK;
}
