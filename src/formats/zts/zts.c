/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ZTS trace store as a format of the library: a folder with numbered stores ("parts") in it.
 *
 * What is where in this folder, from the bytes up:
 *   layout                     numbers of the format, by file
 *   chunks, tree, value        traces.dat: its chunks, the call trees in them, values of attributes
 *   wal, fmi, texts            the text index: its two kinds of files, and both as one
 *   slots, props (meta.h)      qmeta.idx and store.props
 *   index, pairs, rebuild      what the metadata of a trace is, and how it is made anew
 *   part, base (store.h)       all of it together, for reading
 *   put_value, writer, archive a part that is written, and packed when it is finished
 *   read, scan, define, lanes, strands, cursor, detail, json
 *                              a store as a recording
 *   builder, write             any recording as a store
 *   findings, check, recover   what can be wrong, and what is left
 * src/store is made of these parts: ingest, search, rotation.
 */
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
		.kinds = SONDE_KINDS_CALLS | SONDE_KIND(EXCEPTION),
		/* names as Java has them: others are counted by the writer */
		.facts = SONDE_FACT_RAW_NAMES | SONDE_FACT_ANY_ARGUMENTS,
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
