/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranges of addresses, of which each address has one owner. They come in any order and may overlap in
 * any way; one sweep over them, with a heap of those that are open, cuts them into pieces.
 */
#include <stdlib.h>

#include "analyse/structure_detail.h"
#include "base/sort.h"

bool structure_ranges_add(struct structure_ranges *ranges, uint64_t start, uint64_t end,
			  uint32_t owner, uint32_t rank)
{
	struct structure_range *range;

	if (end <= start)
		return true;
	range = sonde_vec_push(ranges);
	if (!range)
		return false;
	*range = (struct structure_range){
		.start = start, .end = end, .owner = owner, .rank = rank
	};
	return true;
}

/* The ranges that began before a place, the one that counts on top. */
struct sweep {
	const struct structure_range *ranges;
	SONDE_VEC(uint32_t) open; /* a heap of numbers of ranges */
	struct structure_ranges pieces;
};

/* Whether range `a` counts where both are; of equal ranks the later one. */
static bool counts_before(const struct sweep *sweep, uint32_t a, uint32_t b)
{
	const struct structure_range *left = &sweep->ranges[a], *right = &sweep->ranges[b];

	return left->rank != right->rank ? left->rank > right->rank : a > b;
}

static bool heap_push(struct sweep *sweep, uint32_t number)
{
	size_t place = sweep->open.count;

	if (!sonde_vec_reserve(&sweep->open, 1))
		return false;
	sweep->open.count++;
	while (place) {
		size_t parent = (place - 1) / 2;

		if (!counts_before(sweep, number, sweep->open.items[parent]))
			break;
		sweep->open.items[place] = sweep->open.items[parent];
		place = parent;
	}
	sweep->open.items[place] = number;
	return true;
}

static void heap_pop(struct sweep *sweep)
{
	size_t count = --sweep->open.count, place = 0;
	uint32_t last = sweep->open.items[count];

	while (place * 2 + 1 < count) {
		size_t child = place * 2 + 1;

		if (child + 1 < count &&
		    counts_before(sweep, sweep->open.items[child + 1], sweep->open.items[child]))
			child++;
		if (!counts_before(sweep, sweep->open.items[child], last))
			break;
		sweep->open.items[place] = sweep->open.items[child];
		place = child;
	}
	if (count)
		sweep->open.items[place] = last;
}

/* Pieces that follow each other and have the same owner are one. */
static bool add_piece(struct structure_ranges *pieces, uint64_t start, uint64_t end, uint32_t owner)
{
	struct structure_range *last = pieces->count ? &pieces->items[pieces->count - 1] : NULL;

	if (last && last->end == start && last->owner == owner) {
		last->end = end;
		return true;
	}
	return structure_ranges_add(pieces, start, end, owner, 0);
}

/* Gives the addresses from `place` up to `limit` to the ranges that are open. */
static bool sweep_to(struct sweep *sweep, uint64_t place, uint64_t limit)
{
	while (sweep->open.count && place < limit) {
		const struct structure_range *top = &sweep->ranges[sweep->open.items[0]];
		uint64_t end = top->end < limit ? top->end : limit;

		if (end > place) {
			if (!add_piece(&sweep->pieces, place, end, top->owner))
				return false;
			place = end;
		}
		if (top->end <= place)
			heap_pop(sweep);
	}
	return true;
}

static bool cut(struct sweep *sweep, const struct sonde_sort_item *order, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct structure_range *range = &sweep->ranges[order[i].number];

		if (i && !sweep_to(sweep, order[i - 1].key, range->start))
			return false;
		if (!heap_push(sweep, (uint32_t)order[i].number))
			return false;
	}
	return !count || sweep_to(sweep, order[count - 1].key, UINT64_MAX);
}

static struct sonde_sort_item *by_start(const struct structure_ranges *ranges)
{
	struct sonde_sort_item *order = calloc(ranges->count, sizeof(*order));

	if (!order)
		return NULL;
	for (size_t i = 0; i < ranges->count; i++)
		order[i] = (struct sonde_sort_item){ .key = ranges->items[i].start, .number = i };
	if (sonde_sort(order, ranges->count))
		return order;
	free(order);
	return NULL;
}

bool structure_ranges_settle(struct structure_ranges *ranges)
{
	struct sweep sweep = { .ranges = ranges->items };
	struct sonde_sort_item *order;
	bool done;

	if (!ranges->count)
		return true;
	if (ranges->count >= UINT32_MAX)
		return false;
	order = by_start(ranges);
	done = order && cut(&sweep, order, ranges->count);
	free(order);
	sonde_vec_release(&sweep.open);
	if (!done) {
		sonde_vec_release(&sweep.pieces);
		return false;
	}
	sonde_vec_release(ranges);
	*ranges = sweep.pieces;
	return true;
}

uint32_t structure_ranges_find(const struct structure_ranges *ranges, uint64_t address)
{
	size_t low = 0, high = ranges->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ranges->items[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || address >= ranges->items[low - 1].end)
		return SONDE_NONE;
	return ranges->items[low - 1].owner;
}
