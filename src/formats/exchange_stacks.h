/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contexts as stacks of frames, for formats that know functions only: which contexts are frames,
 * and what they are called. A line, loop or instruction is part of the function around it, and a
 * frame itself where there is none.
 */
#ifndef SONDE_FORMATS_EXCHANGE_STACKS_H
#define SONDE_FORMATS_EXCHANGE_STACKS_H

#include <sonde/profile.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"

/* By context. */
struct exchange_stack_node {
	uint32_t innermost; /* the innermost frame at this context or above; 0: none */
	uint32_t above;	    /* of a frame: the one that is around it; 0: none */
	uint32_t depth;	    /* of a frame, from 1; of all else 0 */
	uint32_t frame;	    /* of a frame: its number */
};

/* A frame that is no function; `context` is the first one that is called so, 0: none. */
struct exchange_named_frame {
	const char *name;
	uint32_t context;
};

/*
 * Frames are numbered: first what has no function (number 0 being all that nothing is known of),
 * then all functions in the order of their ids, of which there may be more later.
 */
struct exchange_stacks {
	const struct sonde_definitions *definitions;
	const struct sonde_context *contexts;
	uint32_t context_count;
	struct exchange_stack_node *nodes;
	SONDE_VEC(struct exchange_named_frame) names; /* of frames without a function */
	struct sonde_text_map by_name;
	struct sonde_arena texts;
	uint64_t folded, too_deep; /* contexts that became part of another */
};

#define EXCHANGE_UNKNOWN_FRAME 0

/*
 * Frames deeper than `most` are part of the last one that is not. Contexts are borrowed; 0: there
 * are none.
 */
enum sonde_status exchange_stacks_init(struct exchange_stacks *stacks,
				       const struct sonde_definitions *definitions,
				       const struct sonde_context *contexts, uint32_t count,
				       uint32_t most, struct sonde_error *err);
/* A zeroed struct is fine. */
void exchange_stacks_release(struct exchange_stacks *stacks);

/* The number of a function's frame. */
static inline uint32_t exchange_stacks_frame(const struct exchange_stacks *stacks,
					     uint32_t function)
{
	return function == SONDE_NONE ? EXCHANGE_UNKNOWN_FRAME :
					(uint32_t)stacks->names.count + function;
}

/* The node of the innermost frame of a context; NULL: it has none. */
static inline const struct exchange_stack_node *
exchange_stacks_innermost(const struct exchange_stacks *stacks, uint32_t context)
{
	uint32_t innermost = context < stacks->context_count ? stacks->nodes[context].innermost : 0;

	return innermost ? &stacks->nodes[innermost] : NULL;
}

#endif
