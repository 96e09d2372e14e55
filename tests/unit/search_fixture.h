/* SPDX-License-Identifier: Apache-2.0 */
/* A small store of random traces, with everything that searches meet. */
#ifndef SONDE_TESTS_SEARCH_FIXTURE_H
#define SONDE_TESTS_SEARCH_FIXTURE_H

#include <stdint.h>

/* A random number below `limit`; the same sequence for the same seed. */
uint32_t search_random(uint64_t *state, uint32_t limit);

/* `parts` parts of `traces` traces each under `base`; every second one is archived. */
void search_make_store(const char *base, unsigned int parts, unsigned int traces, uint64_t seed);

/* Appends traces to a part that is there. */
void search_add_traces(const char *folder, unsigned int traces, uint64_t seed);

#endif
