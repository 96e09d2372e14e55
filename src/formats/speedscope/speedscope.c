/* SPDX-License-Identifier: Apache-2.0 */
/* The file format of speedscope as a format of the library. */
#include "formats/speedscope/speedscope.h"

#define LANES (SONDE_LANE_EVENTS | SONDE_LANE_SAMPLES | SONDE_LANE_CONTEXTS | SONDE_LANE_VALUES)

const struct sonde_format sonde_format_speedscope = {
	.info = {
		.name = "speedscope",
		.title = "speedscope profile",
		.shape = "file",
		.lanes_read = LANES,
		.lanes_written = LANES,
		.kinds = SONDE_KINDS_CALLS | SONDE_KIND(EXCEPTION),
		.facts = SONDE_FACT_PROCESS_IDS | SONDE_FACT_MACHINES | SONDE_FACT_CLOCKS |
			 SONDE_FACT_TRACK_NAMES | SONDE_FACT_TRACK_IDS | SONDE_FACT_ZONES |
			 SONDE_FACT_STREAMS | SONDE_FACT_MODULES | SONDE_FACT_SOURCE_PLACES |
			 SONDE_FACT_RAW_NAMES | SONDE_FACT_DROPPED,
		.suffix = ".speedscope.json",
	},
	.probe = speedscope_probe,
	.open = speedscope_open,
	.create = speedscope_create,
};
