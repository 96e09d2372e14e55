/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The events of a clock that have a name, from all of its tracks, in the order of time. Of very many only
 * the earliest are kept.
 */
#include <fnmatch.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/align_private.h"
#include "base/pool.h"
#include "base/sort.h"

struct gather {
	const struct align *align;
	const struct align_clock *clock;
	const struct align_options *options;
	const struct sonde_definitions *definitions;
	SONDE_VEC(uint32_t) tracks;
	pthread_mutex_t lock; /* of the moments */
	struct align_moments *moments;
	struct sonde_meter meter;
};

/* Which ids are called so, as far as they were met. One thread's. */
struct names {
	SONDE_VEC(uint8_t) functions; /* by id */
	SONDE_VEC(uint8_t) types;
};

enum { NOT_LOOKED_AT, IS_NOT, IS_IT };

static bool is_called(const struct gather *gather, uint32_t string)
{
	const char *name = sonde_definitions_string(gather->definitions, string);

	return !strcmp(name, gather->options->event) ||
	       fnmatch(gather->options->event, name, 0) == 0;
}

static bool look_at_function(const struct gather *gather, uint32_t id)
{
	const struct sonde_function *function = sonde_definitions_function(gather->definitions, id);

	return function && (is_called(gather, function->name) ||
			    (function->raw_name && is_called(gather, function->raw_name)));
}

static bool look_at_type(const struct gather *gather, uint32_t id)
{
	const struct sonde_event_type *type = sonde_definitions_event_type(gather->definitions, id);

	return type && is_called(gather, type->name);
}

/* SONDE_NONE and ids without a definition are never it. */
static bool is_named(const struct gather *gather, struct names *names,
		     const struct sonde_event *event)
{
	bool has_function = sonde_event_has_function(event);
	uint8_t **items = has_function ? &names->functions.items : &names->types.items;
	size_t *count = has_function ? &names->functions.count : &names->types.count;
	size_t *capacity = has_function ? &names->functions.capacity : &names->types.capacity;
	uint32_t id = event->function;
	bool is_it;

	if (!gather->options->event)
		return true;
	if (id < *count && (*items)[id])
		return (*items)[id] == IS_IT;
	is_it = has_function ? look_at_function(gather, id) : look_at_type(gather, id);
	if (id >= (has_function ? sonde_definitions_function_count(gather->definitions) :
				  sonde_definitions_event_type_count(gather->definitions)))
		return false;
	if (id >= *count) {
		if (!sonde_vec_grow(items, capacity, *count, id + 1 - *count, 1))
			return is_it; /* it is looked up again the next time */
		memset(*items + *count, NOT_LOOKED_AT, id + 1 - *count);
		*count = id + 1;
	}
	(*items)[id] = is_it ? IS_IT : IS_NOT;
	return is_it;
}

static bool is_wanted(const struct gather *gather, struct names *names,
		      const struct sonde_event *event)
{
	bool is_flow = event->kind == SONDE_EVENT_FLOW_BEGIN ||
		       event->kind == SONDE_EVENT_FLOW_STEP || event->kind == SONDE_EVENT_FLOW_END;

	if (gather->options->method == ALIGN_MESSAGES ? !is_flow : sonde_event_leaves(event))
		return false;
	return !(event->flags & SONDE_EVENT_SYNTHETIC) && is_named(gather, names, event);
}

/* Orders by time and keeps the earliest; false where memory failed. */
static bool trim(struct align_moments *moments)
{
	struct sonde_sort_item *order = calloc(moments->count + 1, sizeof(*order));
	struct align_moment *sorted = calloc(moments->count + 1, sizeof(*sorted));
	bool happened = order && sorted;

	for (size_t i = 0; happened && i < moments->count; i++)
		order[i] =
			(struct sonde_sort_item){ .key = moments->items[i].time_ns, .number = i };
	happened = happened && sonde_sort(order, moments->count);
	for (size_t i = 0; happened && i < moments->count; i++)
		sorted[i] = moments->items[order[i].number];
	if (happened && moments->count) {
		if (moments->count > ALIGN_MOST)
			moments->count = ALIGN_MOST;
		memcpy(moments->items, sorted, moments->count * sizeof(*sorted));
	}
	free(order);
	free(sorted);
	return happened;
}

static bool add(struct align_moments *moments, const struct sonde_event *event)
{
	struct align_moment *moment = sonde_vec_push(moments);

	if (!moment)
		return false;
	*moment = (struct align_moment){ .time_ns = event->time_ns,
					 .number = event->extra,
					 .is_start = event->kind == SONDE_EVENT_FLOW_BEGIN };
	moments->found++;
	return moments->count < 2 * ALIGN_MOST || trim(moments);
}

static bool take_batch(const struct gather *gather, struct names *names,
		       struct align_moments *moments, const struct sonde_batch *batch)
{
	for (size_t i = 0; i < batch->count; i++) {
		if (is_wanted(gather, names, &batch->events[i]) && !add(moments, &batch->events[i]))
			return false;
	}
	return true;
}

/* Adds those of one track to all. */
static bool hand_over(struct gather *gather, const struct align_moments *moments)
{
	struct align_moments *all = gather->moments;
	bool happened;

	pthread_mutex_lock(&gather->lock);
	happened = sonde_vec_reserve(all, moments->count);
	if (happened && moments->count) {
		memcpy(all->items + all->count, moments->items,
		       moments->count * sizeof(*moments->items));
		all->count += moments->count;
	}
	all->found += moments->found;
	if (happened && all->count >= 2 * ALIGN_MOST)
		happened = trim(all);
	pthread_mutex_unlock(&gather->lock);
	return happened;
}

static enum sonde_status gather_track(void *user, size_t number, struct sonde_error *err)
{
	struct gather *gather = user;
	struct align_moments moments = { 0 };
	struct sonde_cursor *cursor = NULL;
	struct names names = { 0 };
	struct sonde_batch batch;
	enum sonde_status status = sonde_cursor_open(gather->clock->recording,
						     gather->tracks.items[number], &cursor, err);

	if (status)
		return status;
	while (!(status = sonde_cursor_next(cursor, &batch, err))) {
		if (!take_batch(gather, &names, &moments, &batch))
			status = sonde_fail_nomem(err);
		if (!status)
			status = sonde_meter_add(&gather->meter, batch.count, err);
		if (status)
			break;
	}
	if (status == SONDE_END)
		status = hand_over(gather, &moments) ? SONDE_OK : sonde_fail_nomem(err);
	sonde_cursor_free(cursor);
	sonde_vec_release(&names.functions);
	sonde_vec_release(&names.types);
	sonde_vec_release(&moments);
	return status;
}

/* The tracks of the processes that count by the clock. */
static bool list_tracks(struct gather *gather)
{
	uint32_t count = sonde_definitions_track_count(gather->definitions);
	uint32_t processes = sonde_definitions_process_count(gather->definitions);
	const uint32_t *of_process = gather->align->of_process.items;

	for (uint32_t i = 0; i < count; i++) {
		const struct sonde_track *track = sonde_definitions_track(gather->definitions, i);
		uint32_t *place;

		if (track->process >= processes ||
		    &gather->align->clocks.items[of_process[gather->clock->first_process +
							    track->process]] != gather->clock)
			continue;
		place = sonde_vec_push(&gather->tracks);
		if (!place)
			return false;
		*place = i;
		gather->meter.total += track->event_count;
	}
	return true;
}

enum sonde_status align_gather(const struct align *align, size_t number,
			       const struct align_options *options, struct align_moments *moments,
			       struct sonde_error *err)
{
	const struct align_clock *clock = &align->clocks.items[number];
	struct gather gather = {
		.align = align,
		.clock = clock,
		.options = options,
		.definitions = sonde_recording_definitions(clock->recording),
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.moments = moments,
		.meter.progress = options->progress,
	};
	enum sonde_status status = list_tracks(&gather) ? SONDE_OK : sonde_fail_nomem(err);

	if (!status)
		status = sonde_pool_run(gather.tracks.count, options->threads, gather_track,
					&gather, err);
	if (!status && !trim(moments))
		status = sonde_fail_nomem(err);
	sonde_vec_release(&gather.tracks);
	return status;
}
