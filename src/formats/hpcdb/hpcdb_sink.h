/* SPDX-License-Identifier: Apache-2.0 */
/* Databases as the target of a pipeline. */
#ifndef SONDE_HPCDB_SINK_H
#define SONDE_HPCDB_SINK_H

#include "formats/format.h"

#define HPCDB_LANES_WRITTEN (SONDE_LANE_CONTEXTS | SONDE_LANE_VALUES | SONDE_LANE_SAMPLES)

/* The words of sonde_create_options.style; ends with a NULL word. */
extern const struct sonde_format_style hpcdb_styles[];

/* The `create` of the format. */
enum sonde_status hpcdb_create(const char *path, const struct sonde_create_options *options,
			       struct sonde_sink **sink, struct sonde_error *err);

/* Copies all regular files below a folder into another one that exists; links are not followed. */
enum sonde_status hpcdb_copy_folder(const char *from, const char *to, struct sonde_error *err);

#endif
