/* SPDX-License-Identifier: Apache-2.0 */
/* The two sides of folded stacks. */
#ifndef SONDE_FORMATS_FOLDED_H
#define SONDE_FORMATS_FOLDED_H

#include "formats/format.h"

int folded_probe(const char *path);
enum sonde_status folded_open(struct sonde_recording *recording, struct sonde_error *err);
enum sonde_status folded_create(const char *path, const struct sonde_create_options *options,
				struct sonde_sink **sink, struct sonde_error *err);

#endif
