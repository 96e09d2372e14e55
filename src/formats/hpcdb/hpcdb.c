/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The HPCToolkit database, version 4, as a format of the library: a folder with meta.db, profile.db,
 * cct.db and trace.db in it.
 *
 * What is where in this folder:
 *   layout, file               numbers of the format; one mapped .db file
 *   meta, tree, ids            meta.db: its tables, its tree of contexts, ids of contexts
 *   profile, cct, trace        the other three
 *   formula, yaml, taxonomy    formulas over metrics, metrics/default.yaml, and what follows from both
 *   read, define, values, context_values, samples
 *                              a database as a recording
 *   write and what it is made of, sink
 *                              a database that is written, and as the target of a pipeline
 *   findings, check, recover   what can be wrong, and what is left
 */
#include "formats/hpcdb/hpcdb_findings.h"
#include "formats/hpcdb/hpcdb_read.h"
#include "formats/hpcdb/hpcdb_sink.h"

#define LANES (SONDE_LANE_CONTEXTS | SONDE_LANE_VALUES | SONDE_LANE_SAMPLES | SONDE_LANE_BLOBS)

const struct sonde_format sonde_format_hpcdb = {
	.info = {
		.name = "hpcdb",
		.title = "HPCToolkit database v4",
		.shape = "folder",
		.lanes_read = LANES,
		.lanes_written = HPCDB_LANES_WRITTEN,
		.facts = SONDE_FACT_STREAMS | SONDE_FACT_MODULES | SONDE_FACT_SOURCE_PLACES,
		.can_check = true,
		.can_recover = true,
		.findings = hpcdb_finding_list,
		.styles = hpcdb_styles,
	},
	.probe = hpcdb_probe,
	.open = hpcdb_open,
	.create = hpcdb_create,
	.check = hpcdb_check,
	.recover = hpcdb_recover,
};
