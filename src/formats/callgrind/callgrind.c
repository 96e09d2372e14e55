/* SPDX-License-Identifier: Apache-2.0 */
/* Callgrind profile as a format of the library. */
#include "formats/callgrind/callgrind.h"
#include "formats/exchange.h"

static int probe(const char *path)
{
	return exchange_begins_with(path, "# callgrind format\nversion: 1\ncreator: sonde ");
}

const struct sonde_format sonde_format_callgrind = {
	.info = {
		.name = "callgrind",
		.title = "Callgrind profile",
		.shape = "file",
		.lanes_written = SONDE_LANE_CONTEXTS | SONDE_LANE_VALUES,
		.facts = SONDE_FACT_MODULES | SONDE_FACT_SOURCE_PLACES,
		.suffix = ".callgrind",
	},
	.probe = probe,
	.create = callgrind_create,
};
