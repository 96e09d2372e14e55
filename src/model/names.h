/* SPDX-License-Identifier: Apache-2.0 */
/* Names by id, each encoded for an output once and kept. */
#ifndef SONDE_MODEL_NAMES_H
#define SONDE_MODEL_NAMES_H

#include <sonde/definitions.h>

#include "base/arena.h"
#include "base/buffer.h"

struct name {
	const char *text;
	size_t length;
};

/* Puts the name of an id; `space` is for a label that must be made up. */
typedef const char *name_lookup(const struct sonde_definitions *definitions, uint32_t id,
				char space[SONDE_LABEL_SIZE]);
typedef void name_encoder(struct sonde_buffer *out, const char *text);

struct names {
	const struct sonde_definitions *definitions;
	name_lookup *lookup;
	name_encoder *encode;
	struct name *items; /* by id; without text where not met yet */
	size_t count, capacity;
	struct sonde_arena arena;
	struct sonde_buffer scratch;
	bool failed; /* memory failed; the name handed out is "?" */
};

void names_release(struct names *names);

/* Encodes a name that is asked for the first time. Never NULL. */
const struct name *names_add(struct names *names, uint32_t id);

/* What stands in `scratch` becomes the name of an id, in place of another. Never NULL. */
const struct name *names_keep(struct names *names, uint32_t id);

/* How many names of functions and tracks are not UTF-8: formats that are only UTF-8 change them. */
uint64_t sonde_names_not_utf8(const struct sonde_definitions *definitions);

static inline const struct name *names_get(struct names *names, uint32_t id)
{
	if (id < names->count && names->items[id].text)
		return &names->items[id];
	return names_add(names, id);
}

#endif
