/* SPDX-License-Identifier: Apache-2.0 */
/* The two sides of pprof profiles. */
#ifndef SONDE_FORMATS_PPROF_H
#define SONDE_FORMATS_PPROF_H

#include "formats/format.h"

int pprof_probe(const char *path);
enum sonde_status pprof_open(struct sonde_recording *recording, struct sonde_error *err);
enum sonde_status pprof_create(const char *path, const struct sonde_create_options *options,
			       struct sonde_sink **sink, struct sonde_error *err);

#endif
