/* SPDX-License-Identifier: Apache-2.0 */
/*
 * UUIDs that a lost qmeta.idx had: the metadata index has them too, by slot number. They are taken
 * only where it knows exactly the slots that were made anew, for then slots have the numbers they
 * had.
 */
#include <stdlib.h>
#include <string.h>

#include "base/uuid.h"
#include "formats/zts/zts_part_private.h"
#include "formats/zts/zts_wal.h"

/* A slot has three entries at most. */
#define ENTRIES_A_SLOT 3

/* `slot 0d uuid 0b`. */
static bool parse_line(const char *line, size_t size, uint32_t *slot, uint64_t uuid[2])
{
	const char *mark = size ? memchr(line, ZTS_META_SLOT_MARK, size) : NULL;
	size_t digits = mark ? (size_t)(mark - line) : 0;

	return digits && size == digits + 1 + SONDE_UUID_LENGTH + 1 &&
	       line[size - 1] == ZTS_META_UUID_END &&
	       zts_id_parse((const uint8_t *)line, digits, slot) &&
	       sonde_uuid_parse(mark + 1, SONDE_UUID_LENGTH, uuid);
}

struct recalled {
	uint64_t uuid[2];
};

/* How many slots have a line, each once; SIZE_MAX where there is one that cannot be. */
static size_t read_lines(struct zts_texts *meta, struct recalled *recalled, struct zts_set *seen)
{
	uint32_t end = zts_texts_end(meta), slot;
	size_t known = 0, size;
	uint64_t uuid[2];
	const char *line;

	for (uint32_t id = 1; id < end; id++) {
		if (zts_texts_get(meta, id, &line, &size, NULL) != SONDE_OK ||
		    !parse_line(line, size, &slot, uuid))
			continue;
		if (slot >= seen->size || zts_set_has(seen, slot))
			return SIZE_MAX;
		zts_set_add(seen, slot);
		memcpy(recalled[slot].uuid, uuid, sizeof(uuid));
		known++;
	}
	return known;
}

bool zts_part_recall_uuids(struct zts_part *part, struct zts_texts *meta)
{
	size_t count = part->slots.list.count;
	struct zts_set seen = { 0 };
	struct recalled *recalled = NULL;
	bool all = false;

	if (zts_texts_end(meta) - 1 <= count * ENTRIES_A_SLOT)
		recalled = malloc((count + 1) * sizeof(*recalled));
	if (recalled && zts_set_init(&seen, count))
		all = read_lines(meta, recalled, &seen) == count;
	for (size_t i = 0; all && i < count; i++)
		memcpy(part->slots.list.items[i].uuid, recalled[i].uuid, sizeof(recalled[i].uuid));
	zts_set_release(&seen);
	free(recalled);
	return all;
}
