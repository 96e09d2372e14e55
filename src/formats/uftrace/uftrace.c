/* SPDX-License-Identifier: Apache-2.0 */
/* uftrace data as a format of the library: read, not written. */
#include "formats/uftrace/uftrace.h"

const struct sonde_format sonde_format_uftrace = {
	.info = {
		.name = "uftrace",
		.title = "uftrace data",
		.shape = "folder",
		.lanes_read = SONDE_LANE_EVENTS | SONDE_LANE_DETAILS,
		.findings = exchange_finding_list,
	},
	.probe = uftrace_probe,
	.open = uftrace_open,
};
