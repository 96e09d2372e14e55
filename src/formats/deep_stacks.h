/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which stacks are written where each is written in full: a chain of 100,000 calls, with something spent in each of
 * them, is quadratic that way. Stacks that are not deep always are; of deep ones the ends, and of those between
 * as many as there is room for, evenly: what was spent in the others belongs to the next one above.
 */
#ifndef SONDE_FORMATS_DEEP_STACKS_H
#define SONDE_FORMATS_DEEP_STACKS_H

#include <stdbool.h>
#include <stdint.h>

/* Stacks of no more frames are not deep. */
#define DEEP_STACKS_FREE 5000

/* Parents come before children; [0] has none. */
struct deep_node {
	uint32_t parent;
	uint32_t depth; /* frames of its stack */
	uint64_t size;	/* bytes of its stack as it is written */
	bool is_spent;	/* something was spent in itself */
	bool is_inside; /* set by the choice: or below */
	uint32_t
		written; /* set by the choice: itself, or the one above whose stack stands for it */
};

/* `room`: bytes for all deep stacks together. Gives how many that something was spent in are not written. */
uint32_t deep_stacks_choose(struct deep_node *nodes, uint32_t count, uint64_t room);

#endif
