/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far clocks are apart: from anchors to the wall clock, from events that both recordings have, from
 * messages between them, or as somebody says. The outcome is a map of times for the pipeline, and an
 * honest word on how good it is. Nothing is moved here.
 */
#ifndef SONDE_ANALYSE_ALIGN_H
#define SONDE_ANALYSE_ALIGN_H

#include <sonde/pipeline.h>

#include "base/vec.h"

enum align_method { ALIGN_REFERENCE, ALIGN_ANCHORS, ALIGN_EVENTS, ALIGN_MESSAGES, ALIGN_OFFSET };

/* One clock: the processes of one recording that count by it. */
struct align_clock {
	struct sonde_recording *recording;
	size_t source;	      /* number of the recording */
	uint32_t process;     /* the first of them */
	size_t first_process; /* where the recording's are in of_process */
	uint32_t
		clock; /* its id in the recording, or SONDE_NONE; of several that are one, the first */
	bool has_time;
	uint64_t first_ns, last_ns; /* of its tracks */

	/* What was found out. */
	enum align_method method;
	struct sonde_time_map map;
	double drift;	   /* as a share: 1e-6 is 1 ppm; what the map has */
	bool has_error;	   /* else nothing tells how good it is */
	uint64_t error_ns; /* times are right within this, as far as what was matched tells */
	uint64_t matched;  /* events, anchors or messages that it rests on */
	uint64_t found, found_in_reference; /* how many there were on each side */
	uint64_t outliers;		    /* of those matched: not believed */
	uint64_t skipped;    /* events at the start of one side that the other lacks */
	bool one_way;	     /* messages went in one direction only */
	double unused_drift; /* events differ as if it drifted so, and that was not asked for; or 0 */
};

struct align_options {
	enum align_method method;
	const char *event; /* a name or a shell pattern; of messages it may be NULL */
	bool drift;	   /* for events: find out how the clocks part */
	unsigned int threads;
	const struct sonde_progress *progress;
};

/* All clocks of recordings; the first is the one that others are to be brought to. */
struct align {
	SONDE_VEC(struct align_clock) clocks;
	SONDE_VEC(uint32_t) of_process; /* its clock, processes counted on over all recordings */
	uint64_t
		lift_ns; /* by so much everything is moved on, since else something began before 0 */
};

/*
 * Of several recordings, clocks of the same kind in one of them that go by the same wall clock are one;
 * of a single one, all are apart.
 */
enum sonde_status align_init(struct align *align, struct sonde_recording *const *sources,
			     size_t count, struct sonde_error *err);
void align_release(struct align *align);

/* Whether a clock is tied to the wall clock. */
bool align_has_anchors(const struct align_clock *clock);

/* Finds out about all clocks but the first, by anchors, events or messages. */
enum sonde_status align_estimate(struct align *align, const struct align_options *options,
				 struct sonde_error *err);

/* Says how far a clock (not the first) is from the first: what to add to its times. */
void align_set_offset(struct align *align, size_t clock, int64_t offset_ns);

/* After all is found out: sees to it that no time lies before 0, or behind what can be told. */
enum sonde_status align_finish(struct align *align, struct sonde_error *err);

/* What the map adds to the first time of a clock, without the lift. */
int64_t align_offset(const struct align *align, const struct align_clock *clock);

/* By process, counted on over all recordings; malloc'd, NULL where memory failed. */
struct sonde_time_map *align_maps(const struct align *align);

#endif
