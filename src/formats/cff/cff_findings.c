/* SPDX-License-Identifier: Apache-2.0 */
/* The finding types of cff_findings.h as data. */
#include "formats/cff/cff_findings.h"

const struct sonde_finding_type cff_finding_types[CFF_FINDING_COUNT] = {
#define X(name, finding_id, finding_severity, finding_title, finding_advice)                       \
	[CFF_FINDING_##name] = {                                                                   \
		.id = (finding_id),                                                                \
		.severity = SONDE_##finding_severity,                                              \
		.title = (finding_title),                                                          \
		.advice = (finding_advice),                                                        \
	},
	CFF_FINDING_LIST(X)
#undef X
};

const struct sonde_finding_type *const cff_finding_list[CFF_FINDING_COUNT + 1] = {
#define X(name, id, severity, title, advice)                                                       \
	[CFF_FINDING_##name] = &cff_finding_types[CFF_FINDING_##name],
	CFF_FINDING_LIST(X)
#undef X
};
