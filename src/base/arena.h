/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that is given out in small pieces, never moves, and is released as a whole. */
#ifndef SONDE_BASE_ARENA_H
#define SONDE_BASE_ARENA_H

#include <stddef.h>

struct sonde_arena_block;

/* A zeroed struct is an empty arena. */
struct sonde_arena {
	struct sonde_arena_block *blocks; /* newest first */
	size_t bytes;			  /* given out, for reports */
};

void sonde_arena_release(struct sonde_arena *arena);

/* Takes back all that was given out, and keeps the newest block for what comes. */
void sonde_arena_clear(struct sonde_arena *arena);

/* Aligned for any type, not zeroed; NULL where memory failed. */
void *sonde_arena_take(struct sonde_arena *arena, size_t size);

/* A NUL-terminated copy of `length` characters, packed without alignment. */
char *sonde_arena_copy_text(struct sonde_arena *arena, const char *text, size_t length);

#endif
