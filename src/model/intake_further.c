/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spans that overlap others of their track go to further tracks, each to the first where it lies inside of what
 * is open, or beside it. The spans of one track come in the order of time.
 */
#include <stdlib.h>

#include "model/intake_private.h"

/* More at one time than this is no program: what comes then is cut. */
#define FURTHER_LIMIT 4096

struct lane {
	uint32_t track;
	SONDE_VEC(uint64_t) ends; /* of spans that are open, outermost first */
};

struct intake_further {
	struct sonde_intake *intake;
	uint32_t base;
	SONDE_VEC(struct lane) lanes;
	size_t used; /* of these, for this track */
};

struct intake_further *intake_further_new(struct sonde_intake *intake)
{
	struct intake_further *further = calloc(1, sizeof(*further));

	if (further)
		further->intake = intake;
	return further;
}

void intake_further_free(struct intake_further *further)
{
	if (!further)
		return;
	for (size_t i = 0; i < further->lanes.count; i++)
		sonde_vec_release(&further->lanes.items[i].ends);
	sonde_vec_release(&further->lanes);
	free(further);
}

void intake_further_begin(struct intake_further *further, uint32_t track)
{
	further->base = track;
	further->used = 0;
}

static bool fits(struct lane *lane, const struct intake_record *span)
{
	while (lane->ends.count && lane->ends.items[lane->ends.count - 1] <= span->time_ns)
		lane->ends.count--;
	return !lane->ends.count || span->end_ns <= lane->ends.items[lane->ends.count - 1];
}

/* One more, at the end; its number is `used` before. */
static enum sonde_status open_lane(struct intake_further *further, struct sonde_error *err)
{
	struct sonde_intake *intake = further->intake;
	struct sonde_track like = intake->tracks.items[further->base].definition;
	struct lane opened = { 0 };
	enum sonde_status status;

	like.event_count = like.detail_count = like.sample_count = like.dropped_events = 0;
	like.time_first_ns = like.time_last_ns = 0;
	status = intake_add_track(intake, &like, &opened.track, err);
	if (status)
		return status;
	if (further->used == further->lanes.count) {
		struct lane *added = sonde_vec_push(&further->lanes);

		if (!added)
			return sonde_fail_nomem(err);
		*added = opened;
	}
	/* of a track before it, whose memory serves again */
	further->lanes.items[further->used].track = opened.track;
	further->lanes.items[further->used].ends.count = 0;
	further->used++;
	return SONDE_OK;
}

static enum sonde_status add_to(struct intake_further *further, struct lane *lane,
				const struct intake_record *span, struct sonde_error *err)
{
	uint64_t *end = sonde_vec_push(&lane->ends);

	if (!end)
		return sonde_fail_nomem(err);
	*end = span->end_ns;
	return intake_stream_add(further->intake,
				 &further->intake->tracks.items[lane->track].events, span, err);
}

enum sonde_status intake_further_add(struct intake_further *further,
				     const struct intake_record *span, struct sonde_error *err)
{
	enum sonde_status status;
	size_t number = 0;

	while (number < further->used && !fits(&further->lanes.items[number], span))
		number++;
	if (number == FURTHER_LIMIT)
		return SONDE_END;
	if (number == further->used) {
		status = open_lane(further, err);
		if (status)
			return status;
	}
	return add_to(further, &further->lanes.items[number], span, err);
}
