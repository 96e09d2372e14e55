/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From one clock to another: struct sonde_time_map of <sonde/pipeline.h> applied. The same for events,
 * samples and definitions, exact where there is no drift, and never out of order.
 */
#ifndef SONDE_MODEL_TIME_MAP_H
#define SONDE_MODEL_TIME_MAP_H

#include <sonde/pipeline.h>

/* The unit of `drift` is 2^-50; this much or more would let time stand still, or double it. */
#define SONDE_DRIFT_BITS 50
#define SONDE_DRIFT_LIMIT ((int64_t)1 << SONDE_DRIFT_BITS)

/* Where a time lies on the target's clock, which may be before its 0 or behind its end. */
static inline __int128 sonde_time_map_place(const struct sonde_time_map *map, uint64_t time_ns)
{
	__int128 passed = (__int128)time_ns - map->source_ns;

	/* an arithmetic shift rounds down, so that the order stays */
	return map->target_ns + passed + (passed * map->drift >> SONDE_DRIFT_BITS);
}

/* The same within the times that there are. */
static inline uint64_t sonde_time_map_apply(const struct sonde_time_map *map, uint64_t time_ns)
{
	__int128 place = sonde_time_map_place(map, time_ns);

	if (place < 0)
		return 0;
	return place > UINT64_MAX ? UINT64_MAX : (uint64_t)place;
}

#endif
