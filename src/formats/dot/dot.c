/* SPDX-License-Identifier: Apache-2.0 */
/* Graphviz graph of calls as a format of the library. */
#include "formats/dot/dot.h"

static const struct sonde_format_style styles[] = {
	{ "all", "also what is too small to be seen" },
	{ "calls", "coloured by how often functions were called, and not by time" },
	{ "metric=", "by another metric, like metric=cycles" },
	{ NULL, NULL },
};

const struct sonde_format sonde_format_dot = {
	.info = {
		.name = "dot",
		.title = "Graphviz graph of calls",
		.shape = "file",
		.lanes_written = SONDE_LANE_CONTEXTS | SONDE_LANE_VALUES,
		.facts = SONDE_FACT_MODULES,
		.styles = styles,
		.suffix = ".dot .gv",
	},
	.create = dot_create,
};
