/* SPDX-License-Identifier: Apache-2.0 */
/* Callgrind profile as a format of the library. */
#include "formats/format.h"

const struct sonde_format sonde_format_callgrind = {
	.info = {
		.name = "callgrind",
		.title = "Callgrind profile",
		.shape = "file",
		.suffix = ".callgrind",
	},
};
