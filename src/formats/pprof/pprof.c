/* SPDX-License-Identifier: Apache-2.0 */
/* pprof profile as a format of the library. */
#include "formats/pprof/pprof.h"

static const struct sonde_format_style styles[] = {
	{ "sum", "samples of all threads are summed up, without labels of threads" },
	{ NULL, NULL },
};

const struct sonde_format sonde_format_pprof = {
	.info = {
		.name = "pprof",
		.title = "pprof profile",
		.shape = "file",
		.lanes_read = SONDE_LANE_CONTEXTS | SONDE_LANE_VALUES,
		.lanes_written = SONDE_LANE_CONTEXTS | SONDE_LANE_VALUES,
		.facts = SONDE_FACT_PROCESS_IDS | SONDE_FACT_TRACK_NAMES | SONDE_FACT_TRACK_IDS |
			 SONDE_FACT_MODULES | SONDE_FACT_MODULE_PLACES | SONDE_FACT_SOURCE_PLACES |
			 SONDE_FACT_RAW_NAMES,
		.styles = styles,
		.suffix = ".pprof .pb.gz",
	},
	.probe = pprof_probe,
	.open = pprof_open,
	.create = pprof_create,
};
