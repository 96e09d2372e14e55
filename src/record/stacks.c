/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sorted pieces of memory that are the stacks of a thread. Knows nothing of calls: who leaves a
 * stack that gives way is closed by the caller.
 */
#include "record/stacks.h"

#include <string.h>

#include "record/mapping.h"

/* Around an address whose mapping is not to be found, and how often that is tried. */
#define GUESS_SIZE UINT64_C(65536)
#define GUESSES_MAX 64

static bool insert(struct stacks *stacks, size_t number, const struct stack_piece *piece)
{
	struct stack_piece *place;

	if (!sonde_vec_reserve(&stacks->pieces, 1))
		return false;
	place = stacks->pieces.items + number;
	memmove(place + 1, place, (stacks->pieces.count - number) * sizeof(*place));
	*place = *piece;
	stacks->pieces.count++;
	return true;
}

static void erase(struct stacks *stacks, size_t number)
{
	struct stack_piece *place = stacks->pieces.items + number;

	stacks->pieces.count--;
	memmove(place, place + 1, (stacks->pieces.count - number) * sizeof(*place));
}

bool stacks_init(struct stacks *stacks, uint32_t pid, uint64_t low, uint64_t high)
{
	struct stack_piece own = {
		.low = low,
		.high = low < high && high < STACKS_TOP ? high : STACKS_TOP,
		.kind = STACKS_THREAD,
		.outer = STACKS_NONE,
	};

	if (low >= high)
		own.low = 0;
	*stacks = (struct stacks){ .pid = pid, .region_count = 1, .bounded = low < high };
	return insert(stacks, 0, &own);
}

void stacks_release(struct stacks *stacks)
{
	sonde_vec_release(&stacks->pieces);
}

/* The first piece that ends at or behind an address. */
static size_t lower_bound(const struct stacks *stacks, uint64_t address)
{
	size_t from = 0, to = stacks->pieces.count;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (stacks->pieces.items[middle].high < address)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

size_t stacks_find(const struct stacks *stacks, uint64_t address)
{
	size_t number = lower_bound(stacks, address);

	if (number < stacks->pieces.count && stacks->pieces.items[number].low < address)
		return number;
	return SIZE_MAX;
}

size_t stacks_overlapping(const struct stacks *stacks, size_t from, uint64_t low, uint64_t high)
{
	size_t number = lower_bound(stacks, low + 1);

	if (number < from)
		number = from;
	if (number < stacks->pieces.count && stacks->pieces.items[number].low < high)
		return number;
	return SIZE_MAX;
}

/*
 * Cuts a hole out of the pieces. A coroutine's stack that had the same end as the hole hands its
 * lane on; otherwise a stack that holds all of the hole goes on around it, and is its `outer`.
 */
static bool cut(struct stacks *stacks, struct stack_piece *hole)
{
	size_t number = lower_bound(stacks, hole->low + 1);

	while (number < stacks->pieces.count && stacks->pieces.items[number].low < hole->high) {
		struct stack_piece *piece = &stacks->pieces.items[number];
		struct stack_piece above = *piece;

		if (piece->kind == STACKS_COROUTINE && piece->kind == hole->kind &&
		    piece->high == hole->high)
			hole->lane = piece->lane;
		else if (piece->low <= hole->low && piece->high >= hole->high &&
			 (piece->kind == STACKS_COROUTINE ||
			  (piece->kind == STACKS_THREAD && stacks->bounded)))
			hole->outer = piece->region;
		if (piece->low == hole->low && piece->high == hole->high)
			hole->outer = piece->outer;
		above.low = hole->high;
		if (piece->low < hole->low)
			stacks->pieces.items[number++].high = hole->low;
		else
			erase(stacks, number);
		if (above.low < above.high)
			return insert(stacks, number, &above);
	}
	return true;
}

bool stacks_announce(struct stacks *stacks, uint64_t low, uint64_t high, enum stack_kind kind)
{
	struct stack_piece piece = {
		.low = low,
		.high = high,
		.kind = kind,
		.lane = STACKS_NONE,
		.region = stacks->region_count,
		.outer = STACKS_NONE,
	};
	size_t number = lower_bound(stacks, high);
	const struct stack_piece *old = stacks->pieces.items + number;

	if (number < stacks->pieces.count && old->low == low && old->high == high &&
	    old->kind == kind)
		return true;
	/* room for it and for what a cut makes, so that nothing fails halfway */
	if (!sonde_vec_reserve(&stacks->pieces, 2) || !cut(stacks, &piece))
		return false;
	stacks->region_count++;
	return insert(stacks, lower_bound(stacks, high), &piece);
}

void stacks_remove(struct stacks *stacks, size_t number)
{
	struct stack_piece gone = stacks->pieces.items[number];
	struct stack_piece *piece;

	erase(stacks, number);
	if (gone.outer == STACKS_NONE)
		return;
	piece = stacks->pieces.items + number;
	if (number < stacks->pieces.count && piece->region == gone.outer &&
	    piece->low == gone.high) {
		piece->low = gone.low;
		if (number > 0 && piece[-1].region == gone.outer && piece[-1].high == gone.low) {
			piece->low = piece[-1].low;
			erase(stacks, number - 1);
		}
	} else if (number > 0 && piece[-1].region == gone.outer && piece[-1].high == gone.low) {
		piece[-1].high = gone.high;
	}
}

/* Whether a stack that is known goes on over its known bounds as far as `address`. */
static size_t grow_known(struct stacks *stacks, uint64_t address, uint64_t low, uint64_t high,
			 bool mapped)
{
	size_t number = lower_bound(stacks, address);
	struct stack_piece *below = number > 0 ? &stacks->pieces.items[number - 1] : NULL;
	struct stack_piece *above = number < stacks->pieces.count ? &stacks->pieces.items[number] :
								    NULL;

	if (below && below->high > low)
		low = below->high;
	if (above && above->low < high &&
	    (mapped ? above->kind == STACKS_THREAD :
		      above->kind == STACKS_FOUND && above->guessed)) {
		above->low = low;
		return number;
	}
	if (mapped && below && below->kind == STACKS_THREAD && below->high >= low) {
		below->high = address;
		return number - 1;
	}
	return SIZE_MAX;
}

size_t stacks_discover(struct stacks *stacks, uint64_t address, bool *given_up)
{
	struct record_mapping *mapping = malloc(sizeof(*mapping));
	struct stack_piece piece = {
		.low = address > GUESS_SIZE / 2 ? address - GUESS_SIZE / 2 : 0,
		.high = address < STACKS_TOP - GUESS_SIZE ? address + GUESS_SIZE / 2 : STACKS_TOP,
		.kind = STACKS_FOUND,
		.lane = STACKS_NONE,
		.region = stacks->region_count,
		.outer = STACKS_NONE,
	};
	size_t number = lower_bound(stacks, address);
	bool mapped;

	*given_up = false;
	if (!mapping || !sonde_vec_reserve(&stacks->pieces, 2)) {
		free(mapping);
		return SIZE_MAX;
	}
	mapped = record_mapping_find(stacks->pid, address - 1, mapping);
	if (mapped) {
		piece.low = mapping->low;
		piece.high = mapping->high;
	}
	piece.guessed = !mapped;
	free(mapping);
	if (grow_known(stacks, address, piece.low, piece.high, mapped) != SIZE_MAX)
		return stacks_find(stacks, address);
	*given_up = !mapped && stacks->guess_count++ >= GUESSES_MAX;
	if (*given_up)
		return SIZE_MAX;
	if (number > 0 && stacks->pieces.items[number - 1].high > piece.low)
		piece.low = stacks->pieces.items[number - 1].high;
	if (number < stacks->pieces.count && stacks->pieces.items[number].low < piece.high)
		piece.high = stacks->pieces.items[number].low;
	piece.kind = STACKS_UNUSED;
	insert(stacks, number, &piece); /* room was made */
	stacks->region_count++;
	return stacks_split(stacks, number, address) ? number : SIZE_MAX;
}

void stacks_raise(struct stacks *stacks, size_t number, uint64_t address)
{
	struct stack_piece *piece = &stacks->pieces.items[number];

	piece->high = address;
	piece[1].low = address;
	if (piece[1].low >= piece[1].high)
		erase(stacks, number + 1);
}

bool stacks_split(struct stacks *stacks, size_t number, uint64_t address)
{
	struct stack_piece piece = stacks->pieces.items[number];

	piece.kind = STACKS_FOUND;
	piece.high = address;
	if (!insert(stacks, number, &piece))
		return false;
	stacks->pieces.items[number + 1].low = address;
	if (address >= stacks->pieces.items[number + 1].high)
		erase(stacks, number + 1);
	return true;
}
