/* SPDX-License-Identifier: Apache-2.0 */
/* The ZTS trace store as a format of the library: a folder with numbered stores in it. */
#include "formats/zts/zts_findings.h"
#include "formats/zts/zts_read.h"

#define LANES (SONDE_LANE_EVENTS | SONDE_LANE_DETAILS)

static const struct sonde_format_style styles[] = {
	{ "zlib", "traces packed with zlib instead of LZ4" },
	{ "none", "traces not packed at all" },
	{ NULL, NULL },
};

const struct sonde_format sonde_format_zts = {
	.info = {
		.name = "zts",
		.title = "ZTS trace store",
		.shape = "folder",
		.lanes_read = LANES,
		.lanes_written = LANES,
		.can_check = true,
		.can_recover = true,
		.findings = zts_finding_list,
		.styles = styles,
	},
	.probe = zts_probe,
	.open = zts_open,
	.create = zts_create,
	.check = zts_check,
	.recover = zts_recover,
};
