/* SPDX-License-Identifier: Apache-2.0 */
/* Unions of what profiles hold, merged and carried from one process to another. */
#include "analyse/prof_union.h"

void prof_union_release(struct prof_union *all)
{
	size_t i;

	for (i = 0; i < PROF_SET_COUNT; i++) {
		sonde_vec_release(&all->sets[i].items);
		sonde_text_map_release(&all->sets[i].numbers);
	}
	sonde_vec_release(&all->tracks);
	sonde_vec_release(&all->refused);
	raw_tree_release(&all->tree);
	sonde_arena_release(&all->texts);
	*all = (struct prof_union){ 0 };
}

uint32_t prof_union_add(struct prof_union *all, enum prof_set set, const void *data, size_t size,
			uint32_t item)
{
	struct prof_blobs *blobs = &all->sets[set];
	uint32_t number = sonde_text_map_find(&blobs->numbers, data, size);
	struct prof_blob *blob;
	const char *copy;

	if (number != SONDE_NONE) {
		blob = &blobs->items.items[number];
		if (item < blob->first)
			blob->first = item;
		return number;
	}
	if (blobs->items.count >= RAW_NOT_UNWOUND - RAW_MODULES || size >= UINT32_MAX)
		return SONDE_NONE;
	copy = sonde_arena_copy_text(&all->texts, data, size);
	blob = copy ? sonde_vec_push(&blobs->items) : NULL;
	if (!blob)
		return SONDE_NONE;
	*blob = (struct prof_blob){ .data = copy, .size = (uint32_t)size, .first = item };
	number = (uint32_t)blobs->items.count - 1;
	if (sonde_text_map_add(&blobs->numbers, copy, size, number))
		return number;
	blobs->items.count--;
	return SONDE_NONE;
}

bool prof_union_refuse(struct prof_union *all, uint32_t item, const char *path, const char *reason)
{
	struct prof_refused *refused = sonde_vec_push(&all->refused);

	if (!refused)
		return false;
	*refused = (struct prof_refused){
		.item = item,
		.path = sonde_arena_copy_text(&all->texts, path, strlen(path)),
		.reason = sonde_arena_copy_text(&all->texts, reason, strlen(reason)),
	};
	if (refused->path && refused->reason)
		return true;
	all->refused.count--;
	return false;
}

bool prof_union_add_track(struct prof_union *all, const struct prof_track *track)
{
	size_t size = track->identity_count * sizeof(*track->identities);
	struct sonde_identity *identities = sonde_arena_take(&all->texts, size ? size : 1);
	struct prof_track *copy = identities ? sonde_vec_push(&all->tracks) : NULL;

	if (!copy)
		return false;
	if (size)
		memcpy(identities, track->identities, size);
	*copy = *track;
	copy->identities = identities;
	return true;
}

/* Where the numbers of a set of `other` are in *all; malloc'd. */
static uint32_t *merge_set(struct prof_union *all, const struct prof_union *other,
			   enum prof_set set)
{
	const struct prof_blobs *blobs = &other->sets[set];
	uint32_t *numbers = malloc((blobs->items.count + 1) * sizeof(*numbers));
	size_t i;

	for (i = 0; numbers && i < blobs->items.count; i++) {
		const struct prof_blob *blob = &blobs->items.items[i];

		numbers[i] = prof_union_add(all, set, blob->data, blob->size, blob->first);
		if (numbers[i] == SONDE_NONE) {
			free(numbers);
			return NULL;
		}
	}
	return numbers;
}

/* Adds the nodes under the numbers that modules and functions have here. */
static bool merge_tree(struct raw_tree *tree, const struct raw_tree *other, const uint32_t *modules,
		       const uint32_t *functions)
{
	uint32_t *numbers = malloc(((size_t)other->count + 1) * sizeof(*numbers)), i;
	bool fine = numbers && (!other->count || raw_tree_begin(tree));

	if (fine)
		numbers[0] = 0;
	for (i = 1; fine && i < other->count; i++) {
		const struct raw_node *node = &other->nodes[i];
		uint32_t module = node->module & ~RAW_NOT_UNWOUND;
		uint64_t ip = node->ip;

		if (module >= RAW_MODULES)
			module = modules[module - RAW_MODULES] + RAW_MODULES;
		else if (module == RAW_FUNCTIONS)
			ip = functions[ip];
		numbers[i] = raw_tree_add(tree, numbers[node->parent],
					  module | (node->module & RAW_NOT_UNWOUND), ip);
		fine = numbers[i] != SONDE_NONE;
	}
	free(numbers);
	return fine;
}

static bool merge_lists(struct prof_union *all, const struct prof_union *other,
			const uint32_t *tables)
{
	size_t i;

	for (i = 0; i < other->tracks.count; i++) {
		struct prof_track track = other->tracks.items[i];

		track.table = tables[track.table];
		if (!prof_union_add_track(all, &track))
			return false;
	}
	for (i = 0; i < other->refused.count; i++) {
		const struct prof_refused *refused = &other->refused.items[i];

		if (!prof_union_refuse(all, refused->item, refused->path, refused->reason))
			return false;
	}
	return true;
}

enum sonde_status prof_union_merge(struct prof_union *all, const struct prof_union *other,
				   struct sonde_error *err)
{
	uint32_t *numbers[PROF_SET_COUNT] = { 0 };
	bool fine = true;
	size_t i;

	for (i = 0; fine && i < PROF_SET_COUNT; i++) {
		numbers[i] = merge_set(all, other, (enum prof_set)i);
		fine = numbers[i];
	}
	fine = fine && merge_lists(all, other, numbers[PROF_TABLES]) &&
	       merge_tree(&all->tree, &other->tree, numbers[PROF_MODULES], numbers[PROF_FUNCTIONS]);
	for (i = 0; i < PROF_SET_COUNT; i++)
		free(numbers[i]);
	return fine ? SONDE_OK : sonde_fail_nomem(err);
}
