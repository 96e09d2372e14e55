/* SPDX-License-Identifier: Apache-2.0 */
/* The borders between the pieces of a recording that is cut piece by piece. */
#include "model/resume.h"

#include <stdlib.h>
#include <string.h>

struct sonde_resume *sonde_resume_new(void)
{
	return calloc(1, sizeof(struct sonde_resume));
}

static void free_points(struct sonde_resume_point *points, uint32_t count)
{
	for (uint32_t i = 0; points && i < count; i++)
		sonde_vec_release(&points[i].open);
	free(points);
}

void sonde_resume_free(struct sonde_resume *resume)
{
	if (!resume)
		return;
	free_points(resume->points, resume->track_count);
	free_points(resume->next, resume->track_count);
	free(resume);
}

void sonde_resume_accept(struct sonde_resume *resume)
{
	struct sonde_resume_point *before = resume->points;

	if (!resume->is_written)
		return;
	resume->points = resume->next;
	resume->next = before;
	resume->border_ns = resume->next_border_ns;
	resume->is_started = true;
	resume->is_written = false;
}

static enum sonde_status make_room(struct sonde_resume *resume, uint32_t track_count,
				   struct sonde_error *err)
{
	resume->track_count = track_count;
	resume->points = calloc((size_t)track_count + 1, sizeof(*resume->points));
	resume->next = calloc((size_t)track_count + 1, sizeof(*resume->next));
	return resume->points && resume->next ? SONDE_OK : sonde_fail_nomem(err);
}

enum sonde_status sonde_resume_begin(struct sonde_resume *resume, uint32_t track_count,
				     const struct sonde_selection_spec *spec,
				     struct sonde_error *err)
{
	resume->is_written = false;
	resume->next_border_ns = spec->to_ns;
	if (!resume->points)
		return make_room(resume, track_count, err);
	if (resume->track_count == track_count &&
	    (!resume->is_started || resume->border_ns == spec->from_ns))
		return SONDE_OK;
	return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
			  "a piece must begin where the one before it ended, and be of the same "
			  "recordings");
}

bool sonde_resume_point_keep(struct sonde_resume_point *point, uint64_t index,
			     const struct sonde_call_stack *open)
{
	point->index = index;
	point->open.count = 0;
	if (!sonde_vec_reserve(&point->open, open->count))
		return false;
	if (open->count)
		memcpy(point->open.items, open->items, open->count * sizeof(*open->items));
	point->open.count = open->count;
	return true;
}
