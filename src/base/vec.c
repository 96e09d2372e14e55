/* SPDX-License-Identifier: Apache-2.0 */
/* The growth behind the macros of vec.h. */
#include <string.h>

#include "base/vec.h"

#define FIRST_CAPACITY 8

bool sonde_vec_grow(void *items, size_t *capacity, size_t count, size_t more, size_t item_size)
{
	size_t needed, wanted, bytes;
	void *old, *grown;

	if (more <= *capacity - count)
		return true;
	if (__builtin_add_overflow(count, more, &needed))
		return false;
	if (__builtin_mul_overflow(*capacity, 2, &wanted) || wanted < needed)
		wanted = needed;
	if (wanted < FIRST_CAPACITY)
		wanted = FIRST_CAPACITY;
	if (__builtin_mul_overflow(wanted, item_size, &bytes))
		return false;
	/* The pointer's own type is not known here, so it is moved as bytes. */
	memcpy(&old, items, sizeof(old));
	grown = realloc(old, bytes);
	if (!grown)
		return false;
	memcpy(items, &grown, sizeof(grown));
	*capacity = wanted;
	/* cppcheck-suppress memleak ; *items has it now */
	return true;
}
