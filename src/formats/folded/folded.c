/* SPDX-License-Identifier: Apache-2.0 */
/* Folded stacks as a format of the library. */
#include "formats/folded/folded.h"

static const struct sonde_format_style styles[] = {
	{ "calls", "how often each stack was called, in place of the time in it" },
	{ "metric=", "another metric by its name, like metric=cycles" },
	{ "threads", "the thread is the first frame of each stack" },
	{ NULL, NULL },
};

const struct sonde_format sonde_format_folded = {
	.info = {
		.name = "folded",
		.title = "folded stacks",
		.shape = "file",
		.lanes_read = SONDE_LANE_CONTEXTS | SONDE_LANE_VALUES,
		.lanes_written = SONDE_LANE_CONTEXTS | SONDE_LANE_VALUES,
		.styles = styles,
		.suffix = ".folded",
	},
	.probe = folded_probe,
	.open = folded_open,
	.create = folded_create,
};
