/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wtf-trace family as formats of the library: the binary form (and its legacy version, which is
 * read only), the JSON form, and wtf-calls, which is read only.
 */
#include "formats/cff/cff_findings.h"
#include "formats/cff/cff_read.h"

#define FACTS (SONDE_FACTS_ALL & ~(unsigned int)(SONDE_FACT_REGISTERS | SONDE_FACT_ANY_ARGUMENTS))
#define LANES (SONDE_LANE_EVENTS | SONDE_LANE_DETAILS | SONDE_LANE_BLOBS)

static const struct sonde_format_style json_styles[] = {
	{ "partial", "a fragment a line, to be read piece by piece, instead of one document" },
	{ "spec", "names as the format's document spells them instead of the existing program" },
	{ "events", "events as lists with their arguments, to be edited, instead of base64" },
	{ NULL, NULL },
};

const struct sonde_format sonde_format_cff = {
	.info = {
		.name = "cff",
		.title = "wtf-trace (Chunked File Format), binary",
		.shape = "file",
		.suffix = ".wtf-trace",
		.lanes_read = LANES,
		.lanes_written = LANES,
		.kinds = SONDE_KINDS_ALL & ~SONDE_KIND(OTHER),
		.facts = FACTS,
		.can_check = true,
		.can_recover = true,
		.findings = cff_finding_list,
	},
	.probe = cff_probe,
	.open = cff_open,
	.create = cff_create,
	.check = cff_check,
	.recover = cff_recover,
};

/* Findings are listed once, with the binary form. */
const struct sonde_format sonde_format_cff_json = {
	.info = {
		.name = "cff-json",
		.title = "wtf-trace (Chunked File Format), JSON",
		.shape = "file",
		.suffix = ".wtf-json",
		.lanes_read = LANES,
		.lanes_written = LANES,
		.kinds = SONDE_KINDS_ALL & ~SONDE_KIND(OTHER),
		.facts = FACTS,
		.can_check = true,
		.can_recover = true,
		.styles = json_styles,
	},
	.probe = cff_json_probe,
	.open = cff_open,
	.create = cff_json_create,
	.check = cff_check,
	.recover = cff_recover,
};

const struct sonde_format sonde_format_wtf_calls = {
	.info = {
		.name = "wtf-calls",
		.title = "wtf-calls",
		.shape = "file",
		.lanes_read = LANES,
		.kinds = SONDE_KINDS_CALLS,
		.can_check = true,
		.can_recover = true,
	},
	.probe = cff_calls_probe,
	.open = cff_open,
	.check = cff_check,
	.recover = cff_recover,
};
