/* SPDX-License-Identifier: Apache-2.0 */
/* Opened files by build-id and path. */
#include "symbols/symbol_files.h"

#include <stdlib.h>

#include "base/buffer.h"

static char *make_key(const char *path, const uint8_t *build_id, size_t build_id_size)
{
	struct sonde_buffer key = { 0 };

	for (size_t i = 0; i < build_id_size; i++)
		sonde_buffer_put_hex(&key, build_id[i], 2);
	sonde_buffer_put_char(&key, ' ');
	sonde_buffer_put_text(&key, path);
	if (!sonde_buffer_text(&key)) {
		sonde_buffer_release(&key);
		return NULL;
	}
	return key.data;
}

uint32_t sonde_symbol_files_find(struct sonde_symbol_files *files, const char *path,
				 const uint8_t *build_id, size_t build_id_size)
{
	char *key = make_key(path, build_id, build_id_size);
	struct sonde_symbol_file file = { .key = key };
	struct sonde_error ignored;
	uint32_t number;

	if (!key)
		return UINT32_MAX;
	number = sonde_text_map_find(&files->by_key, key, strlen(key));
	if (number != UINT32_MAX) {
		free(key);
		return number;
	}
	number = (uint32_t)files->items.count;
	if (!sonde_vec_reserve(&files->items, 1) ||
	    !sonde_text_map_add(&files->by_key, key, strlen(key), number)) {
		free(key);
		return UINT32_MAX;
	}
	if (path[0] != '/' ||
	    sonde_symbols_map(path, build_id, build_id_size, &file.symbols, &ignored) < 0)
		file.symbols = NULL;
	files->items.items[files->items.count++] = file;
	return number;
}

struct sonde_symbols *sonde_symbol_files_at(const struct sonde_symbol_files *files, uint32_t number)
{
	struct sonde_symbols *symbols = sonde_symbol_files_mapped(files, number);

	return symbols && sonde_symbols_read(symbols, NULL) == SONDE_OK ? symbols : NULL;
}

void sonde_symbol_files_release(struct sonde_symbol_files *files)
{
	for (size_t i = 0; i < files->items.count; i++) {
		sonde_symbols_free(files->items.items[i].symbols);
		free(files->items.items[i].key);
	}
	sonde_vec_release(&files->items);
	sonde_text_map_release(&files->by_key);
}
