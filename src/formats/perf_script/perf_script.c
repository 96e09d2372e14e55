/* SPDX-License-Identifier: Apache-2.0 */
/* text of perf script as a format of the library. */
#include "formats/format.h"

const struct sonde_format sonde_format_perf_script = {
	.info = {
		.name = "perf-script",
		.title = "text of perf script",
		.shape = "file",
	},
};
