/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks for bytes within bytes, 16 places at a time: where the first, the middle and the last byte
 * of the pattern are right, the rest is compared. Where that is in vain too often, memmem() goes
 * on.
 */
#include <stdint.h>
#include <string.h>

#include "base/bytes.h"
#include "base/search.h"

typedef uint8_t lanes __attribute__((vector_size(16)));

struct search {
	const uint8_t *pattern;
	size_t size;
	size_t vain; /* bytes compared in vain may be so many more */
};

static inline lanes load(const uint8_t *bytes)
{
	lanes loaded;

	memcpy(&loaded, bytes, sizeof(loaded));
	return loaded;
}

/* Compares at the places whose bit is set in 8 bytes of a mask. */
static const uint8_t *compare_at(struct search *search, const uint8_t *bytes, uint64_t mask)
{
	mask = htole64(mask);
	while (mask) {
		const uint8_t *place = bytes + __builtin_ctzll(mask) / 8;

		if (!memcmp(place, search->pattern, search->size))
			return place;
		search->vain -= search->size < search->vain ? search->size : search->vain;
		mask &= ~(0xffull << (__builtin_ctzll(mask) & ~7));
	}
	return NULL;
}

const void *sonde_search(const void *bytes, size_t size, const void *pattern, size_t pattern_size)
{
	struct search search = { .pattern = pattern, .size = pattern_size };
	const uint8_t *place = bytes, *end = place + size;
	size_t middle = pattern_size / 2, last = pattern_size - 1;
	lanes first_byte = { 0 }, middle_byte = { 0 }, last_byte = { 0 };

	if (!pattern_size)
		return bytes;
	if (pattern_size > size)
		return NULL;
	if (pattern_size == 1)
		return memchr(bytes, search.pattern[0], size);
	first_byte += search.pattern[0];
	middle_byte += search.pattern[middle];
	last_byte += search.pattern[last];
	search.vain = 1024 + size / 2;
	for (; (size_t)(end - place) >= last + sizeof(lanes) && search.vain;
	     place += sizeof(lanes)) {
		lanes right = (lanes)(load(place) == first_byte) &
			      (lanes)(load(place + last) == last_byte) &
			      (lanes)(load(place + middle) == middle_byte);
		uint64_t masks[2];
		const uint8_t *found;

		memcpy(masks, &right, sizeof(masks));
		if (!(masks[0] | masks[1]))
			continue;
		found = compare_at(&search, place, masks[0]);
		if (!found)
			found = compare_at(&search, place + 8, masks[1]);
		if (found)
			return found;
	}
	return memmem(place, (size_t)(end - place), pattern, pattern_size);
}
