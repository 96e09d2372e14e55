/* SPDX-License-Identifier: Apache-2.0 */
/* What derive.c and derive_yaml.c share: a formula over the metrics of a tree. */
#ifndef SONDE_ANALYSE_DERIVE_PRIVATE_H
#define SONDE_ANALYSE_DERIVE_PRIVATE_H

#include "analyse/derive.h"
#include "model/formula.h"

/* References are twice the number of a metric, plus one for its total. */
struct cct_formula {
	struct sonde_expression self, total; /* without nodes: nothing */
	bool is_by_context;
};

#define CCT_REFERENCE(metric, is_total) ((metric)*2 + (is_total))

/*
 * Makes a metric of a formula, and works it out everywhere. The formula's expressions are moved out of
 * *formula whether it fails or not.
 */
enum sonde_status cct_derive_metric(struct cct *cct, const char *name, const char *description,
				    struct cct_formula *formula, struct sonde_error *err);

/*
 * The metrics that a YAML file describes and that can be worked out of those of the tree; `wanted`
 * (may be NULL) leaves out all others. *count is increased by how many were added, *other by those that
 * need what is not there.
 */
enum sonde_status cct_derive_yaml(struct cct *cct, const char *path, const char *wanted,
				  uint32_t *count, uint32_t *other, struct sonde_error *err);

#endif
