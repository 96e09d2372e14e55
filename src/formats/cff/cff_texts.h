/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which ordinal a text stands for in a json_event_buffer: the first one with this text after the
 * ordinal used last, else the first one with it in the table. Reading and writing both ask here, so
 * that they agree.
 */
#ifndef SONDE_CFF_TEXTS_H
#define SONDE_CFF_TEXTS_H

#include <sonde/status.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/map.h"
#include "base/vec.h"

struct cff_text {
	const char *text;
	uint32_t length;
	uint32_t group;
};

/* Ordinals with the same text: `count` of them from `start` on in cff_texts.ordinals. */
struct cff_text_group {
	uint32_t start, count;
};

struct cff_texts {
	SONDE_VEC(struct cff_text) texts; /* by ordinal */
	size_t table_count;		  /* of those are in the table, the rest was added */
	uint32_t next;			  /* after the ordinal used last */
	struct sonde_buffer added;	  /* the texts that were added, as bytes of a table */
	/* private */
	SONDE_VEC(struct cff_text_group) groups;
	SONDE_VEC(uint32_t) ordinals; /* by group, then in order */
	struct sonde_text_map map;
	struct sonde_arena arena;
};

/* Takes a string table, which must stay. A zeroed struct is one without a table. */
enum sonde_status cff_texts_init(struct cff_texts *texts, const uint8_t *table, size_t size,
				 struct sonde_error *err);
void cff_texts_release(struct cff_texts *texts);

/* The ordinal of a text that is not empty; UINT32_MAX where the table does not have it. */
uint32_t cff_texts_find(const struct cff_texts *texts, const char *text, size_t length);

/* The same, and the text is added where it is missing. */
enum sonde_status cff_texts_get(struct cff_texts *texts, const char *text, size_t length,
				uint32_t *ordinal, struct sonde_error *err);

/* That ordinal was used. Others than those of the table do not count. */
static inline void cff_texts_use(struct cff_texts *texts, uint32_t ordinal)
{
	if (ordinal < texts->table_count)
		texts->next = ordinal + 1;
}

/* NULL: none, or an empty one, which is null. NUL-terminated but for the last of a table. */
const struct cff_text *cff_texts_at(const struct cff_texts *texts, uint32_t ordinal);

#endif
