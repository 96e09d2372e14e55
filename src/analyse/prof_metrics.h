/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metrics of many profiles as one list. A table is the metrics of one profile as bytes; thousands of
 * profiles have one table between them. Metrics of equal name are one.
 */
#ifndef SONDE_ANALYSE_PROF_METRICS_H
#define SONDE_ANALYSE_PROF_METRICS_H

#include "analyse/prof_union.h"
#include "formats/hpcdb/hpcdb_write.h"
#include "formats/hpcrun/hpcrun_profile.h"

/* The table of a profile, for PROF_TABLES. */
void prof_put_table(struct sonde_buffer *bytes, const struct hpcrun_profile *profile);
/* That of every recording with calls: CALLS, then time. */
void prof_put_recording_table(struct sonde_buffer *bytes);

/* Numbers of the list for the metrics of one table. */
struct prof_metric_map {
	uint32_t *numbers; /* SONDE_NONE: its values are dropped */
	uint32_t count;
};

/* Zeroed means empty. */
struct prof_metrics {
	SONDE_VEC(struct hpcdb_metric) items; /* texts lie in the union, formulas in `texts` */
	uint32_t derived;		      /* how many have a formula */
	struct prof_metric_map *maps;	      /* one for each of PROF_TABLES */
	size_t map_count;
	struct sonde_arena texts;
	SONDE_VEC(const char *) notes; /* what disagrees between profiles */
};

enum sonde_status prof_metrics_make(struct prof_metrics *metrics, const struct prof_union *all,
				    struct sonde_error *err);
void prof_metrics_release(struct prof_metrics *metrics);

#endif
