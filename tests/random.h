/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers that look random and are the same in every run. */
#ifndef SONDE_TESTS_RANDOM_H
#define SONDE_TESTS_RANDOM_H

#include <stdint.h>

/* The next one below `end`; the same sequence for the same state. */
static inline uint32_t next_random(uint64_t *state, uint32_t end)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)((*state >> 33) % end);
}

#endif
