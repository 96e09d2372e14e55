/* SPDX-License-Identifier: Apache-2.0 */
/* Perfetto protobuf trace as a format of the library. */
#include "formats/format.h"

const struct sonde_format sonde_format_perfetto = {
	.info = {
		.name = "perfetto",
		.title = "Perfetto protobuf trace",
		.shape = "file",
		.suffix = ".pftrace .perfetto-trace",
	},
};
