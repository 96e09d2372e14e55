/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything that can be found wrong with measurements: one list of stable ids. Errors are damage to
 * the data, warnings are things that disagree beside it.
 */
#ifndef SONDE_HPCRUN_FINDINGS_H
#define SONDE_HPCRUN_FINDINGS_H

#include <sonde/diagnostics.h>

#define HPCRUN_ADVICE_RECOVER "sonde recover writes a good copy with all that is left"

/* X(name, id, severity, title, advice) */
#define HPCRUN_FINDING_LIST(X)                                                                     \
	/* the folder */                                                                           \
	X(REFUSED, "hpcrun-refused", ERROR, "a profile cannot be read", "see what was found")      \
	X(NO_PROFILE, "hpcrun-no-profile", WARNING, "a trace has no profile beside it",            \
	  "its samples cannot be understood; put the .hpcrun file back")                           \
	/* a profile */                                                                            \
	X(CUT, "hpcrun-cut", ERROR, "a profile ends too early", HPCRUN_ADVICE_RECOVER)             \
	X(FOOTER, "hpcrun-footer", ERROR, "a profile's footer is missing or makes no sense",       \
	  "the sections are looked for in their order; " HPCRUN_ADVICE_RECOVER)                    \
	X(SECTION, "hpcrun-section", ERROR, "a section of a profile is damaged",                   \
	  HPCRUN_ADVICE_RECOVER)                                                                   \
	X(SECTION_END, "hpcrun-section-end", WARNING,                                              \
	  "a section of a profile ends elsewhere than the footer says", "it is read all the same") \
	X(LEFT_OVER, "hpcrun-left-over", ERROR, "bytes behind the end of a profile",               \
	  HPCRUN_ADVICE_RECOVER)                                                                   \
	X(EPOCHS, "hpcrun-epochs", ERROR, "a profile has more epochs than are read",               \
	  "the first ones are kept")                                                               \
	X(TEXT, "hpcrun-text", NOTE, "a text has a NUL inside", "it ends there")                   \
	X(IDENTITY, "hpcrun-identity", WARNING, "a profile's identity has too many levels",        \
	  "the first ones are kept")                                                               \
	X(MODULE_TWICE, "hpcrun-module-twice", WARNING, "a module's number occurs twice",          \
	  "the first one is taken")                                                                \
	/* nodes and values */                                                                     \
	X(NODE_ID, "hpcrun-node-id", ERROR, "a node's number is 0 or occurs twice",                \
	  "what refers to it finds the first one")                                                 \
	X(NODE_PARENT, "hpcrun-node-parent", ERROR, "a node's parent does not come before it",     \
	  "it is taken for one whose callers are not known")                                       \
	X(NODE_MODULE, "hpcrun-node-module", ERROR, "a node refers to a module that is not there", \
	  "it is shown by its address")                                                            \
	X(VALUE_INDEX, "hpcrun-value-index", ERROR, "the index of values is damaged",              \
	  "values that it does not lead to are lost; " HPCRUN_ADVICE_RECOVER)                      \
	X(VALUE_NODE, "hpcrun-value-node", ERROR, "values of a node that is not there",            \
	  "they are lost; " HPCRUN_ADVICE_RECOVER)                                                 \
	X(VALUE_METRIC, "hpcrun-value-metric", ERROR, "a value of a metric that is not there",     \
	  "it is lost; " HPCRUN_ADVICE_RECOVER)                                                    \
	X(VALUE_NUMBER, "hpcrun-value-number", ERROR, "a value is no number, or infinite",         \
	  "it is left out")                                                                        \
	/* a trace */                                                                              \
	X(TRACE_REFUSED, "hpcrun-trace-refused", ERROR, "a trace cannot be read",                  \
	  "see what was found; the profile is whole")                                              \
	X(TRACE_CUT, "hpcrun-trace-cut", ERROR, "a trace ends within a record",                    \
	  "the records before are whole")                                                          \
	X(TRACE_NODE, "hpcrun-trace-node", ERROR,                                                  \
	  "a sample refers to a node that is not in the profile", "it is left out")                \
	X(TRACE_ORDER, "hpcrun-trace-order", NOTE, "samples are not in the order of time",         \
	  "they are sorted when read")

enum hpcrun_finding_number {
#define X(name, id, severity, title, advice) HPCRUN_FINDING_##name,
	HPCRUN_FINDING_LIST(X)
#undef X
		HPCRUN_FINDING_COUNT
};

extern const struct sonde_finding_type hpcrun_finding_types[HPCRUN_FINDING_COUNT];
extern const struct sonde_finding_type *const hpcrun_finding_list[HPCRUN_FINDING_COUNT + 1];

/* hpcrun_found(d, CUT, file, offset, "expected\tfound", ...): nothing where d is NULL. */
#define hpcrun_found(diagnostics, name, file, offset, ...)                                         \
	do {                                                                                       \
		if (diagnostics)                                                                   \
			sonde_diagnostics_add(diagnostics,                                         \
					      &hpcrun_finding_types[HPCRUN_FINDING_##name], file,  \
					      offset, __VA_ARGS__);                                \
	} while (0)

#endif
