/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of a part by their id. */
#include "store/names.h"

#include <sonde/definitions.h>

void sonde_names_release(struct sonde_names *names)
{
	sonde_key_map_release(&names->known);
	sonde_vec_release(&names->names);
	sonde_buffer_release(&names->bytes);
}

static const struct sonde_name *add_name(struct sonde_names *names, uint32_t id)
{
	uint32_t position = (uint32_t)names->names.count;
	struct sonde_name *name = sonde_vec_push(&names->names);
	size_t begin = names->bytes.size;

	if (!name) {
		names->bytes.failed = true;
		return NULL;
	}
	if (id)
		zts_texts_put_name(names->texts, id, &names->bytes);
	*name = (struct sonde_name){ .offset = begin, .size = names->bytes.size - begin };
	if (!sonde_key_map_add(&names->known, id, position))
		names->bytes.failed = true;
	return name;
}

const char *sonde_names_get(struct sonde_names *names, uint32_t id, size_t *size)
{
	uint32_t position = sonde_key_map_find(&names->known, id);
	const struct sonde_name *name = position != SONDE_NONE ? &names->names.items[position] :
								 add_name(names, id);

	*size = name ? name->size : 0;
	return *size ? names->bytes.data + name->offset : "";
}
