/* SPDX-License-Identifier: Apache-2.0 */
/* Chrome trace JSON as a format of the library. */
#include "formats/format.h"

const struct sonde_format sonde_format_chrome = {
	.info = {
		.name = "chrome",
		.title = "Chrome trace JSON",
		.shape = "file",
		.suffix = ".json",
	},
};
