/* SPDX-License-Identifier: Apache-2.0 */
/* Processed profiles of the Firefox Profiler as a format of the library: written only. */
#include "formats/firefox/firefox.h"
#include "formats/exchange.h"

static const struct sonde_format_style styles[] = {
	{ "gzip", "packed with gzip, which the Firefox Profiler opens as it is" },
	{ 0 },
};

static int probe(const char *path)
{
	return exchange_begins_with(path, "{\"meta\":{\"interval\":");
}

const struct sonde_format sonde_format_firefox = {
	.info = {
		.name = "firefox",
		.title = "Firefox Profiler, processed profile",
		.shape = "file",
		.lanes_written = SONDE_LANE_EVENTS | SONDE_LANE_SAMPLES | SONDE_LANE_CONTEXTS |
				 SONDE_LANE_VALUES,
		.kinds = SONDE_KINDS_ALL & ~SONDE_KIND(OTHER),
		.facts = SONDE_FACT_PROCESS_IDS | SONDE_FACT_TRACK_NAMES | SONDE_FACT_TRACK_IDS |
			 SONDE_FACT_MODULES | SONDE_FACT_SOURCE_PLACES,
		.styles = styles,
		.suffix = ".firefox.json .firefox.json.gz",
	},
	.probe = probe,
	.create = firefox_create,
};
