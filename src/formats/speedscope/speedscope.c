/* SPDX-License-Identifier: Apache-2.0 */
/* speedscope profile as a format of the library. */
#include "formats/format.h"

const struct sonde_format sonde_format_speedscope = {
	.info = {
		.name = "speedscope",
		.title = "speedscope profile",
		.shape = "file",
		.suffix = ".speedscope.json",
	},
};
