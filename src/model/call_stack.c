/* SPDX-License-Identifier: Apache-2.0 */
/* The rare half of the call stack: a return that does not belong to the innermost call. */
#include "model/call_stack.h"

/* So far up is looked for a call: a hostile recording must not cost a walk over all each time. */
#define SEARCHED 256

size_t sonde_call_stack_search(const struct sonde_call_stack *stack, uint32_t function)
{
	size_t end = stack->count > SEARCHED ? stack->count - SEARCHED : 0;

	for (size_t i = stack->count; i > end; i--) {
		if (stack->items[i - 1].function == function)
			return i - 1;
	}
	return SONDE_NO_CALL;
}

size_t sonde_call_stack_find_by_depth(const struct sonde_call_stack *stack,
				      const struct sonde_event *event)
{
	size_t left = sonde_call_stack_find_left(stack, event);
	size_t end = stack->count > SEARCHED ? stack->count - SEARCHED : 0;

	if (left == SONDE_NO_CALL || event->function == SONDE_NONE || !event->depth)
		return left;
	for (size_t i = left + 1; i > end; i--) {
		const struct sonde_open_call *call = &stack->items[i - 1];

		if (call->depth == event->depth && call->function == event->function)
			return i - 1;
	}
	/* deeper than all that is open, and only a caller has that function: its call is lost */
	if (left + 1 < stack->count && event->depth > stack->items[stack->count - 1].depth)
		return SONDE_NO_CALL;
	return left;
}
