/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics/default.yaml: which metrics to show and what they are made of. Inputs are values of a
 * database, roots (and what is below them) are what a user sees, and variants of them are formulas over
 * inputs, each for inclusive and exclusive cost.
 */
#ifndef SONDE_HPCDB_TAXONOMY_H
#define SONDE_HPCDB_TAXONOMY_H

#include <sonde/profile.h>

#include "base/arena.h"
#include "formats/hpcdb/hpcdb_layout.h"
#include "model/formula.h"

#define HPCDB_YAML_NAME "metrics/default.yaml"

/* A statistic of meta.db: {SS} by what it says. */
struct hpcdb_input {
	const char *metric, *scope;
	struct sonde_expression formula;
	uint8_t combine;
};

/* How a cost is meant: "custom" is what a viewer shows in its own way (loops without inner loops). */
enum hpcdb_cost {
	HPCDB_INCLUSIVE,
	HPCDB_INCLUSIVE_CUSTOM,
	HPCDB_EXCLUSIVE,
	HPCDB_EXCLUSIVE_CUSTOM,
	HPCDB_COSTS,
};

/* Where the value of a variant comes from. */
enum hpcdb_variant_kind { HPCDB_BY_FORMULA, HPCDB_FIRST_CHILD, HPCDB_SUM_OF_CHILDREN };

enum {
	HPCDB_RENDER_NUMBER = 1,
	HPCDB_RENDER_PERCENT = 2,
	HPCDB_RENDER_HIDDEN = 4,
	HPCDB_RENDER_COLORBAR = 8
};

struct hpcdb_variant {
	const char *name;
	const char *format;	   /* as printf; "" for the usual */
	const char *child_variant; /* the variant of children that it takes; NULL: its own name */
	unsigned int render;	   /* bits of HPCDB_RENDER_* */
	enum hpcdb_variant_kind kind;
	struct sonde_expression costs[HPCDB_COSTS]; /* references are numbers of inputs */
};

/* Something to show. Parents come before their children, each subtree is one run. */
struct hpcdb_shown_metric {
	const char *name, *description;
	uint32_t parent; /* SONDE_NONE: a root */
	uint32_t end;
	uint32_t first_variant, variant_count;
	bool is_hidden; /* unless it is asked for */
};

struct hpcdb_taxonomy {
	SONDE_VEC(struct hpcdb_input) inputs;
	SONDE_VEC(struct hpcdb_shown_metric) metrics;
	SONDE_VEC(struct hpcdb_variant) variants;
	struct sonde_arena texts;
};

/* Of bytes, or of a database's folder. SONDE_CORRUPT with the line where it cannot be understood. */
enum sonde_status hpcdb_taxonomy_read(struct hpcdb_taxonomy *taxonomy, const void *data,
				      size_t size, struct sonde_error *err);
enum sonde_status hpcdb_taxonomy_open(struct hpcdb_taxonomy *taxonomy, const char *folder,
				      struct sonde_error *err);
void hpcdb_taxonomy_release(struct hpcdb_taxonomy *taxonomy);

/*
 * The value of one variant of a metric; false where there is none. `values->find` is asked for inputs
 * by their number.
 */
bool hpcdb_taxonomy_evaluate(const struct hpcdb_taxonomy *taxonomy, uint32_t metric,
			     uint32_t variant, enum hpcdb_cost cost,
			     const struct sonde_expression_values *values, double *result);

struct hpcdb_meta;

/*
 * The number of the statistic in meta.db that an input is, UINT32_MAX for none. Comparisons are taken
 * from *budget, so that many inputs times many statistics end.
 */
#define HPCDB_FIND_BUDGET 50000000
uint32_t hpcdb_taxonomy_find(const struct hpcdb_meta *meta, const struct hpcdb_input *input,
			     uint64_t *budget);

/* Inputs of a taxonomy as statistics of an open database. */
struct hpcdb_taxonomy_binding {
	struct sonde_recording *recording;
	const struct hpcdb_taxonomy *taxonomy;
	uint32_t *metrics; /* of the recording, for each input; SONDE_NONE: it has no such */
};

enum sonde_status hpcdb_taxonomy_bind(struct hpcdb_taxonomy_binding *binding,
				      const struct hpcdb_taxonomy *taxonomy,
				      struct sonde_recording *recording, struct sonde_error *err);
void hpcdb_taxonomy_unbind(struct hpcdb_taxonomy_binding *binding);

/* The value of one variant of a metric in a context, over all tracks; false where there is none. */
bool hpcdb_taxonomy_value(const struct hpcdb_taxonomy_binding *binding, uint32_t metric,
			  uint32_t variant, enum hpcdb_cost cost, uint32_t context, double *result);

#endif
