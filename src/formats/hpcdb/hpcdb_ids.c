/* SPDX-License-Identifier: Apache-2.0 */
/* Building the way from ids to places. */
#include "formats/hpcdb/hpcdb_ids.h"

/* Ids are not dense, but real ones are not much larger than there are contexts. */
#define NEAR_FACTOR 16
#define NEAR_EXTRA 4096

enum sonde_status hpcdb_ids_build(struct hpcdb_ids *ids, const struct hpcdb_tree *tree,
				  struct sonde_error *err)
{
	uint64_t limit = (uint64_t)tree->contexts.count * NEAR_FACTOR + NEAR_EXTRA;
	uint32_t largest = 0;

	*ids = (struct hpcdb_ids){ 0 };
	for (size_t i = 0; i < tree->contexts.count; i++) {
		uint32_t id = tree->contexts.items[i].id;

		if (id > largest && id < limit)
			largest = id;
	}
	ids->near_count = largest + 1;
	ids->near = calloc(ids->near_count, sizeof(*ids->near));
	if (!ids->near)
		return sonde_fail_nomem(err);
	for (uint32_t i = 0; i < tree->contexts.count; i++) {
		uint32_t id = tree->contexts.items[i].id;

		if (hpcdb_ids_find(ids, id) != HPCDB_NO_RECORD)
			continue;
		if (id < ids->near_count)
			ids->near[id] = i + 1;
		else if (!sonde_key_map_add(&ids->far, id, i))
			return sonde_fail_nomem(err);
	}
	return SONDE_OK;
}

void hpcdb_ids_release(struct hpcdb_ids *ids)
{
	free(ids->near);
	sonde_key_map_release(&ids->far);
	*ids = (struct hpcdb_ids){ 0 };
}
