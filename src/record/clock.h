/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns the time stamps of recorded programs into nanoseconds of CLOCK_BOOTTIME: a line through
 * the last two anchors, each a reading of both clocks at one moment. Anchors are taken as the
 * recording goes on, so neither drift nor a slewed clock adds up.
 */
#ifndef SONDE_RECORD_CLOCK_H
#define SONDE_RECORD_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/shared.h"

struct record_anchor {
	uint64_t ticks;
	uint64_t boottime_ns;
	uint64_t realtime_ns;
};

struct record_clock {
	enum shared_clock kind;
	struct record_anchor first, last; /* of the whole recording, for the manifest */
	/* boottime = base_ns + (ticks - base_ticks) * multiplier >> 32, as 128 bits */
	uint64_t base_ticks, base_ns, multiplier;
};

/* The TSC where it is invariant and the kernel itself trusts it, CLOCK_BOOTTIME elsewhere. */
enum shared_clock record_clock_choose(void);

/* Now, in the ticks of recorded programs. */
uint64_t record_clock_ticks(const struct record_clock *clock);

/* Calibrates; takes some milliseconds with the TSC. */
void record_clock_start(struct record_clock *clock, enum shared_clock kind);

/* Takes another anchor, if the last one is old enough. Before each round of reading rings. */
void record_clock_update(struct record_clock *clock);

/* What update() does with an anchor: the line goes through it from now on. */
void record_clock_anchor(struct record_clock *clock, const struct record_anchor *anchor);

/* The multiplier of a tick of one nanosecond. */
#define RECORD_CLOCK_NEAR (UINT64_C(1) << 32)

/* For moments far from the last anchors. */
uint64_t record_clock_far_ns(const struct record_clock *clock, uint64_t ticks);

static inline uint64_t record_clock_ns(const struct record_clock *clock, uint64_t ticks)
{
	uint64_t distance = ticks - clock->base_ticks;

	/* within seconds, where a tick is a nanosecond or less, 64 bits will do */
	if (__builtin_expect(distance >> 32 || clock->multiplier > RECORD_CLOCK_NEAR, 0))
		return record_clock_far_ns(clock, ticks);
	return clock->base_ns + (distance * clock->multiplier >> 32);
}

#endif
