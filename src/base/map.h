/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hash maps from a 64-bit key or from text to a u32. Lookups in a key map take no lock and may
 * run beside one thread that adds, so that cursors share one map of function ids.
 */
#ifndef SONDE_BASE_MAP_H
#define SONDE_BASE_MAP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

/* Key map: u64 -> u32. */
struct sonde_key_slot {
	_Atomic uint64_t key;
	_Atomic uint32_t value_plus_one; /* 0: free; written last, with release */
};

struct sonde_key_slots {
	struct sonde_key_slots *retired; /* the smaller ones before this, freed with the map */
	size_t size;			 /* number of slots, a power of two */
	size_t used;
	struct sonde_key_slot slots[];
};

struct sonde_key_map {
	struct sonde_key_slots *_Atomic current; /* NULL while empty; zeroed means empty */
};

void sonde_key_map_release(struct sonde_key_map *map);

/* The key must not be present. False where memory failed. One adder at a time. */
_Bool sonde_key_map_add(struct sonde_key_map *map, uint64_t key, uint32_t value);

/*
 * Where a key belongs. The address of the slots, which nobody outside knows, makes it impossible
 * to prepare keys that all fall on one place.
 */
static inline size_t sonde_key_hash(uint64_t key, const struct sonde_key_slot *slots, size_t size)
{
	uint64_t mixed = (key ^ (uintptr_t)slots) * SONDE_HASH_FACTOR_1;

	/* its highest bits, which differ most where keys follow each other */
	return (size_t)((unsigned __int128)mixed * size >> 64);
}

/* The map as it is now, for many lookups in a row; a key added later may not be found in it. */
struct sonde_key_view {
	const struct sonde_key_slot *slots;
	size_t size;
};

static inline struct sonde_key_view sonde_key_map_view(const struct sonde_key_map *map)
{
	static const struct sonde_key_slot none;
	const struct sonde_key_slots *slots =
		atomic_load_explicit(&map->current, memory_order_acquire);

	if (!slots)
		return (struct sonde_key_view){ .slots = &none, .size = 1 };
	return (struct sonde_key_view){ .slots = slots->slots, .size = slots->size };
}

/* The search from place `i` on, where another key is first. */
uint32_t sonde_key_view_probe(struct sonde_key_view view, size_t i, uint64_t key);

/*
 * The value of a key, UINT32_MAX where it is not there. Inline: it runs once an event. A slot
 * whose key is there but not its value yet is just being filled: not found.
 */
static inline uint32_t sonde_key_view_find(struct sonde_key_view view, uint64_t key)
{
	size_t i = sonde_key_hash(key, view.slots, view.size);
	const struct sonde_key_slot *slot = &view.slots[i];

	if (__builtin_expect(atomic_load_explicit(&slot->key, memory_order_relaxed) != key, 0))
		return sonde_key_view_probe(view, i, key);
	return atomic_load_explicit(&slot->value_plus_one, memory_order_acquire) - 1;
}

static inline uint32_t sonde_key_map_find(const struct sonde_key_map *map, uint64_t key)
{
	return sonde_key_view_find(sonde_key_map_view(map), key);
}

/* Text map: text -> u32. Borrows the texts; not safe from several threads. Zeroed means empty. */
struct sonde_text_slot {
	const char *text; /* NULL: free */
	uint32_t length;
	uint32_t value;
};

struct sonde_text_map {
	struct sonde_text_slot *slots;
	size_t capacity;
	size_t used;
};

void sonde_text_map_release(struct sonde_text_map *map);
uint32_t sonde_text_map_find(const struct sonde_text_map *map, const char *text, size_t length);

/* The text must not be present, and must live as long as the map. False where memory failed. */
_Bool sonde_text_map_add(struct sonde_text_map *map, const char *text, size_t length,
			 uint32_t value);

#endif
