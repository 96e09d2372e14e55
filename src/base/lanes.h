/* SPDX-License-Identifier: Apache-2.0 */
/* Lays spans of time that may overlap on lanes where they do not: each on the lowest that is free. */
#ifndef SONDE_BASE_LANES_H
#define SONDE_BASE_LANES_H

#include <stdint.h>

#include "base/vec.h"

struct sonde_lane_item {
	uint64_t key;
	uint32_t lane;
};

/* Zeroed: no lanes. */
struct sonde_lanes {
	SONDE_VEC(struct sonde_lane_item) busy; /* heaps: by end, */
	SONDE_VEC(struct sonde_lane_item) free; /* by number */
	uint32_t count;				/* lanes so far */
};

void sonde_lanes_release(struct sonde_lanes *lanes);

/* No lanes again. */
void sonde_lanes_clear(struct sonde_lanes *lanes);

/* The lane of a span; they come in the order of their starts. False where memory failed. */
bool sonde_lanes_take(struct sonde_lanes *lanes, uint64_t start, uint64_t end, uint32_t *lane);

#endif
