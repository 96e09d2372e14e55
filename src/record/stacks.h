/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which stack an address lies in: the stacks of one thread as pieces of memory that never overlap.
 * Stack pointers of a stack lie in (low, high]: an empty stack points to its end.
 *
 * Stacks come to be known in three ways. The thread's own one is given. Others are announced.
 * What lies in neither is the stack of a switch written by hand: the mapping around it is looked
 * up in the process. Several such stacks can share one mapping, as when they come from malloc();
 * each then reaches from the outermost address seen of it down to the outermost address of the
 * stack below. So a stack that is first seen at an address below another one of its mapping is
 * taken for a part of that; announcing stacks avoids it.
 */
#ifndef SONDE_RECORD_STACKS_H
#define SONDE_RECORD_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

#define STACKS_NONE UINT32_MAX
#define STACKS_TOP (UINT64_MAX - 1) /* the highest address of a stack */

enum stack_kind {
	STACKS_THREAD,
	STACKS_COROUTINE,
	STACKS_SIGNAL,
	STACKS_FOUND,  /* up to the outermost address seen */
	STACKS_UNUSED, /* the rest of the mapping above that */
};

struct stack_piece {
	uint64_t low, high;
	enum stack_kind kind;
	uint32_t lane;	 /* STACKS_NONE: no call was seen there yet */
	uint32_t region; /* pieces of one stack have the same number */
	/* The region whose stack this one was taken from (a local array), or STACKS_NONE. */
	uint32_t outer;
	bool guessed; /* the bounds are */
};

struct stacks {
	SONDE_VEC(struct stack_piece) pieces; /* by address */
	bool bounded;			      /* the bounds of the thread's stack are known */
	uint32_t region_count;
	uint32_t guess_count; /* regions whose mapping could not be found */
	uint32_t pid;
};

/* With low == high the thread's stack is wherever no other is. False where memory failed. */
bool stacks_init(struct stacks *stacks, uint32_t pid, uint64_t low, uint64_t high);
void stacks_release(struct stacks *stacks);

/* The piece that holds an address; SIZE_MAX for none. */
size_t stacks_find(const struct stacks *stacks, uint64_t address);

/* The first piece at or behind `from` that shares memory with (low, high]; SIZE_MAX for none. */
size_t stacks_overlapping(const struct stacks *stacks, size_t from, uint64_t low, uint64_t high);

/*
 * A stack was announced. One at the same place keeps its lane; other pieces there give way, so
 * the thread's own must not be among them unless it holds all of the new one. False where memory
 * failed.
 */
bool stacks_announce(struct stacks *stacks, uint64_t low, uint64_t high, enum stack_kind kind);

/* Gives the place of a piece back to the stack it was taken from, or to none. */
void stacks_remove(struct stacks *stacks, size_t number);

/*
 * Makes a piece for an address that stacks_find() does not know. SIZE_MAX where memory failed
 * or, with *given_up, where too many guesses failed before.
 */
size_t stacks_discover(struct stacks *stacks, uint64_t address, bool *given_up);

/* Moves the end of a piece up to an address in the next one. */
void stacks_raise(struct stacks *stacks, size_t number, uint64_t address);

/* Splits off a new STACKS_FOUND, up to `address`, at the lower end of a STACKS_UNUSED. */
bool stacks_split(struct stacks *stacks, size_t number, uint64_t address);

#endif
