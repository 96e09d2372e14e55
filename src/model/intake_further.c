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
	SONDE_VEC(struct lane) lanes; /* `count` of them in use for this track */
	size_t used;
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

static enum sonde_status open_lane(struct intake_further *further, struct lane **opened,
				   struct sonde_error *err)
{
	struct sonde_intake *intake = further->intake;
	struct sonde_track like = intake->tracks.items[further->base].definition;
	enum sonde_status status;
	struct lane *lane;

	if (further->used < further->lanes.count) {
		lane = &further->lanes.items[further->used];
	} else {
		lane = sonde_vec_push(&further->lanes);
		if (!lane)
			return sonde_fail_nomem(err);
		*lane = (struct lane){ 0 };
	}
	lane->ends.count = 0;
	like.event_count = like.detail_count = like.sample_count = like.dropped_events = 0;
	like.time_first_ns = like.time_last_ns = 0;
	status = intake_add_track(intake, &like, &lane->track, err);
	if (!status)
		further->used++;
	*opened = lane;
	return status;
}

enum sonde_status intake_further_add(struct intake_further *further,
				     const struct intake_record *span, struct sonde_error *err)
{
	struct lane *lane = NULL;
	enum sonde_status status;
	uint64_t *end;

	for (size_t i = 0; !lane && i < further->used; i++) {
		if (fits(&further->lanes.items[i], span))
			lane = &further->lanes.items[i];
	}
	if (!lane) {
		if (further->used == FURTHER_LIMIT)
			return SONDE_END;
		status = open_lane(further, &lane, err);
		if (status)
			return status;
	}
	end = sonde_vec_push(&lane->ends);
	if (!end)
		return sonde_fail_nomem(err);
	*end = span->end_ns;
	return intake_stream_add(further->intake,
				 &further->intake->tracks.items[lane->track].events, span, err);
}
