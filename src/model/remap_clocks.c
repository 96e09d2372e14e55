/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clocks and anchors of a target in which all times were moved to one clock. Events, samples, tracks and
 * processes are moved elsewhere; here is only what that clock is, and which wall clock it goes by.
 */
#include <stdlib.h>

#include "model/remap_private.h"
#include "model/time_map.h"

/* By clock: the map of the first process that counts by it; malloc'd, NULL where memory failed. */
static const struct sonde_time_map **list_maps(const struct sonde_remap *remap)
{
	const struct sonde_time_map **maps =
		calloc((size_t)remap->clock_count + 1, sizeof(struct sonde_time_map *));

	for (uint32_t i = remap->process_count; maps && i--;) {
		uint32_t clock = sonde_definitions_process(remap->source, i)->clock;

		if (clock < remap->clock_count)
			maps[clock] = &remap->request->time_maps[i];
	}
	return maps;
}

/* Both of its times are moved by the same where the clock's own would lie before 0. */
static void move_anchor(struct sonde_anchor *anchor, const struct sonde_time_map *map)
{
	__int128 place = sonde_time_map_place(map, anchor->clock_ns);

	anchor->clock_ns = sonde_time_map_apply(map, anchor->clock_ns);
	if (place < 0 && -place <= (__int128)(UINT64_MAX - anchor->realtime_ns))
		anchor->realtime_ns += (uint64_t)-place;
}

/* Whose anchors tie the one clock to the wall clock: its own or, where it has none, another's. */
static uint32_t find_anchored_clock(const struct sonde_remap *remap, uint32_t own,
				    const struct sonde_time_map *const *maps)
{
	uint32_t anchors = sonde_definitions_anchor_count(remap->source), other = SONDE_NONE;

	if (sonde_definitions_anchor_count(remap->target))
		return SONDE_NONE;
	for (uint32_t i = 0; i < anchors; i++) {
		uint32_t clock = sonde_definitions_anchor(remap->source, i)->clock;

		if (clock >= remap->clock_count || !maps[clock])
			continue;
		if (clock == own)
			return own;
		if (other == SONDE_NONE)
			other = clock;
	}
	return other;
}

static enum sonde_status copy_anchors(struct sonde_remap *remap, uint32_t clock,
				      const struct sonde_time_map *map, struct sonde_error *err)
{
	uint32_t anchors = sonde_definitions_anchor_count(remap->source), id;
	enum sonde_status status = SONDE_OK;

	for (uint32_t i = 0; !status && i < anchors; i++) {
		struct sonde_anchor anchor = *sonde_definitions_anchor(remap->source, i);

		if (anchor.clock != clock)
			continue;
		move_anchor(&anchor, map);
		anchor.clock = 0;
		status = sonde_definitions_add_anchor(remap->target, &anchor, &id, err);
	}
	return status;
}

/* The clock of the process that all others are brought to, where it has one. */
static enum sonde_status copy_own_clock(struct sonde_remap *remap, uint32_t *own,
					struct sonde_error *err)
{
	const struct sonde_process *process =
		sonde_definitions_process(remap->source, remap->request->clock_of);
	const struct sonde_clock *found =
		process ? sonde_definitions_clock(remap->source, process->clock) : NULL;
	struct sonde_clock clock;
	enum sonde_status status;
	uint32_t id;

	*own = SONDE_NONE;
	if (!found)
		return SONDE_OK;
	*own = process->clock;
	clock = *found;
	status = sonde_remap_string(remap, &clock.name, err);
	if (!status)
		status = sonde_definitions_add_clock(remap->target, &clock, &id, err);
	return status;
}

enum sonde_status sonde_remap_unite_clocks(struct sonde_remap *remap, struct sonde_error *err)
{
	const struct sonde_time_map **maps;
	enum sonde_status status;
	uint32_t own, anchored;

	status = copy_own_clock(remap, &own, err);
	if (status || !sonde_definitions_clock_count(remap->target))
		return status;
	maps = list_maps(remap);
	if (!maps)
		return sonde_fail_nomem(err);
	for (uint32_t i = 0; i < remap->clock_count; i++)
		remap->clocks[i] = 0;
	anchored = find_anchored_clock(remap, own, maps);
	if (anchored != SONDE_NONE)
		status = copy_anchors(remap, anchored, maps[anchored], err);
	free(maps);
	return status;
}
