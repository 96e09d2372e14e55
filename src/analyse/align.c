/* SPDX-License-Identifier: Apache-2.0 */
/* The clocks of recordings, their anchors, and the maps that come of what was found out. */
#include "analyse/align.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "analyse/align_private.h"
#include "model/time_map.h"

/* A drift is told from anchors that are at least so far apart. */
#define ANCHOR_SPAN_NS 1000000000.0
/* Clocks of one kind whose wall times are that close are one; and with how many each is compared. */
#define SAME_CLOCK_NS 1000000000
#define CLOCKS_COMPARED 64

void align_release(struct align *align)
{
	sonde_vec_release(&align->clocks);
	sonde_vec_release(&align->of_process);
}

static void add_times(struct align_clock *clock, const struct sonde_track *track)
{
	if (!track->event_count && !track->sample_count)
		return;
	if (!clock->has_time || track->time_first_ns < clock->first_ns)
		clock->first_ns = track->time_first_ns;
	if (!clock->has_time || track->time_last_ns > clock->last_ns)
		clock->last_ns = track->time_last_ns;
	clock->has_time = true;
}

/* What a recording says of one of its clocks; the last is for processes without one. */
struct own_clock {
	enum sonde_clock_kind kind;
	bool is_anchored;
	uint64_t shift_ns; /* to the wall clock, modulo 2^64 */
	uint32_t number;   /* of what it became */
};

struct own_clocks {
	struct sonde_recording *recording;
	const struct sonde_definitions *definitions;
	struct own_clock *items;
	uint32_t count;	      /* without the last */
	size_t first;	      /* of what they became */
	size_t first_process; /* in of_process */
	bool are_apart;	      /* none is taken for another */
};

static bool own_clocks_init(struct own_clocks *own)
{
	const struct sonde_anchor *anchor;

	own->count = sonde_definitions_clock_count(own->definitions);
	own->items = calloc((size_t)own->count + 1, sizeof(*own->items));
	for (uint32_t i = 0; own->items && i <= own->count; i++) {
		const struct sonde_clock *clock = sonde_definitions_clock(own->definitions, i);

		own->items[i].kind = clock ? clock->kind : SONDE_CLOCK_UNKNOWN;
		own->items[i].number = SONDE_NONE;
	}
	for (uint32_t i = 0; own->items && (anchor = sonde_definitions_anchor(own->definitions, i));
	     i++) {
		if (anchor->clock >= own->count || own->items[anchor->clock].is_anchored)
			continue;
		own->items[anchor->clock].is_anchored = true;
		own->items[anchor->clock].shift_ns = anchor->realtime_ns - anchor->clock_ns;
	}
	return own->items;
}

static uint32_t place_of(const struct own_clocks *own, uint32_t clock)
{
	return clock < own->count ? clock : own->count;
}

static bool are_the_same(const struct own_clock *a, const struct own_clock *b)
{
	uint64_t distance = a->shift_ns - b->shift_ns + SAME_CLOCK_NS;

	return a->kind == b->kind && a->is_anchored == b->is_anchored &&
	       (!a->is_anchored || distance <= (uint64_t)2 * SAME_CLOCK_NS);
}

/*
 * Some formats have a clock for each process, though it is the machine's: one of the same kind that goes
 * by the same wall clock. SONDE_NONE: none of the first ones is.
 */
static uint32_t find_same(const struct align *align, const struct own_clocks *own, uint32_t clock)
{
	size_t end = align->clocks.count - own->first;

	for (size_t i = 0; !own->are_apart && i < end && i < CLOCKS_COMPARED; i++) {
		uint32_t other = align->clocks.items[own->first + i].clock;

		if (are_the_same(&own->items[place_of(own, clock)],
				 &own->items[place_of(own, other)]))
			return (uint32_t)(own->first + i);
	}
	return SONDE_NONE;
}

/* The number of what a process counts by; SONDE_NONE where memory failed. */
static uint32_t add_process(struct align *align, struct own_clocks *own, size_t source,
			    uint32_t process)
{
	uint32_t id = sonde_definitions_process(own->definitions, process)->clock;
	struct own_clock *mine = &own->items[place_of(own, id)];
	struct align_clock *clock;

	if (mine->number == SONDE_NONE)
		mine->number = find_same(align, own, id);
	if (mine->number != SONDE_NONE)
		return mine->number;
	clock = sonde_vec_push(&align->clocks);
	if (!clock)
		return SONDE_NONE;
	*clock = (struct align_clock){ .recording = own->recording,
				       .source = source,
				       .process = process,
				       .first_process = own->first_process,
				       .clock = id };
	mine->number = (uint32_t)align->clocks.count - 1;
	return mine->number;
}

static bool add_processes(struct align *align, struct own_clocks *own, size_t source)
{
	uint32_t count = sonde_definitions_process_count(own->definitions);
	const struct sonde_track *track;

	own->first = align->clocks.count;
	own->first_process = align->of_process.count;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t *place = sonde_vec_push(&align->of_process);

		if (!place)
			return false;
		*place = add_process(align, own, source, i);
		if (*place == SONDE_NONE)
			return false;
	}
	for (uint32_t i = 0; (track = sonde_definitions_track(own->definitions, i)); i++) {
		if (track->process < count)
			add_times(&align->clocks.items[align->of_process.items[own->first_process +
									       track->process]],
				  track);
	}
	return true;
}

enum sonde_status align_init(struct align *align, struct sonde_recording *const *sources,
			     size_t count, struct sonde_error *err)
{
	bool happened = true;

	*align = (struct align){ 0 };
	for (size_t i = 0; happened && i < count; i++) {
		struct own_clocks own = { .recording = sources[i],
					  .definitions = sonde_recording_definitions(sources[i]),
					  .are_apart = count == 1 };

		happened = own_clocks_init(&own) && add_processes(align, &own, i);
		free(own.items);
	}
	return happened ? SONDE_OK : sonde_fail_nomem(err);
}

struct anchors {
	struct sonde_anchor *items;
	size_t count;
	size_t capacity;
};

/* Those of a clock. One that is the wall clock needs none. */
static bool list_anchors(const struct align_clock *clock, struct anchors *anchors)
{
	const struct sonde_definitions *definitions = sonde_recording_definitions(clock->recording);
	const struct sonde_clock *definition = sonde_definitions_clock(definitions, clock->clock);
	const struct sonde_anchor *anchor;
	struct sonde_anchor *place;

	for (uint32_t i = 0; (anchor = sonde_definitions_anchor(definitions, i)); i++) {
		if (anchor->clock != clock->clock)
			continue;
		place = sonde_vec_push(anchors);
		if (!place)
			return false;
		*place = *anchor;
	}
	if (anchors->count || !definition || definition->kind != SONDE_CLOCK_REALTIME)
		return true;
	place = sonde_vec_push(anchors);
	if (place)
		*place = (struct sonde_anchor){ .clock = clock->clock,
						.clock_ns = clock->first_ns,
						.realtime_ns = clock->first_ns };
	return place;
}

bool align_has_anchors(const struct align_clock *clock)
{
	struct anchors anchors = { 0 };
	bool has_any = list_anchors(clock, &anchors) && anchors.count;

	sonde_vec_release(&anchors);
	return has_any;
}

/* The wall clock as a line over a clock: through a first anchor, later by what the others say. */
struct wall {
	struct sonde_anchor first;
	size_t count;
	double span_ns;
	double level;	 /* to add to the first anchor's wall time */
	double slope;	 /* what the wall clock gains */
	double residual; /* the most that an anchor is away from the line */
};

/* How long after the first one an anchor is, and what the wall clock gained meanwhile. */
static double after_first(const struct anchors *anchors, size_t i, double *gained)
{
	const struct sonde_anchor *first = &anchors->items[0], *anchor = &anchors->items[i];
	uint64_t x = anchor->clock_ns - first->clock_ns;

	*gained = (double)(int64_t)(anchor->realtime_ns - first->realtime_ns - x);
	return (double)(int64_t)x;
}

static void fit_wall(const struct anchors *anchors, bool drift, struct wall *wall)
{
	double xx = 0, xy = 0, mean_x = 0, mean_y = 0, x, y;
	double count = (double)anchors->count;

	*wall = (struct wall){ .first = anchors->items[0], .count = anchors->count };
	for (size_t i = 0; i < anchors->count; i++) {
		x = after_first(anchors, i, &y);
		wall->span_ns = fmax(wall->span_ns, fabs(x));
		mean_x += x / count;
		mean_y += y / count;
	}
	for (size_t i = 0; i < anchors->count; i++) {
		x = after_first(anchors, i, &y);
		xx += (x - mean_x) * (x - mean_x);
		xy += (x - mean_x) * (y - mean_y);
	}
	if (drift && xx > 0)
		wall->slope = xy / xx;
	wall->level = mean_y - wall->slope * mean_x;
	for (size_t i = 0; i < anchors->count; i++) {
		x = after_first(anchors, i, &y);
		wall->residual = fmax(wall->residual, fabs(y - wall->level - wall->slope * x));
	}
}

static enum sonde_status no_anchors(const struct align_clock *clock, struct sonde_error *err)
{
	return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
			  "nothing ties the clock of %s to the wall clock: name an event that the "
			  "recordings have in common (--event NAME), use messages between them "
			  "(--messages), or say how far they are apart (--offset)",
			  sonde_recording_path(clock->recording));
}

static void set_by_walls(struct align_clock *clock, const struct wall *of_reference,
			 const struct wall *of_clock, bool drift)
{
	/* at the clock's first anchor: where the reference's clock is at that wall time */
	double later = of_clock->level - of_reference->level;
	double wall =
		(double)(int64_t)(of_clock->first.realtime_ns - of_reference->first.realtime_ns) +
		later;
	uint64_t offset = of_reference->first.clock_ns - of_reference->first.realtime_ns -
			  of_clock->first.clock_ns + of_clock->first.realtime_ns;
	/* one anchor agrees with itself, and two lie on any line */
	size_t needed = drift ? 3 : 2;

	later -= wall * of_reference->slope / (1 + of_reference->slope);
	clock->method = ALIGN_ANCHORS;
	clock->matched = clock->found = of_clock->count;
	clock->found_in_reference = of_reference->count;
	clock->has_error = of_reference->count >= needed && of_clock->count >= needed;
	clock->error_ns = (uint64_t)ceil(of_reference->residual + of_clock->residual) + drift;
	align_set_map(clock, of_clock->first.clock_ns, (int64_t)(offset + (uint64_t)llround(later)),
		      (1 + of_clock->slope) / (1 + of_reference->slope) - 1);
}

static enum sonde_status fit_lists(const struct align_clock *reference, struct align_clock *clock,
				   const struct anchors *of_reference,
				   const struct anchors *of_clock, struct sonde_error *err)
{
	struct wall walls[2];
	bool drift;

	if (!of_reference->count)
		return no_anchors(reference, err);
	if (!of_clock->count)
		return no_anchors(clock, err);
	fit_wall(of_reference, false, &walls[0]);
	fit_wall(of_clock, false, &walls[1]);
	drift = walls[0].span_ns >= ANCHOR_SPAN_NS && walls[1].span_ns >= ANCHOR_SPAN_NS;
	if (drift) {
		fit_wall(of_reference, true, &walls[0]);
		fit_wall(of_clock, true, &walls[1]);
	}
	if (fabs(walls[0].slope) > 0.1 || fabs(walls[1].slope) > 0.1)
		return sonde_fail(err, SONDE_CORRUPT, SONDE_NO_OFFSET,
				  "the anchors of %s contradict each other; use --event NAME or "
				  "--offset",
				  sonde_recording_path(clock->recording));
	set_by_walls(clock, &walls[0], &walls[1], drift);
	return SONDE_OK;
}

static enum sonde_status fit_anchors(const struct align_clock *reference, struct align_clock *clock,
				     struct sonde_error *err)
{
	struct anchors of_reference = { 0 }, of_clock = { 0 };
	enum sonde_status status;

	if (list_anchors(reference, &of_reference) && list_anchors(clock, &of_clock))
		status = fit_lists(reference, clock, &of_reference, &of_clock, err);
	else
		status = sonde_fail_nomem(err);
	sonde_vec_release(&of_reference);
	sonde_vec_release(&of_clock);
	return status;
}

static enum sonde_status none_found(const struct align_clock *clock,
				    const struct align_options *options, struct sonde_error *err)
{
	return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
			  "%s has no event called \"%s\", which is looked for in all recordings; "
			  "'sonde dump' shows what it has",
			  sonde_recording_path(clock->recording),
			  options->event ? options->event : "");
}

static enum sonde_status fit_moments(struct align *align, size_t number,
				     const struct align_options *options,
				     const struct align_moments *reference, struct sonde_error *err)
{
	struct align_clock *clock = &align->clocks.items[number];
	struct align_moments other = { 0 };
	enum sonde_status status = align_gather(align, number, options, &other, err);

	if (!status && options->method == ALIGN_MESSAGES)
		status = align_fit_messages(clock, reference, &other, err);
	else if (!status && !other.count)
		status = none_found(clock, options, err);
	else if (!status)
		status = align_fit_events(clock, reference, &other, options->drift, err);
	sonde_vec_release(&other);
	return status;
}

enum sonde_status align_estimate(struct align *align, const struct align_options *options,
				 struct sonde_error *err)
{
	struct align_moments reference = { 0 };
	enum sonde_status status = SONDE_OK;

	if (options->method != ALIGN_ANCHORS && align->clocks.count)
		status = align_gather(align, 0, options, &reference, err);
	if (!status && options->method == ALIGN_EVENTS && !reference.count && align->clocks.count)
		status = none_found(&align->clocks.items[0], options, err);
	for (size_t i = 1; !status && i < align->clocks.count; i++) {
		struct align_clock *clock = &align->clocks.items[i];

		if (clock->method == ALIGN_OFFSET)
			continue;
		status = options->method == ALIGN_ANCHORS ?
				 fit_anchors(&align->clocks.items[0], clock, err) :
				 fit_moments(align, i, options, &reference, err);
	}
	sonde_vec_release(&reference);
	return status;
}

void align_set_offset(struct align *align, size_t clock, int64_t offset_ns)
{
	struct align_clock *moved = &align->clocks.items[clock];

	moved->method = ALIGN_OFFSET;
	align_set_map(moved, moved->first_ns, offset_ns, 0);
}

enum sonde_status align_finish(struct align *align, struct sonde_error *err)
{
	__int128 least = 0, most = 0;

	for (size_t i = 0; i < align->clocks.count; i++) {
		struct align_clock *clock = &align->clocks.items[i];
		__int128 first, last;

		if (!clock->has_time)
			continue;
		first = sonde_time_map_place(&clock->map, clock->first_ns);
		last = sonde_time_map_place(&clock->map, clock->last_ns);
		least = first < least ? first : least;
		most = last > most ? last : most;
	}
	if (most - least > UINT64_MAX)
		return sonde_fail(
			err, SONDE_LIMIT, SONDE_NO_OFFSET,
			"the recordings would lie further apart than times can tell; check "
			"the offset");
	align->lift_ns = (uint64_t)-least;
	for (size_t i = 0; align->lift_ns && i < align->clocks.count; i++) {
		struct sonde_time_map *map = &align->clocks.items[i].map;

		/* one of the two has room: all that is there has */
		if (map->target_ns <= UINT64_MAX - align->lift_ns)
			map->target_ns += align->lift_ns;
		else
			map->source_ns -= align->lift_ns;
	}
	return SONDE_OK;
}

int64_t align_offset(const struct align *align, const struct align_clock *clock)
{
	__int128 offset = sonde_time_map_place(&clock->map, clock->first_ns) -
			  (__int128)clock->first_ns - align->lift_ns;

	if (offset < INT64_MIN)
		return INT64_MIN;
	return offset > INT64_MAX ? INT64_MAX : (int64_t)offset;
}

struct sonde_time_map *align_maps(const struct align *align)
{
	struct sonde_time_map *maps = calloc(align->of_process.count + 1, sizeof(*maps));

	for (size_t i = 0; maps && i < align->of_process.count; i++)
		maps[i] = align->clocks.items[align->of_process.items[i]].map;
	return maps;
}
