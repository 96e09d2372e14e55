/* SPDX-License-Identifier: Apache-2.0 */
/* The finding types of hpcdb_findings.h as data. */
#include "formats/hpcdb/hpcdb_findings.h"

const struct sonde_finding_type hpcdb_finding_types[HPCDB_FINDING_COUNT] = {
#define X(name, finding_id, finding_severity, finding_title, finding_advice)                       \
	[HPCDB_FINDING_##name] = {                                                                 \
		.id = (finding_id),                                                                \
		.severity = SONDE_##finding_severity,                                              \
		.title = (finding_title),                                                          \
		.advice = (finding_advice),                                                        \
	},
	HPCDB_FINDING_LIST(X)
#undef X
};

const struct sonde_finding_type *const hpcdb_finding_list[HPCDB_FINDING_COUNT + 1] = {
#define X(name, id, severity, title, advice)                                                       \
	[HPCDB_FINDING_##name] = &hpcdb_finding_types[HPCDB_FINDING_##name],
	HPCDB_FINDING_LIST(X)
#undef X
};
