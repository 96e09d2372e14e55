/* SPDX-License-Identifier: Apache-2.0 */
/* OTLP JSON as a format of the library: read only. */
#include "formats/otlp/otlp_read.h"

const struct sonde_format sonde_format_otlp_json = {
	.info = {
		.name = "otlp-json",
		.title = "OpenTelemetry spans, OTLP JSON",
		.shape = "file",
		.lanes_read = SONDE_LANE_EVENTS | SONDE_LANE_DETAILS,
	},
	.probe = otlp_probe,
	.open = otlp_open,
};
