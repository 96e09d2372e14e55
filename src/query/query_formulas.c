/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metrics by formulas: "ipc = instructions / cycles" is a metric of vals in every scope that has all metrics
 * of the formula. It is worked out for each track and context.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/formula.h"
#include "model/recording.h"
#include "query/query_tables.h"

struct formula {
	struct sonde_expression expression; /* references are metrics */
	uint32_t metric;
};

struct query_formulas {
	SONDE_VEC(struct formula) items;
};

void query_formulas_free(struct query_formulas *formulas)
{
	if (!formulas)
		return;
	for (size_t i = 0; i < formulas->items.count; i++)
		sonde_expression_release(&formulas->items.items[i].expression);
	sonde_vec_release(&formulas->items);
	free(formulas);
}

/* --- names --- */

/* How names in a formula are found: as metrics of one scope. */
struct naming {
	const struct sonde_definitions *definitions;
	uint32_t scope; /* string */
	bool is_known;	/* the last name is that of a metric of some scope */
};

static enum sonde_status find_name(void *data, const char *name, size_t length, uint32_t *reference,
				   struct sonde_error *err)
{
	struct naming *naming = data;
	uint32_t count = sonde_definitions_metric_count(naming->definitions);
	unsigned int best = 0;

	naming->is_known = false;
	for (uint32_t i = 0; i < count; i++) {
		const struct sonde_metric *metric =
			sonde_definitions_metric(naming->definitions, i);
		unsigned int closeness = sonde_metric_name_closeness(
			sonde_definitions_string(naming->definitions, metric->name), name, length);

		if (metric->statistic || !closeness)
			continue;
		naming->is_known = true;
		if (metric->scope != naming->scope || closeness <= best)
			continue;
		best = closeness;
		*reference = i;
	}
	if (best)
		return SONDE_OK;
	return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
			  "expected a metric or a function in a formula, found \"%.*s\"; SELECT "
			  "DISTINCT name FROM metrics tells which there are",
			  length > 60 ? 60 : (int)length, name);
}

/* --- definitions --- */

static enum sonde_status add_formula(struct query_recording *source,
				     const struct sonde_metric *metric,
				     struct sonde_expression *expression, struct sonde_error *err)
{
	struct formula *added = NULL;
	enum sonde_status status;
	uint32_t id;

	if (!source->formulas)
		source->formulas = calloc(1, sizeof(*source->formulas));
	if (source->formulas)
		added = sonde_vec_push(&source->formulas->items);
	if (!added)
		return sonde_fail_nomem(err);
	*added = (struct formula){ .expression = *expression };
	*expression = (struct sonde_expression){ 0 };
	status = sonde_definitions_add_metric(source->recording->definitions, metric, &id, err);
	added->metric = id;
	source->makes_values = true;
	return status;
}

/* One formula in one scope; *found tells that it has all metrics. */
static enum sonde_status define_in_scope(struct query_recording *source, const char *formula,
					 struct sonde_metric *metric, bool *found,
					 struct sonde_error *err)
{
	struct naming naming = { .definitions = source->definitions, .scope = metric->scope };
	struct sonde_expression_names names = { find_name, &naming };
	struct sonde_expression expression = { 0 };
	size_t position = 0;
	enum sonde_status status;

	status = sonde_expression_parse_named(&expression, formula, strlen(formula), &names,
					      &position, err);
	if (!status) {
		*found = true;
		status = add_formula(source, metric, &expression, err);
	} else if (status == SONDE_ARGUMENT && naming.is_known) {
		status = SONDE_OK; /* of another scope */
	} else if (status == SONDE_CORRUPT) {
		status = err->status = SONDE_ARGUMENT;
	}
	sonde_expression_release(&expression);
	return status;
}

/* Whether a metric is the first of its scope. */
static bool is_first_of_scope(const struct sonde_definitions *definitions, uint32_t number)
{
	const struct sonde_metric *metric = sonde_definitions_metric(definitions, number);

	if (metric->statistic)
		return false;
	for (uint32_t i = 0; i < number; i++) {
		const struct sonde_metric *other = sonde_definitions_metric(definitions, i);

		if (!other->statistic && other->scope == metric->scope)
			return false;
	}
	return true;
}

static enum sonde_status define(struct query_recording *source, const char *text,
				struct sonde_error *err)
{
	struct sonde_definitions *definitions = source->recording->definitions;
	uint32_t count = sonde_definitions_metric_count(definitions);
	struct sonde_metric metric = { 0 };
	const char *name, *formula;
	size_t length = sonde_formula_take_name(text, &name, &formula);
	enum sonde_status status;
	bool found = false;

	if (!length)
		return sonde_fail(
			err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
			"expected a name, '=' and a formula, as in \"ipc = instructions / "
			"cycles\", found \"%.60s\"",
			text);
	status = sonde_definitions_add_string(definitions, name, length, &metric.name, err);
	if (!status)
		status = sonde_definitions_add_string(definitions, text, strlen(text),
						      &metric.description, err);
	for (uint32_t i = 0; !status && i < count; i++) {
		if (!is_first_of_scope(definitions, i))
			continue;
		metric.scope = sonde_definitions_metric(definitions, i)->scope;
		status = define_in_scope(source, formula, &metric, &found, err);
	}
	if (status || found)
		return status;
	return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
			  "no scope has all metrics of the formula \"%.60s\"", text);
}

enum sonde_status query_formulas_define(struct query_recording *source, const char *const *texts,
					size_t count, struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	for (size_t i = 0; !status && i < count; i++)
		status = define(source, texts[i], err);
	return status;
}

/* --- values --- */

/* 0 is no value: what is absent was not measured. */
static bool find_value(void *data, uint32_t reference, double *value)
{
	*value = ((const double *)data)[reference];
	return *value != 0 && isfinite(*value);
}

/* What the formulas give in a context whose values by metric are these. */
static enum sonde_status add_results(const struct query_formulas *formulas,
				     struct query_values *values, struct sonde_value place,
				     double *known, struct sonde_error *err)
{
	for (size_t i = 0; i < formulas->items.count; i++) {
		const struct formula *formula = &formulas->items.items[i];
		struct sonde_expression_values given = {
			.value = NAN,
			.find = find_value,
			.data = known,
		};
		struct sonde_value *added;
		double result;

		if (!sonde_expression_evaluate(&formula->expression, &given, &result) ||
		    result == 0)
			continue;
		known[formula->metric] = result; /* for formulas over this one */
		added = sonde_vec_push(values);
		if (!added)
			return sonde_fail_nomem(err);
		*added = place;
		added->metric = formula->metric;
		added->value = result;
	}
	return SONDE_OK;
}

enum sonde_status query_formulas_work_out(const struct query_recording *source,
					  struct query_values *values, struct sonde_error *err)
{
	uint32_t metrics = sonde_definitions_metric_count(source->definitions);
	size_t count = values->count, next;
	enum sonde_status status = SONDE_OK;
	double *known;

	if (!source->formulas)
		return SONDE_OK;
	known = calloc((size_t)metrics + 1, sizeof(*known));
	if (!known)
		return sonde_fail_nomem(err);
	for (size_t i = 0; !status && i < count; i = next) {
		struct sonde_value place = values->items[i];

		for (next = i; next < count && values->items[next].context == place.context; next++)
			known[values->items[next].metric] = values->items[next].value;
		status = add_results(source->formulas, values, place, known, err);
		memset(known, 0, metrics * sizeof(*known));
	}
	free(known);
	return status;
}
