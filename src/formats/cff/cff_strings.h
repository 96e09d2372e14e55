/* SPDX-License-Identifier: Apache-2.0 */
/* The string table of a chunk: texts by ordinal. */
#ifndef SONDE_CFF_STRINGS_H
#define SONDE_CFF_STRINGS_H

#include <sonde/status.h>

#include "base/vec.h"
#include "formats/cff/cff_image.h"

struct cff_strings {
	const uint8_t *data;
	size_t size;
	SONDE_VEC(uint32_t) starts; /* of each text; found when the first one is asked for */
	bool is_indexed;
};

/* Takes the table of a chunk, the last where there are several; none is an empty one. Cheap. */
void cff_strings_set(struct cff_strings *strings, const struct cff_image *image,
		     const struct cff_chunk *chunk);
void cff_strings_release(struct cff_strings *strings);

/*
 * A text, borrowed from the image, NUL-terminated there unless the table is cut (use `length`). *text
 * is NULL for null: that ordinal, one out of range, or one of an empty text in the table.
 * CFF_STRING_EMPTY is "".
 */
enum sonde_status cff_strings_get(struct cff_strings *strings, uint32_t ordinal, const char **text,
				  size_t *length, struct sonde_error *err);

#endif
