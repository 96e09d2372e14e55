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
