/* SPDX-License-Identifier: Apache-2.0 */
/* ATF v2 as a format of the library: the one struct that the registry knows. */
#include "formats/atf/atf_check.h"
#include "formats/atf/atf_findings.h"
#include "formats/atf/atf_session.h"
#include "formats/atf/atf_write.h"

const struct sonde_format sonde_format_atf = {
	.info = {
		.name = "atf",
		.title = "ADA Trace Format v2",
		.shape = "folder",
		.suffix = ".atf",
		.lanes_read = SONDE_LANE_EVENTS | SONDE_LANE_DETAILS | SONDE_LANE_BLOBS,
		.lanes_written = SONDE_LANE_EVENTS | SONDE_LANE_DETAILS | SONDE_LANE_BLOBS,
		.kinds = SONDE_KINDS_ALL,
		.facts = SONDE_FACTS_ALL,
		.can_check = true,
		.can_recover = true,
		.findings = atf_finding_list,
	},
	.probe = atf_probe,
	.open = atf_open,
	.create = atf_create,
	.check = atf_check,
	.recover = atf_recover,
};
