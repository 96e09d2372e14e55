/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metrics that are worked out of others by formulas: of --derive, of YAML files, of a recording itself.
 * Their values do not add up: wherever contexts are put together, what was measured is, and then the
 * formulas are applied to the sums.
 */
#ifndef SONDE_ANALYSE_DERIVE_H
#define SONDE_ANALYSE_DERIVE_H

#include "analyse/cct.h"

/* cct_free() does it. */
void cct_formula_free(struct cct_formula *formula);

/* Whether a name is meant by `wanted`: whatever the case, with or without its brackets. */
bool cct_metric_name_matches(const char *name, const char *wanted);

/* Its values are known by context, from statistics of the recording: there is no sum of several. */
bool cct_metric_is_by_context(const struct cct_metric *metric);

/*
 * `self` and `total` have a number for each metric of the tree, sums over whatever contexts: fills in those
 * of derived metrics; NAN of those that are known by context alone.
 */
void cct_derive_sums(const struct cct *cct, double *self, double *total);

/*
 * The derived metrics of a part for the whole that it was merged into, where that has none of the name.
 * `metrics` has the number in the whole of each of the part's metrics; those of derived ones are filled in.
 */
enum sonde_status cct_derive_again(struct cct *whole, const struct cct *part, uint32_t *metrics,
				   struct sonde_error *err);

/*
 * The recording's own formulas ("GHZ", "CPUTIME (sec):Mean") as metrics of its tree: those that are called
 * `name` (whatever the case, brackets may be left out: "cputime:mean"), NULL for all. Formulas over sums are
 * applied to the tree; those over other statistics are looked up context by context, and only where the tree
 * is of the whole recording. Adds none where there is none.
 */
enum sonde_status cct_add_recording_formulas(struct cct *cct, struct sonde_recording *recording,
					     const char *name, bool is_whole,
					     struct sonde_error *err);

#endif
