/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The finding types of a format as data, for its <format>_findings.c alone, which says before: FINDINGS(X)
 * is the list, FINDING(name) the number of a finding, FINDING_TYPES and FINDING_LIST what the arrays are
 * called. There is no guard: it defines them where it is included. Numbers go by the order of the list.
 */
#define FINDING_TYPE(name, finding_id, finding_severity, finding_title, finding_advice)            \
	{ .id = (finding_id),                                                                      \
	  .severity = SONDE_##finding_severity,                                                    \
	  .title = (finding_title),                                                                \
	  .advice = (finding_advice) },
#define FINDING_PLACE(name, id, severity, title, advice) &FINDING_TYPES[FINDING(name)],

const struct sonde_finding_type FINDING_TYPES[FINDING(COUNT)] = { FINDINGS(FINDING_TYPE) };

/* Ends in NULL. */
const struct sonde_finding_type *const FINDING_LIST[FINDING(COUNT) + 1] = { FINDINGS(
	FINDING_PLACE) };
