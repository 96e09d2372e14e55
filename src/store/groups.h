/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Statistics by name and stretch of time, and the values of attributes with how many traces have
 * them.
 */
#ifndef SONDE_STORE_GROUPS_H
#define SONDE_STORE_GROUPS_H

#include "base/sketch.h"
#include "store/find.h"

enum sonde_stats_by {
	SONDE_STATS_METHOD,    /* every record counts, by its method */
	SONDE_STATS_ATTRIBUTE, /* every record that has the attribute, by its value */
	SONDE_STATS_TYPE,      /* these: every trace */
	SONDE_STATS_SERVICE,
	SONDE_STATS_HOST,
	SONDE_STATS_ENV,
};

struct sonde_group {
	uint64_t time_ns; /* start of the stretch of time; 0 where there are none */
	const char *name;
	size_t name_size;
	uint64_t errors;
	struct sonde_sketch durations; /* ns; of values only the count counts */
};

/* Owns names and sketches. Zeroed is empty. */
struct sonde_groups {
	SONDE_VEC(struct sonde_group) list;
	struct sonde_arena names;
	uint64_t unreadable;
};
void sonde_groups_release(struct sonde_groups *groups);

struct sonde_stats_request {
	const struct sonde_query *query; /* which traces */
	bool shallow;			 /* of the query */
	enum sonde_stats_by by;
	const char *attribute;
	uint64_t every_ns; /* length of stretches of time, counted from 1970; 0: all in one */
};

/* Sorted by time, then by the sum of durations, most first. */
enum sonde_status sonde_stats(struct zts_base *base, const struct sonde_stats_request *request,
			      struct sonde_groups *groups, struct sonde_error *err);

/*
 * The values of an attribute (NULL: the names of all attributes) with the number of traces that
 * have them; most first. Of arrays and maps each plain value counts.
 */
enum sonde_status sonde_values(struct zts_base *base, const struct sonde_query *query,
			       const char *attribute, bool shallow, struct sonde_groups *groups,
			       struct sonde_error *err);

#endif
