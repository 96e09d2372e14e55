/* SPDX-License-Identifier: Apache-2.0 */
/* The functions behind the format's struct. */
#ifndef SONDE_PERFETTO_H
#define SONDE_PERFETTO_H

#include "formats/format.h"

int perfetto_probe(const char *path);
enum sonde_status perfetto_open(struct sonde_recording *recording, struct sonde_error *err);
enum sonde_status perfetto_create(const char *path, const struct sonde_create_options *options,
				  struct sonde_sink **sink, struct sonde_error *err);

#endif
