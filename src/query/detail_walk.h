/* SPDX-License-Identifier: Apache-2.0 */
/* Goes over the details of a recording, track by track, for the tables of details and of arguments. */
#ifndef SONDE_QUERY_DETAIL_WALK_H
#define SONDE_QUERY_DETAIL_WALK_H

#include "query/query_tables.h"

/* Zeroed means at no place. */
struct detail_walk {
	struct query_recording *source;
	const struct query_wish *tracks, *ids;
	bool is_over;
	uint32_t track;
	struct sonde_cursor *cursor;
	uint64_t number;    /* of the detail */
	uint64_t next, end; /* numbers that are to come */
	struct sonde_detail detail;
	struct sonde_error fault; /* status SONDE_OK: it could be read */
	/* of recordings whose details are numbered by their events: */
	struct sonde_batch batch;
	size_t position;
};

/* Goes to the first detail; both wishes must stay where they are. */
enum sonde_status detail_walk_start(struct detail_walk *walk, struct query_recording *source,
				    const struct query_wish *tracks, const struct query_wish *ids,
				    struct sonde_error *err);
enum sonde_status detail_walk_next(struct detail_walk *walk, struct sonde_error *err);
void detail_walk_release(struct detail_walk *walk);

static inline int64_t detail_walk_id(const struct detail_walk *walk)
{
	return (int64_t)walk->track << QUERY_ID_SHIFT | (int64_t)walk->number;
}

/* The event of the present detail as events.id; nothing where it has none. */
void detail_walk_result_event(const struct detail_walk *walk, sqlite3_context *context);

/* What the arguments of the present detail are; NULL, and `err` says why. Borrowed. */
const struct sonde_signature *detail_walk_signature(const struct detail_walk *walk,
						    struct sonde_error *err);

#endif
