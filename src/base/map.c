/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Both hash maps: open addressing with linear probing, at most half full. A key map that grows
 * keeps its smaller arrays until its release, since a finder may still be in one of them.
 */
#include <stdlib.h>
#include <string.h>

#include "base/map.h"

#define FIRST_CAPACITY ((size_t)16)

static struct sonde_key_slots *key_slots_new(size_t count)
{
	struct sonde_key_slots *slots;
	size_t bytes;

	if (!count || __builtin_mul_overflow(count, sizeof(slots->slots[0]), &bytes) ||
	    __builtin_add_overflow(bytes, sizeof(*slots), &bytes))
		return NULL;
	slots = calloc(1, bytes);
	if (slots)
		slots->size = count;
	return slots;
}

static void key_insert(struct sonde_key_slots *slots, uint64_t key, uint32_t value)
{
	size_t i = sonde_key_hash(key, slots->slots, slots->size);

	while (atomic_load_explicit(&slots->slots[i].value_plus_one, memory_order_relaxed))
		i = (i + 1) & (slots->size - 1);
	atomic_store_explicit(&slots->slots[i].key, key, memory_order_relaxed);
	atomic_store_explicit(&slots->slots[i].value_plus_one, value + 1, memory_order_release);
	slots->used++;
}

static struct sonde_key_slots *key_grow(struct sonde_key_map *map, struct sonde_key_slots *old)
{
	struct sonde_key_slots *grown = key_slots_new(old ? 2 * old->size : FIRST_CAPACITY);

	if (!grown)
		return NULL;
	grown->retired = old;
	for (size_t i = 0; old && i < old->size; i++) {
		const struct sonde_key_slot *slot = &old->slots[i];
		uint32_t value = atomic_load_explicit(&slot->value_plus_one, memory_order_relaxed);

		if (value)
			key_insert(grown, atomic_load_explicit(&slot->key, memory_order_relaxed),
				   value - 1);
	}
	atomic_store_explicit(&map->current, grown, memory_order_release);
	return grown;
}

uint32_t sonde_key_view_probe(struct sonde_key_view view, size_t i, uint64_t key)
{
	for (;; i = (i + 1) & (view.size - 1)) {
		const struct sonde_key_slot *slot = &view.slots[i];
		uint32_t value = atomic_load_explicit(&slot->value_plus_one, memory_order_acquire);

		if (!value || atomic_load_explicit(&slot->key, memory_order_relaxed) == key)
			return value - 1;
	}
}

_Bool sonde_key_map_add(struct sonde_key_map *map, uint64_t key, uint32_t value)
{
	struct sonde_key_slots *slots = atomic_load_explicit(&map->current, memory_order_relaxed);

	if (!slots || slots->used >= slots->size / 2)
		slots = key_grow(map, slots);
	if (!slots)
		return 0;
	key_insert(slots, key, value);
	return 1;
}

void sonde_key_map_release(struct sonde_key_map *map)
{
	struct sonde_key_slots *slots = atomic_load_explicit(&map->current, memory_order_relaxed);

	while (slots) {
		struct sonde_key_slots *retired = slots->retired;

		free(slots);
		slots = retired;
	}
	atomic_store_explicit(&map->current, NULL, memory_order_relaxed);
}

/* `seed` is the address of the slots: see sonde_key_hash(). */
static uint64_t text_hash(const char *text, size_t length, uintptr_t seed)
{
	uint64_t hash = SONDE_HASH_FACTOR_1 ^ length ^ seed, word;

	for (; length >= sizeof(word); length -= sizeof(word), text += sizeof(word)) {
		memcpy(&word, text, sizeof(word));
		hash = sonde_hash_fold(hash ^ word, SONDE_HASH_FACTOR_2);
	}
	word = 0;
	if (length)
		memcpy(&word, text, length);
	return sonde_hash_fold(hash ^ word, SONDE_HASH_FACTOR_1);
}

/* The slot that holds the text, or the free one where it belongs. There is always a free one. */
static struct sonde_text_slot *text_slot(const struct sonde_text_map *map, const char *text,
					 size_t length)
{
	size_t i = (size_t)text_hash(text, length, (uintptr_t)map->slots) & (map->capacity - 1);

	for (;; i = (i + 1) & (map->capacity - 1)) {
		struct sonde_text_slot *slot = &map->slots[i];

		if (!slot->text)
			return slot;
		if (slot->length == length && (!length || !memcmp(slot->text, text, length)))
			return slot;
	}
}

static _Bool text_grow(struct sonde_text_map *map)
{
	struct sonde_text_map grown = { .used = map->used, .capacity = FIRST_CAPACITY };

	if (map->capacity && __builtin_mul_overflow(map->capacity, 2, &grown.capacity))
		return 0;
	grown.slots = calloc(grown.capacity, sizeof(*grown.slots));
	if (!grown.slots)
		return 0;
	for (size_t i = 0; i < map->capacity; i++) {
		if (map->slots[i].text)
			*text_slot(&grown, map->slots[i].text, map->slots[i].length) =
				map->slots[i];
	}
	free(map->slots);
	*map = grown;
	return 1;
}

void sonde_text_map_release(struct sonde_text_map *map)
{
	free(map->slots);
	*map = (struct sonde_text_map){ 0 };
}

uint32_t sonde_text_map_find(const struct sonde_text_map *map, const char *text, size_t length)
{
	const struct sonde_text_slot *slot;

	if (!map->capacity)
		return UINT32_MAX;
	slot = text_slot(map, text, length);
	return slot->text ? slot->value : UINT32_MAX;
}

_Bool sonde_text_map_add(struct sonde_text_map *map, const char *text, size_t length,
			 uint32_t value)
{
	if (length > UINT32_MAX)
		return 0;
	if (map->used >= map->capacity / 2 && !text_grow(map))
		return 0;
	*text_slot(map, text, length) = (struct sonde_text_slot){
		.text = text,
		.length = (uint32_t)length,
		.value = value,
	};
	map->used++;
	return 1;
}
