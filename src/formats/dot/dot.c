/* SPDX-License-Identifier: Apache-2.0 */
/* Graphviz graph of calls as a format of the library. */
#include "formats/format.h"

const struct sonde_format sonde_format_dot = {
	.info = {
		.name = "dot",
		.title = "Graphviz graph of calls",
		.shape = "file",
		.suffix = ".dot .gv",
	},
};
