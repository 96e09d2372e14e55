/* SPDX-License-Identifier: Apache-2.0 */
/* comma-separated values as a format of the library. */
#include "formats/format.h"

const struct sonde_format sonde_format_csv = {
	.info = {
		.name = "csv",
		.title = "comma-separated values",
		.shape = "file",
		.suffix = ".csv",
	},
};
