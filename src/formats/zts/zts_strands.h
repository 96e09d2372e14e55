/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls of a trace in the order of time. On a track calls nest; spans of OpenTelemetry need
 * not: those that begin before their elder sibling ended, or outlive their parent, go to another
 * lane of the trace, as a call of their own. A strand is such a call with what nests in it.
 */
#ifndef SONDE_FORMATS_ZTS_STRANDS_H
#define SONDE_FORMATS_ZTS_STRANDS_H

#include <sonde/event.h>

#include "formats/zts/zts_tree.h"

/* Lanes that a trace may take at once. What overlaps even more is moved in time until it nests. */
#define ZTS_TRACE_LANES 64

struct zts_strand {
	uint32_t record;
	uint32_t lane;
	uint32_t calls;
};

/* Of each lane: when it begins and ends, and what is on it. */
struct zts_strand_lane {
	uint64_t start_ns, end_ns;
	uint32_t calls, exceptions;
};

/* Memory is reused. Zeroed is new. */
struct zts_strands {
	const struct zts_tree *tree;
	uint32_t root, count;	    /* records of the trace */
	SONDE_VEC(uint64_t) starts; /* ns since 1970, by record - root */
	SONDE_VEC(uint64_t) stops;
	SONDE_VEC(uint64_t) busy; /* end of the last child that nests */
	SONDE_VEC(uint8_t) detached;
	SONDE_VEC(struct zts_strand) list; /* in the order of time on each lane */
	SONDE_VEC(uint32_t) stack;
	struct zts_strand_lane lanes[ZTS_TRACE_LANES];
	uint32_t lane_count;
	uint32_t moved; /* records for which no lane was left: their times are not their own */
};
void zts_strands_release(struct zts_strands *strands);

/* `ns_key`: the text id of ZTS_NS_ATTRIBUTE; 0: the store has none. `root` exists. */
enum sonde_status zts_strands_make(struct zts_strands *strands, const struct zts_tree *tree,
				   uint32_t root, uint32_t ns_key, struct sonde_error *err);

static inline bool zts_record_throws(const struct zts_record *record)
{
	return record->exception || record->inline_exception != SONDE_NONE;
}

/*
 * Events of one lane, into `events` and `records` (the record of each): both have room for twice
 * the lane's calls. Functions, tracks and details are not set.
 */
enum sonde_status zts_strands_events(struct zts_strands *strands, uint32_t lane,
				     struct sonde_event *events, uint32_t *records,
				     struct sonde_error *err);

#endif
