/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of a comparison have in common: rows on their way, and what compare_test.c works out of them. */
#ifndef SONDE_ANALYSE_COMPARE_PRIVATE_H
#define SONDE_ANALYSE_COMPARE_PRIVATE_H

#include "analyse/compare.h"

struct compare_table {
	SONDE_VEC(struct compare_row) rows;
	SONDE_VEC(double) values;
};

/*
 * All trees as one, in which functions of both sides are the same as far as that can be told: see compare_match.c.
 * As cct_merge().
 */
enum sonde_status compare_merge(const struct cct *const *trees, size_t count, size_t before_count,
				struct cct **whole, uint32_t **maps, struct sonde_error *err);

/* How fast each run was, by rows of functions. False where memory failed. */
bool compare_measure_speed(struct comparison *comparison, const struct compare_table *functions,
			   const struct compare_options *options);

/* Means and tests of all rows and of the whole. False where memory failed. */
bool compare_test(struct comparison *comparison, const struct compare_options *options);

#endif
