/* SPDX-License-Identifier: Apache-2.0 */
/* Which contexts are frames of a stack, and what these are called. */
#include "model/context_frame.h"

bool sonde_context_has_frame(const struct sonde_context *context)
{
	return context->kind == SONDE_CONTEXT_FUNCTION || context->kind == SONDE_CONTEXT_ENTRY ||
	       context->kind == SONDE_CONTEXT_ROOT || context->relation != SONDE_CONTEXT_ENCLOSED;
}

bool sonde_context_is_silent(const struct sonde_context *context)
{
	return context->kind == SONDE_CONTEXT_ENTRY && context->entry == SONDE_ENTRY_UNKNOWN;
}

const char *sonde_context_frame_name(const struct sonde_definitions *definitions,
				     const struct sonde_context *context, char *space, size_t size)
{
	const char *name;

	if (context->kind == SONDE_CONTEXT_FUNCTION && context->function != SONDE_NONE) {
		const struct sonde_function *function =
			sonde_definitions_function(definitions, context->function);

		/* In full: a label is cut where the space ends. */
		if (function && function->name)
			return sonde_definitions_string(definitions, function->name);
	}
	name = sonde_context_label(definitions, context, space, size);
	return *name ? name : "(no name)";
}
