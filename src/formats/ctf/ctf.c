/* SPDX-License-Identifier: Apache-2.0 */
/* Common Trace Format 1.8 as a format of the library: read, where libbabeltrace2 is there. */
#include "formats/ctf/ctf_read.h"

const struct sonde_format sonde_format_ctf = {
	.info = {
		.name = "ctf",
		.title = "Common Trace Format 1.8",
		.shape = "folder",
#ifdef SONDE_HAS_BABELTRACE
		.lanes_read = SONDE_LANE_EVENTS | SONDE_LANE_DETAILS,
		.kinds = SONDE_KINDS_CALLS | SONDE_KIND(INSTANT),
		.facts = SONDE_FACT_PROCESS_IDS | SONDE_FACT_CLOCKS | SONDE_FACT_TRACK_NAMES |
			 SONDE_FACT_TRACK_IDS | SONDE_FACT_MODULES | SONDE_FACT_MODULE_PLACES |
			 SONDE_FACT_ATTRIBUTES | SONDE_FACT_ANY_ARGUMENTS,
#endif
	},
#ifdef SONDE_HAS_BABELTRACE
	.probe = ctf_probe,
	.open = ctf_open,
#endif
};
