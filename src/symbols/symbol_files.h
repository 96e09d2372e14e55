/* SPDX-License-Identifier: Apache-2.0 */
/* The files that a recording's modules were loaded from, each opened once. */
#ifndef SONDE_SYMBOL_FILES_H
#define SONDE_SYMBOL_FILES_H

#include "base/map.h"
#include "base/vec.h"
#include "symbols/symbols.h"

struct sonde_symbol_file {
	char *key; /* build-id and path */
	struct sonde_symbols *symbols;
};

/* Zeroed means empty. */
struct sonde_symbol_files {
	SONDE_VEC(struct sonde_symbol_file) items;
	struct sonde_text_map by_key; /* -> number */
};

/* The number of a file, counted from 0 as they are met; UINT32_MAX where memory is out. */
uint32_t sonde_symbol_files_find(struct sonde_symbol_files *files, const char *path,
				 const uint8_t *build_id, size_t build_id_size);

/*
 * The symbols of a file; NULL: there are none (the vdso), it is gone, or it is no longer the one
 * that was loaded, which the build-id tells. Mapped: its functions are not read.
 */
struct sonde_symbols *sonde_symbol_files_at(const struct sonde_symbol_files *files,
					    uint32_t number);
static inline struct sonde_symbols *
sonde_symbol_files_mapped(const struct sonde_symbol_files *files, uint32_t number)
{
	return number < files->items.count ? files->items.items[number].symbols : NULL;
}

void sonde_symbol_files_release(struct sonde_symbol_files *files);

#endif
