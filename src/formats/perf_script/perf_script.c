/* SPDX-License-Identifier: Apache-2.0 */
/* The text of `perf script` as a format of the library: read, not written. */
#include "formats/perf_script/perf_script.h"

const struct sonde_format sonde_format_perf_script = {
	.info = {
		.name = "perf-script",
		.title = "text of perf script",
		.shape = "file",
		.lanes_read = SONDE_LANE_SAMPLES | SONDE_LANE_CONTEXTS | SONDE_LANE_VALUES,
		.facts = SONDE_FACT_PROCESS_IDS | SONDE_FACT_TRACK_NAMES | SONDE_FACT_TRACK_IDS |
			 SONDE_FACT_MODULES | SONDE_FACT_SOURCE_PLACES,
	},
	.probe = perf_script_probe,
	.open = perf_script_open,
};
