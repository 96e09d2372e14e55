/* SPDX-License-Identifier: Apache-2.0 */
/* What the format's struct refers to. */
#ifndef SONDE_FORMATS_PARQUET_H
#define SONDE_FORMATS_PARQUET_H

#include "formats/format.h"

#define PARQUET_LANES_WRITTEN                                                                      \
	(SONDE_LANE_EVENTS | SONDE_LANE_DETAILS | SONDE_LANE_SAMPLES | SONDE_LANE_CONTEXTS |       \
	 SONDE_LANE_VALUES)

extern const struct sonde_format_style parquet_styles[];

enum sonde_status parquet_create(const char *path, const struct sonde_create_options *options,
				 struct sonde_sink **sink, struct sonde_error *err);

#endif
