/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The formulas that a recording has itself, as metrics of its tree. A database describes them in a file;
 * those that its sums suffice for are applied to the tree, the rest is asked for context by context.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <sonde/format.h>

#include "analyse/cct_private.h"
#include "analyse/derive_private.h"
#include "base/file.h"
#include "formats/hpcdb/hpcdb_taxonomy.h"
#include "model/context_union.h"
#include "model/metric.h"
#include "model/recording.h"

#define FORMULA_LIMIT 100000 /* looked at */
#define METRIC_LIMIT 1000    /* added, where all are wanted */

/*
 * By context of the recording: that of the tree, which unites those that say the same. NULL where the tree is
 * of something else, or memory failed.
 */
static uint32_t *map_contexts(const struct cct *cct, struct sonde_recording *recording,
			      uint32_t *source_count)
{
	const struct sonde_context *contexts = NULL;
	struct sonde_context_union *tree =
		sonde_context_union_new(sonde_recording_definitions(recording), true);
	uint32_t *map = NULL, count = 0;
	enum sonde_status status =
		tree ? sonde_recording_contexts(recording, &contexts, source_count, NULL) :
		       SONDE_NOMEM;

	if (!status)
		map = calloc((size_t)*source_count + 1, sizeof(*map));
	for (uint32_t i = 1; map && !status && i < *source_count; i++)
		status = sonde_context_union_add(tree, map[contexts[i].parent], &contexts[i],
						 &map[i], NULL);
	if (!status)
		status = sonde_context_union_finish(tree, NULL);
	for (uint32_t i = 0; map && !status && i < *source_count; i++)
		map[i] = sonde_context_union_number(tree, map[i]);
	if (!status)
		sonde_context_union_contexts(tree, &count);
	sonde_context_union_free(tree);
	if (map && !status && count == cct->context_count)
		return map;
	free(map);
	return NULL;
}

static bool is_known(const struct cct *cct, const char *name)
{
	for (uint32_t i = 0; i < cct->metric_count; i++) {
		if (!strcmp(cct->metrics[i].name, name))
			return true;
	}
	return false;
}

/* Two contexts in one have no value in common, unless only one has any. */
static void look_up_values(struct sonde_recording *recording, uint32_t number, bool is_total,
			   const uint32_t *map, uint32_t source_count, double *values)
{
	double value;

	for (uint32_t i = 0; i < source_count; i++) {
		if (!sonde_recording_formula_value(recording, number, i, is_total, &value))
			continue;
		values[map[i]] = values[map[i]] == 0 ? value : NAN;
	}
}

static void forget_unknown(double *values, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		if (isnan(values[i]))
			values[i] = 0;
	}
}

static enum sonde_status look_up(struct cct *cct, struct sonde_recording *recording,
				 uint32_t number, const struct sonde_formula *description,
				 const uint32_t *map, uint32_t source_count,
				 struct sonde_error *err)
{
	struct cct_formula formula = { .is_by_context = true };
	enum sonde_status status =
		cct_derive_metric(cct, description->name, description->description, &formula, err);
	struct cct_metric *metric;

	if (status < 0)
		return status;
	metric = &cct->metrics[cct->metric_count - 1];
	metric->ns = sonde_metric_ns(metric->name, "");
	look_up_values(recording, number, false, map, source_count, metric->self);
	look_up_values(recording, number, true, map, source_count, metric->total);
	forget_unknown(metric->self, cct->context_count);
	forget_unknown(metric->total, cct->context_count);
	return SONDE_OK;
}

/* Where the description is not there or damaged, the recording says nothing either. */
static enum sonde_status derive_described(struct cct *cct, struct sonde_recording *recording,
					  const char *name, struct sonde_error *err)
{
	char *path;
	uint32_t count = 0, other = 0;
	enum sonde_status status;

	if (strcmp(sonde_format_info(sonde_recording_format(recording))->name, "hpcdb"))
		return SONDE_OK;
	path = sonde_path_join(recording->path, HPCDB_YAML_NAME);
	if (!path)
		return sonde_fail_nomem(err);
	status = cct_derive_yaml(cct, path, name, &count, &other, err);
	free(path);
	return status == SONDE_NOMEM ? status : SONDE_OK;
}

enum sonde_status cct_add_recording_formulas(struct cct *cct, struct sonde_recording *recording,
					     const char *name, bool is_whole,
					     struct sonde_error *err)
{
	struct sonde_formula formula;
	uint32_t before = cct->metric_count, source_count = 0;
	uint32_t *map = NULL;
	enum sonde_status status = derive_described(cct, recording, name, err);

	for (uint32_t i = 0; is_whole && status == SONDE_OK && i < FORMULA_LIMIT &&
			     cct->metric_count - before < METRIC_LIMIT &&
			     sonde_recording_formula(recording, i, &formula);
	     i++) {
		if (is_known(cct, formula.name) ||
		    (name && !sonde_metric_name_matches(formula.name, name, strlen(name))))
			continue;
		if (!map)
			map = map_contexts(cct, recording, &source_count);
		if (!map)
			break;
		status = look_up(cct, recording, i, &formula, map, source_count, err);
	}
	free(map);
	return status;
}
