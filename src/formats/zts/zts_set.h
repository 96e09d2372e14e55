/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of text ids or of slots: bitmaps. */
#ifndef SONDE_FORMATS_ZTS_SET_H
#define SONDE_FORMATS_ZTS_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zeroed is empty. */
struct zts_set {
	uint64_t *words;
	size_t size; /* how many numbers it has room for */
};
bool zts_set_init(struct zts_set *set, size_t size); /* false: no memory */
void zts_set_release(struct zts_set *set);
static inline void zts_set_add(struct zts_set *set, size_t number)
{
	if (number < set->size)
		set->words[number / 64] |= 1ull << (number % 64);
}
static inline bool zts_set_has(const struct zts_set *set, size_t number)
{
	return number < set->size && (set->words[number / 64] >> (number % 64) & 1);
}
size_t zts_set_count(const struct zts_set *set);
/* The lowest member not below `from`; SIZE_MAX where there is none. */
size_t zts_set_next(const struct zts_set *set, size_t from);

#endif
