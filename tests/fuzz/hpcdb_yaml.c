/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target over metrics/default.yaml: every formula is evaluated and printed, and what is printed
 * reads as the same formula.
 */
#include "formats/hpcdb/hpcdb_taxonomy.h"
#include "require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool find_any(void *data, uint32_t reference, double *value)
{
	(void)data;
	*value = reference + 1.5;
	return reference != 2;
}

static void put_any(void *data, uint32_t reference, struct sonde_buffer *out)
{
	(void)data;
	sonde_buffer_put_format(out, "*%u", reference);
}

static void use_formula(const struct sonde_expression *formula)
{
	struct sonde_expression_values values = { .value = 2, .find = find_any };
	struct sonde_expression again = { 0 };
	struct sonde_buffer text = { 0 };
	double result, other;

	if (!formula->nodes.count || formula->nodes.count > 300)
		return;
	sonde_expression_put_yaml(formula, &text, put_any, NULL);
	sonde_buffer_clear(&text);
	sonde_expression_put_text(formula, &text);
	if (sonde_expression_parse(&again, text.data, text.size, NULL) == SONDE_OK &&
	    sonde_expression_evaluate(formula, &values, &result) &&
	    sonde_expression_evaluate(&again, &values, &other))
		REQUIRE(result == other);
	sonde_expression_release(&again);
	sonde_buffer_release(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sonde_expression_values values = { .value = 2, .find = find_any };
	struct hpcdb_taxonomy taxonomy;
	double result;

	if (size > 1 << 16 || hpcdb_taxonomy_read(&taxonomy, data, size, NULL) != SONDE_OK)
		return 0;
	for (size_t i = 0; i < taxonomy.variants.count; i++) {
		for (int cost = 0; cost < HPCDB_COSTS; cost++)
			use_formula(&taxonomy.variants.items[i].costs[cost]);
	}
	for (uint32_t i = 0; i < taxonomy.metrics.count && i < 100; i++) {
		REQUIRE(taxonomy.metrics.items[i].end > i);
		for (uint32_t j = 0; j < taxonomy.metrics.items[i].variant_count; j++)
			hpcdb_taxonomy_evaluate(&taxonomy, i, j, HPCDB_INCLUSIVE, &values, &result);
	}
	hpcdb_taxonomy_release(&taxonomy);
	return 0;
}
