/* SPDX-License-Identifier: Apache-2.0 */
/* The time of a clock of the system, as one number. */
#ifndef SONDE_BASE_NOW_H
#define SONDE_BASE_NOW_H

#include <stdint.h>
#include <time.h>

static inline uint64_t sonde_now_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

#endif
