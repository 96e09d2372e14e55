/* SPDX-License-Identifier: Apache-2.0 */
/* The finding types of zts_findings.h as data. */
#include "formats/zts/zts_findings.h"

const struct sonde_finding_type zts_finding_types[ZTS_FINDING_COUNT] = {
#define X(name, finding_id, finding_severity, finding_title, finding_advice)                       \
	[ZTS_FINDING_##name] = {                                                                   \
		.id = (finding_id),                                                                \
		.severity = SONDE_##finding_severity,                                              \
		.title = (finding_title),                                                          \
		.advice = (finding_advice),                                                        \
	},
	ZTS_FINDING_LIST(X)
#undef X
};

const struct sonde_finding_type *const zts_finding_list[ZTS_FINDING_COUNT + 1] = {
#define X(name, id, severity, title, advice)                                                       \
	[ZTS_FINDING_##name] = &zts_finding_types[ZTS_FINDING_##name],
	ZTS_FINDING_LIST(X)
#undef X
};
