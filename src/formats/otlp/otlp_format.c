/* SPDX-License-Identifier: Apache-2.0 */
/* OTLP JSON as a format of the library: read only. */
#include "formats/otlp/otlp_read.h"

const struct sonde_format sonde_format_otlp_json = {
	.info = {
		.name = "otlp-json",
		.title = "OpenTelemetry spans, OTLP JSON",
		.shape = "file",
		.lanes_read = SONDE_LANE_EVENTS | SONDE_LANE_DETAILS,
		.kinds = SONDE_KINDS_CALLS | SONDE_KIND(EXCEPTION) | SONDE_KIND(INSTANT),
		.facts = SONDE_FACT_PROCESS_IDS | SONDE_FACT_CLOCKS | SONDE_FACT_TRACK_NAMES |
			 SONDE_FACT_ATTRIBUTES | SONDE_FACT_ANY_ARGUMENTS,
	},
	.probe = otlp_probe,
	.open = otlp_open,
};
