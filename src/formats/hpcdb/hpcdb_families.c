/* SPDX-License-Identifier: Apache-2.0 */
/* Families are made by sorting: each context with values is a member of its own and of its parent's. */
#include "formats/hpcdb/hpcdb_families.h"

static bool add_member(struct hpcdb_families *families, uint32_t head, uint32_t place,
		       uint32_t number)
{
	struct sonde_sort_item *item = sonde_vec_push(&families->members);

	if (item)
		*item = (struct sonde_sort_item){ (uint64_t)head << 32 | place, number };
	return item;
}

/* Of a context that is there twice the first counts. */
static void drop_repeats(struct hpcdb_families *families)
{
	struct sonde_sort_item *items = families->members.items;
	size_t kept = 0;

	for (size_t i = 0; i < families->members.count; i++) {
		if (!kept || items[i].key != items[kept - 1].key)
			items[kept++] = items[i];
	}
	families->members.count = kept;
}

bool hpcdb_families_build(struct hpcdb_families *families, const struct hpcdb_plane *plane,
			  const struct hpcdb_tree *tree, const struct hpcdb_ids *ids)
{
	uint64_t reached = 0, first, end;

	families->members.count = 0;
	for (uint32_t i = 0; i < plane->context_count; i++) {
		uint32_t place = hpcdb_ids_find(ids, hpcdb_plane_context(plane, i));

		/* Runs that overlap those before are damage, and would make a small file endless. */
		hpcdb_plane_range(plane, i, &first, &end);
		if (first < reached)
			continue;
		reached = end;
		if (place == HPCDB_NO_RECORD)
			continue;
		if (!add_member(families, place, place, i))
			return false;
		if (place && !add_member(families, tree->contexts.items[place].parent, place, i))
			return false;
	}
	if (!sonde_sort(families->members.items, families->members.count))
		return false;
	drop_repeats(families);
	return true;
}

void hpcdb_families_release(struct hpcdb_families *families)
{
	sonde_vec_release(&families->members);
}

size_t hpcdb_family_end(const struct hpcdb_families *families, size_t first)
{
	uint32_t head = hpcdb_family_head(families, first);
	size_t end = first + 1;

	while (end < families->members.count && hpcdb_family_head(families, end) == head)
		end++;
	return end;
}
