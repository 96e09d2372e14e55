/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The values of a plane by families: a listed context and those of its children that have values. It
 * takes as long as the plane is large, however many contexts the tree has.
 */
#ifndef SONDE_HPCDB_FAMILIES_H
#define SONDE_HPCDB_FAMILIES_H

#include "base/sort.h"
#include "formats/hpcdb/hpcdb_ids.h"
#include "formats/hpcdb/hpcdb_profile.h"

/*
 * Zeroed: none. The members of a family follow each other in the order of the tree, the head first
 * where it has values itself. `number` is that of the member in the plane.
 */
struct hpcdb_families {
	SONDE_VEC(struct sonde_sort_item) members;
};

/* Replaces what there was. False where memory failed. */
bool hpcdb_families_build(struct hpcdb_families *families, const struct hpcdb_plane *plane,
			  const struct hpcdb_tree *tree, const struct hpcdb_ids *ids);
void hpcdb_families_release(struct hpcdb_families *families);

/* The first member after the family that member `first` belongs to. */
size_t hpcdb_family_end(const struct hpcdb_families *families, size_t first);

/* Places in the tree: of the context that the family is of, and of the member itself. */
static inline uint32_t hpcdb_family_head(const struct hpcdb_families *families, size_t member)
{
	return (uint32_t)(families->members.items[member].key >> 32);
}

static inline uint32_t hpcdb_family_member(const struct hpcdb_families *families, size_t member)
{
	return (uint32_t)families->members.items[member].key;
}

#endif
