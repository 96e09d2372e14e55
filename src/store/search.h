/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Searches over all parts of a store: which traces, in which order, how many. Parts are searched
 * beside each other; newest first, no more of them than needed.
 */
#ifndef SONDE_STORE_SEARCH_H
#define SONDE_STORE_SEARCH_H

#include "store/find.h"

struct sonde_search_request {
	const struct sonde_query *query;
	enum sonde_search_sort sort;
	bool ascending;	    /* default: newest, longest, most first */
	bool shallow;	    /* only first records of traces count */
	uint64_t limit;	    /* 0: all */
	uint64_t offset;    /* so many are passed over */
	const char *cursor; /* of an earlier result of the same search; NULL: from the start */
};

struct sonde_search_hit {
	struct zts_part *part; /* of the base: valid until it is refreshed or freed */
	uint32_t slot;
	uint64_t start_ns, duration_ns; /* exact */
};

/* Zeroed is empty. */
struct sonde_search_result {
	SONDE_VEC(struct sonde_search_hit) hits;
	bool has_more;
	struct sonde_buffer cursor; /* text: where to go on, where there is more */
	uint64_t unreadable;	    /* traces that could not be looked at */
};
void sonde_search_result_release(struct sonde_search_result *result);

/* SONDE_ARGUMENT for a cursor that is none, or of another order. */
enum sonde_status sonde_store_search(struct zts_base *base,
				     const struct sonde_search_request *request,
				     struct sonde_search_result *result, struct sonde_error *err);

/*
 * The earliest start and latest end of all traces, for times given in relation to them; zeros
 * without traces.
 */
struct sonde_bounds sonde_base_span(const struct zts_base *base);

#endif
