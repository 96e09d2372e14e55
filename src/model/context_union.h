/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several trees of contexts as one: contexts that say the same below the same parent are one. The
 * numbers that they get in the end follow from what the contexts say, not from the order in which
 * they came.
 */
#ifndef SONDE_MODEL_CONTEXT_UNION_H
#define SONDE_MODEL_CONTEXT_UNION_H

#include <sonde/profile.h>

struct sonde_context_union;

/*
 * All ids in contexts are of `definitions`, which must live as long. `by_content`: functions and
 * modules of different processes that say the same are the same; else only equal ids are.
 */
struct sonde_context_union *sonde_context_union_new(const struct sonde_definitions *definitions,
						    bool by_content);
void sonde_context_union_free(struct sonde_context_union *tree);

/* Node 0 is the root and always there. */
#define SONDE_UNION_ROOT 0

/*
 * The node of a context below a node; added where it is not there. Its `parent` and `end` are not
 * looked at. Not safe from several threads.
 */
enum sonde_status sonde_context_union_add(struct sonde_context_union *tree, uint32_t parent,
					  const struct sonde_context *context, uint32_t *node,
					  struct sonde_error *err);

/*
 * The class of a function that a context has: functions that say the same have the same, from 0 on.
 * SONDE_NONE of one that was not met. Of a union by content only. And the first function of a class.
 */
uint32_t sonde_context_union_class(const struct sonde_context_union *tree, uint32_t function);
uint32_t sonde_context_union_class_function(const struct sonde_context_union *tree,
					    uint32_t number);
uint32_t sonde_context_union_class_count(const struct sonde_context_union *tree);

/* Orders and numbers them; nothing can be added after that. */
enum sonde_status sonde_context_union_finish(struct sonde_context_union *tree,
					     struct sonde_error *err);

/* After finish: all contexts, borrowed; the number of a node; the child of a context that says the
 * same, SONDE_NONE where there is none. Safe from several threads. */
const struct sonde_context *sonde_context_union_contexts(const struct sonde_context_union *tree,
							 uint32_t *count);
uint32_t sonde_context_union_number(const struct sonde_context_union *tree, uint32_t node);
uint32_t sonde_context_union_find(const struct sonde_context_union *tree, uint32_t parent,
				  const struct sonde_context *context);

#endif
