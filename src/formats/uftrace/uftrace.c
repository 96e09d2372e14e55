/* SPDX-License-Identifier: Apache-2.0 */
/* uftrace data as a format of the library: read, not written. */
#include "formats/uftrace/uftrace.h"

const struct sonde_format sonde_format_uftrace = {
	.info = {
		.name = "uftrace",
		.title = "uftrace data",
		.shape = "folder",
		.lanes_read = SONDE_LANE_EVENTS | SONDE_LANE_DETAILS,
		.kinds = SONDE_KINDS_CALLS | SONDE_KIND(INSTANT),
		.facts = SONDE_FACT_PROCESS_IDS | SONDE_FACT_CLOCKS | SONDE_FACT_TRACK_NAMES |
			 SONDE_FACT_TRACK_IDS | SONDE_FACT_MODULES | SONDE_FACT_MODULE_PLACES |
			 SONDE_FACT_SOURCE_PLACES | SONDE_FACT_DROPPED | SONDE_FACT_ATTRIBUTES |
			 SONDE_FACT_ANY_ARGUMENTS,
		.findings = exchange_finding_list,
	},
	.probe = uftrace_probe,
	.open = uftrace_open,
};
