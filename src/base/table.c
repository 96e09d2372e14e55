/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of items that never move. Chunk k holds SONDE_TABLE_FIRST << k items, so the place of
 * a number follows from its highest bit. The count is published last: who sees a number in it
 * sees the item and its chunk as well.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/table.h"

struct place {
	unsigned int chunk;
	size_t index;
};

static struct place place_of(uint32_t number)
{
	uint64_t shifted = (uint64_t)number + SONDE_TABLE_FIRST;
	unsigned int chunk = 63 - (unsigned int)__builtin_clzll(shifted) -
			     (unsigned int)__builtin_ctz(SONDE_TABLE_FIRST);

	return (struct place){
		.chunk = chunk,
		.index = (size_t)(shifted - ((uint64_t)SONDE_TABLE_FIRST << chunk)),
	};
}

void sonde_table_init(struct sonde_table *table, size_t item_size)
{
	memset(table->chunks, 0, sizeof(table->chunks));
	table->item_size = item_size;
	atomic_init(&table->count, 0);
}

void sonde_table_release(struct sonde_table *table)
{
	for (unsigned int i = 0; i < SONDE_TABLE_CHUNKS; i++)
		free(table->chunks[i]);
	sonde_table_init(table, table->item_size);
}

uint32_t sonde_table_add(struct sonde_table *table, const void *item)
{
	uint32_t number = atomic_load_explicit(&table->count, memory_order_relaxed);
	struct place place = place_of(number);
	size_t bytes;

	if (number == UINT32_MAX)
		return UINT32_MAX;
	if (!table->chunks[place.chunk]) {
		if (__builtin_mul_overflow((size_t)SONDE_TABLE_FIRST << place.chunk,
					   table->item_size, &bytes))
			return UINT32_MAX;
		table->chunks[place.chunk] = malloc(bytes);
		if (!table->chunks[place.chunk])
			return UINT32_MAX;
	}
	memcpy((char *)table->chunks[place.chunk] + place.index * table->item_size, item,
	       table->item_size);
	atomic_store_explicit(&table->count, number + 1, memory_order_release);
	return number;
}

uint32_t sonde_table_count(const struct sonde_table *table)
{
	return atomic_load_explicit(&table->count, memory_order_acquire);
}

void *sonde_table_at(const struct sonde_table *table, uint32_t number)
{
	struct place place = place_of(number);

	if (number >= sonde_table_count(table))
		return NULL;
	return (char *)table->chunks[place.chunk] + place.index * table->item_size;
}
