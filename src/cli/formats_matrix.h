/* SPDX-License-Identifier: Apache-2.0 */
/* `sonde formats --matrix`: what survives on the way from each format to each other. */
#ifndef SONDE_CLI_FORMATS_MATRIX_H
#define SONDE_CLI_FORMATS_MATRIX_H

#include <sonde/format.h>

#include "base/json.h"
#include "cli/cli.h"

void cli_put_matrix(struct cli *cli);
void cli_put_matrix_json(struct cli *cli);

/* All that a format holds, as a list of names: for reading, or for writing. */
void cli_put_held_json(struct sonde_json_writer *json, const char *key,
		       const struct sonde_format_info *format, unsigned int lanes);

#endif
