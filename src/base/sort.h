/* SPDX-License-Identifier: Apache-2.0 */
/* Radix sort of (key, number) pairs: stable, linear, for tables of any size. */
#ifndef SONDE_BASE_SORT_H
#define SONDE_BASE_SORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sonde_sort_item {
	uint64_t key;
	uint64_t number; /* the caller's; pairs of equal key keep their order */
};

/* Ascending by key. False where memory for a second array failed; the items are as they were. */
bool sonde_sort(struct sonde_sort_item *items, size_t count);

#endif
