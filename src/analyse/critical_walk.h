/* SPDX-License-Identifier: Apache-2.0 */
/* Where the way back along the critical path is, and the guesses that it takes where nothing is certain. */
#ifndef SONDE_ANALYSE_CRITICAL_WALK_H
#define SONDE_ANALYSE_CRITICAL_WALK_H

#include "analyse/critical_private.h"

struct critical_walk {
	struct critical_work *work;
	uint32_t track;
	uint64_t index; /* events before this one are still to come */
	uint64_t now_ns;
	bool is_alone; /* stay on the track */
	bool failed;   /* memory did */
	uint64_t segment_to_ns;
	/* By node: in this segment, on the path, and until the path came from elsewhere. */
	uint64_t *segment_ns, *path_ns, *waited_ns;
	SONDE_VEC(uint32_t) touched;		     /* nodes of this segment */
	SONDE_VEC(struct critical_segment) segments; /* from the end to the beginning */
	uint64_t passed; /* times that the path only went through a track */
	uint64_t budget; /* events that may still be looked at for guesses */
};

/* To another track. */
struct critical_jump {
	enum critical_reason reason;
	uint32_t track;
	uint64_t index;	  /* go on before this event */
	uint64_t time_ns; /* of guesses: when it was */
	uint64_t waited_ns;
	uint32_t waiting_node;
	uint32_t by;
};

/* From the end of a track; the path that is found is in `walk` and in the counts of the path. */
enum sonde_status critical_walk_from(struct critical_walk *walk, uint32_t track,
				     struct sonde_error *err);

/*
 * A function that waits was left at `end_ns`, on the walk's track, right before the walk's index: who ended
 * the wait? False where nobody was found.
 */
bool critical_guess_wake(struct critical_walk *walk, uint32_t node, uint64_t end_ns,
			 struct critical_jump *jump);

/* Who began the walk's track, or was there then, or was last before. */
bool critical_guess_beginning(struct critical_walk *walk, struct critical_jump *jump);

#endif
