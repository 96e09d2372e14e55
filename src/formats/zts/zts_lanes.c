/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lays the traces of each group on the fewest lanes on which they do not overlap: by their start,
 * each on the lowest lane that is free by then.
 */
#include <stdlib.h>
#include <string.h>

#include "base/lanes.h"
#include "base/sort.h"
#include "formats/zts/zts_read.h"

struct layout {
	struct zts_recording *data;
	const uint32_t *groups;
	struct sonde_lanes lanes; /* of the group */
	uint32_t group;
	uint32_t first_lane; /* of the group */
	uint32_t *tracks;    /* by piece */
};

static enum sonde_status take_lane(struct layout *layout, const struct zts_piece *piece,
				   uint32_t *lane, struct sonde_error *err)
{
	struct zts_recording *data = layout->data;
	struct zts_lane *made;

	if (!sonde_lanes_take(&layout->lanes, piece->start_ns, piece->at.end_ns, lane))
		return sonde_fail_nomem(err);
	*lane += layout->first_lane;
	if (*lane < data->lanes.count)
		return SONDE_OK;
	made = sonde_vec_push(&data->lanes);
	if (!made)
		return sonde_fail_nomem(err);
	*made = (struct zts_lane){ .group = layout->group };
	return SONDE_OK;
}

/* Groups one after another, each by time: `order` is sorted so. */
static enum sonde_status assign(struct layout *layout, const struct sonde_sort_item *order,
				struct sonde_error *err)
{
	struct zts_recording *data = layout->data;
	enum sonde_status status = SONDE_OK;

	for (size_t i = 0; i < data->pieces.count && status == SONDE_OK; i++) {
		const struct zts_piece *piece = &data->pieces.items[order[i].number];
		uint32_t group = layout->groups[order[i].number], lane = 0;

		if (!i || group != layout->group) {
			sonde_lanes_clear(&layout->lanes);
			layout->first_lane = (uint32_t)data->lanes.count;
		}
		layout->group = group;
		status = take_lane(layout, piece, &lane, err);
		layout->tracks[order[i].number] = lane;
	}
	return status;
}

/*
 * Pieces in the order of tracks and, there, of `order`; their place in the track instead of their
 * end.
 */
static enum sonde_status arrange(struct layout *layout, struct sonde_sort_item *order,
				 struct sonde_error *err)
{
	struct zts_recording *data = layout->data;
	size_t count = data->pieces.count;
	struct zts_piece *sorted = malloc((count + 1) * sizeof(*sorted));

	for (size_t i = 0; i < count; i++)
		order[i].key = layout->tracks[order[i].number];
	if (!sorted || !sonde_sort(order, count)) {
		free(sorted);
		return sonde_fail_nomem(err);
	}
	for (size_t i = 0; i < count; i++) {
		struct zts_lane *lane = &data->lanes.items[order[i].key];

		sorted[i] = data->pieces.items[order[i].number];
		if (!lane->piece_count++)
			lane->first_piece = i;
		lane->end_ns = sorted[i].at.end_ns;
		sorted[i].at.first = lane->events;
		lane->events += 2 * (uint64_t)sorted[i].calls;
		lane->details += (uint64_t)sorted[i].calls + sorted[i].exceptions;
	}
	free(data->pieces.items);
	data->pieces.items = sorted;
	data->pieces.capacity = count + 1;
	return SONDE_OK;
}

enum sonde_status zts_lay_out(struct zts_recording *data, const uint32_t *groups,
			      struct sonde_error *err)
{
	size_t count = data->pieces.count;
	struct layout layout = { .data = data, .groups = groups };
	struct sonde_sort_item *order = malloc((count + 1) * sizeof(*order));
	enum sonde_status status = SONDE_OK;

	layout.tracks = malloc((count + 1) * sizeof(*layout.tracks));
	if (!order || !layout.tracks) {
		free(order);
		free(layout.tracks);
		return sonde_fail_nomem(err);
	}
	for (size_t i = 0; i < count && status == SONDE_OK; i++)
		order[i] = (struct sonde_sort_item){ data->pieces.items[i].start_ns, i };
	if (status == SONDE_OK && !sonde_sort(order, count))
		status = sonde_fail_nomem(err);
	for (size_t i = 0; i < count && status == SONDE_OK; i++)
		order[i].key = groups[order[i].number];
	if (status == SONDE_OK && !sonde_sort(order, count))
		status = sonde_fail_nomem(err);
	if (status == SONDE_OK)
		status = assign(&layout, order, err);
	if (status == SONDE_OK)
		status = arrange(&layout, order, err);
	sonde_lanes_release(&layout.lanes);
	free(layout.tracks);
	free(order);
	return status;
}
