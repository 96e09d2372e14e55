/* SPDX-License-Identifier: Apache-2.0 */
/* How groups are gathered. For stats.c and values.c only. */
#ifndef SONDE_STORE_GROUPS_PRIVATE_H
#define SONDE_STORE_GROUPS_PRIVATE_H

#include "base/map.h"
#include "base/pool.h"
#include "store/groups.h"

struct sonde_gathering {
	struct sonde_groups groups;
	struct sonde_text_map known; /* time and name -> position in the list */
	struct sonde_buffer key;
	struct sonde_key_map by_id; /* for who knows names by a number: number -> position */
};
void sonde_gathering_release(struct sonde_gathering *gathering);

/* The group of a name, a new one where it is not there; NULL where memory failed. Moves others. */
struct sonde_group *sonde_gather(struct sonde_gathering *gathering, uint64_t time_ns,
				 const char *name, size_t size);

typedef enum sonde_status sonde_gather_part(struct zts_part *part, const void *request,
					    struct sonde_gathering *gathering,
					    struct sonde_error *err);

/* Runs for all parts beside each other and merges what they gave. */
enum sonde_status sonde_gather_parts(struct zts_base *base, sonde_gather_part *gather,
				     const void *request, struct sonde_groups *groups,
				     struct sonde_error *err);

#endif
