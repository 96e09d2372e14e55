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
		.lanes_written = LANES,
		.styles = styles,
	},
	.create = perfetto_create,
};
