/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything that can be found wrong with a database: one list of stable ids. Errors are damage to the
 * data; what can be made anew from other files is a warning; what the format allows is a note.
 */
#ifndef SONDE_HPCDB_FINDINGS_H
#define SONDE_HPCDB_FINDINGS_H

#include <sonde/diagnostics.h>

#define HPCDB_ADVICE_RECOVER "sonde recover writes a good copy with all that is left"

/* X(name, id, severity, title, advice) */
#define HPCDB_FINDING_LIST(X)                                                                      \
	/* files */                                                                                \
	X(REFUSED, "hpcdb-refused", ERROR, "a file of the database cannot be read",                \
	  "see what was found; " HPCDB_ADVICE_RECOVER)                                             \
	X(CCT_MISSING, "hpcdb-cct-missing", WARNING, "there is no cct.db",                         \
	  "values are taken from profile.db; sonde recover makes it anew")                         \
	X(TRACE_MISSING, "hpcdb-trace-missing", NOTE, "there is no trace.db",                      \
	  "nothing was traced, or it was not kept")                                                \
	X(YAML_MISSING, "hpcdb-yaml-missing", WARNING, "there is no metrics/default.yaml",         \
	  "other programs need it to show metrics")                                                \
	X(SOURCE_MISSING, "hpcdb-source-missing", WARNING,                                         \
	  "a source file that should be in the database is not", "it is not shown")                \
	X(MINOR, "hpcdb-minor", NOTE, "a file is of a newer minor version",                        \
	  "it is read; what that version added is not seen")                                       \
	X(FOOTER, "hpcdb-footer", ERROR, "a file does not end as it should: it is cut",            \
	  HPCDB_ADVICE_RECOVER)                                                                    \
	X(SECTION, "hpcdb-section", ERROR, "a section is not within its file",                     \
	  HPCDB_ADVICE_RECOVER)                                                                    \
	X(OVERLAP, "hpcdb-overlap", ERROR, "parts of a file lie over each other",                  \
	  HPCDB_ADVICE_RECOVER)                                                                    \
	X(ALIGNMENT, "hpcdb-alignment", WARNING, "something does not lie where it may",            \
	  "sonde reads it; other programs may not")                                                \
	/* meta.db */                                                                              \
	X(TABLE, "hpcdb-table", ERROR, "a table is not within its section", HPCDB_ADVICE_RECOVER)  \
	X(STRING, "hpcdb-string", ERROR, "a string does not end within its section",               \
	  "it is taken as empty")                                                                  \
	X(UTF8, "hpcdb-utf8", WARNING, "a string is not UTF-8", "it is shown as far as it is")     \
	X(POINTER, "hpcdb-pointer", ERROR, "a pointer leads to no record",                         \
	  "what it is for is taken as unknown")                                                    \
	X(UNKNOWN, "hpcdb-unknown", NOTE, "a kind of something is not known here",                 \
	  "the nearest known one is taken")                                                        \
	X(ANONYMOUS, "hpcdb-anonymous", WARNING,                                                   \
	  "a function has neither a name, nor a module, nor a file", "it is shown as unknown")     \
	X(PLACELESS, "hpcdb-placeless", WARNING,                                                   \
	  "a loop, a line or an instruction does not say where it is", "it is shown as unknown")   \
	X(TREE, "hpcdb-tree", ERROR, "the tree of contexts is damaged",                            \
	  "contexts behind the damage are lost")                                                   \
	X(CONTEXT_ID, "hpcdb-context-id", ERROR, "the id of a context is 0 or that of another",    \
	  "values belong to the first of them")                                                    \
	X(METRIC_ID, "hpcdb-metric-id", ERROR, "two metrics have the same id",                     \
	  "values belong to the first of them")                                                    \
	/* profile.db and cct.db */                                                                \
	X(PROFILE, "hpcdb-profile", ERROR, "profile.db does not list what it should",              \
	  HPCDB_ADVICE_RECOVER)                                                                    \
	X(IDENTITY, "hpcdb-identity", WARNING, "who a profile is of cannot be read",               \
	  "it is numbered")                                                                        \
	X(IDENTITY_KIND, "hpcdb-identity-kind", NOTE,                                              \
	  "meta.db has no name for a kind of identity", "it is shown by its number")               \
	X(IDENTITY_LOGICAL, "hpcdb-identity-logical", WARNING,                                     \
	  "what is logical has a physical id of its own", "the logical one is shown")              \
	X(PLANE, "hpcdb-plane", ERROR, "values are not within the file", HPCDB_ADVICE_RECOVER)     \
	X(PLANE_ORDER, "hpcdb-plane-order", ERROR, "values or their index are not in order",       \
	  HPCDB_ADVICE_RECOVER)                                                                    \
	X(METRIC, "hpcdb-metric", ERROR, "a value is of a metric that meta.db does not define",    \
	  "it is not shown")                                                                       \
	X(ZERO, "hpcdb-zero", WARNING, "a value is 0 or not a number",                             \
	  "0 should be absent; it is shown as it is")                                              \
	X(UNLISTED, "hpcdb-unlisted", NOTE,                                                        \
	  "there are values of contexts that meta.db does not list",                               \
	  "they are instructions within listed ones, which have their sums")                       \
	X(CCT_CONTEXTS, "hpcdb-cct-contexts", ERROR,                                               \
	  "cct.db ends before a context that meta.db lists", "sonde recover makes cct.db anew")    \
	X(TRANSPOSED, "hpcdb-transposed", ERROR, "profile.db and cct.db do not say the same",      \
	  "sonde recover makes cct.db anew")                                                       \
	X(PROPAGATION, "hpcdb-propagation", ERROR,                                                 \
	  "a value is not the sum of what it should be made of", "one of the values is damaged")   \
	X(LEX_AWARE, "hpcdb-lex-aware", NOTE,                                                      \
	  "loops have the values of loops within them in scope lex_aware",                         \
	  "the existing program writes the profiles of threads so")                                \
	X(STATISTICS, "hpcdb-statistics", ERROR,                                                   \
	  "a statistic is not what follows from the profiles", "sonde recover makes them anew")    \
	X(SQUARES, "hpcdb-squares", WARNING, "a sum of squares is not one",                        \
	  "an existing program folds the power wrongly; deviations made of it are wrong")          \
	/* trace.db */                                                                             \
	X(TRACE_LINE, "hpcdb-trace-line", ERROR, "samples are not within the file",                \
	  HPCDB_ADVICE_RECOVER)                                                                    \
	X(TRACE_PROFILE, "hpcdb-trace-profile", ERROR,                                             \
	  "samples are of a profile that there is not, or that has others", "they are not shown")  \
	X(TRACE_ORDER, "hpcdb-trace-order", ERROR, "samples are not in the order of time",         \
	  "they are shown as they are")                                                            \
	X(TRACE_TIME, "hpcdb-trace-time", WARNING,                                                 \
	  "a sample is outside of the times that the file states", "it is shown as it is")         \
	X(TRACE_IDLE, "hpcdb-trace-idle", WARNING, "two samples in a row say that nothing ran",    \
	  "the second one is of no use")                                                           \
	X(TRACE_CONTEXT, "hpcdb-trace-context", ERROR,                                             \
	  "a sample is of a context that meta.db does not list", "it is shown as if nothing ran")  \
	/* default.yaml */                                                                         \
	X(YAML, "hpcdb-yaml", WARNING, "metrics/default.yaml cannot be understood",                \
	  "other programs may not show metrics")                                                   \
	X(YAML_INPUT, "hpcdb-yaml-input", WARNING,                                                 \
	  "metrics/default.yaml needs a value that meta.db does not define",                       \
	  "what is made of it is absent")

enum hpcdb_finding_number {
#define X(name, id, severity, title, advice) HPCDB_FINDING_##name,
	HPCDB_FINDING_LIST(X)
#undef X
		HPCDB_FINDING_COUNT
};

extern const struct sonde_finding_type hpcdb_finding_types[HPCDB_FINDING_COUNT];
extern const struct sonde_finding_type *const hpcdb_finding_list[HPCDB_FINDING_COUNT + 1];

/* hpcdb_found(d, TREE, file, offset, "expected\tfound", ...) */
#define hpcdb_found(diagnostics, name, file, offset, ...)                                          \
	sonde_diagnostics_add(diagnostics, &hpcdb_finding_types[HPCDB_FINDING_##name], file,       \
			      offset, __VA_ARGS__)

#endif
