/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls that are open in a track. Which call a return leaves is decided by its function, so
 * that a recording which lost some calls or returns finds its way back.
 */
#ifndef SONDE_MODEL_CALL_STACK_H
#define SONDE_MODEL_CALL_STACK_H

#include <sonde/event.h>

#include "base/vec.h"

struct sonde_open_call {
	uint32_t function;
	uint32_t depth; /* as recorded */
	uint32_t mark;	/* the owner's own, as is what follows */
	uint32_t unused;
	uint64_t time_ns;
};

/* Outermost first. A zeroed struct is an empty stack; release it with sonde_vec_release(). */
struct sonde_call_stack {
	struct sonde_open_call *items;
	size_t count;
	size_t capacity;
};

/* No open call is left by this event. */
#define SONDE_NO_CALL SIZE_MAX

/* Opens a call; false where memory failed. */
static inline bool sonde_call_stack_push(struct sonde_call_stack *stack,
					 const struct sonde_event *event, uint32_t mark)
{
	struct sonde_open_call *call = sonde_vec_push(stack);

	if (!call)
		return false;
	call->function = event->function;
	call->depth = event->depth;
	call->mark = mark;
	return true;
}

/* See sonde_call_stack_find_left(); for a function that is not the innermost one's. */
size_t sonde_call_stack_search(const struct sonde_call_stack *stack, uint32_t function);

/*
 * The place of the call that a return or an exception leaves; the calls above it are over too,
 * though their returns are missing. The owner shortens the stack. SONDE_NO_CALL where its call is
 * not there.
 */
static inline size_t sonde_call_stack_find_left(const struct sonde_call_stack *stack,
						const struct sonde_event *event)
{
	if (!stack->count)
		return SONDE_NO_CALL;
	if (event->function == SONDE_NONE ||
	    event->function == stack->items[stack->count - 1].function)
		return stack->count - 1;
	return sonde_call_stack_search(stack, event->function);
}

/*
 * The same where depths are known and count too: of several calls of the function, that of the depth of
 * the return, and none where it lies deeper than all that is open.
 */
size_t sonde_call_stack_find_by_depth(const struct sonde_call_stack *stack,
				      const struct sonde_event *event);

#endif
