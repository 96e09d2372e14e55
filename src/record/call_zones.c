/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Zones: while a stack is in one, its calls and annotations go to the lane of that zone, of which
 * there is one for each name. A zone is left at its end, or where the stack pointer rises above the
 * function that began it; what is open in it then was left.
 */
#include <stdlib.h>
#include <string.h>

#include "record/call_lane.h"

static struct call_zone *innermost(struct call_lane *home)
{
	return home->zones.count ? &home->zones.items[home->zones.count - 1] : NULL;
}

/* The lane that events of this stack go to. */
static void make_current(struct calls *calls, struct call_lane *home)
{
	const struct call_zone *zone = innermost(home);
	struct call_lane *lane = zone ? zone->lane : home;

	if (lane != calls->current)
		calls_let_wait(calls, calls->current);
	calls->current = lane;
	calls->home = home;
}

enum sonde_status calls_leave_zones(struct calls *calls, struct call_lane *home, size_t keep,
				    uint64_t ns, struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	while (home->zones.count > keep && status >= 0) {
		const struct call_zone *zone = innermost(home);
		struct call_lane *lane = zone->lane;

		status = call_lane_leave(calls, lane, zone->base, ns, err);
		lane->signal_count = 0;
		if (!lane->depth) {
			lane->throw_count = 0;
			lane->mark = lane->exit_mark = 0;
		}
		home->zones.count--;
		if (lane != calls->current)
			calls_let_wait(calls, lane);
	}
	if (home == calls->home) {
		make_current(calls, home);
		calls->window_size = 0; /* look again where the next unit belongs */
	}
	return status;
}

enum sonde_status calls_enter_home(struct calls *calls, struct call_lane *home, uint64_t stack,
				   uint64_t ns, uint64_t *high, struct sonde_error *err)
{
	size_t keep = home->zones.count;
	enum sonde_status status = SONDE_OK;

	while (keep &&
	       (home->zones.items[keep - 1].on_signal || home->zones.items[keep - 1].stack < stack))
		keep--;
	if (keep < home->zones.count)
		status = calls_leave_zones(calls, home, keep, ns, err);
	make_current(calls, home);
	if (keep && home->zones.items[keep - 1].stack < *high)
		*high = home->zones.items[keep - 1].stack;
	return status;
}

static struct call_lane *find_lane(const struct call_lane *home, const char *name)
{
	for (size_t i = 0; i < home->zoned.count; i++)
		if (!strcmp(home->zoned.items[i]->zone, name))
			return home->zoned.items[i];
	return NULL;
}

static enum sonde_status make_lane(struct calls *calls, struct call_lane *home, const char *name,
				   struct call_lane **lane, struct sonde_error *err)
{
	const struct calls_output *output = &calls->output;
	uint32_t number = (uint32_t)calls->lanes.count;
	enum sonde_status status;

	if (!sonde_vec_reserve(&home->zoned, 1))
		return sonde_fail_nomem(err);
	status = calls_add_lane(calls, NULL, err);
	if (status < 0)
		return status;
	*lane = calls->lanes.items[number];
	(*lane)->zone = strdup(name);
	if (!(*lane)->zone)
		return sonde_fail_nomem(err);
	home->zoned.items[home->zoned.count++] = *lane;
	if (output->lane)
		status = output->lane(output->context, number, 0, 0, err);
	if (status >= 0 && output->zone)
		status = output->zone(output->context, number, name, err);
	return status;
}

/* How many zones are around the one of this object; SIZE_MAX where it is not open. */
static size_t find_open(const struct call_lane *home, uint64_t object)
{
	for (size_t i = home->zones.count; i--;)
		if (home->zones.items[i].object == object)
			return i;
	return SIZE_MAX;
}

enum sonde_status calls_zone(struct calls *calls, const struct annotation_site *site,
			     const struct call_unit *unit, struct sonde_error *err)
{
	uint64_t stack = unit->unit->stack, object = unit->unit->place;
	struct call_lane *lane, *home;
	struct call_zone *zone;
	enum sonde_status status = calls_locate(calls, stack, true, unit->ns, &lane, err);
	size_t around;

	if (status < 0 || !lane)
		return status;
	home = calls->home;
	around = find_open(home, object); /* it was left in silence */
	if (around != SIZE_MAX)
		status = calls_leave_zones(calls, home, around, unit->ns, err);
	lane = calls->current;
	if (status >= 0)
		status = call_lane_leave(calls, lane, call_lane_alive(lane, stack), unit->ns, err);
	if (status < 0)
		return status;
	lane = find_lane(home, site->name);
	if (!lane)
		status = make_lane(calls, home, site->name, &lane, err);
	if (status < 0)
		return status;
	zone = sonde_vec_push(&home->zones);
	if (!zone || !lane)
		return sonde_fail_nomem(err);
	*zone = (struct call_zone){
		.stack = stack,
		.object = object,
		.lane = lane,
		.base = lane->depth,
		.on_signal = calls->window_size == 0 && calls->current->signal_count,
	};
	make_current(calls, home);
	calls->window_size = 0;
	return SONDE_OK;
}

enum sonde_status calls_zone_end(struct calls *calls, const struct call_unit *unit,
				 struct sonde_error *err)
{
	struct call_lane *lane;
	enum sonde_status status =
		calls_locate(calls, unit->unit->stack, false, unit->ns, &lane, err);
	size_t around;

	if (status < 0 || !lane)
		return status;
	around = find_open(calls->home, unit->unit->place);
	return around == SIZE_MAX ? SONDE_OK :
				    calls_leave_zones(calls, calls->home, around, unit->ns, err);
}

void calls_all_open(struct calls *calls, void (*how)(struct call_lane *lane))
{
	struct call_lane *home = calls->home;

	how(home);
	for (size_t i = 0; i < home->zones.count; i++) {
		size_t first = 0;

		while (home->zones.items[first].lane != home->zones.items[i].lane)
			first++;
		if (first == i)
			how(home->zones.items[i].lane);
	}
}

static void copy_calls(struct open_call *to, size_t *count, const struct call_lane *lane,
		       size_t from, size_t end)
{
	if (end > from)
		memcpy(to + *count, lane->open + 1 + from, (end - from) * sizeof(*to));
	*count += end > from ? end - from : 0;
}

/* All that is open where the thread is, whatever the zone. */
enum sonde_status calls_copy_open(const struct calls *calls, struct open_call **open, size_t *count,
				  struct sonde_error *err)
{
	const struct call_lane *home = calls->home;
	size_t most = home->depth + 1;

	*count = 0;
	for (size_t i = 0; i < home->zones.count; i++)
		most += home->zones.items[i].lane->depth;
	*open = calloc(most, sizeof(**open));
	if (!*open)
		return sonde_fail_nomem(err);
	copy_calls(*open, count, home, 0, home->depth);
	for (size_t i = 0; i < home->zones.count; i++) {
		const struct call_zone *zone = &home->zones.items[i];
		size_t end = zone->lane->depth;

		for (size_t j = home->zones.count; --j > i;)
			if (home->zones.items[j].lane == zone->lane)
				end = home->zones.items[j].base;
		copy_calls(*open, count, zone->lane, zone->base, end);
	}
	return SONDE_OK;
}
