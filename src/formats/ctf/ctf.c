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
#endif
	},
#ifdef SONDE_HAS_BABELTRACE
	.probe = ctf_probe,
	.open = ctf_open,
#endif
};
