/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The formulas of metrics/default.yaml as those of a recording: means, deviations and derived metrics,
 * worked out of the statistics when they are asked for. Plain sums are metrics already.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/hpcdb/hpcdb_read.h"

void hpcdb_formulas_release(struct hpcdb_formulas *formulas)
{
	sonde_vec_release(&formulas->items);
	hpcdb_taxonomy_unbind(&formulas->binding);
	hpcdb_taxonomy_release(&formulas->taxonomy);
}

/* The name of a metric, and behind it that of the variant where it has one. */
static const char *name_of(struct hpcdb_taxonomy *taxonomy, const char *metric, const char *variant)
{
	size_t size = strlen(metric) + strlen(variant) + 2;
	char *name;

	if (!*variant)
		return metric;
	name = sonde_arena_take(&taxonomy->texts, size);
	if (name)
		snprintf(name, size, "%s:%s", metric, variant);
	return name;
}

static bool is_measured(const struct hpcdb_input *input)
{
	return input->combine == HPCDB_COMBINE_SUM && input->formula.nodes.count == 1 &&
	       input->formula.nodes.items[0].operation == SONDE_OPERATION_VALUE &&
	       !strchr(input->metric, '"');
}

/* Puts the names of metrics where #n stands for a number of an input. */
static void put_named(struct sonde_buffer *out, const struct hpcdb_taxonomy *taxonomy,
		      const char *text)
{
	while (*text) {
		char *end;

		if (*text != '#') {
			sonde_buffer_put_char(out, *text++);
			continue;
		}
		sonde_buffer_put_format(out, "\"%s\"",
					taxonomy->inputs.items[strtoul(text + 1, &end, 10)].metric);
		text = end;
	}
}

/* A formula over sums of what was measured, by names; NULL where it is of something else. */
static const char *text_of(struct hpcdb_taxonomy *taxonomy, const struct hpcdb_variant *variant)
{
	const struct sonde_expression *inclusive = &variant->costs[HPCDB_INCLUSIVE];
	const struct sonde_expression *cost =
		inclusive->nodes.count ? inclusive : &variant->costs[HPCDB_EXCLUSIVE];
	struct sonde_buffer numbered = { 0 }, named = { 0 };
	const char *text = NULL;

	if (variant->kind != HPCDB_BY_FORMULA || !cost->nodes.count)
		return NULL;
	for (size_t i = 0; i < cost->nodes.count; i++) {
		const struct sonde_expression_node *node = &cost->nodes.items[i];

		if (node->operation == SONDE_OPERATION_REFERENCE &&
		    (node->reference >= taxonomy->inputs.count ||
		     !is_measured(&taxonomy->inputs.items[node->reference])))
			return NULL;
	}
	sonde_expression_put_text(cost, &numbered);
	if (sonde_buffer_text(&numbered)) {
		put_named(&named, taxonomy, numbered.data);
		if (sonde_buffer_text(&named))
			text = sonde_arena_copy_text(&taxonomy->texts, named.data, named.size);
	}
	sonde_buffer_release(&numbered);
	sonde_buffer_release(&named);
	return text;
}

static bool add_variant(struct hpcdb_formulas *formulas, uint32_t metric, uint32_t variant)
{
	struct hpcdb_taxonomy *taxonomy = &formulas->taxonomy;
	const struct hpcdb_shown_metric *shown = &taxonomy->metrics.items[metric];
	const char *variant_name = taxonomy->variants.items[shown->first_variant + variant].name;
	struct hpcdb_shown_formula *item;
	const char *name;

	if (!strcmp(variant_name, "Sum"))
		return true;
	name = name_of(taxonomy, shown->name, variant_name);
	item = name ? sonde_vec_push(&formulas->items) : NULL;
	if (item)
		*item = (struct hpcdb_shown_formula){
			.name = name,
			.description = shown->description,
			.text = text_of(taxonomy,
					&taxonomy->variants.items[shown->first_variant + variant]),
			.metric = metric,
			.variant = variant,
		};
	return item;
}

/* A file that is not there or cannot be understood gives none; the check says what is wrong. */
static void read_formulas(struct sonde_recording *recording, struct hpcdb_formulas *formulas)
{
	struct hpcdb_taxonomy *taxonomy = &formulas->taxonomy;
	bool is_good = !hpcdb_taxonomy_open(taxonomy, recording->path, NULL) &&
		       !hpcdb_taxonomy_bind(&formulas->binding, taxonomy, recording, NULL);

	for (uint32_t i = 0; is_good && i < taxonomy->metrics.count; i++) {
		uint32_t variants = taxonomy->metrics.items[i].variant_count;

		for (uint32_t k = 0; is_good && k < variants; k++)
			is_good = add_variant(formulas, i, k);
	}
	formulas->was_read = true;
}

static const struct hpcdb_shown_formula *find(struct sonde_recording *recording, uint32_t number)
{
	struct hpcdb_recording *database = recording->data;
	struct hpcdb_formulas *formulas = &database->formulas;

	pthread_mutex_lock(&database->lock);
	if (!formulas->was_read)
		read_formulas(recording, formulas);
	pthread_mutex_unlock(&database->lock);
	return number < formulas->items.count ? &formulas->items.items[number] : NULL;
}

bool hpcdb_formula_at(struct sonde_recording *recording, uint32_t number,
		      struct sonde_formula *formula)
{
	const struct hpcdb_shown_formula *found = find(recording, number);

	if (found)
		*formula = (struct sonde_formula){ found->name, found->description, found->text };
	return found;
}

bool hpcdb_formula_value(struct sonde_recording *recording, uint32_t number, uint32_t context,
			 bool total, double *value)
{
	struct hpcdb_recording *database = recording->data;
	const struct hpcdb_shown_formula *found = find(recording, number);

	return found &&
	       hpcdb_taxonomy_value(&database->formulas.binding, found->metric, found->variant,
				    total ? HPCDB_INCLUSIVE : HPCDB_EXCLUSIVE, context, value);
}
