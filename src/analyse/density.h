/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many events and samples a recording has over time: found in one pass over all tracks, in memory
 * that does not grow with them. For who wants pieces with about as many in each.
 */
#ifndef SONDE_ANALYSE_DENSITY_H
#define SONDE_ANALYSE_DENSITY_H

#include <sonde/pipeline.h>

/* Zeroed means empty. */
struct density {
	uint64_t first_ns, last_ns;
	unsigned int shift; /* a slice of time is 2^shift ns */
	size_t slice_count;
	uint64_t *before; /* by slice: all that happened before it; one more for the end */
};

/* With `options` only threads and progress are looked at. */
enum sonde_status density_find(struct density *density, struct sonde_recording *recording,
			       const struct sonde_run_options *options, struct sonde_error *err);
void density_release(struct density *density);

/* How much happened before a time, and the time before which so much did; within a slice evenly. */
double density_before(const struct density *density, uint64_t time_ns);
uint64_t density_time(const struct density *density, double wanted);

#endif
