/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A growing array of any type. Declare `SONDE_VEC(struct item) items;` (anonymous struct, zeroed
 * means empty) and use the macros; elements move when it grows.
 */
#ifndef SONDE_BASE_VEC_H
#define SONDE_BASE_VEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#define SONDE_VEC(type)                                                                            \
	struct {                                                                                   \
		type *items;                                                                       \
		size_t count;                                                                      \
		size_t capacity;                                                                   \
	}

/*
 * Makes room for `more` more items; false where memory failed, and nothing changed. `items` is
 * the address of the pointer to the items.
 */
bool sonde_vec_grow(void *items, size_t *capacity, size_t count, size_t more, size_t item_size);

#define sonde_vec_reserve(vec, more)                                                               \
	((vec)->capacity - (vec)->count >= (more) ||                                               \
	 sonde_vec_grow(&(vec)->items, &(vec)->capacity, (vec)->count, (more),                     \
			sizeof(*(vec)->items)))

/* A new item at the end, not initialised; NULL where memory failed. */
#define sonde_vec_push(vec) (sonde_vec_reserve(vec, 1) ? &(vec)->items[(vec)->count++] : NULL)

#define sonde_vec_release(vec)                                                                     \
	do {                                                                                       \
		free((vec)->items);                                                                \
		(vec)->items = NULL;                                                               \
		(vec)->count = (vec)->capacity = 0;                                                \
	} while (0)

#endif
