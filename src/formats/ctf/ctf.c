/* SPDX-License-Identifier: Apache-2.0 */
/* Common Trace Format 1.8 as a format of the library. */
#include "formats/format.h"

const struct sonde_format sonde_format_ctf = {
	.info = {
		.name = "ctf",
		.title = "Common Trace Format 1.8",
		.shape = "folder",
	},
};
