/* SPDX-License-Identifier: Apache-2.0 */
/* The sink behind the formats csv and jsonl: one file with one table. */
#ifndef SONDE_FORMATS_ROWS_SINK_H
#define SONDE_FORMATS_ROWS_SINK_H

#include "formats/format.h"
#include "formats/rows/rows.h"

#define ROWS_LANES_WRITTEN                                                                         \
	(SONDE_LANE_EVENTS | SONDE_LANE_DETAILS | SONDE_LANE_SAMPLES | SONDE_LANE_CONTEXTS |       \
	 SONDE_LANE_VALUES)

/* Facts that rows have a place for. */
#define ROWS_FACTS SONDE_FACT_TRACK_NAMES

extern const struct sonde_format_style rows_styles[];

enum sonde_status rows_create(const char *path, const struct row_form *form,
			      const struct sonde_create_options *options, struct sonde_sink **made,
			      struct sonde_error *err);

#endif
