/* SPDX-License-Identifier: Apache-2.0 */
/* A function of a file that is gone or has changed since it was loaded is called by its place. */
#include "cli/function_names.h"

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

bool cli_name_function(void *context, const char *module, const char *build_id, uint64_t address,
		       struct sonde_function_name *name)
{
	struct cli_function_names *names = context;
	struct sonde_symbol_text *text = &names->last;
	uint8_t id[BUILD_ID_MAX];
	uint32_t number =
		sonde_symbol_files_find(&names->files, module, id, parse_hex(build_id, id));

	free(text->name);
	if (sonde_symbols_describe(sonde_symbol_files_at(&names->files, number), module, address,
				   text))
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
	sonde_symbol_files_release(&names->files);
	free(names->last.name);
}
