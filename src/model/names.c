/* SPDX-License-Identifier: Apache-2.0 */
/* Names by id, each encoded once. */
#include "model/names.h"

#include <string.h>

#include "base/utf8.h"
#include "base/vec.h"

static const struct name unknown = { .text = "?", .length = 1 };

void names_release(struct names *names)
{
	sonde_arena_release(&names->arena);
	sonde_buffer_release(&names->scratch);
	sonde_vec_release(names);
}

static bool make_room(struct names *names, uint32_t id)
{
	size_t more = id + (size_t)1 - names->count;

	if (id < names->count)
		return true;
	if (!sonde_vec_reserve(names, more))
		return false;
	memset(names->items + names->count, 0, more * sizeof(*names->items));
	names->count += more;
	return true;
}

const struct name *names_keep(struct names *names, uint32_t id)
{
	char *copy = NULL;

	if (!names->scratch.failed)
		copy = sonde_arena_copy_text(&names->arena, names->scratch.data,
					     names->scratch.size);
	if (!copy || !make_room(names, id)) {
		names->failed = true;
		return &unknown;
	}
	names->items[id] = (struct name){ .text = copy, .length = names->scratch.size };
	return &names->items[id];
}

const struct name *names_add(struct names *names, uint32_t id)
{
	char space[SONDE_LABEL_SIZE];

	if (id == SONDE_NONE)
		return &unknown;
	sonde_buffer_clear(&names->scratch);
	names->encode(&names->scratch, names->lookup(names->definitions, id, space));
	return names_keep(names, id);
}

uint64_t sonde_names_not_utf8(const struct sonde_definitions *definitions)
{
	const struct sonde_function *function;
	const struct sonde_track *track;
	uint64_t count = 0;

	for (uint32_t i = 0; (function = sonde_definitions_function(definitions, i)); i++) {
		const char *name = sonde_definitions_string(definitions, function->name);

		count += !sonde_utf8_valid(name, strlen(name));
	}
	for (uint32_t i = 0; (track = sonde_definitions_track(definitions, i)); i++) {
		const char *name = sonde_definitions_string(definitions, track->name);

		count += !sonde_utf8_valid(name, strlen(name));
	}
	return count;
}
