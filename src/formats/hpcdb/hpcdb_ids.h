/* SPDX-License-Identifier: Apache-2.0 */
/* From ids of contexts in the files to places in the tree: an array, and a map for far-off ids. */
#ifndef SONDE_HPCDB_IDS_H
#define SONDE_HPCDB_IDS_H

#include "base/map.h"
#include "formats/hpcdb/hpcdb_meta.h"

/* Zeroed: none. Lookups are safe from several threads. */
struct hpcdb_ids {
	uint32_t *near; /* place + 1 */
	uint32_t near_count;
	struct sonde_key_map far;
};

/* Of an id that is there twice the first counts. */
enum sonde_status hpcdb_ids_build(struct hpcdb_ids *ids, const struct hpcdb_tree *tree,
				  struct sonde_error *err);
void hpcdb_ids_release(struct hpcdb_ids *ids);

/* HPCDB_NO_RECORD for an id that is not listed. 0 is the global context. */
static inline uint32_t hpcdb_ids_find(const struct hpcdb_ids *ids, uint32_t id)
{
	return id < ids->near_count ? ids->near[id] - 1 : sonde_key_map_find(&ids->far, id);
}

#endif
