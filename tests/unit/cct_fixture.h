/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of the tree of contexts share. All of it fails the test where something is missing. */
#ifndef TESTS_CCT_FIXTURE_H
#define TESTS_CCT_FIXTURE_H

#include "analyse/cct.h"
#include "memory_recording.h"

#define C(time, function, depth) memory_event(SONDE_EVENT_CALL, time, function, depth)
#define R(time, function, depth) memory_event(SONDE_EVENT_RETURN, time, function, depth)
#define X(time, function, depth) memory_event(SONDE_EVENT_EXCEPTION, time, function, depth)

/* The tree of all or of a selection, with the spread and without the cache. */
struct cct *cct_of(struct sonde_recording *recording, const struct sonde_selection_spec *spec);

void assert_near(double value, double expected);

/* One process with functions a, b, c, d and one track. */
struct sonde_recording *cct_one_track(void);

void cct_put_events(struct sonde_recording *recording, uint32_t track,
		    const struct sonde_event *events, size_t count);

#define PUT(recording, track, ...)                                                                 \
	cct_put_events(recording, track, (const struct sonde_event[]){ __VA_ARGS__ },              \
		       sizeof((const struct sonde_event[]){ __VA_ARGS__ }) /                       \
			       sizeof(struct sonde_event))

/* The context of a path of letters below the entry, such as "ab". */
uint32_t cct_path(const struct cct *cct, const char *path);

/* By name; SONDE_NONE: there is none. */
uint32_t cct_function(const struct cct *cct, const char *name);

/* self and total in ns, calls, and whether it is recursion */
void cct_check(const struct cct *cct, const char *path, double self, double total, uint64_t calls,
	       bool recursive);

#endif
