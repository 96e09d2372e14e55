/* SPDX-License-Identifier: Apache-2.0 */
/* See hpcdb_write_plan.c. */
#ifndef SONDE_HPCDB_WRITE_PLAN_H
#define SONDE_HPCDB_WRITE_PLAN_H

#include "formats/hpcdb/hpcdb_write_private.h"

/* Numbers the metrics. Release it, also after a failure. */
enum sonde_status hpcdb_plan_metrics(struct hpcdb_plan *plan, const struct hpcdb_world *world,
				     unsigned int statistics, struct sonde_error *err);
void hpcdb_plan_release(struct hpcdb_plan *plan);

/* Fills in `nodes` and `listed`; SONDE_ARGUMENT where the contexts are no tree. */
enum sonde_status hpcdb_plan_tree(struct hpcdb_job *job, struct sonde_error *err);

#endif
