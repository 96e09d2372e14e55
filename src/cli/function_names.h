/* SPDX-License-Identifier: Apache-2.0 */
/* Names of functions from the files of the modules that they are in, for `sonde recover`. */
#ifndef SONDE_CLI_FUNCTION_NAMES_H
#define SONDE_CLI_FUNCTION_NAMES_H

#include <sonde/format.h>

#include "symbols/symbol_files.h"

/* Zeroed means empty. */
struct cli_function_names {
	struct sonde_symbol_files files;
	struct sonde_symbol_text last; /* what was given out last */
	uint64_t found, not_found;     /* the latter are called by their place */
};

/* For sonde_recover_options.name_function; the context is a struct cli_function_names. */
bool cli_name_function(void *context, const char *module, const char *build_id, uint64_t address,
		       struct sonde_function_name *name);
void cli_function_names_release(struct cli_function_names *names);

#endif
