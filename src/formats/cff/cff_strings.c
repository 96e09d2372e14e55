/* SPDX-License-Identifier: Apache-2.0 */
/*
 * String tables: texts one after the other, each ended by a NUL. Where each starts is found when the
 * first is asked for, so that chunks whose texts nobody wants cost nothing.
 */
#include "formats/cff/cff_strings.h"

#include <string.h>

void cff_strings_set(struct cff_strings *strings, const struct cff_image *image,
		     const struct cff_chunk *chunk)
{
	uint32_t parts = cff_chunk_part_count(image, chunk);

	strings->data = NULL;
	strings->size = 0;
	strings->starts.count = 0;
	strings->is_indexed = false;
	for (uint32_t i = 0; i < parts; i++) {
		struct cff_part part = cff_chunk_part(image, chunk, i);

		if (part.type != CFF_PART_STRINGS || !part.data)
			continue;
		strings->data = part.data;
		strings->size = part.size;
	}
}

void cff_strings_release(struct cff_strings *strings)
{
	sonde_vec_release(&strings->starts);
	*strings = (struct cff_strings){ 0 };
}

static bool find_starts(struct cff_strings *strings)
{
	const uint8_t *at = strings->data, *end = at + strings->size;

	while (at < end) {
		const uint8_t *nul = memchr(at, 0, (size_t)(end - at));
		uint32_t *start = sonde_vec_push(&strings->starts);

		if (!start)
			return false;
		*start = (uint32_t)(at - strings->data);
		at = nul ? nul + 1 : end;
	}
	strings->is_indexed = true;
	return true;
}

enum sonde_status cff_strings_get(struct cff_strings *strings, uint32_t ordinal, const char **text,
				  size_t *length, struct sonde_error *err)
{
	size_t start, end;

	*text = ordinal == CFF_STRING_EMPTY ? "" : NULL;
	*length = 0;
	if (ordinal >= CFF_STRING_EMPTY)
		return SONDE_OK;
	if (!strings->is_indexed && strings->data && !find_starts(strings)) {
		strings->starts.count = 0;
		return sonde_fail_nomem(err);
	}
	if (!strings->data || ordinal >= strings->starts.count)
		return SONDE_OK;
	start = strings->starts.items[ordinal];
	end = ordinal + 1 < strings->starts.count ? strings->starts.items[ordinal + 1] :
						    strings->size;
	/* in constant time: many events may refer to one long text */
	*length = end - start - !strings->data[end - 1];
	if (*length)
		*text = (const char *)strings->data + start;
	return SONDE_OK;
}
