/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The formulas that a recording has itself, as metrics of its tree. A database describes them in a file;
 * those that its sums suffice for are applied to the tree, the rest is asked for context by context.
 */
#include <stdlib.h>
#include <string.h>

#include <sonde/format.h>

#include "analyse/cct_private.h"
#include "analyse/derive_private.h"
#include "base/file.h"
#include "formats/hpcdb/hpcdb_taxonomy.h"
#include "model/recording.h"

#define FORMULA_LIMIT 100000 /* looked at */
#define METRIC_LIMIT 1000    /* added, where all are wanted */

static bool same_text(const struct sonde_definitions *a, uint32_t first,
		      const struct sonde_definitions *b, uint32_t second)
{
	return !strcmp(sonde_definitions_string(a, first), sonde_definitions_string(b, second));
}

static bool same_function(const struct sonde_definitions *a, uint32_t first,
			  const struct sonde_definitions *b, uint32_t second)
{
	const struct sonde_function *x = sonde_definitions_function(a, first);
	const struct sonde_function *y = sonde_definitions_function(b, second);

	if (!x || !y)
		return !x && !y;
	return same_text(a, x->name, b, y->name);
}

/* The tree has the contexts of the recording under the same numbers. */
static bool is_whole(const struct cct *cct, struct sonde_recording *recording)
{
	const struct sonde_definitions *definitions = sonde_recording_definitions(recording);
	const struct sonde_context *contexts = NULL;
	uint32_t count = 0;

	if (sonde_recording_contexts(recording, &contexts, &count, NULL) < 0 ||
	    count != cct->context_count)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		const struct sonde_context *a = &cct->contexts[i], *b = &contexts[i];

		if (a->parent != b->parent || a->kind != b->kind || a->line != b->line ||
		    a->address != b->address ||
		    !same_function(cct->definitions, a->function, definitions, b->function))
			return false;
	}
	return true;
}

static bool is_known(const struct cct *cct, const char *name)
{
	for (uint32_t i = 0; i < cct->metric_count; i++) {
		if (!strcmp(cct->metrics[i].name, name))
			return true;
	}
	return false;
}

static enum sonde_status look_up(struct cct *cct, struct sonde_recording *recording,
				 uint32_t number, const struct sonde_formula *description,
				 struct sonde_error *err)
{
	struct cct_formula formula = { .is_by_context = true };
	enum sonde_status status =
		cct_derive_metric(cct, description->name, description->description, &formula, err);
	struct cct_metric *metric;

	if (status < 0)
		return status;
	metric = &cct->metrics[cct->metric_count - 1];
	metric->ns = cct_metric_ns(metric->name, "");
	for (uint32_t i = 0; i < cct->context_count; i++) {
		sonde_recording_formula_value(recording, number, i, false, &metric->self[i]);
		sonde_recording_formula_value(recording, number, i, true, &metric->total[i]);
	}
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
	path = sonde_path_join(sonde_recording_path(recording), HPCDB_YAML_NAME);
	if (!path)
		return sonde_fail_nomem(err);
	status = cct_derive_yaml(cct, path, name, &count, &other, err);
	free(path);
	return status == SONDE_NOMEM ? status : SONDE_OK;
}

enum sonde_status cct_add_recording_formulas(struct cct *cct, struct sonde_recording *recording,
					     const char *name, struct sonde_error *err)
{
	struct sonde_formula formula;
	uint32_t before = cct->metric_count;
	bool was_compared = false;
	enum sonde_status status = derive_described(cct, recording, name, err);

	for (uint32_t i = 0;
	     status == SONDE_OK && i < FORMULA_LIMIT && cct->metric_count - before < METRIC_LIMIT &&
	     sonde_recording_formula(recording, i, &formula);
	     i++) {
		if (is_known(cct, formula.name) ||
		    (name && !cct_metric_name_matches(formula.name, name)))
			continue;
		if (!was_compared && !is_whole(cct, recording))
			return SONDE_OK;
		was_compared = true;
		status = look_up(cct, recording, i, &formula, err);
	}
	return status;
}
