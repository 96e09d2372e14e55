/* SPDX-License-Identifier: Apache-2.0 */
/* The values of what is shown: formulas over the statistics of a context. */
#include "formats/hpcdb/hpcdb_taxonomy.h"

#include <math.h>
#include <string.h>

#include "formats/hpcdb/hpcdb_read.h"

void hpcdb_taxonomy_release(struct hpcdb_taxonomy *taxonomy)
{
	for (size_t i = 0; i < taxonomy->inputs.count; i++)
		sonde_expression_release(&taxonomy->inputs.items[i].formula);
	for (size_t i = 0; i < taxonomy->variants.count; i++) {
		for (int cost = 0; cost < HPCDB_COSTS; cost++)
			sonde_expression_release(&taxonomy->variants.items[i].costs[cost]);
	}
	sonde_vec_release(&taxonomy->inputs);
	sonde_vec_release(&taxonomy->metrics);
	sonde_vec_release(&taxonomy->variants);
	sonde_arena_release(&taxonomy->texts);
}

/* The variant of that name, or the variant's count where there is none. */
static uint32_t find_variant(const struct hpcdb_taxonomy *taxonomy,
			     const struct hpcdb_shown_metric *metric, const char *name)
{
	uint32_t i = 0;

	while (i < metric->variant_count &&
	       strcmp(taxonomy->variants.items[metric->first_variant + i].name, name))
		i++;
	return i;
}

/* As deep as metrics are within each other, which the reader bounds. */
bool hpcdb_taxonomy_evaluate(const struct hpcdb_taxonomy *taxonomy, uint32_t metric,
			     uint32_t variant, enum hpcdb_cost cost,
			     const struct sonde_expression_values *values, double *result)
{
	const struct hpcdb_shown_metric *shown = &taxonomy->metrics.items[metric];
	const struct hpcdb_variant *chosen;
	const char *name;
	double value;

	*result = 0;
	if (variant >= shown->variant_count)
		return false;
	chosen = &taxonomy->variants.items[shown->first_variant + variant];
	if (chosen->kind == HPCDB_BY_FORMULA)
		return sonde_expression_evaluate(&chosen->costs[cost], values, result);
	name = chosen->child_variant ? chosen->child_variant : chosen->name;
	for (uint32_t child = metric + 1; child < shown->end;
	     child = taxonomy->metrics.items[child].end) {
		uint32_t number = find_variant(taxonomy, &taxonomy->metrics.items[child], name);

		if (!hpcdb_taxonomy_evaluate(taxonomy, child, number, cost, values, &value))
			return false;
		*result += value;
		if (chosen->kind == HPCDB_FIRST_CHILD)
			break;
	}
	return metric + 1 < shown->end;
}

uint32_t hpcdb_taxonomy_find(const struct hpcdb_meta *meta, const struct hpcdb_input *input,
			     uint64_t *budget)
{
	struct sonde_expression formula = { 0 };
	uint32_t found = HPCDB_NO_RECORD;

	for (uint32_t i = 0; i < meta->summaries.count && found == HPCDB_NO_RECORD && *budget;
	     i++) {
		const struct hpcdb_summary *summary = &meta->summaries.items[i];
		const struct hpcdb_text *name = &meta->metrics.items[summary->metric].name;
		uint64_t cost = 1 + (name->length + summary->formula.length) / 64;

		*budget -= cost < *budget ? cost : *budget;
		if (summary->scope == HPCDB_NO_RECORD || summary->combine != input->combine ||
		    strcmp(meta->scopes.items[summary->scope].name.text, input->scope) ||
		    strcmp(name->text, input->metric))
			continue;
		if (sonde_expression_parse(&formula, summary->formula.text, summary->formula.length,
					   NULL) == SONDE_OK &&
		    sonde_expression_equal(&formula, &input->formula))
			found = i;
	}
	sonde_expression_release(&formula);
	return found;
}

enum sonde_status hpcdb_taxonomy_bind(struct hpcdb_taxonomy_binding *binding,
				      const struct hpcdb_taxonomy *taxonomy,
				      struct sonde_recording *recording, struct sonde_error *err)
{
	const struct hpcdb_recording *database = recording->data;
	uint64_t budget = HPCDB_FIND_BUDGET;

	*binding = (struct hpcdb_taxonomy_binding){ recording, taxonomy, NULL };
	if (recording->format != &sonde_format_hpcdb)
		return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
				  "expected an HPCToolkit database, found format %s",
				  recording->format->info.name);
	binding->metrics = calloc(taxonomy->inputs.count + 1, sizeof(*binding->metrics));
	if (!binding->metrics)
		return sonde_fail_nomem(err);
	for (size_t i = 0; i < taxonomy->inputs.count; i++) {
		uint32_t summary =
			hpcdb_taxonomy_find(&database->meta, &taxonomy->inputs.items[i], &budget);

		binding->metrics[i] = SONDE_NONE;
		if (summary != HPCDB_NO_RECORD)
			binding->metrics[i] =
				database->stat_uses[database->meta.summaries.items[summary].id]
					.metric;
	}
	return SONDE_OK;
}

void hpcdb_taxonomy_unbind(struct hpcdb_taxonomy_binding *binding)
{
	free(binding->metrics);
	binding->metrics = NULL;
}

struct lookup {
	const struct hpcdb_taxonomy_binding *binding;
	uint32_t context;
};

static bool find_input(void *data, uint32_t input, double *value)
{
	const struct lookup *lookup = data;
	uint32_t metric = input < lookup->binding->taxonomy->inputs.count ?
				  lookup->binding->metrics[input] :
				  SONDE_NONE;

	return metric != SONDE_NONE &&
	       sonde_recording_value(lookup->binding->recording, SONDE_NONE, lookup->context,
				     metric, value, NULL) == SONDE_OK;
}

bool hpcdb_taxonomy_value(const struct hpcdb_taxonomy_binding *binding, uint32_t metric,
			  uint32_t variant, enum hpcdb_cost cost, uint32_t context, double *result)
{
	struct lookup lookup = { binding, context };
	struct sonde_expression_values values = { .value = NAN,
						  .find = find_input,
						  .data = &lookup };

	return hpcdb_taxonomy_evaluate(binding->taxonomy, metric, variant, cost, &values, result);
}
