/* SPDX-License-Identifier: Apache-2.0 */
/* Between the parts of align.h: what is gathered from recordings, and the line through it. */
#ifndef SONDE_ANALYSE_ALIGN_PRIVATE_H
#define SONDE_ANALYSE_ALIGN_PRIVATE_H

#include "analyse/align.h"

/* Of each side so many events or messages are looked at, the earliest. */
#define ALIGN_MOST ((size_t)1 << 20)

/* One event: of a message its number, and whether it was sent here. */
struct align_moment {
	uint64_t time_ns;
	uint32_t number;
	bool is_start;
};

struct align_moments {
	struct align_moment *items; /* ordered by time */
	size_t count;
	size_t capacity;
	uint64_t found; /* also those beyond ALIGN_MOST */
};

/* align_gather.c: all events of a clock that the options name. */
enum sonde_status align_gather(const struct align *align, size_t number,
			       const struct align_options *options, struct align_moments *moments,
			       struct sonde_error *err);

/* align_fit.c: fills in what a clock is found out to be. */
enum sonde_status align_fit_events(struct align_clock *clock, const struct align_moments *reference,
				   const struct align_moments *other, bool drift,
				   struct sonde_error *err);
enum sonde_status align_fit_messages(struct align_clock *clock,
				     const struct align_moments *reference,
				     const struct align_moments *other, struct sonde_error *err);

/* A map through the moment `at_ns` of the source, which is offset_ns later in the target. */
void align_set_map(struct align_clock *clock, uint64_t at_ns, int64_t offset_ns, double drift);

#endif
