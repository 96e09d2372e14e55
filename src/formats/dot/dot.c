/* SPDX-License-Identifier: Apache-2.0 */
/* Graphviz graph of calls as a format of the library. */
#include "formats/dot/dot.h"
#include "formats/exchange.h"

static const struct sonde_format_style styles[] = {
	{ "all", "also what is too small to be seen" },
	{ "calls", "coloured by how often functions were called, and not by time" },
	{ "metric=", "by another metric, like metric=cycles" },
	{ NULL, NULL },
};

static int probe(const char *path)
{
	return exchange_begins_with(path, "digraph calls {\n");
}

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
	.probe = probe,
	.create = dot_create,
};
