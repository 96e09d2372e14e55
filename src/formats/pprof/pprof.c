/* SPDX-License-Identifier: Apache-2.0 */
/* pprof profile as a format of the library. */
#include "formats/format.h"

const struct sonde_format sonde_format_pprof = {
	.info = {
		.name = "pprof",
		.title = "pprof profile",
		.shape = "file",
		.suffix = ".pprof .pb.gz",
	},
};
