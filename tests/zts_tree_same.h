/* SPDX-License-Identifier: Apache-2.0 */
/* Whether two decoders saw the same trees: for tests and fuzz targets. */
#ifndef SONDE_TESTS_ZTS_TREE_SAME_H
#define SONDE_TESTS_ZTS_TREE_SAME_H

#include "formats/zts/zts_tree.h"

static inline bool zts_same_record(const struct zts_record *a, const struct zts_record *b)
{
	return a->start == b->start && a->stop == b->stop && a->calls == b->calls &&
	       a->method == b->method && a->parent == b->parent && a->depth == b->depth &&
	       a->records == b->records && a->flags == b->flags && a->exception == b->exception &&
	       a->inline_exception == b->inline_exception && a->attributes == b->attributes &&
	       a->trace == b->trace && a->offset == b->offset && a->identity == b->identity;
}

static inline bool zts_same_trace(const struct zts_trace_start *a, const struct zts_trace_start *b)
{
	return a->record == b->record && a->type == b->type && a->timestamp_ms == b->timestamp_ms &&
	       a->span == b->span && a->parent == b->parent && a->has_type == b->has_type &&
	       a->has_span == b->has_span;
}

static inline bool zts_same_map(const struct zts_attribute_map *a,
				const struct zts_attribute_map *b)
{
	return a->record == b->record && a->next == b->next && a->offset == b->offset &&
	       a->size == b->size;
}

static inline bool zts_same_tree(const struct zts_tree *a, const struct zts_tree *b)
{
	if (a->records.count != b->records.count || a->traces.count != b->traces.count ||
	    a->attributes.count != b->attributes.count ||
	    a->exceptions.count != b->exceptions.count ||
	    a->identities.count != b->identities.count || a->open != b->open ||
	    a->unopened != b->unopened || a->unknown != b->unknown)
		return false;
	for (size_t i = 0; i < a->records.count; i++)
		if (!zts_same_record(&a->records.items[i], &b->records.items[i]))
			return false;
	for (size_t i = 0; i < a->traces.count; i++)
		if (!zts_same_trace(&a->traces.items[i], &b->traces.items[i]))
			return false;
	for (size_t i = 0; i < a->attributes.count; i++)
		if (!zts_same_map(&a->attributes.items[i], &b->attributes.items[i]))
			return false;
	return true;
}

/* What holds for a tree whatever the bytes were. */
static inline bool zts_tree_is_sound(const struct zts_tree *tree)
{
	uint32_t open = 0;

	for (size_t i = 0; i < tree->records.count; i++) {
		const struct zts_record *record = &tree->records.items[i], *parent;

		if (record->records < 1 || i + record->records > tree->records.count ||
		    record->offset >= tree->size)
			return false;
		open += i + record->records == tree->records.count;
		if (record->parent == SONDE_NONE) {
			if (record->depth)
				return false;
			continue;
		}
		parent = &tree->records.items[record->parent];
		if (record->parent >= i || record->depth != parent->depth + 1 ||
		    record->parent + parent->records < i + record->records)
			return false;
	}
	for (size_t i = 0; i < tree->traces.count; i++)
		if (tree->records.items[tree->traces.items[i].record].trace != i)
			return false;
	return tree->open <= open;
}

#endif
