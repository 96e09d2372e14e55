/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The traces of one part that fulfil a query, by its indexes; what they cannot tell is looked at.
 */
#ifndef SONDE_STORE_FIND_H
#define SONDE_STORE_FIND_H

#include "store/look.h"
#include "store/summary.h"

/* For one part and one thread; zeroed but for look.part and look.shallow. Reusable for the part. */
struct sonde_finder {
	struct sonde_look look;
	const struct sonde_summary *summary; /* of the part */
};
void sonde_finder_release(struct sonde_finder *finder);

/* Initialises `slots` and puts the slots of all traces that fulfil the query into it. */
enum sonde_status sonde_find(struct sonde_finder *finder, const struct sonde_query *query,
			     struct zts_set *slots, struct sonde_error *err);

/* The slots (of traces) whose lines have one of these text ids. */
enum sonde_status sonde_find_postings(struct sonde_finder *finder, const struct zts_set *ids,
				      bool deep, struct zts_set *slots, struct sonde_error *err);

/* Sets of the same size. */
static inline size_t sonde_set_words(const struct zts_set *set)
{
	return (set->size + 63) / 64;
}
void sonde_set_add_all(struct zts_set *set, const struct zts_set *other);
void sonde_set_keep(struct zts_set *set, const struct zts_set *other);
void sonde_set_remove_all(struct zts_set *set, const struct zts_set *other);

#endif
