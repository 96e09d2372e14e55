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

static void use_formula(const struct hpcdb_formula *formula)
{
	struct hpcdb_formula_values values = { .value = 2, .find = find_any };
	struct hpcdb_formula again = { 0 };
	struct sonde_buffer text = { 0 };
	double result, other;

	if (!formula->nodes.count || formula->nodes.count > 300)
		return;
	hpcdb_formula_put_yaml(formula, &text, put_any, NULL);
	sonde_buffer_clear(&text);
	hpcdb_formula_put_text(formula, &text);
	if (hpcdb_formula_parse(&again, text.data, text.size, NULL) == SONDE_OK &&
	    hpcdb_formula_evaluate(formula, &values, &result) &&
	    hpcdb_formula_evaluate(&again, &values, &other))
		REQUIRE(result == other);
	hpcdb_formula_release(&again);
	sonde_buffer_release(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hpcdb_formula_values values = { .value = 2, .find = find_any };
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
