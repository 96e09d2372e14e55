/* SPDX-License-Identifier: Apache-2.0 */
/* folded stacks as a format of the library. */
#include "formats/format.h"

const struct sonde_format sonde_format_folded = {
	.info = {
		.name = "folded",
		.title = "folded stacks",
		.shape = "file",
		.suffix = ".folded",
	},
};
