/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The walk over the tree of contexts in meta.db. Every 8 bytes of the section belong to one context at
 * most: what points into another one's bytes is a fault and not followed, so loops and shared
 * subtrees end, and there are never more contexts than the section has room for.
 */
#include <stdlib.h>

#include "formats/hpcdb/hpcdb_meta.h"

/* An array of children that is being walked. */
struct level {
	uint64_t position, end;
	uint32_t parent;
};

struct walk {
	const struct hpcdb_meta *meta;
	struct hpcdb_tree *tree;
	uint64_t *taken; /* a bit for each 8 bytes of the section */
	SONDE_VEC(struct level) levels;
};

static void report(const struct walk *walk, enum hpcdb_tree_fault fault, uint64_t offset)
{
	walk->tree->faults++;
	if (walk->tree->fault)
		walk->tree->fault(walk->tree->data, fault, offset);
}

/* Marks the words of a record; false where one of them is marked already. */
static bool take_words(struct walk *walk, uint64_t offset, uint64_t size)
{
	uint64_t first = offset - walk->meta->file.sections[HPCDB_META_CONTEXT].offset;
	uint64_t from = first / 8, to = (first + size + 7) / 8;

	for (uint64_t i = from; i < to; i++) {
		if (walk->taken[i / 64] >> (i % 64) & 1)
			return false;
	}
	for (uint64_t i = from; i < to; i++)
		walk->taken[i / 64] |= 1ull << (i % 64);
	return true;
}

/* Children of the context that was added last, which is at `offset`. */
static enum sonde_status enter(struct walk *walk, uint64_t size, uint64_t pointer, uint64_t offset,
			       struct sonde_error *err)
{
	const struct hpcdb_section *section = &walk->meta->file.sections[HPCDB_META_CONTEXT];
	struct level *level;

	if (!size)
		return SONDE_OK;
	if (!hpcdb_is_within(section, pointer, HPCDB_CONTEXT_SIZE)) {
		report(walk, HPCDB_TREE_OUTSIDE, offset);
		return SONDE_OK;
	}
	if (!hpcdb_is_within(section, pointer, size)) {
		report(walk, HPCDB_TREE_OUTSIDE, offset);
		size = section->size - (pointer - section->offset);
	}
	level = sonde_vec_push(&walk->levels);
	if (!level)
		return sonde_fail_nomem(err);
	*level =
		(struct level){ pointer, pointer + size, (uint32_t)walk->tree->contexts.count - 1 };
	return SONDE_OK;
}

static struct hpcdb_context *add_context(struct walk *walk, uint64_t offset, uint32_t parent,
					 struct sonde_error *err)
{
	struct hpcdb_context *context = sonde_vec_push(&walk->tree->contexts);

	if (!context) {
		sonde_fail_nomem(err);
		return NULL;
	}
	*context = (struct hpcdb_context){ .offset = offset, .parent = parent };
	return context;
}

/* The next context of a level, or the end of it. */
static enum sonde_status step(struct walk *walk, struct sonde_error *err)
{
	struct level *level = &walk->levels.items[walk->levels.count - 1];
	uint64_t offset = level->position, size = HPCDB_CONTEXT_SIZE;
	struct hpcdb_context *context;
	const uint8_t *p;

	if (level->end - offset < size) {
		if (offset != level->end)
			report(walk, HPCDB_TREE_CUT, offset);
		walk->tree->contexts.items[level->parent].end =
			(uint32_t)walk->tree->contexts.count;
		walk->levels.count--;
		return SONDE_OK;
	}
	p = walk->meta->file.data + offset;
	size += (uint64_t)p[0x17] * 8;
	if (size > level->end - offset || !take_words(walk, offset, size) ||
	    walk->tree->contexts.count >= UINT32_MAX - 1) {
		report(walk, size > level->end - offset ? HPCDB_TREE_CUT : HPCDB_TREE_SHARED,
		       offset);
		level->position = level->end;
		return SONDE_OK;
	}
	level->position = offset + size;
	context = add_context(walk, offset, level->parent, err);
	if (!context)
		return SONDE_NOMEM;
	context->id = sonde_load_u32le(p + 0x10);
	context->relation = p[0x15];
	context->lexical_type = p[0x16];
	context->propagation = sonde_load_u16le(p + 0x18);
	context->end = (uint32_t)walk->tree->contexts.count;
	return enter(walk, sonde_load_u64le(p), sonde_load_u64le(p + 8), offset, err);
}

static enum sonde_status walk_entry(struct walk *walk, uint64_t number, struct sonde_error *err)
{
	const uint8_t *p = hpcdb_table_at(&walk->meta->file, &walk->meta->entries, number);
	uint64_t offset = (uint64_t)(p - walk->meta->file.data);
	struct hpcdb_context *context;
	enum sonde_status status;

	if (!hpcdb_is_within(&walk->meta->file.sections[HPCDB_META_CONTEXT], offset,
			     HPCDB_ENTRY_SIZE)) {
		report(walk, HPCDB_TREE_OUTSIDE, offset);
		return SONDE_OK;
	}
	if (!take_words(walk, offset, HPCDB_ENTRY_SIZE)) {
		report(walk, HPCDB_TREE_SHARED, offset);
		return SONDE_OK;
	}
	context = add_context(walk, offset, 0, err);
	if (!context)
		return SONDE_NOMEM;
	context->id = sonde_load_u32le(p + 0x10);
	context->relation = HPCDB_CALL;
	context->is_entry = true;
	context->end = (uint32_t)walk->tree->contexts.count;
	status = enter(walk, sonde_load_u64le(p), sonde_load_u64le(p + 8), offset, err);
	while (status == SONDE_OK && walk->levels.count)
		status = step(walk, err);
	return status;
}

enum sonde_status hpcdb_meta_walk(const struct hpcdb_meta *meta, struct hpcdb_tree *tree,
				  struct sonde_error *err)
{
	const struct hpcdb_section *section = &meta->file.sections[HPCDB_META_CONTEXT];
	struct walk walk = { .meta = meta, .tree = tree };
	enum sonde_status status = SONDE_OK;
	struct hpcdb_context *root;

	tree->contexts.count = 0;
	tree->faults = 0;
	walk.taken = calloc(section->size / 512 + 2, sizeof(*walk.taken));
	root = add_context(&walk, 0, HPCDB_NO_RECORD, err);
	if (!walk.taken || !root)
		status = sonde_fail_nomem(err);
	for (uint64_t i = 0; i < meta->entries.count && status == SONDE_OK; i++)
		status = walk_entry(&walk, i, err);
	if (status == SONDE_OK)
		tree->contexts.items[0].end = (uint32_t)tree->contexts.count;
	sonde_vec_release(&walk.levels);
	free(walk.taken);
	return status;
}

void hpcdb_tree_release(struct hpcdb_tree *tree)
{
	sonde_vec_release(&tree->contexts);
}

static uint64_t next_word(struct hpcdb_place *place, struct sonde_bytes *words)
{
	uint64_t word = sonde_bytes_u64le(words);

	place->is_cut |= words->overrun;
	return word;
}

struct hpcdb_place hpcdb_meta_place(struct hpcdb_meta *meta, const struct hpcdb_context *context)
{
	struct hpcdb_place place = { .function = HPCDB_NO_RECORD,
				     .file = HPCDB_NO_RECORD,
				     .module = HPCDB_NO_RECORD };
	const uint8_t *p = meta->file.data + context->offset;
	struct sonde_bytes words;

	if (!context->offset)
		return place;
	if (context->is_entry) {
		place.entry = sonde_load_u16le(p + 0x14);
		place.name = hpcdb_meta_text(meta, HPCDB_META_STRINGS, sonde_load_u64le(p + 0x18));
		return place;
	}
	words = sonde_bytes_of(p + HPCDB_CONTEXT_SIZE, (size_t)p[0x17] * 8);
	if (p[0x14] & HPCDB_HAS_FUNCTION)
		place.function_pointer = next_word(&place, &words);
	if (p[0x14] & HPCDB_HAS_SOURCE) {
		place.file_pointer = next_word(&place, &words);
		/* the other half of this word is free for a number that does not exist yet */
		place.line = (uint32_t)next_word(&place, &words);
	}
	if (p[0x14] & HPCDB_HAS_POINT) {
		place.module_pointer = next_word(&place, &words);
		place.address = next_word(&place, &words);
	}
	place.function = hpcdb_table_number(&meta->functions, place.function_pointer);
	place.file = hpcdb_table_number(&meta->files, place.file_pointer);
	place.module = hpcdb_table_number(&meta->modules, place.module_pointer);
	return place;
}
