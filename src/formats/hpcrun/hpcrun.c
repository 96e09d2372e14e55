/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hpcrun measurements as a format of the library: a folder with a profile, and maybe a trace, of each
 * thread and GPU stream.
 *
 * What is where in this folder, from the bytes up:
 *   layout                       numbers of the format
 *   profile, decode*, hpctrace   one .hpcrun and one .hpctrace file, read
 *   write, write_02              the same, written; names of files
 *   folder, beside, tree, contexts, read, cursor
 *                                a folder as a recording
 *   sink                         any recording as a folder
 *   findings, check, recover     what can be wrong, and what is left
 */
#include "formats/hpcrun/hpcrun_findings.h"
#include "formats/hpcrun/hpcrun_read.h"

#define LANES (SONDE_LANE_SAMPLES | SONDE_LANE_CONTEXTS | SONDE_LANE_VALUES | SONDE_LANE_BLOBS)

static const struct sonde_format_style styles[] = {
	{ "02.00l", "profiles of the version that the document describes, instead of 04.00b" },
	{ NULL, NULL },
};

const struct sonde_format sonde_format_hpcrun = {
	.info = {
		.name = "hpcrun",
		.title = "hpcrun measurements",
		.shape = "folder",
		.lanes_read = LANES,
		.lanes_written = LANES,
		.facts = SONDE_FACT_PROCESS_IDS | SONDE_FACT_STREAMS,
		.can_check = true,
		.can_recover = true,
		.findings = hpcrun_finding_list,
		.styles = styles,
	},
	.probe = hpcrun_probe,
	.open = hpcrun_open,
	.create = hpcrun_create,
	.check = hpcrun_check,
	.recover = hpcrun_recover,
};
