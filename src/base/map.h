/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hash maps from a 64-bit key or from text to a u32. Lookups in a key map take no lock and may
 * run beside one thread that adds, so that cursors share one map of function ids.
 */
#ifndef SONDE_BASE_MAP_H
#define SONDE_BASE_MAP_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* Key map: u64 -> u32. */
struct sonde_key_slot {
	uint64_t key;
	_Atomic uint32_t value_plus_one; /* 0: free; written last, with release */
};

struct sonde_key_slots {
	struct sonde_key_slots *retired; /* the smaller ones before this, freed with the map */
	uint32_t shift;			 /* 64 - log2(number of slots) */
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
static inline size_t sonde_key_hash(uint64_t key, const struct sonde_key_slot *slots,
				    uint32_t shift)
{
	return (size_t)((key ^ (uintptr_t)slots) * 0x9E3779B97F4A7C15u >> shift);
}

/* The map as it is now, for many lookups in a row; a key added later may not be found in it. */
struct sonde_key_view {
	const struct sonde_key_slot *slots;
	size_t mask;
	uint32_t shift;
};

static inline struct sonde_key_view sonde_key_map_view(const struct sonde_key_map *map)
{
	static const struct sonde_key_slot none[2];
	const struct sonde_key_slots *slots =
		atomic_load_explicit(&map->current, memory_order_acquire);

	if (!slots)
		return (struct sonde_key_view){ .slots = none, .mask = 1, .shift = 63 };
	return (struct sonde_key_view){
		.slots = slots->slots,
		.mask = ((size_t)1 << (64 - slots->shift)) - 1,
		.shift = slots->shift,
	};
}

/* The value of a key, UINT32_MAX where it is not there. Inline: it runs once an event. */
static inline uint32_t sonde_key_view_find(const struct sonde_key_view *view, uint64_t key)
{
	for (size_t i = sonde_key_hash(key, view->slots, view->shift);; i = (i + 1) & view->mask) {
		const struct sonde_key_slot *slot = &view->slots[i];
		uint32_t value = atomic_load_explicit(&slot->value_plus_one, memory_order_acquire);

		if (!value || slot->key == key)
			return value - 1;
	}
}

static inline uint32_t sonde_key_map_find(const struct sonde_key_map *map, uint64_t key)
{
	struct sonde_key_view view = sonde_key_map_view(map);

	return sonde_key_view_find(&view, key);
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
