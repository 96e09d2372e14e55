/* SPDX-License-Identifier: Apache-2.0 */
/* Which contexts are frames of a stack, and how they are numbered. */
#include "formats/exchange_stacks.h"

#include <stdlib.h>
#include <string.h>

#define LABEL_LONGEST 512

static enum sonde_status add_name(struct exchange_stacks *stacks, const char *text,
				  uint32_t context, uint32_t *number, struct sonde_error *err)
{
	size_t length = strlen(text);
	struct exchange_named_frame *name;
	char *copy;

	*number = sonde_text_map_find(&stacks->by_name, text, length);
	if (*number != SONDE_NONE)
		return SONDE_OK;
	copy = sonde_arena_copy_text(&stacks->texts, text, length);
	name = copy ? sonde_vec_push(&stacks->names) : NULL;
	if (!name)
		return sonde_fail_nomem(err);
	*name = (struct exchange_named_frame){ .name = copy, .context = context };
	*number = (uint32_t)stacks->names.count - 1;
	if (!sonde_text_map_add(&stacks->by_name, copy, length, *number))
		return sonde_fail_nomem(err);
	return SONDE_OK;
}

static bool is_frame(const struct sonde_context *context, const struct exchange_stack_node *above)
{
	if (context->kind == SONDE_CONTEXT_FUNCTION)
		return true;
	if (context->kind == SONDE_CONTEXT_ROOT || context->kind == SONDE_CONTEXT_ENTRY)
		return false;
	return context->relation != SONDE_CONTEXT_ENCLOSED || !above->innermost;
}

static bool has_function(const struct exchange_stacks *stacks, const struct sonde_context *context)
{
	return context->kind == SONDE_CONTEXT_FUNCTION &&
	       context->function < sonde_definitions_function_count(stacks->definitions);
}

static enum sonde_status add_context(struct exchange_stacks *stacks, uint32_t number, uint32_t most,
				     struct sonde_error *err)
{
	const struct sonde_context *context = &stacks->contexts[number];
	const struct exchange_stack_node *above = &stacks->nodes[context->parent];
	struct exchange_stack_node *node = &stacks->nodes[number];
	uint32_t depth = stacks->nodes[above->innermost].depth;
	char space[LABEL_LONGEST];

	node->innermost = above->innermost;
	if (!is_frame(context, above)) {
		stacks->folded += context->kind != SONDE_CONTEXT_ENTRY;
		return SONDE_OK;
	}
	if (depth >= most) {
		stacks->too_deep++;
		return SONDE_OK;
	}
	node->above = above->innermost;
	node->innermost = number;
	node->depth = depth + 1;
	if (has_function(stacks, context))
		return SONDE_OK;
	return add_name(stacks,
			sonde_context_label(stacks->definitions, context, space, sizeof(space)),
			number, &node->frame, err);
}

enum sonde_status exchange_stacks_init(struct exchange_stacks *stacks,
				       const struct sonde_definitions *definitions,
				       const struct sonde_context *contexts, uint32_t count,
				       uint32_t most, struct sonde_error *err)
{
	enum sonde_status status;
	uint32_t unknown;

	*stacks = (struct exchange_stacks){ .definitions = definitions,
					    .contexts = contexts,
					    .context_count = count };
	stacks->nodes = calloc((size_t)count + 1, sizeof(*stacks->nodes));
	if (!stacks->nodes)
		return sonde_fail_nomem(err);
	status = add_name(stacks, "(unknown)", 0, &unknown, err);
	for (uint32_t i = 1; !status && i < count; i++)
		status = add_context(stacks, i, most, err);
	/* functions come behind all that has none, which is known only now */
	for (uint32_t i = 1; !status && i < count; i++) {
		if (stacks->nodes[i].depth && has_function(stacks, &contexts[i]))
			stacks->nodes[i].frame =
				exchange_stacks_frame(stacks, contexts[i].function);
	}
	return status;
}

void exchange_stacks_release(struct exchange_stacks *stacks)
{
	free(stacks->nodes);
	sonde_vec_release(&stacks->names);
	sonde_text_map_release(&stacks->by_name);
	sonde_arena_release(&stacks->texts);
}
