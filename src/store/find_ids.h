/* SPDX-License-Identifier: Apache-2.0 */
/* What a condition means for the indexes of a part: sets of text ids whose postings answer it. */
#ifndef SONDE_STORE_FIND_IDS_H
#define SONDE_STORE_FIND_IDS_H

#include "store/look.h"

/*
 * Traces that fulfil it surely have one of `sure`; who else must be looked at is said by the rest.
 */
enum sonde_find_rest {
	SONDE_REST_NONE,
	SONDE_REST_KEY,		   /* who has the key at all */
	SONDE_REST_KEY_AND_VALUES, /* who has the key, and one of `others` anywhere */
	SONDE_REST_KEY_NOT_PAIRS,  /* who has the key, and none of `others`: only composed values */
};

struct sonde_find_ids {
	struct zts_set sure;
	struct zts_set keys;
	struct zts_set others;
	enum sonde_find_rest rest;
};

/* Of a condition on an attribute (`key`: which), on methods, exceptions or any text. */
enum sonde_status sonde_find_ids(struct zts_part *part, const struct sonde_query_node *test,
				 const char *key, size_t key_size, struct sonde_find_ids *ids,
				 struct sonde_error *err);
void sonde_find_ids_release(struct sonde_find_ids *ids);

/* The ids of a key. */
enum sonde_status sonde_find_keys(struct zts_texts *texts, const char *key, size_t size,
				  struct zts_set *ids, struct sonde_error *err);

static inline bool sonde_set_is_empty(const struct zts_set *set)
{
	return zts_set_next(set, 0) == SIZE_MAX;
}

#endif
