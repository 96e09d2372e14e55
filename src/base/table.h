/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A growing array whose items never move, in chunks that double in size: one thread at a time
 * adds (the caller's lock), any thread reads items it knows the number of.
 */
#ifndef SONDE_BASE_TABLE_H
#define SONDE_BASE_TABLE_H

#include <stddef.h>
#include <stdint.h>

#define SONDE_TABLE_CHUNKS 27
#define SONDE_TABLE_FIRST 64 /* items in the first chunk; a power of two */

struct sonde_table {
	size_t item_size;
	_Atomic uint32_t count;
	void *chunks[SONDE_TABLE_CHUNKS];
};

void sonde_table_init(struct sonde_table *table, size_t item_size);
void sonde_table_release(struct sonde_table *table);

/* Copies one item to the end and gives its number; SONDE_NONE (UINT32_MAX) where memory failed. */
uint32_t sonde_table_add(struct sonde_table *table, const void *item);

uint32_t sonde_table_count(const struct sonde_table *table);

/* Borrows an item; NULL past the end. */
void *sonde_table_at(const struct sonde_table *table, uint32_t number);

#endif
