/* SPDX-License-Identifier: Apache-2.0 */
/* Callgrind profile as a format of the library. */
#include "formats/callgrind/callgrind.h"

const struct sonde_format sonde_format_callgrind = {
	.info = {
		.name = "callgrind",
		.title = "Callgrind profile",
		.shape = "file",
		.lanes_written = SONDE_LANE_CONTEXTS | SONDE_LANE_VALUES,
		.facts = SONDE_FACT_MODULES | SONDE_FACT_SOURCE_PLACES,
		.suffix = ".callgrind",
	},
	.create = callgrind_create,
};
