/* SPDX-License-Identifier: Apache-2.0 */
/* Chrome trace JSON as a format of the library. */
#include "formats/chrome/chrome.h"

#define LANES (SONDE_LANE_EVENTS | SONDE_LANE_DETAILS)

static const struct sonde_format_style styles[] = {
	{ "gzip", "packed with gzip, as viewers read it too" },
	{ NULL, NULL },
};

const struct sonde_format sonde_format_chrome = {
	.info = {
		.name = "chrome",
		.title = "Chrome trace JSON",
		.shape = "file",
		.lanes_read = LANES,
		.lanes_written = LANES,
		.kinds = SONDE_KINDS_ALL & ~SONDE_KIND(OTHER),
		.facts = SONDE_FACTS_ALL & ~(unsigned int)SONDE_FACT_REGISTERS,
		.styles = styles,
		.suffix = ".json .json.gz",
	},
	.probe = chrome_probe,
	.open = chrome_open,
	.create = chrome_create,
};
