/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which slots belong together: a chunked trace has one for each chunk, all with its UUID, in the
 * order of their data; traces inside of it have slots of their own with the offset of one of these
 * chunks.
 */
#include <stdlib.h>

#include "base/hash.h"
#include "base/sort.h"
#include "formats/zts/zts_part_private.h"

/* Slots of the chunks of chunked traces, by data offset. */
struct chunk_slots {
	struct sonde_sort_item *items;
	size_t count, capacity;
};

static bool is_whole(const struct zts_slot *slot)
{
	return (slot->flags & ZTS_RECORD_FIRST) && (slot->flags & ZTS_RECORD_LAST);
}

/* A chunk of a trace that has several. */
static bool is_piece(const struct zts_slot *slot)
{
	return (slot->flags & ZTS_RECORD_CHUNKED) && !is_whole(slot);
}

bool zts_part_is_trace(const struct zts_part *part, uint32_t slot)
{
	const struct zts_slot *item;

	if (slot >= part->slots.list.count)
		return false;
	item = &part->slots.list.items[slot];
	return !(item->flags & ZTS_RECORD_CHUNKED) || item->flags & ZTS_RECORD_FIRST;
}

static uint64_t uuid_key(const struct zts_slot *slot)
{
	return sonde_hash_mix(slot->uuid[0] ^ slot->uuid[1] * SONDE_HASH_FACTOR_1);
}

static bool continues(const struct zts_slot *slot, const struct zts_slot *before)
{
	return slot->uuid[0] == before->uuid[0] && slot->uuid[1] == before->uuid[1] &&
	       slot->data_offset > before->data_offset && !(slot->flags & ZTS_RECORD_FIRST) &&
	       !(before->flags & ZTS_RECORD_LAST);
}

/* The chunks of a trace follow each other when sorted by UUID, and by data offset before. */
static bool link_pieces(struct zts_part *part, const struct chunk_slots *chunks)
{
	const struct zts_slot *slots = part->slots.list.items;
	size_t count = chunks->count;
	struct sonde_sort_item *items = malloc((count + 1) * sizeof(*items));
	bool sorted;

	if (!items)
		return false;
	for (size_t i = 0; i < count; i++) {
		items[i].number = chunks->items[i].number;
		items[i].key = uuid_key(&slots[items[i].number]);
	}
	sorted = sonde_sort(items, count);
	for (size_t i = 1; sorted && i < count; i++) {
		uint32_t slot = (uint32_t)items[i].number, before = (uint32_t)items[i - 1].number;

		if (!continues(&slots[slot], &slots[before]))
			continue;
		part->next_chunk[before] = slot;
		part->first_chunk[slot] = part->first_chunk[before];
	}
	free(items);
	return sorted;
}

/* The slot of the chunk at a data offset; SONDE_NONE. */
static uint32_t find_piece(const struct chunk_slots *chunks, uint64_t data_offset)
{
	size_t low = 0, high = chunks->count;

	if (!chunks->items)
		return SONDE_NONE;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (chunks->items[middle].key < data_offset)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == chunks->count || chunks->items[low].key != data_offset)
		return SONDE_NONE;
	return (uint32_t)chunks->items[low].number;
}

static enum sonde_status link_all(struct zts_part *part, struct chunk_slots *chunks,
				  struct sonde_error *err)
{
	size_t count = part->slots.list.count;

	part->next_chunk = malloc(count * sizeof(*part->next_chunk));
	part->first_chunk = malloc(count * sizeof(*part->first_chunk));
	if (!part->next_chunk || !part->first_chunk || !sonde_sort(chunks->items, chunks->count))
		return sonde_fail_nomem(err);
	for (uint32_t i = 0; i < count; i++) {
		part->next_chunk[i] = SONDE_NONE;
		part->first_chunk[i] = i;
	}
	if (!link_pieces(part, chunks))
		return sonde_fail_nomem(err);
	for (uint32_t i = 0; i < count; i++) {
		const struct zts_slot *slot = &part->slots.list.items[i];
		uint32_t piece;

		if (!(slot->flags & ZTS_RECORD_CHUNKED) || is_piece(slot))
			continue;
		piece = find_piece(chunks, slot->data_offset);
		if (piece != SONDE_NONE)
			part->first_chunk[i] = part->first_chunk[piece];
	}
	return SONDE_OK;
}

enum sonde_status zts_part_link_chunks(struct zts_part *part, struct sonde_error *err)
{
	struct chunk_slots chunks = { 0 };
	enum sonde_status status = SONDE_OK;

	free(part->next_chunk);
	free(part->first_chunk);
	part->next_chunk = part->first_chunk = NULL;
	for (size_t i = 0; i < part->slots.list.count && status >= 0; i++) {
		const struct zts_slot *slot = &part->slots.list.items[i];
		struct sonde_sort_item *item;

		if (!is_piece(slot))
			continue;
		item = sonde_vec_push(&chunks);
		if (item)
			*item = (struct sonde_sort_item){ .key = slot->data_offset, .number = i };
		else
			status = sonde_fail_nomem(err);
	}
	if (status >= 0 && chunks.count)
		status = link_all(part, &chunks, err);
	sonde_vec_release(&chunks);
	return status;
}
