/* SPDX-License-Identifier: Apache-2.0 */
/* The file format of speedscope as a format of the library. */
#include "formats/speedscope/speedscope.h"

const struct sonde_format sonde_format_speedscope = {
	.info = {
		.name = "speedscope",
		.title = "speedscope profile",
		.shape = "file",
		.lanes_written = SONDE_LANE_EVENTS | SONDE_LANE_SAMPLES | SONDE_LANE_CONTEXTS |
				 SONDE_LANE_VALUES,
		.suffix = ".speedscope.json",
	},
	.create = speedscope_create,
};
