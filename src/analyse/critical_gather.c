/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first pass: every event once, track by track. What is kept are distinct paths of calls, where a track
 * is every few thousand events, and events of flows. Any event is then found again by reading one block.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/critical_private.h"
#include "base/sort.h"

/* So far up is looked for the call that a return leaves, as in model/call_stack.h. */
#define SEARCHED 256

static uint32_t child_of(struct critical_work *work, uint32_t parent, uint32_t function)
{
	struct critical_node *node = &work->nodes.items[parent], *added;
	uint64_t key = (uint64_t)parent << 32 | function;
	uint64_t *self;
	uint32_t number;

	if (node->recent_child && work->nodes.items[node->recent_child].function == function)
		return node->recent_child;
	number = sonde_key_map_find(&work->children, key);
	if (number == UINT32_MAX) {
		number = (uint32_t)work->nodes.count;
		self = sonde_vec_push(&work->node_self);
		added = sonde_vec_push(&work->nodes);
		if (!self || !added || number == SONDE_NONE - 1 ||
		    !sonde_key_map_add(&work->children, key, number))
			return SONDE_NONE;
		*self = 0;
		*added = (struct critical_node){
			.parent = parent,
			.function = function,
			.depth = work->nodes.items[parent].depth + 1,
		};
	}
	work->nodes.items[parent].recent_child = number;
	return number;
}

uint32_t critical_step(struct critical_work *work, uint32_t node, const struct sonde_event *event)
{
	const struct critical_node *nodes = work->nodes.items;
	uint32_t at = node;

	if (event->kind == SONDE_EVENT_CALL)
		return child_of(work, node, event->function);
	if (!sonde_event_leaves(event) || !node)
		return node;
	if (event->function == SONDE_NONE)
		return nodes[node].parent;
	for (unsigned int i = 0; at && i < SEARCHED; i++, at = nodes[at].parent) {
		if (nodes[at].function == event->function)
			return nodes[at].parent;
	}
	return node;
}

enum sonde_status critical_read(struct critical_work *work, uint32_t track, critical_take *take,
				void *user, struct sonde_error *err)
{
	struct sonde_batch batch = { 0 };
	struct sonde_cursor *cursor = NULL;
	enum sonde_status status = sonde_cursor_open(work->recording, track, &cursor, err);
	bool is_over = false;

	while (status == SONDE_OK && !is_over) {
		size_t count = 0;

		status = sonde_cursor_next(cursor, &batch, err);
		if (status != SONDE_OK)
			break;
		while (count < batch.count && batch.events[count].time_ns <= work->to_ns)
			count++;
		is_over = count < batch.count;
		if (count)
			status = take(work, track, &batch, count, user, err);
		if (status == SONDE_OK)
			status = sonde_meter_add(&work->meter, count, err);
	}
	sonde_cursor_free(cursor);
	return status == SONDE_END ? SONDE_OK : status;
}

/* How far the first pass is in a track. */
struct passing {
	uint32_t node;
	uint64_t time_ns;
};

static bool add_flow_event(struct critical_work *work, uint32_t track, uint64_t index,
			   const struct sonde_event *event)
{
	struct critical_flow_event *flow = sonde_vec_push(&work->flow_events);

	if (flow)
		*flow = (struct critical_flow_event){
			.time_ns = event->time_ns,
			.index = index,
			.number = event->extra,
			.track = track,
			.event_type = event->function,
			.kind = event->kind,
		};
	return flow;
}

/* What lies between two times of what is looked at. */
static uint64_t time_within(const struct critical_work *work, uint64_t from_ns, uint64_t to_ns)
{
	if (from_ns < work->from_ns)
		from_ns = work->from_ns;
	return to_ns > from_ns ? to_ns - from_ns : 0;
}

static enum sonde_status take_batch(struct critical_work *work, uint32_t number,
				    const struct sonde_batch *batch, size_t count, void *user,
				    struct sonde_error *err)
{
	struct critical_track *track = &work->tracks[number];
	struct passing *passing = user;
	bool is_good = true;

	for (size_t i = 0; i < count && is_good; i++) {
		const struct sonde_event *event = &batch->events[i];
		uint64_t index = track->event_count++;

		if (index % BLOCK_EVENTS == 0) {
			uint32_t *node = sonde_vec_push(&track->nodes);

			if (!node)
				return sonde_fail_nomem(err);
			*node = passing->node;
		}
		if (index)
			work->node_self.items[passing->node] +=
				time_within(work, passing->time_ns, event->time_ns);
		if (!track->has_first && event->time_ns >= work->from_ns)
			track->first_ns = event->time_ns;
		track->has_first = track->has_first || event->time_ns >= work->from_ns;
		if (event->time_ns > track->last_ns)
			track->last_ns = event->time_ns;
		passing->time_ns = event->time_ns;
		passing->node = critical_step(work, passing->node, event);
		is_good = passing->node != SONDE_NONE;
		if (event->kind >= SONDE_EVENT_FLOW_BEGIN && event->kind <= SONDE_EVENT_FLOW_END)
			is_good = is_good && add_flow_event(work, number, index, event);
	}
	return is_good ? SONDE_OK : sonde_fail_nomem(err);
}

static int compare_flow_events(const void *left, const void *right)
{
	const struct critical_flow_event *a = left, *b = right;

	if (a->number != b->number)
		return a->number < b->number ? -1 : 1;
	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (a->track != b->track)
		return a->track < b->track ? -1 : 1;
	return a->index < b->index ? -1 : a->index > b->index;
}

static int compare_ties(const void *left, const void *right)
{
	const struct critical_tie *a = left, *b = right;

	return a->to_index < b->to_index ? -1 : a->to_index > b->to_index;
}

/* Each step and end of a flow depends on the event of it before. */
static enum sonde_status tie_flows(struct critical_work *work, struct sonde_error *err)
{
	const struct critical_flow_event *events = work->flow_events.items;

	if (!work->flow_events.count)
		return SONDE_OK;
	qsort(work->flow_events.items, work->flow_events.count, sizeof(*events),
	      compare_flow_events);
	for (size_t i = 1; i < work->flow_events.count; i++) {
		const struct critical_flow_event *from = &events[i - 1], *to = &events[i];
		struct critical_tie *tie;

		if (from->number != to->number || to->kind == SONDE_EVENT_FLOW_BEGIN ||
		    from->kind == SONDE_EVENT_FLOW_END || from->track == to->track)
			continue;
		tie = sonde_vec_push(&work->tracks[to->track].flows);
		if (!tie)
			return sonde_fail_nomem(err);
		*tie = (struct critical_tie){
			.to_index = to->index,
			.from_index = from->index,
			.from_ns = from->time_ns,
			.from_track = from->track,
			.by = from->event_type,
		};
		work->path->flows++;
	}
	sonde_vec_release(&work->flow_events);
	for (uint32_t i = 0; i < work->track_count; i++) {
		struct critical_track *track = &work->tracks[i];

		if (track->flows.count)
			qsort(track->flows.items, track->flows.count, sizeof(struct critical_tie),
			      compare_ties);
	}
	return SONDE_OK;
}

static enum sonde_status prepare(struct critical_work *work,
				 const struct sonde_selection_spec *selection,
				 struct sonde_error *err)
{
	static const struct critical_node root = { .parent = SONDE_NONE, .function = SONDE_NONE };
	struct critical_node *node = sonde_vec_push(&work->nodes);
	uint64_t *self = sonde_vec_push(&work->node_self);

	work->track_count = sonde_definitions_track_count(work->definitions);
	work->tracks = calloc((size_t)work->track_count + 1, sizeof(*work->tracks));
	work->blocks = malloc(BLOCKS_KEPT * sizeof(*work->blocks));
	if (!node || !self || !work->tracks || !work->blocks)
		return sonde_fail_nomem(err);
	*node = root;
	*self = 0;
	for (unsigned int i = 0; i < BLOCKS_KEPT; i++)
		work->blocks[i].track = SONDE_NONE;
	for (uint32_t i = 0; i < work->track_count; i++) {
		const struct sonde_track *track = sonde_definitions_track(work->definitions, i);

		work->tracks[i].is_wanted = !selection->track_count;
		work->tracks[i].process = track->process;
	}
	for (size_t i = 0; i < selection->track_count; i++) {
		if (selection->tracks[i] < work->track_count)
			work->tracks[selection->tracks[i]].is_wanted = true;
	}
	for (uint32_t i = 0; i < work->track_count; i++) {
		if (work->tracks[i].is_wanted)
			work->meter.total +=
				sonde_definitions_track(work->definitions, i)->event_count;
	}
	return SONDE_OK;
}

enum sonde_status critical_gather(struct critical_work *work,
				  const struct sonde_selection_spec *selection,
				  struct sonde_error *err)
{
	enum sonde_status status = prepare(work, selection, err);

	for (uint32_t i = 0; i < work->track_count && status == SONDE_OK; i++) {
		struct passing passing = { 0 };

		if (work->tracks[i].is_wanted)
			status = critical_read(work, i, take_batch, &passing, err);
		work->tracks[i].left = work->tracks[i].event_count;
		work->event_total += work->tracks[i].event_count;
	}
	if (status == SONDE_OK)
		status = tie_flows(work, err);
	if (status == SONDE_OK)
		status = critical_gather_spans(work, err);
	work->node_count = work->nodes.count;
	return status;
}

void critical_work_release(struct critical_work *work)
{
	for (uint32_t i = 0; work->tracks && i < work->track_count; i++) {
		struct critical_track *track = &work->tracks[i];

		sonde_cursor_free(track->cursor);
		sonde_vec_release(&track->nodes);
		sonde_vec_release(&track->flows);
		sonde_vec_release(&track->span_begins);
		sonde_vec_release(&track->span_ends);
	}
	free(work->tracks);
	free(work->blocks);
	sonde_vec_release(&work->nodes);
	sonde_key_map_release(&work->children);
	sonde_vec_release(&work->node_self);
	sonde_vec_release(&work->flow_events);
	critical_names_release(&work->names);
}

static enum sonde_status open_cursor(struct critical_work *work, uint32_t track,
				     struct sonde_error *err)
{
	if (work->tracks[track].cursor)
		return SONDE_OK;
	return sonde_cursor_open(work->recording, track, &work->tracks[track].cursor, err);
}

static enum sonde_status fail_changed(struct sonde_error *err)
{
	return sonde_fail(err, SONDE_CORRUPT, SONDE_NO_OFFSET,
			  "expected the events that were there before, found others: does the "
			  "recording change?");
}

static enum sonde_status load_block(struct critical_work *work, struct critical_block *block,
				    uint32_t number, uint64_t first, struct sonde_error *err)
{
	struct critical_track *track = &work->tracks[number];
	uint32_t node = track->nodes.items[first / BLOCK_EVENTS];
	/* what is behind the selected time was not met, and may lead to nodes that are not there */
	uint64_t most = track->event_count - first < BLOCK_EVENTS ? track->event_count - first :
								    BLOCK_EVENTS;
	struct sonde_batch batch = { 0 };
	enum sonde_status status = open_cursor(work, number, err);

	block->track = SONDE_NONE;
	block->first = first;
	block->count = 0;
	if (status == SONDE_OK)
		sonde_cursor_seek_index(track->cursor, first);
	while (status == SONDE_OK && block->count < most) {
		status = sonde_cursor_next(track->cursor, &batch, err);
		for (size_t i = 0; status == SONDE_OK && i < batch.count && block->count < most;
		     i++) {
			node = critical_step(work, node, &batch.events[i]);
			if (node == SONDE_NONE)
				return sonde_fail_nomem(err);
			if (node >= work->node_count)
				return fail_changed(err);
			block->events[block->count] = batch.events[i];
			block->nodes[block->count++] = node;
		}
	}
	if (status < 0)
		return status;
	block->track = number;
	return SONDE_OK;
}

const struct sonde_event *critical_event(struct critical_work *work, uint32_t track, uint64_t index,
					 uint32_t *node, struct sonde_error *err)
{
	uint64_t first = index / BLOCK_EVENTS * BLOCK_EVENTS;
	struct critical_block *block = NULL;

	for (unsigned int i = 0; i < BLOCKS_KEPT && !block; i++) {
		if (work->blocks[i].track == track && work->blocks[i].first == first)
			block = &work->blocks[i];
	}
	if (!block) {
		block = &work->blocks[work->next_block];
		work->next_block = (work->next_block + 1) % BLOCKS_KEPT;
		if (load_block(work, block, track, first, err) < 0)
			return NULL;
	}
	if (index - first >= block->count) {
		fail_changed(err);
		return NULL;
	}
	*node = block->nodes[index - first];
	return &block->events[index - first];
}

uint64_t critical_index_after(struct critical_work *work, uint32_t track, uint64_t time_ns)
{
	uint64_t index;

	if (time_ns == UINT64_MAX || open_cursor(work, track, NULL) < 0)
		return work->tracks[track].event_count;
	sonde_cursor_seek_time(work->tracks[track].cursor, time_ns + 1);
	index = sonde_cursor_position(work->tracks[track].cursor);
	return index < work->tracks[track].event_count ? index : work->tracks[track].event_count;
}
