/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The filter that keeps the wanted kinds, functions and depths. Whether a call stays is decided
 * when it is made and remembered on a stack, so that what leaves it follows it.
 */
#include <stdlib.h>

#include "model/call_stack.h"
#include "model/filters.h"
#include "model/selection.h"

#define CALLING_KINDS                                                                              \
	(1u << SONDE_EVENT_CALL | 1u << SONDE_EVENT_RETURN | 1u << SONDE_EVENT_EXCEPTION)

/* Mark of an open call that goes; one that stays has its depth in the output, from 1. */
#define CALL_GOES 0

struct select {
	struct sonde_sink base;
	struct sonde_sink *next;
	struct sonde_selection *selection;
	bool counts_depths;
	struct sonde_call_stack stack;
	uint32_t kept_depth; /* open calls that stay */
	size_t count;
	struct sonde_event events[SONDE_FILTER_BATCH];
};

static bool selects_calls(const struct sonde_selection_spec *spec)
{
	return spec->function_count || spec->min_depth || spec->max_depth;
}

bool sonde_select_is_needed(const struct sonde_selection_spec *spec)
{
	return spec->kinds || selects_calls(spec);
}

/* Leaves the call at this place, and those above it. */
static void shorten(struct select *select, size_t left)
{
	while (select->stack.count > left) {
		if (select->stack.items[--select->stack.count].mark != CALL_GOES)
			select->kept_depth--;
	}
}

/* What leaves a call stays if that stays. Without a call there it is judged by itself. */
static bool leave_stays(struct select *select, const struct sonde_event *event, uint32_t *depth)
{
	size_t left = sonde_call_stack_find_left(&select->stack, event);

	if (left == SONDE_NO_CALL) {
		*depth = select->kept_depth + 1;
		return sonde_selection_has_place(select->selection, event);
	}
	*depth = select->stack.items[left].mark;
	shorten(select, left);
	return *depth != CALL_GOES;
}

/* Whether an event stays, its kind aside, and how deep it then is. */
static enum sonde_status judge(struct select *select, const struct sonde_event *event, bool *stays,
			       uint32_t *depth, struct sonde_error *err)
{
	if (sonde_event_leaves(event)) {
		*stays = leave_stays(select, event, depth);
		return SONDE_OK;
	}
	*stays = sonde_selection_has_place(select->selection, event);
	*depth = select->kept_depth;
	if (event->kind != SONDE_EVENT_CALL)
		return SONDE_OK;
	*depth += 1;
	if (!sonde_call_stack_push(&select->stack, event, *stays ? *depth : CALL_GOES))
		return sonde_fail_nomem(err);
	select->kept_depth += *stays;
	return SONDE_OK;
}

static enum sonde_status flush(struct select *select, uint32_t track,
			       const struct sonde_batch *source, struct sonde_error *err)
{
	struct sonde_batch batch = *source;

	batch.events = select->events;
	batch.count = select->count;
	select->count = 0;
	return batch.count ? select->next->ops->events(select->next, track, &batch, err) : SONDE_OK;
}

static enum sonde_status select_events(struct sonde_sink *sink, uint32_t track,
				       const struct sonde_batch *batch, struct sonde_error *err)
{
	struct select *select = (struct select *)sink;

	for (size_t i = 0; i < batch->count; i++) {
		const struct sonde_event *event = &batch->events[i];
		struct sonde_event *copy = &select->events[select->count];
		enum sonde_status status;
		uint32_t depth;
		bool stays;

		status = judge(select, event, &stays, &depth, err);
		if (status)
			return status;
		if (!stays || !sonde_selection_has_kind(select->selection, event))
			continue;
		*copy = *event;
		if (select->counts_depths)
			copy->depth = depth;
		if (++select->count < SONDE_FILTER_BATCH)
			continue;
		status = flush(select, track, batch, err);
		if (status)
			return status;
	}
	return flush(select, track, batch, err);
}

static enum sonde_status select_track_end(struct sonde_sink *sink, uint32_t track,
					  struct sonde_error *err)
{
	struct select *select = (struct select *)sink;

	return select->next->ops->track_end(select->next, track, err);
}

static void select_free(struct sonde_sink *sink)
{
	struct select *select = (struct select *)sink;

	sonde_selection_free(select->selection);
	sonde_vec_release(&select->stack);
	free(select);
}

enum sonde_status sonde_select_new(const struct sonde_selection_spec *spec,
				   const struct sonde_definitions *definitions,
				   struct sonde_sink *next, struct sonde_sink **sink,
				   struct sonde_error *err)
{
	static const struct sonde_sink_ops ops = {
		.events = select_events,
		.track_end = select_track_end,
		.free = select_free,
	};
	struct sonde_selection_spec place = *spec;
	struct select *select = malloc(sizeof(*select));
	enum sonde_status status;

	if (!select)
		return sonde_fail_nomem(err);
	place.from_ns = place.to_ns = 0;
	place.track_count = 0;
	status = sonde_selection_new(&place, definitions, &select->selection, err);
	if (status) {
		free(select);
		return status;
	}
	select->base.ops = &ops;
	select->next = next;
	select->counts_depths = selects_calls(spec) &&
				(!spec->kinds || (spec->kinds & CALLING_KINDS) == CALLING_KINDS);
	select->stack = (struct sonde_call_stack){ 0 };
	select->kept_depth = 0;
	select->count = 0;
	*sink = &select->base;
	return SONDE_OK;
}
