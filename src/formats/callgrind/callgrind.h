/* SPDX-License-Identifier: Apache-2.0 */
/* The writer of callgrind profiles. */
#ifndef SONDE_FORMATS_CALLGRIND_H
#define SONDE_FORMATS_CALLGRIND_H

#include "formats/format.h"

enum sonde_status callgrind_create(const char *path, const struct sonde_create_options *options,
				   struct sonde_sink **sink, struct sonde_error *err);

#endif
