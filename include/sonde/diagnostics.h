/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A list of findings: faults in an input that reading survives. Each finding has a type with a
 * stable id ("atf-index-magic"), declared once in the folder of its format.
 */
#ifndef SONDE_DIAGNOSTICS_H
#define SONDE_DIAGNOSTICS_H

#include <stdbool.h>

#include <sonde/status.h>

#ifdef __cplusplus
extern "C" {
#endif

enum sonde_severity {
	SONDE_NOTE,    /* worth knowing; the data is whole */
	SONDE_WARNING, /* something disagrees or is missing beside the data */
	SONDE_ERROR,   /* data is damaged or lost */
};

struct sonde_finding_type {
	const char *id;
	enum sonde_severity severity;
	const char *title;  /* what is wrong, in a few words */
	const char *advice; /* what the user can do */
};

struct sonde_finding {
	const struct sonde_finding_type *type;
	const char *file;
	uint64_t offset; /* or SONDE_NO_OFFSET */
	const char *expected;
	const char *found;
};

struct sonde_diagnostics;

struct sonde_diagnostics *sonde_diagnostics_new(void);
void sonde_diagnostics_free(struct sonde_diagnostics *diagnostics);

/*
 * Adds a finding. The formatted text is what was expected, a tab, what was found:
 *	sonde_diagnostics_add(d, &type, file, 4, "version 1\tversion %u", version);
 * Of one type in one file only the first SONDE_FINDINGS_KEPT are kept, all are counted, so a
 * hostile input cannot fill the memory. Where memory is short the finding is only counted.
 * Not safe from several threads: each thread fills its own list, then sonde_diagnostics_append().
 */
#define SONDE_FINDINGS_KEPT 20
void sonde_diagnostics_add(struct sonde_diagnostics *diagnostics,
			   const struct sonde_finding_type *type, const char *file, uint64_t offset,
			   const char *expected_tab_found, ...)
	__attribute__((format(printf, 5, 6)));

/* Moves everything from `source` to the end of `target`; `source` is empty afterwards. */
void sonde_diagnostics_append(struct sonde_diagnostics *target, struct sonde_diagnostics *source);

/* How many findings of at least that severity there were, kept or only counted. */
uint64_t sonde_diagnostics_count(const struct sonde_diagnostics *diagnostics,
				 enum sonde_severity at_least);

/* The kept findings, in the order of adding; NULL past the last. Borrowed. */
const struct sonde_finding *sonde_diagnostics_at(const struct sonde_diagnostics *diagnostics,
						 size_t index);

/* How many findings of that type in that file there were beyond those kept. */
uint64_t sonde_diagnostics_more(const struct sonde_diagnostics *diagnostics,
				const struct sonde_finding_type *type, const char *file);

/* "note", "warning", "error". */
const char *sonde_severity_name(enum sonde_severity severity);

#ifdef __cplusplus
}
#endif

#endif
