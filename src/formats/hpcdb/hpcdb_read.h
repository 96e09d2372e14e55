/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A database as a recording. Profiles other than summaries are tracks; what is defined is read when it is
 * opened, the tree of contexts when it is first asked for, values and samples when a cursor is.
 *
 * Scope "point" is worked out: a database has values of contexts that it does not list, so what was
 * measured in a listed context itself is its value in the base scope without those of its children that
 * are part of it. The base scope is the transitive one ("function"), or else "execution".
 */
#ifndef SONDE_HPCDB_READ_H
#define SONDE_HPCDB_READ_H

#include <pthread.h>

#include "formats/format.h"
#include "formats/hpcdb/hpcdb_cct.h"
#include "formats/hpcdb/hpcdb_ids.h"
#include "formats/hpcdb/hpcdb_taxonomy.h"
#include "formats/hpcdb/hpcdb_trace.h"

/* What a metric id of the files is to the model. */
struct hpcdb_use {
	uint32_t metric;    /* of the model; SONDE_NONE: an id that nothing defines */
	uint32_t of_metric; /* number in meta.db */
	bool is_base;	    /* what "point" is worked out from */
	bool is_point;	    /* stored, and not given where it can be worked out */
};

/* A metric of the model: where its values are. */
struct hpcdb_model_metric {
	uint16_t id; /* propMetricId or statMetricId; of the base where is_point */
	bool is_statistic;
	bool is_point; /* worked out */
	uint32_t of_metric;
};

/* The base of a metric. */
struct hpcdb_base {
	bool exists;
	uint16_t id;
	uint16_t bits;	/* of `propagation`; 0: all children are part of it */
	uint32_t scope; /* number in meta.db */
	uint32_t point; /* metric of the model */
	/* its sum over the tracks, of which that of "point" is worked out likewise */
	bool has_sum;
	uint16_t sum_id;
	uint32_t sum_point;
};

/* A source file that was copied into the database. */
struct hpcdb_blob {
	uint32_t file; /* number in meta.db */
	bool is_open;
	struct sonde_mapped_file mapped;
};

/* What metrics/default.yaml works out of the statistics: one for each variant that is no plain sum. */
struct hpcdb_shown_formula {
	const char *text; /* see struct sonde_formula */
	const char *name, *description;
	uint32_t metric, variant; /* numbers in the taxonomy */
};

struct hpcdb_formulas {
	bool was_read; /* even where nothing came of it */
	struct hpcdb_taxonomy taxonomy;
	struct hpcdb_taxonomy_binding binding;
	SONDE_VEC(struct hpcdb_shown_formula) items;
};

struct hpcdb_recording {
	struct hpcdb_meta meta;
	struct hpcdb_profile profile;
	struct hpcdb_cct cct;	  /* file.data NULL: none */
	struct hpcdb_trace trace; /* likewise */
	struct sonde_definitions *definitions;

	uint32_t *track_profiles; /* profile of each track */
	uint32_t *profile_tracks; /* SONDE_NONE: a summary */
	uint32_t *track_lines;	  /* in trace.db; SONDE_NONE: not traced */
	uint32_t track_count;
	uint32_t summary; /* the profile that statistics are in; SONDE_NONE: none */

	struct hpcdb_use *prop_uses, *stat_uses; /* by id */
	uint32_t prop_count, stat_count;
	struct hpcdb_base *bases; /* by metric of meta.db */
	SONDE_VEC(struct hpcdb_model_metric) metrics;

	uint32_t *file_names; /* string ids of source files */

	pthread_mutex_t lock; /* of what follows, until it is there */
	bool has_contexts;
	struct hpcdb_tree tree;
	struct hpcdb_ids ids;
	struct sonde_context *contexts;
	struct hpcdb_formulas formulas;
	SONDE_VEC(struct hpcdb_blob) blobs;
};

int hpcdb_probe(const char *path);
enum sonde_status hpcdb_open(struct sonde_recording *recording, struct sonde_error *err);

/* Definitions of an opened database: hpcdb_define.c. */
enum sonde_status hpcdb_define(struct hpcdb_recording *database, struct sonde_error *err);

/* The hooks of struct sonde_recording_ops. */
enum sonde_status hpcdb_contexts(struct sonde_recording *recording,
				 const struct sonde_context **contexts, uint32_t *count,
				 struct sonde_error *err);
enum sonde_status hpcdb_values_open(struct sonde_recording *recording, uint32_t track,
				    struct sonde_value_cursor **cursor, struct sonde_error *err);
enum sonde_status hpcdb_context_values_open(struct sonde_recording *recording, uint32_t context,
					    struct sonde_value_cursor **cursor,
					    struct sonde_error *err);
enum sonde_status hpcdb_value(struct sonde_recording *recording, uint32_t track, uint32_t context,
			      uint32_t metric, double *value, struct sonde_error *err);
uint64_t hpcdb_value_count(struct sonde_recording *recording);
bool hpcdb_formula_at(struct sonde_recording *recording, uint32_t number,
		      struct sonde_formula *formula);
bool hpcdb_formula_value(struct sonde_recording *recording, uint32_t number, uint32_t context,
			 bool total, double *value);
void hpcdb_formulas_release(struct hpcdb_formulas *formulas);
enum sonde_status hpcdb_samples_open(struct sonde_recording *recording, uint32_t track,
				     struct sonde_sample_cursor **cursor, struct sonde_error *err);

/* Whether a context's value in the base scope is part of its parent's. */
static inline bool hpcdb_is_part(const struct hpcdb_base *base, const struct hpcdb_context *context)
{
	return !base->bits || (context->propagation & base->bits);
}

/* What is left of a value without the parts of its children: 0 where only rounding is. */
double hpcdb_own_value(double whole, double parts);

/* The check and the recovery: hpcdb_check.c, hpcdb_recover.c. */
enum sonde_status hpcdb_check(const char *path, const struct sonde_check_options *options,
			      struct sonde_diagnostics *diagnostics, struct sonde_error *err);
enum sonde_status hpcdb_recover(const char *path, const char *output,
				const struct sonde_recover_options *options,
				struct sonde_diagnostics *diagnostics,
				struct sonde_recover_result *result, struct sonde_error *err);

#endif
