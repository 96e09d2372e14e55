/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes, by two heaps: those in use by their end, those free again by their number. */
#include "base/lanes.h"

static void put(struct sonde_lane_item *items, size_t at, struct sonde_lane_item item)
{
	while (at && items[(at - 1) / 2].key > item.key) {
		items[at] = items[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	items[at] = item;
}

/* Takes the first of `count` + 1 items away. */
static uint32_t take_first(struct sonde_lane_item *items, size_t count)
{
	struct sonde_lane_item last = items[count];
	uint32_t lane = items[0].lane;
	size_t at = 0;

	for (;;) {
		size_t child = 2 * at + 1;

		if (child + 1 < count && items[child + 1].key < items[child].key)
			child++;
		if (child >= count || items[child].key >= last.key)
			break;
		items[at] = items[child];
		at = child;
	}
	items[at] = last;
	return lane;
}

void sonde_lanes_release(struct sonde_lanes *lanes)
{
	sonde_vec_release(&lanes->busy);
	sonde_vec_release(&lanes->free);
}

void sonde_lanes_clear(struct sonde_lanes *lanes)
{
	lanes->busy.count = lanes->free.count = 0;
	lanes->count = 0;
}

bool sonde_lanes_take(struct sonde_lanes *lanes, uint64_t start, uint64_t end, uint32_t *lane)
{
	while (lanes->busy.count && lanes->busy.items[0].key <= start) {
		uint32_t done = take_first(lanes->busy.items, --lanes->busy.count);

		if (!sonde_vec_reserve(&lanes->free, 1))
			return false;
		put(lanes->free.items, lanes->free.count++, (struct sonde_lane_item){ done, done });
	}
	if (!sonde_vec_reserve(&lanes->busy, 1))
		return false;
	*lane = lanes->free.count ? take_first(lanes->free.items, --lanes->free.count) :
				    lanes->count++;
	put(lanes->busy.items, lanes->busy.count++, (struct sonde_lane_item){ end, *lane });
	return true;
}
