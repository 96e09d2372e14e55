/* SPDX-License-Identifier: Apache-2.0 */
/* uftrace data as a format of the library. */
#include "formats/format.h"

const struct sonde_format sonde_format_uftrace = {
	.info = {
		.name = "uftrace",
		.title = "uftrace data",
		.shape = "folder",
	},
};
