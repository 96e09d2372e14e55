/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading profiles and tracks of recordings: the first pass, which learns what there is, and what both
 * passes have in common. The second pass must come to the same nodes as the first.
 */
#ifndef SONDE_ANALYSE_PROF_READ_H
#define SONDE_ANALYSE_PROF_READ_H

#include "analyse/prof_inputs.h"
#include "formats/hpcrun/hpcrun_profile.h"
#include "model/call_tree.h"

/*
 * Reads all inputs that are this process's share, in parallel, and merges what they hold into *all.
 * Damaged ones are refused there.
 */
enum sonde_status prof_read(const struct prof_inputs *inputs,
			    const struct sonde_prof_options *options, struct prof_union *all,
			    struct sonde_error *err);

/* A path as the replacements leave it; `space` is for one that changes. NULL where memory failed. */
const char *prof_replaced(const struct sonde_prof_options *options, const char *path,
			  struct sonde_buffer *space);

/*
 * The raw module of each module id of a profile; 0 where it has none. Thousands of profiles use one
 * map: what a profile put there is taken out again before the next one is read.
 */
struct prof_module_map {
	uint32_t numbers[UINT16_MAX + 1];
};

static inline void prof_clear_modules(struct prof_module_map *map,
				      const struct hpcrun_profile *profile)
{
	size_t i;

	for (i = 0; i < profile->modules.count; i++)
		map->numbers[profile->modules.items[i].id] = 0;
}

/* The root of a profile is that of all. */
static inline bool prof_is_root(const struct hpcrun_node *node)
{
	return node->parent == UINT32_MAX && node->module == HPCRUN_MODULE_PLACEHOLDER &&
	       (node->ip == HPCRUN_PRIMARY || !node->ip);
}

/* The raw module of a node; 0 for a placeholder. SONDE_NONE: the profile has no such module. */
static inline uint32_t prof_raw_module(const struct prof_module_map *map,
				       const struct hpcrun_node *node)
{
	uint32_t number = map->numbers[node->module];

	if (__builtin_expect(number != 0, 1))
		return node->unwound ? number : number | RAW_NOT_UNWOUND;
	switch (node->module) {
	case HPCRUN_MODULE_PLACEHOLDER:
		return RAW_PLACEHOLDER;
	case HPCRUN_MODULE_GPU_CONTEXT:
		return RAW_GPU_CONTEXT;
	case HPCRUN_MODULE_GPU_RANGE:
		return RAW_GPU_RANGE;
	case HPCRUN_MODULE_GPU_RANGE_ROOT:
		return RAW_GPU_RANGE_ROOT;
	default:
		return SONDE_NONE;
	}
}

/* All events of a track into the tree; `on_change` as there. */
enum sonde_status prof_read_calls(struct sonde_recording *recording, uint32_t track,
				  struct sonde_call_tree *tree, sonde_call_tree_change *on_change,
				  void *user, struct sonde_error *err);

/* The placeholder that the calls of a track lie below: that of the main thread, or of another. */
uint64_t prof_entry_of(const struct sonde_definitions *definitions, uint32_t track);

/* A function of a recording as bytes, for PROF_FUNCTIONS. */
void prof_put_function(struct sonde_buffer *bytes, const struct sonde_definitions *definitions,
		       uint32_t function);

/* The same read; texts are borrowed. */
struct prof_function {
	const char *name, *file, *module;
	uint32_t line;
	uint64_t address;
};
struct prof_function prof_function_of(const struct prof_blob *blob);

#endif
