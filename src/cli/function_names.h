/* SPDX-License-Identifier: Apache-2.0 */
/* Names of functions from the files of the modules that they are in, for `sonde recover`. */
#ifndef SONDE_CLI_FUNCTION_NAMES_H
#define SONDE_CLI_FUNCTION_NAMES_H

#include <sonde/format.h>

#include "base/map.h"
#include "base/vec.h"
#include "symbols/symbols.h"

struct cli_symbol_file {
	char *key;		       /* build-id and path */
	struct sonde_symbols *symbols; /* NULL: could not be read */
};

/* Zeroed means empty. */
struct cli_function_names {
	SONDE_VEC(struct cli_symbol_file) files;
	struct sonde_text_map by_key;  /* -> number of the file */
	struct sonde_symbol_text last; /* what was given out last */
	uint64_t found, not_found;     /* the latter are called by their place */
};

/* For sonde_recover_options.name_function; the context is a struct cli_function_names. */
bool cli_name_function(void *context, const char *module, const char *build_id, uint64_t address,
		       struct sonde_function_name *name);
void cli_function_names_release(struct cli_function_names *names);

#endif
