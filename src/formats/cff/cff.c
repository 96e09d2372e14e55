/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wtf-trace family as formats of the library: the binary form (and its legacy version, which is
 * read only), the JSON form, and wtf-calls, which is read only.
 */
#include "formats/cff/cff_findings.h"
#include "formats/cff/cff_read.h"

#define LANES (SONDE_LANE_EVENTS | SONDE_LANE_DETAILS | SONDE_LANE_BLOBS)

const struct sonde_format sonde_format_cff = {
	.info = {
		.name = "cff",
		.title = "wtf-trace (Chunked File Format), binary",
		.shape = "file",
		.lanes_read = LANES,
		.can_check = true,
		.can_recover = true,
		.findings = cff_finding_list,
	},
	.probe = cff_probe,
	.open = cff_open,
	.check = cff_check,
	.recover = cff_recover,
};

const struct sonde_format sonde_format_cff_json = {
	.info = {
		.name = "cff-json",
		.title = "wtf-trace (Chunked File Format), JSON",
		.shape = "file",
		.lanes_read = LANES,
		.can_check = true,
		.can_recover = true,
		.findings = cff_finding_list,
	},
	.probe = cff_json_probe,
	.open = cff_open,
	.check = cff_check,
	.recover = cff_recover,
};

const struct sonde_format sonde_format_wtf_calls = {
	.info = {
		.name = "wtf-calls",
		.title = "wtf-calls",
		.shape = "file",
		.lanes_read = LANES,
		.can_check = true,
		.can_recover = true,
		.findings = cff_finding_list,
	},
	.probe = cff_calls_probe,
	.open = cff_open,
	.check = cff_check,
	.recover = cff_recover,
};
