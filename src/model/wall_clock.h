/* SPDX-License-Identifier: Apache-2.0 */
/* From the clock of a track to the wall clock, which several formats count in. */
#ifndef SONDE_MODEL_WALL_CLOCK_H
#define SONDE_MODEL_WALL_CLOCK_H

#include <sonde/definitions.h>

/*
 * What to add, modulo 2^64, to the times of a track so that they count from 1970. False, and 0, where
 * nothing tells: there is another clock, and no anchor ties it to the wall clock.
 */
bool sonde_wall_clock_shift(const struct sonde_definitions *definitions, uint32_t track,
			    uint64_t *shift_ns);

#endif
