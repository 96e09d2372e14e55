/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens each file once, and only where it still is the one that was loaded: its build-id is
 * compared. A function of a file that is gone or has changed is called by its place.
 */
#include "cli/function_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUILD_ID_MAX 64

/* The bytes of a number in hex; 0 where it is none. */
static size_t parse_hex(const char *text, uint8_t bytes[BUILD_ID_MAX])
{
	size_t count = strlen(text) / 2;

	if (count > BUILD_ID_MAX || strspn(text, "0123456789abcdefABCDEF") != 2 * count)
		return 0;
	for (size_t i = 0; i < count; i++) {
		char digits[3] = { text[2 * i], text[2 * i + 1] };

		bytes[i] = (uint8_t)strtoul(digits, NULL, 16);
	}
	return count;
}

/* Takes over the key; NULL where memory is out. */
static struct cli_symbol_file *open_file(struct cli_function_names *names, char *key,
					 const char *path, const char *build_id)
{
	struct cli_symbol_file *file = sonde_vec_push(&names->files);
	struct sonde_error ignored;
	uint8_t id[BUILD_ID_MAX];

	if (!file) {
		free(key);
		return NULL;
	}
	*file = (struct cli_symbol_file){ .key = key };
	if (path[0] != '/' ||
	    sonde_symbols_open(path, id, parse_hex(build_id, id), &file->symbols, &ignored) < 0)
		file->symbols = NULL;
	/* failing that it is opened again, and that is all */
	sonde_text_map_add(&names->by_key, key, strlen(key), (uint32_t)names->files.count - 1);
	return file;
}

static struct sonde_symbols *find_file(struct cli_function_names *names, const char *path,
				       const char *build_id)
{
	struct cli_symbol_file *file;
	uint32_t number;
	char *key;

	if (asprintf(&key, "%s %s", build_id, path) < 0)
		return NULL;
	number = sonde_text_map_find(&names->by_key, key, strlen(key));
	if (number == UINT32_MAX) {
		file = open_file(names, key, path, build_id);
	} else {
		file = &names->files.items[number];
		free(key);
	}
	return file ? file->symbols : NULL;
}

bool cli_name_function(void *context, const char *module, const char *build_id, uint64_t address,
		       struct sonde_function_name *name)
{
	struct cli_function_names *names = context;
	struct sonde_symbol_text *text = &names->last;

	free(text->name);
	if (sonde_symbols_describe(find_file(names, module, build_id), module, address, text))
		names->found++;
	else
		names->not_found++;
	*name = (struct sonde_function_name){
		.name = text->name,
		.raw_name = text->raw_name,
		.file = text->file,
		.line = text->line,
	};
	return text->name;
}

void cli_function_names_release(struct cli_function_names *names)
{
	for (size_t i = 0; i < names->files.count; i++) {
		sonde_symbols_free(names->files.items[i].symbols);
		free(names->files.items[i].key);
	}
	sonde_vec_release(&names->files);
	sonde_text_map_release(&names->by_key);
	free(names->last.name);
}
