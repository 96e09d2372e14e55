/* SPDX-License-Identifier: Apache-2.0 */
/* The writer of call graphs for Graphviz. */
#ifndef SONDE_FORMATS_DOT_H
#define SONDE_FORMATS_DOT_H

#include "formats/format.h"

enum sonde_status dot_create(const char *path, const struct sonde_create_options *options,
			     struct sonde_sink **sink, struct sonde_error *err);

#endif
