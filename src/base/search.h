/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks for bytes within bytes: memmem() for large inputs and short patterns, several times as
 * fast.
 */
#ifndef SONDE_BASE_SEARCH_H
#define SONDE_BASE_SEARCH_H

#include <stddef.h>

/* The first place of the pattern, NULL where there is none. Linear for any input. */
const void *sonde_search(const void *bytes, size_t size, const void *pattern, size_t pattern_size);

#endif
