/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of ids or slots as bitmaps. */
#include "formats/zts/zts_set.h"

#include <stdlib.h>

bool zts_set_init(struct zts_set *set, size_t size)
{
	set->words = calloc(size / 64 + 1, sizeof(*set->words));
	set->size = set->words ? size : 0;
	return set->words != NULL;
}

void zts_set_release(struct zts_set *set)
{
	free(set->words);
	*set = (struct zts_set){ 0 };
}

size_t zts_set_count(const struct zts_set *set)
{
	size_t count = 0;

	for (size_t i = 0; i < (set->size + 63) / 64; i++)
		count += (size_t)__builtin_popcountll(set->words[i]);
	return count;
}

size_t zts_set_next(const struct zts_set *set, size_t from)
{
	size_t word = from / 64;
	uint64_t bits;

	if (from >= set->size)
		return SIZE_MAX;
	bits = set->words[word] & ~0ull << (from % 64);
	while (!bits) {
		if (++word >= (set->size + 63) / 64)
			return SIZE_MAX;
		bits = set->words[word];
	}
	return word * 64 + (size_t)__builtin_ctzll(bits);
}
