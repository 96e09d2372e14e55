/* SPDX-License-Identifier: Apache-2.0 */
/* Perfetto protobuf trace as a format of the library. */
#include "formats/perfetto/perfetto.h"

#define LANES (SONDE_LANE_EVENTS | SONDE_LANE_DETAILS | SONDE_LANE_SAMPLES | SONDE_LANE_CONTEXTS)

static const struct sonde_format_style styles[] = {
	{ "locations", "with the source file and line of every call, for viewers; larger" },
	{ NULL, NULL },
};

const struct sonde_format sonde_format_perfetto = {
	.info = {
		.name = "perfetto",
		.title = "Perfetto protobuf trace",
		.shape = "file",
		.suffix = ".pftrace .perfetto-trace",
		.lanes_read = LANES | SONDE_LANE_VALUES,
		.lanes_written = LANES,
		.kinds = SONDE_KINDS_ALL & ~SONDE_KIND(OTHER),
		.facts = SONDE_FACTS_ALL &
			 ~(unsigned int)(SONDE_FACT_MODULE_PLACES | SONDE_FACT_REGISTERS),
		.styles = styles,
	},
	.probe = perfetto_probe,
	.open = perfetto_open,
	.create = perfetto_create,
};
