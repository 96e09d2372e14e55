/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the tree of addresses to the tree of contexts: every raw node becomes the functions, loops and
 * lines that its address lies in. Contexts are numbered in preorder, siblings by their content.
 */
#ifndef SONDE_ANALYSE_PROF_CONTEXTS_H
#define SONDE_ANALYSE_PROF_CONTEXTS_H

#include "analyse/prof_elements.h"

/* Zeroed means empty. */
struct prof_contexts {
	struct sonde_definitions *definitions; /* strings, modules, functions */
	struct sonde_context *contexts;
	uint32_t count, listed;
	/* By raw node: the outermost context that it makes (the function), and the innermost. */
	uint32_t *relation, *innermost;
	uint64_t unwound, demoted;		     /* as in struct sonde_prof_report */
	SONDE_VEC(struct sonde_prof_module) modules; /* paths lie in `definitions` */
};

/* All of a team make this call; refusals as with prof_names_find(). */
enum sonde_status prof_contexts_make(struct prof_contexts *contexts, const struct prof_union *all,
				     const struct prof_inputs *inputs,
				     const struct sonde_prof_options *options,
				     struct prof_union *refused, struct sonde_error *err);
void prof_contexts_release(struct prof_contexts *contexts);

#endif
