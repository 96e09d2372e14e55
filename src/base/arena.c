/* SPDX-License-Identifier: Apache-2.0 */
/* The arena: blocks that grow with it, large pieces in blocks of their own. */
#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

#define FIRST_BLOCK ((size_t)4 << 10)
#define LARGEST_BLOCK ((size_t)1 << 20)

struct sonde_arena_block {
	struct sonde_arena_block *next;
	size_t used;
	size_t size;
	alignas(max_align_t) unsigned char data[];
};

void sonde_arena_release(struct sonde_arena *arena)
{
	struct sonde_arena_block *block = arena->blocks;

	while (block) {
		struct sonde_arena_block *next = block->next;

		free(block);
		block = next;
	}
	*arena = (struct sonde_arena){ 0 };
}

void sonde_arena_clear(struct sonde_arena *arena)
{
	struct sonde_arena_block *newest = arena->blocks;
	struct sonde_arena older = { .blocks = newest ? newest->next : NULL };

	sonde_arena_release(&older);
	if (newest) {
		newest->next = NULL;
		newest->used = 0;
	}
	arena->bytes = 0;
}

static struct sonde_arena_block *block_new(size_t size)
{
	struct sonde_arena_block *block;
	size_t bytes;

	if (__builtin_add_overflow(size, sizeof(*block), &bytes))
		return NULL;
	block = malloc(bytes);
	if (!block)
		return NULL;
	*block = (struct sonde_arena_block){ .size = size };
	return block;
}

/* A block with room for `size` bytes at its start; the newest keeps its place if that is larger. */
static struct sonde_arena_block *add_block(struct sonde_arena *arena, size_t size)
{
	struct sonde_arena_block *newest = arena->blocks, *block;
	size_t usual = FIRST_BLOCK;

	if (newest)
		usual = newest->size < LARGEST_BLOCK / 2 ? newest->size * 2 : LARGEST_BLOCK;
	block = block_new(size > usual / 4 ? size : usual);
	if (!block)
		return NULL;
	if (newest && newest->size - newest->used > block->size - size) {
		block->next = newest->next;
		newest->next = block;
	} else {
		block->next = newest;
		arena->blocks = block;
	}
	return block;
}

static void *take(struct sonde_arena *arena, size_t size, size_t alignment)
{
	struct sonde_arena_block *block = arena->blocks;
	size_t start = 0;

	if (block)
		start = (block->used + alignment - 1) & ~(alignment - 1);
	if (!block || start > block->size || size > block->size - start) {
		block = add_block(arena, size);
		start = 0;
	}
	if (!block)
		return NULL;
	block->used = start + size;
	arena->bytes += size;
	return block->data + start;
}

void *sonde_arena_take(struct sonde_arena *arena, size_t size)
{
	return take(arena, size, alignof(max_align_t));
}

char *sonde_arena_copy_text(struct sonde_arena *arena, const char *text, size_t length)
{
	char *copy = length < SIZE_MAX ? take(arena, length + 1, 1) : NULL;

	if (!copy)
		return NULL;
	if (length)
		memcpy(copy, text, length);
	copy[length] = '\0';
	return copy;
}
