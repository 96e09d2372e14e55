/* SPDX-License-Identifier: Apache-2.0 */
/* The filter that moves the events of one track onto another clock; see time_map.h. */
#include <stdlib.h>

#include "model/filters.h"
#include "model/time_map.h"

struct shift {
	struct sonde_sink base;
	struct sonde_sink *next;
	struct sonde_time_map map;
	struct sonde_event events[SONDE_FILTER_BATCH];
};

static enum sonde_status shift_events(struct sonde_sink *sink, uint32_t track,
				      const struct sonde_batch *source, struct sonde_error *err)
{
	struct shift *shift = (struct shift *)sink;
	enum sonde_status status = SONDE_OK;
	struct sonde_batch batch = *source;

	batch.events = shift->events;
	batch.time_map = &shift->map;
	for (size_t first = 0; !status && first < source->count; first += batch.count) {
		size_t left = source->count - first;

		batch.count = left < SONDE_FILTER_BATCH ? left : SONDE_FILTER_BATCH;
		for (size_t i = 0; i < batch.count; i++) {
			shift->events[i] = source->events[first + i];
			shift->events[i].time_ns =
				sonde_time_map_apply(&shift->map, shift->events[i].time_ns);
		}
		/* events that no source has stay such */
		if (source->first_index != SONDE_NO_INDEX)
			batch.first_index = source->first_index + first;
		status = shift->next->ops->events(shift->next, track, &batch, err);
	}
	return status;
}

static enum sonde_status shift_track_end(struct sonde_sink *sink, uint32_t track,
					 struct sonde_error *err)
{
	struct shift *shift = (struct shift *)sink;

	return shift->next->ops->track_end(shift->next, track, err);
}

static void shift_free(struct sonde_sink *sink)
{
	free(sink);
}

enum sonde_status sonde_shift_new(const struct sonde_time_map *map, struct sonde_sink *next,
				  struct sonde_sink **sink, struct sonde_error *err)
{
	static const struct sonde_sink_ops ops = {
		.events = shift_events,
		.track_end = shift_track_end,
		.free = shift_free,
	};
	struct shift *shift = malloc(sizeof(*shift));

	if (!shift)
		return sonde_fail_nomem(err);
	shift->base.ops = &ops;
	shift->next = next;
	shift->map = *map;
	*sink = &shift->base;
	return SONDE_OK;
}
