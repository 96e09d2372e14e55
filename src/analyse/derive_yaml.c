/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metrics that YAML files describe (METRICS.yaml, metrics/default.yaml of a database), over the sums that a
 * tree has. What needs other statistics (the least of all threads, how many there are) is not made here.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "analyse/derive_private.h"
#include "base/file.h"
#include "base/map.h"
#include "formats/hpcdb/hpcdb_taxonomy.h"

/* A file with more is not meant for people. */
#define VARIANT_LIMIT 20000 /* looked at */
#define METRIC_LIMIT 1000   /* added: each has a value in every context */

struct describing {
	struct cct *cct;
	struct sonde_text_map names; /* of metrics that were measured */
	const struct hpcdb_taxonomy *taxonomy;
	uint32_t *references; /* of each input; SONDE_NONE: the tree has no such sum */
};

/* Inputs are sums over threads, of a metric that the tree has, as they are. */
static uint32_t reference_of_input(const struct describing *describing,
				   const struct hpcdb_input *input)
{
	const struct sonde_expression_node *node = input->formula.nodes.items;
	bool is_total = !strcmp(input->scope, "execution");
	bool is_self = !strcmp(input->scope, "function") || !strcmp(input->scope, "lex_aware") ||
		       !strcmp(input->scope, "point");
	uint32_t metric;

	if (input->combine != HPCDB_COMBINE_SUM || input->formula.nodes.count != 1 ||
	    node->operation != SONDE_OPERATION_VALUE || (!is_total && !is_self))
		return SONDE_NONE;
	metric = sonde_text_map_find(&describing->names, input->metric, strlen(input->metric));
	return metric == SONDE_NONE ? SONDE_NONE : CCT_REFERENCE(metric, is_total);
}

static enum sonde_status find_inputs(struct describing *describing, struct sonde_error *err)
{
	const struct hpcdb_taxonomy *taxonomy = describing->taxonomy;
	const struct cct *cct = describing->cct;

	describing->references = calloc(taxonomy->inputs.count + 1, sizeof(uint32_t));
	if (!describing->references)
		return sonde_fail_nomem(err);
	for (uint32_t i = 0; i < cct->metric_count; i++) {
		const char *name = cct->metrics[i].name;
		size_t length = strlen(name);

		if (cct->metrics[i].formula ||
		    sonde_text_map_find(&describing->names, name, length) != SONDE_NONE)
			continue;
		if (!sonde_text_map_add(&describing->names, name, length, i))
			return sonde_fail_nomem(err);
	}
	for (size_t i = 0; i < taxonomy->inputs.count; i++)
		describing->references[i] =
			reference_of_input(describing, &taxonomy->inputs.items[i]);
	return SONDE_OK;
}

static enum sonde_status add_node(struct sonde_expression *expression,
				  const struct sonde_expression_node *node, struct sonde_error *err)
{
	struct sonde_expression_node *added;

	if (expression->nodes.count >= SONDE_EXPRESSION_NODES)
		return sonde_fail(err, SONDE_LIMIT, SONDE_NO_OFFSET,
				  "a formula of more than %d parts is not read",
				  SONDE_EXPRESSION_NODES);
	added = sonde_vec_push(&expression->nodes);
	if (!added)
		return sonde_fail_nomem(err);
	*added = *node;
	return SONDE_OK;
}

/* At the end of another, with references to metrics. SONDE_END where one is not there. */
static enum sonde_status add_formula(const struct describing *describing,
				     const struct sonde_expression *formula,
				     struct sonde_expression *expression, struct sonde_error *err)
{
	enum sonde_status status = formula->nodes.count ? SONDE_OK : SONDE_END;

	for (size_t i = 0; i < formula->nodes.count && status == SONDE_OK; i++) {
		struct sonde_expression_node node = formula->nodes.items[i];
		bool is_reference = node.operation == SONDE_OPERATION_REFERENCE;

		if (is_reference && node.reference >= describing->taxonomy->inputs.count)
			return SONDE_END;
		if (is_reference)
			node.reference = describing->references[node.reference];
		if ((is_reference && node.reference == SONDE_NONE) ||
		    node.operation == SONDE_OPERATION_VALUE)
			return SONDE_END;
		status = add_node(expression, &node, err);
	}
	return status;
}

static const struct hpcdb_variant *find_variant(const struct hpcdb_taxonomy *taxonomy,
						uint32_t metric, const char *name)
{
	const struct hpcdb_shown_metric *shown = &taxonomy->metrics.items[metric];

	for (uint32_t i = 0; i < shown->variant_count; i++) {
		if (!strcmp(taxonomy->variants.items[shown->first_variant + i].name, name))
			return &taxonomy->variants.items[shown->first_variant + i];
	}
	return NULL;
}

/*
 * The formula of a variant, or the sum of those of its children. As deep as metrics are within each other,
 * which the reader bounds; SONDE_END where it cannot be worked out.
 */
static enum sonde_status add_variant(const struct describing *describing, uint32_t metric,
				     const struct hpcdb_variant *variant, enum hpcdb_cost cost,
				     struct sonde_expression *expression, struct sonde_error *err)
{
	const struct hpcdb_taxonomy *taxonomy = describing->taxonomy;
	struct sonde_expression_node sum = { .operation = SONDE_OPERATION_ADD };
	size_t before = expression->nodes.count;
	const char *name;
	enum sonde_status status = SONDE_OK;

	if (!variant)
		return SONDE_END;
	if (variant->kind == HPCDB_BY_FORMULA)
		return add_formula(describing, &variant->costs[cost], expression, err);
	name = variant->child_variant ? variant->child_variant : variant->name;
	for (uint32_t child = metric + 1;
	     child < taxonomy->metrics.items[metric].end && status == SONDE_OK;
	     child = taxonomy->metrics.items[child].end) {
		status = add_variant(describing, child, find_variant(taxonomy, child, name), cost,
				     expression, err);
		sum.arguments++;
		if (variant->kind == HPCDB_FIRST_CHILD)
			break;
	}
	if (status || variant->kind == HPCDB_FIRST_CHILD || !sum.arguments)
		return sum.arguments ? status : SONDE_END;
	sum.size = (uint32_t)(expression->nodes.count - before) + 1;
	return add_node(expression, &sum, err);
}

static bool is_known(const struct cct *cct, const char *name)
{
	for (uint32_t i = 0; i < cct->metric_count; i++) {
		if (!strcasecmp(cct->metrics[i].name, name))
			return true;
	}
	return false;
}

/* Makes a metric of a variant. SONDE_END where it cannot be. */
static enum sonde_status derive_variant(const struct describing *describing, uint32_t metric,
					const struct hpcdb_variant *variant, const char *name,
					struct sonde_error *err)
{
	const struct hpcdb_shown_metric *shown = &describing->taxonomy->metrics.items[metric];
	struct cct_formula formula = { 0 };
	enum sonde_status self =
		add_variant(describing, metric, variant, HPCDB_EXCLUSIVE, &formula.self, err);
	enum sonde_status total = self < 0 ? self :
					     add_variant(describing, metric, variant,
							 HPCDB_INCLUSIVE, &formula.total, err);

	if (self)
		formula.self.nodes.count = 0;
	if (total)
		formula.total.nodes.count = 0;
	if (self == SONDE_OK || total == SONDE_OK) {
		self = cct_derive_metric(describing->cct, name, shown->description, &formula, err);
		if (self == SONDE_OK)
			describing->cct->metrics[describing->cct->metric_count - 1].hidden =
				shown->is_hidden;
		return self;
	}
	sonde_expression_release(&formula.self);
	sonde_expression_release(&formula.total);
	return total;
}

static enum sonde_status derive_shown(const struct describing *describing, uint32_t metric,
				      const char *wanted, uint32_t *count, uint32_t *other,
				      struct sonde_error *err)
{
	const struct hpcdb_taxonomy *taxonomy = describing->taxonomy;
	const struct hpcdb_shown_metric *shown = &taxonomy->metrics.items[metric];
	struct sonde_buffer name = { 0 };
	enum sonde_status status = SONDE_OK;

	for (uint32_t i = 0; i < shown->variant_count && status >= 0; i++) {
		const struct hpcdb_variant *variant =
			&taxonomy->variants.items[shown->first_variant + i];
		const char *text;

		sonde_buffer_clear(&name);
		sonde_buffer_put_text(&name, shown->name);
		if (*variant->name && strcmp(variant->name, "Sum"))
			sonde_buffer_put_format(&name, ":%s", variant->name);
		text = sonde_buffer_text(&name);
		if (!text) {
			status = sonde_fail_nomem(err);
			break;
		}
		if (!*text || is_known(describing->cct, text) ||
		    (wanted && !sonde_metric_name_matches(text, wanted, strlen(wanted))))
			continue;
		status = derive_variant(describing, metric, variant, text, err);
		*count += status == SONDE_OK;
		*other += status == SONDE_END;
	}
	sonde_buffer_release(&name);
	return status < 0 ? status : SONDE_OK;
}

static enum sonde_status derive_taxonomy(struct describing *describing, const char *wanted,
					 uint32_t *count, uint32_t *other, struct sonde_error *err)
{
	const struct hpcdb_taxonomy *taxonomy = describing->taxonomy;
	enum sonde_status status;

	if (taxonomy->variants.count > VARIANT_LIMIT)
		return sonde_fail(err, SONDE_LIMIT, SONDE_NO_OFFSET,
				  "a description of more than %d metrics is not used",
				  VARIANT_LIMIT);
	status = find_inputs(describing, err);
	for (uint32_t i = 0; i < taxonomy->metrics.count && status == SONDE_OK; i++) {
		status = derive_shown(describing, i, wanted, count, other, err);
		if (status == SONDE_OK && *count > METRIC_LIMIT)
			status = sonde_fail(err, SONDE_LIMIT, SONDE_NO_OFFSET,
					    "more than %d derived metrics are not made; name the "
					    "ones that are wanted by --metric",
					    METRIC_LIMIT);
	}
	free(describing->references);
	sonde_text_map_release(&describing->names);
	return status;
}

enum sonde_status cct_derive_yaml(struct cct *cct, const char *path, const char *wanted,
				  uint32_t *count, uint32_t *other, struct sonde_error *err)
{
	struct hpcdb_taxonomy taxonomy = { 0 };
	struct describing describing = { .cct = cct, .taxonomy = &taxonomy };
	struct sonde_mapped_file file = { 0 };
	enum sonde_status status = sonde_mapped_file_open(&file, path, err);

	if (status < 0)
		return status;
	status = hpcdb_taxonomy_read(&taxonomy, file.data ? (const void *)file.data : "", file.size,
				     err);
	sonde_mapped_file_release(&file);
	if (status == SONDE_OK) {
		status = derive_taxonomy(&describing, wanted, count, other, err);
		hpcdb_taxonomy_release(&taxonomy);
	}
	if (status < 0)
		sonde_error_set_file(err, path);
	return status;
}
