/* SPDX-License-Identifier: Apache-2.0 */
/* Ordinals by text; see cff_texts.h. */
#include <string.h>

#include "formats/cff/cff_texts.h"

void cff_texts_release(struct cff_texts *texts)
{
	sonde_vec_release(&texts->texts);
	sonde_vec_release(&texts->groups);
	sonde_vec_release(&texts->ordinals);
	sonde_text_map_release(&texts->map);
	sonde_arena_release(&texts->arena);
	sonde_buffer_release(&texts->added);
	*texts = (struct cff_texts){ 0 };
}

/* The group of a text, a new one where there is none; UINT32_MAX where memory failed. */
static uint32_t find_group(struct cff_texts *texts, const char *text, size_t length)
{
	uint32_t group = sonde_text_map_find(&texts->map, text, length);
	struct cff_text_group *added;

	if (group != UINT32_MAX)
		return group;
	added = sonde_vec_push(&texts->groups);
	if (!added)
		return UINT32_MAX;
	*added = (struct cff_text_group){ 0 };
	group = (uint32_t)(texts->groups.count - 1);
	return sonde_text_map_add(&texts->map, text, length, group) ? group : UINT32_MAX;
}

static bool add_table_text(struct cff_texts *texts, const char *text, size_t length)
{
	struct cff_text *added = sonde_vec_push(&texts->texts);

	if (!added)
		return false;
	*added = (struct cff_text){ .text = text, .length = (uint32_t)length };
	added->group = find_group(texts, text, length);
	if (added->group == UINT32_MAX)
		return false;
	texts->groups.items[added->group].count++;
	return true;
}

/* Puts the ordinals into the places of their groups, in order. */
static bool sort_ordinals(struct cff_texts *texts)
{
	uint32_t start = 0;

	if (!sonde_vec_reserve(&texts->ordinals, texts->texts.count + 1))
		return false;
	for (size_t i = 0; i < texts->groups.count; i++) {
		struct cff_text_group *group = &texts->groups.items[i];

		group->start = start;
		start += group->count;
		group->count = 0;
	}
	for (size_t i = 0; i < texts->texts.count; i++) {
		struct cff_text_group *group = &texts->groups.items[texts->texts.items[i].group];

		texts->ordinals.items[group->start + group->count++] = (uint32_t)i;
	}
	texts->ordinals.count = texts->texts.count;
	return true;
}

enum sonde_status cff_texts_init(struct cff_texts *texts, const uint8_t *table, size_t size,
				 struct sonde_error *err)
{
	const char *text = size ? (const char *)table : "", *end = text + size;
	bool ok = true;

	*texts = (struct cff_texts){ 0 };
	while (ok && text < end) {
		const char *nul = memchr(text, '\0', (size_t)(end - text));
		const char *stop = nul ? nul : end;

		ok = add_table_text(texts, text, (size_t)(stop - text));
		text = stop + 1;
	}
	if (!ok || !sort_ordinals(texts)) {
		cff_texts_release(texts);
		return sonde_fail_nomem(err);
	}
	texts->table_count = texts->texts.count;
	return SONDE_OK;
}

uint32_t cff_texts_find(const struct cff_texts *texts, const char *text, size_t length)
{
	uint32_t number = sonde_text_map_find(&texts->map, text, length);
	const struct cff_text_group *group;
	const uint32_t *ordinals;
	uint32_t low = 0, high;

	if (number == UINT32_MAX)
		return UINT32_MAX;
	group = &texts->groups.items[number];
	ordinals = texts->ordinals.items + group->start;
	high = group->count;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (ordinals[middle] < texts->next)
			low = middle + 1;
		else
			high = middle;
	}
	return ordinals[low < group->count ? low : 0];
}

/* A new text has a group of its own, at the end. */
static bool add_text(struct cff_texts *texts, const char *text, size_t length)
{
	const char *copy = sonde_arena_copy_text(&texts->arena, text, length);
	uint32_t *ordinal = copy ? sonde_vec_push(&texts->ordinals) : NULL;
	struct cff_text *added = ordinal ? sonde_vec_push(&texts->texts) : NULL;
	struct cff_text_group *group;

	if (!added)
		return false;
	*ordinal = (uint32_t)(texts->texts.count - 1);
	*added = (struct cff_text){ .text = copy, .length = (uint32_t)length };
	added->group = find_group(texts, copy, length);
	if (added->group == UINT32_MAX)
		return false;
	group = &texts->groups.items[added->group];
	group->start = (uint32_t)(texts->ordinals.count - 1);
	group->count = 1;
	sonde_buffer_put(&texts->added, copy, length + 1);
	return !texts->added.failed;
}

enum sonde_status cff_texts_get(struct cff_texts *texts, const char *text, size_t length,
				uint32_t *ordinal, struct sonde_error *err)
{
	*ordinal = cff_texts_find(texts, text, length);
	if (*ordinal != UINT32_MAX)
		return SONDE_OK;
	if (length >= UINT32_MAX || texts->texts.count >= UINT32_MAX - 2)
		return sonde_fail(err, SONDE_LIMIT, SONDE_NO_OFFSET,
				  "a string table holds less than 4 GB; divide the chunk");
	if (!add_text(texts, text, length))
		return sonde_fail_nomem(err);
	*ordinal = (uint32_t)(texts->texts.count - 1);
	return SONDE_OK;
}

const struct cff_text *cff_texts_at(const struct cff_texts *texts, uint32_t ordinal)
{
	if (ordinal >= texts->texts.count || !texts->texts.items[ordinal].length)
		return NULL;
	return &texts->texts.items[ordinal];
}
