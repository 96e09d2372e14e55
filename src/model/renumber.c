/* SPDX-License-Identifier: Apache-2.0 */
/* The filter that gives the events of one track their ids in the target; see remap.h. */
#include <stdlib.h>

#include "model/filters.h"

struct renumber {
	struct sonde_sink base;
	struct sonde_sink *next;
	struct sonde_function_map map;
	const struct sonde_id_map *functions;
	uint32_t track; /* in the target */
	struct sonde_event events[SONDE_FILTER_BATCH];
};

static enum sonde_status renumber_event(struct renumber *renumber, struct sonde_event *event,
					struct sonde_error *err)
{
	uint32_t function = event->function, known;

	event->track = renumber->track;
	if (!sonde_event_has_function(event))
		return sonde_remap_event_type(renumber->map.remap, function, &event->function, err);
	known = sonde_id_map_find(renumber->functions, function);
	if (known == SONDE_NONE)
		return sonde_function_map_get(&renumber->map, function, &event->function, err);
	event->function = known;
	return SONDE_OK;
}

static enum sonde_status renumber_part(struct renumber *renumber, const struct sonde_batch *source,
				       size_t first, size_t count, struct sonde_error *err)
{
	struct sonde_batch batch = *source;

	for (size_t i = 0; i < count; i++) {
		enum sonde_status status;

		renumber->events[i] = source->events[first + i];
		status = renumber_event(renumber, &renumber->events[i], err);
		if (status)
			return status;
	}
	batch.events = renumber->events;
	batch.count = count;
	batch.first_index += first;
	batch.function_map = &renumber->map;
	return renumber->next->ops->events(renumber->next, renumber->track, &batch, err);
}

static enum sonde_status renumber_events(struct sonde_sink *sink, uint32_t track,
					 const struct sonde_batch *batch, struct sonde_error *err)
{
	struct renumber *renumber = (struct renumber *)sink;
	enum sonde_status status = SONDE_OK;

	(void)track;
	for (size_t first = 0; !status && first < batch->count; first += SONDE_FILTER_BATCH) {
		size_t left = batch->count - first;

		status = renumber_part(renumber, batch, first,
				       left < SONDE_FILTER_BATCH ? left : SONDE_FILTER_BATCH, err);
	}
	return status;
}

static enum sonde_status renumber_track_end(struct sonde_sink *sink, uint32_t track,
					    struct sonde_error *err)
{
	struct renumber *renumber = (struct renumber *)sink;

	(void)track;
	return renumber->next->ops->track_end(renumber->next, renumber->track, err);
}

static void renumber_free(struct sonde_sink *sink)
{
	free(sink);
}

enum sonde_status sonde_renumber_new(struct sonde_remap *remap, uint32_t track,
				     struct sonde_sink *next, struct sonde_sink **sink,
				     struct sonde_error *err)
{
	static const struct sonde_sink_ops ops = {
		.events = renumber_events,
		.track_end = renumber_track_end,
		.free = renumber_free,
	};
	struct renumber *renumber = malloc(sizeof(*renumber));

	if (!renumber)
		return sonde_fail_nomem(err);
	renumber->base.ops = &ops;
	renumber->next = next;
	renumber->track = sonde_remap_track(remap, track);
	renumber->map.remap = remap;
	renumber->map.process = sonde_remap_process_of(remap, track);
	renumber->functions = sonde_remap_functions(remap);
	*sink = &renumber->base;
	return SONDE_OK;
}
