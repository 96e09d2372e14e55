/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every search wants to know of all slots of a part, gathered once and kept with the part: going
 * over the slots of a million traces takes longer than an answer may.
 */
#ifndef SONDE_STORE_SUMMARY_H
#define SONDE_STORE_SUMMARY_H

#include "store/query.h"
#include "store/trace.h"

enum sonde_search_sort {
	SONDE_SORT_TIME,
	SONDE_SORT_DURATION,
	SONDE_SORT_CALLS,
	SONDE_SORT_ERRORS,
	SONDE_SORT_RECORDS,
	SONDE_SORTS, /* how many there are */
};

enum { SONDE_SLOT_NAMES = 4 }; /* kinds of names: type, app, host, env */

struct sonde_summary {
	size_t slots;		  /* how many slots the part had */
	struct zts_set traces;	  /* what users see as traces */
	struct zts_set unindexed; /* of them, those whose texts are not in the metadata index */
	uint32_t *first_chunk;	  /* by slot: of a trace in chunks its first; NULL: no chunks */
	struct zts_set names[SONDE_SLOT_NAMES]; /* that slots have; see sonde_summary_names() */
	/* For sonde_sort_span(). */
	bool has_span[SONDE_SORTS];
	struct sonde_bounds span[SONDE_SORTS];
};

/* Of the part: valid until the part is refreshed or freed. One thread at a time for a part. */
enum sonde_status sonde_summary_of(struct zts_part *part, const struct sonde_summary **summary,
				   struct sonde_error *err);

/* The names that slots have where such a field is kept (0: none has been given); NULL for others. */
const struct zts_set *sonde_summary_names(const struct sonde_summary *summary,
					  enum sonde_query_field field);

/* The lowest and the highest sort key of all slots of a part, found once. */
enum sonde_status sonde_sort_span(struct zts_part *part, enum sonde_search_sort sort,
				  struct sonde_bounds *span, struct sonde_error *err);

/* What a trace is sorted by. */
struct sonde_bounds sonde_sort_key(const struct zts_part *part, uint32_t slot,
				   enum sonde_search_sort sort);

#endif
