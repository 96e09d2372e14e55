/* SPDX-License-Identifier: Apache-2.0 */
/* The finding types of atf_findings.h as data. */
#include "formats/atf/atf_findings.h"

const struct sonde_finding_type atf_finding_types[ATF_FINDING_COUNT] = {
#define X(name, finding_id, finding_severity, finding_title, finding_advice)                       \
	[ATF_FINDING_##name] = {                                                                   \
		.id = (finding_id),                                                                \
		.severity = SONDE_##finding_severity,                                              \
		.title = (finding_title),                                                          \
		.advice = (finding_advice),                                                        \
	},
	ATF_FINDING_LIST(X)
#undef X
};

const struct sonde_finding_type *const atf_finding_list[ATF_FINDING_COUNT + 1] = {
#define X(name, id, severity, title, advice)                                                       \
	[ATF_FINDING_##name] = &atf_finding_types[ATF_FINDING_##name],
	ATF_FINDING_LIST(X)
#undef X
};
