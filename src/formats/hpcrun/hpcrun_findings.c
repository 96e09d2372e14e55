/* SPDX-License-Identifier: Apache-2.0 */
/* The finding types of hpcrun_findings.h as data. */
#include "formats/hpcrun/hpcrun_findings.h"

const struct sonde_finding_type hpcrun_finding_types[HPCRUN_FINDING_COUNT] = {
#define X(name, finding_id, finding_severity, finding_title, finding_advice)                       \
	[HPCRUN_FINDING_##name] = {                                                                \
		.id = (finding_id),                                                                \
		.severity = SONDE_##finding_severity,                                              \
		.title = (finding_title),                                                          \
		.advice = (finding_advice),                                                        \
	},
	HPCRUN_FINDING_LIST(X)
#undef X
};

const struct sonde_finding_type *const hpcrun_finding_list[HPCRUN_FINDING_COUNT + 1] = {
#define X(name, id, severity, title, advice)                                                       \
	[HPCRUN_FINDING_##name] = &hpcrun_finding_types[HPCRUN_FINDING_##name],
	HPCRUN_FINDING_LIST(X)
#undef X
};
