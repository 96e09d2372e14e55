/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Formulas over the metrics of a tree: "ipc = instructions / cycles" becomes a metric, with a value in
 * every context and track. YAML files are in derive_yaml.c, a recording's own formulas in
 * derive_recording.c.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "analyse/cct_private.h"
#include "analyse/derive_private.h"
#include "base/buffer.h"

#define KNOWN_LIMIT 300 /* characters of a list of metrics in a message */
#define NAME_LIMIT 1000
#define TEXT_LIMIT 100000

void cct_formula_free(struct cct_formula *formula)
{
	if (!formula)
		return;
	sonde_expression_release(&formula->self);
	sonde_expression_release(&formula->total);
	free(formula);
}

bool cct_metric_is_by_context(const struct cct_metric *metric)
{
	return metric->formula && metric->formula->is_by_context;
}

/* Values by metric: those of a context, or (cct NULL) sums. */
struct known_values {
	const struct cct *cct;
	uint32_t context;
	const double *self, *total;
};

/* 0 is no value, as in a profile: what is absent was not measured. */
static bool find_value(void *data, uint32_t reference, double *value)
{
	const struct known_values *known = data;

	if (known->cct) {
		const struct cct_metric *metric = &known->cct->metrics[reference / 2];

		*value = (reference & 1 ? metric->total : metric->self)[known->context];
	} else {
		*value = (reference & 1 ? known->total : known->self)[reference / 2];
	}
	return *value != 0 && isfinite(*value);
}

static double evaluate(const struct sonde_expression *expression, struct known_values *known)
{
	struct sonde_expression_values values = { .value = NAN, .find = find_value, .data = known };
	double result;

	return sonde_expression_evaluate(expression, &values, &result) ? result : 0;
}

void cct_derive_sums(const struct cct *cct, double *self, double *total)
{
	struct known_values known = { .self = self, .total = total };

	for (uint32_t i = 0; i < cct->metric_count; i++) {
		const struct cct_formula *formula = cct->metrics[i].formula;

		if (!formula)
			continue;
		self[i] = formula->is_by_context ? NAN : evaluate(&formula->self, &known);
		total[i] = formula->is_by_context ? NAN : evaluate(&formula->total, &known);
	}
}

/*
 * What a value is in ns: NAN where it is no time but something else. Times add up to times, times
 * numbers and by counts they stay times ("REALTIME / CALLS"), time by time is a number.
 */
static double unit_of(const struct sonde_expression_node *node, const double *operands)
{
	double ns = operands[0];
	bool is_sum = node->operation == SONDE_OPERATION_ADD ||
		      node->operation == SONDE_OPERATION_SUBTRACT ||
		      node->operation == SONDE_OPERATION_MINIMUM ||
		      node->operation == SONDE_OPERATION_MAXIMUM ||
		      node->operation == SONDE_OPERATION_NEGATE;

	if (!is_sum && node->operation != SONDE_OPERATION_MULTIPLY &&
	    node->operation != SONDE_OPERATION_DIVIDE)
		return 0;
	for (uint32_t i = 1; i < node->arguments; i++) {
		double next = operands[i];

		if (is_sum && next == ns)
			continue;
		if (!is_sum && next == 0)
			continue;
		if (node->operation == SONDE_OPERATION_MULTIPLY && ns == 0) {
			ns = next;
			continue;
		}
		return 0; /* a number, or nothing that has a name */
	}
	return ns;
}

/* Nanoseconds in one of what a formula gives; 0: it is no time. */
static double unit_of_formula(const struct cct *cct, const struct sonde_expression *expression)
{
	double *units = calloc(expression->nodes.count + 1, sizeof(*units)), unit = 0;
	size_t depth = 0;

	for (size_t i = 0; units && i < expression->nodes.count; i++) {
		const struct sonde_expression_node *node = &expression->nodes.items[i];

		depth -= node->arguments;
		if (node->operation == SONDE_OPERATION_REFERENCE)
			units[depth] = cct->metrics[node->reference / 2].ns;
		else
			units[depth] = node->arguments ? unit_of(node, units + depth) : 0;
		depth++;
	}
	if (units && depth)
		unit = units[0];
	free(units);
	return unit;
}

static void work_out(struct cct *cct, uint32_t number)
{
	uint32_t tracks = sonde_definitions_track_count(cct->definitions);
	const struct cct_metric *metric = &cct->metrics[number];

	for (uint32_t i = 0; i < cct->context_count; i++) {
		struct known_values known = { .cct = cct, .context = i };

		metric->self[i] = evaluate(&metric->formula->self, &known);
		metric->total[i] = evaluate(&metric->formula->total, &known);
	}
	for (uint32_t i = 0; cct->tracks && i < tracks; i++) {
		double *totals = cct->tracks[i].totals;
		struct known_values known = { .self = totals, .total = totals };

		if (totals)
			totals[number] = evaluate(&metric->formula->total, &known);
	}
}

enum sonde_status cct_derive_metric(struct cct *cct, const char *name, const char *description,
				    struct cct_formula *formula, struct sonde_error *err)
{
	struct cct_formula *kept = malloc(sizeof(*kept));
	struct cct_metric *metric = NULL;
	enum sonde_status status;

	if (!kept) {
		sonde_expression_release(&formula->self);
		sonde_expression_release(&formula->total);
		return sonde_fail_nomem(err);
	}
	*kept = *formula;
	*formula = (struct cct_formula){ 0 };
	status = cct_add_metric(cct, name, description, &metric, err);
	if (status < 0) {
		cct_formula_free(kept);
		return status;
	}
	metric->formula = kept;
	metric->ns = unit_of_formula(cct, &kept->total);
	if (!kept->is_by_context)
		work_out(cct, cct->metric_count - 1);
	return SONDE_OK;
}

/* With the numbers that metrics have elsewhere. False where one is not there, or memory failed. */
static bool copy_expression(struct sonde_expression *copy,
			    const struct sonde_expression *expression, const uint32_t *metrics)
{
	for (size_t i = 0; i < expression->nodes.count; i++) {
		struct sonde_expression_node *node = sonde_vec_push(&copy->nodes);

		if (!node)
			return false;
		*node = expression->nodes.items[i];
		if (node->operation != SONDE_OPERATION_REFERENCE)
			continue;
		if (metrics[node->reference / 2] == SONDE_NONE)
			return false;
		node->reference = CCT_REFERENCE(metrics[node->reference / 2], node->reference & 1);
	}
	return true;
}

enum sonde_status cct_derive_again(struct cct *whole, const struct cct *part, uint32_t *metrics,
				   struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	for (uint32_t i = 0; i < part->metric_count && status == SONDE_OK; i++) {
		const struct cct_metric *metric = &part->metrics[i];
		struct cct_formula formula = { 0 };
		uint32_t same = 0;

		if (!metric->formula || metric->formula->is_by_context)
			continue;
		while (same < whole->metric_count &&
		       strcmp(whole->metrics[same].name, metric->name))
			same++;
		metrics[i] = same;
		if (same < whole->metric_count)
			continue;
		if (copy_expression(&formula.self, &metric->formula->self, metrics) &&
		    copy_expression(&formula.total, &metric->formula->total, metrics)) {
			status = cct_derive_metric(whole, metric->name, metric->description,
						   &formula, err);
			continue;
		}
		metrics[i] = SONDE_NONE;
		sonde_expression_release(&formula.self);
		sonde_expression_release(&formula.total);
	}
	return status;
}

/* How names in a formula are found. */
struct naming {
	const struct cct *cct;
	bool is_total;
};

static enum sonde_status fail_unknown(const struct cct *cct, const char *name,
				      struct sonde_error *err)
{
	struct sonde_buffer known = { 0 };
	const char *text;

	for (uint32_t i = 0; i < cct->metric_count && known.size < KNOWN_LIMIT; i++) {
		const char *other = cct->metrics[i].name;
		bool is_word = sonde_formula_name_is_word(other);

		if (known.size)
			sonde_buffer_put_text(&known, ", ");
		sonde_buffer_put_format(&known, is_word ? "%.80s" : "\"%.80s\"", other);
	}
	if (known.size >= KNOWN_LIMIT)
		sonde_buffer_put_text(&known, ", ...");
	text = sonde_buffer_text(&known);
	sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
		   "expected a metric or a function in a formula, found \"%.60s\"; metrics are: %s",
		   name, text && *text ? text : "none");
	sonde_buffer_release(&known);
	return SONDE_ARGUMENT;
}

static enum sonde_status find_name(void *data, const char *name, size_t length, uint32_t *reference,
				   struct sonde_error *err)
{
	const struct naming *naming = data;
	char *copy = strndup(name, length);
	uint32_t metric;
	enum sonde_status status = SONDE_OK;

	if (!copy)
		return sonde_fail_nomem(err);
	metric = cct_find_metric(naming->cct, copy);
	if (metric == SONDE_NONE)
		status = fail_unknown(naming->cct, copy, err);
	else
		*reference = CCT_REFERENCE(metric, naming->is_total);
	free(copy);
	return status;
}

static enum sonde_status parse(const struct cct *cct, const char *text, bool is_total,
			       struct sonde_expression *expression, size_t *position,
			       struct sonde_error *err)
{
	struct naming naming = { cct, is_total };
	struct sonde_expression_names names = { find_name, &naming };
	size_t length = strlen(text);

	*position = 0;
	if (length > TEXT_LIMIT)
		return sonde_fail(err, SONDE_LIMIT, SONDE_NO_OFFSET,
				  "a formula of more than %d characters is not read", TEXT_LIMIT);
	return sonde_expression_parse_named(expression, text, length, &names, position, err);
}

static enum sonde_status derive_named(struct cct *cct, const char *name, const char *text,
				      const char *whole, struct sonde_error *err)
{
	struct cct_formula formula = { 0 };
	size_t position;
	enum sonde_status status = parse(cct, text, false, &formula.self, &position, err);

	if (status == SONDE_OK)
		status = parse(cct, text, true, &formula.total, &position, err);
	if (status == SONDE_OK)
		return cct_derive_metric(cct, name, whole, &formula, err);
	sonde_expression_release(&formula.self);
	sonde_expression_release(&formula.total);
	if (status == SONDE_CORRUPT)
		status = SONDE_ARGUMENT;
	if (err && status != SONDE_NOMEM) {
		err->status = status;
		err->offset = (uint64_t)(text - whole) + position;
	}
	return status;
}

static enum sonde_status derive_file(struct cct *cct, const char *path, struct sonde_error *err)
{
	uint32_t count = 0, other = 0;
	enum sonde_status status = cct_derive_yaml(cct, path, NULL, &count, &other, err);

	if (status < 0 || count)
		return status;
	sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
		   other ? "expected metrics with formulas over those of the recording, found %u "
			   "that need other metrics or statistics" :
			   "expected metrics with formulas that the recording does not have, "
			   "found none (of %u)",
		   other);
	sonde_error_set_file(err, path);
	return SONDE_ARGUMENT;
}

enum sonde_status cct_derive(struct cct *cct, const char *formula, struct sonde_error *err)
{
	const char *name, *text;
	size_t length;
	enum sonde_status status;
	char *copy;

	if (*formula == '@')
		return derive_file(cct, formula + 1, err);
	length = sonde_formula_take_name(formula, &name, &text);
	if (!length || length > NAME_LIMIT)
		return sonde_fail(
			err, SONDE_ARGUMENT, (uint64_t)(text - formula),
			"expected a name, '=' and a formula, as in \"ipc = instructions / "
			"cycles\", found \"%.60s\"",
			formula);
	copy = strndup(name, length);
	if (!copy)
		return sonde_fail_nomem(err);
	for (uint32_t i = 0; i < cct->metric_count; i++) {
		if (strcasecmp(cct->metrics[i].name, copy))
			continue;
		free(copy);
		return sonde_fail(
			err, SONDE_ARGUMENT, (uint64_t)(name - formula),
			"expected a name that no metric has, found \"%.60s\"; choose another",
			cct->metrics[i].name);
	}
	status = derive_named(cct, copy, text, formula, err);
	free(copy);
	return status;
}
