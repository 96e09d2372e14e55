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

static struct align_clock *add_clock(struct align *align, struct sonde_recording *recording,
				     size_t source, uint32_t process, uint32_t id)
{
	struct align_clock *clock = sonde_vec_push(&align->clocks);

	if (clock)
		*clock = (struct align_clock){
			.recording = recording, .source = source, .process = process, .clock = id
		};
	return clock;
}

/* `numbers` has room for every clock of the recording, and for processes that have none. */
static bool add_processes(struct align *align, struct sonde_recording *recording, size_t source,
			  uint32_t *numbers)
{
	const struct sonde_definitions *definitions = sonde_recording_definitions(recording);
	uint32_t clock_count = sonde_definitions_clock_count(definitions);
	size_t first = align->of_process.count;
	const struct sonde_process *process;
	const struct sonde_track *track;

	for (uint32_t i = 0; i <= clock_count; i++)
		numbers[i] = SONDE_NONE;
	for (uint32_t i = 0; (process = sonde_definitions_process(definitions, i)); i++) {
		uint32_t *number =
			&numbers[process->clock < clock_count ? process->clock : clock_count];
		uint32_t *place = sonde_vec_push(&align->of_process);

		if (!place || (*number == SONDE_NONE &&
			       !add_clock(align, recording, source, i, process->clock)))
			return false;
		if (*number == SONDE_NONE)
			*number = (uint32_t)align->clocks.count - 1;
		*place = *number;
	}
	for (uint32_t i = 0; (track = sonde_definitions_track(definitions, i)); i++) {
		if (track->process < align->of_process.count - first)
			add_times(&align->clocks
					   .items[align->of_process.items[first + track->process]],
				  track);
	}
	return true;
}

static enum sonde_status add_source(struct align *align, struct sonde_recording *recording,
				    size_t source, struct sonde_error *err)
{
	size_t clocks = sonde_definitions_clock_count(sonde_recording_definitions(recording));
	uint32_t *numbers = calloc(clocks + 1, sizeof(*numbers));
	bool happened = numbers && add_processes(align, recording, source, numbers);

	free(numbers);
	return happened ? SONDE_OK : sonde_fail_nomem(err);
}

enum sonde_status align_init(struct align *align, struct sonde_recording *const *sources,
			     size_t count, struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	*align = (struct align){ 0 };
	for (size_t i = 0; !status && i < count; i++)
		status = add_source(align, sources[i], i, err);
	return status;
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

static enum sonde_status fit_moments(const struct align_options *options,
				     const struct align_moments *reference,
				     struct align_clock *clock, struct sonde_error *err)
{
	struct align_moments other = { 0 };
	enum sonde_status status = align_gather(clock, options, &other, err);

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
		status = align_gather(&align->clocks.items[0], options, &reference, err);
	if (!status && options->method == ALIGN_EVENTS && !reference.count && align->clocks.count)
		status = none_found(&align->clocks.items[0], options, err);
	for (size_t i = 1; !status && i < align->clocks.count; i++) {
		struct align_clock *clock = &align->clocks.items[i];

		if (clock->method == ALIGN_OFFSET)
			continue;
		status = options->method == ALIGN_ANCHORS ?
				 fit_anchors(&align->clocks.items[0], clock, err) :
				 fit_moments(options, &reference, clock, err);
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
