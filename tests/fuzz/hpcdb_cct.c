/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target over cct.db: every run of values is within its block, and lookups stay there. */
#include "formats/hpcdb/hpcdb_cct.h"
#include "require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use_block(const struct hpcdb_block *block)
{
	uint64_t first, end;
	double value;

	for (uint32_t i = 0; i < block->metric_count && i < 100; i++) {
		uint16_t metric = hpcdb_block_metric(block, i);

		hpcdb_block_range(block, i, &first, &end);
		REQUIRE(first <= end && end <= block->value_count);
		for (uint64_t j = first; j < end && j < first + 50; j++)
			hpcdb_block_find(block, metric, hpcdb_block_profile(block, j), &value);
		if (hpcdb_block_find_metric(block, metric, &first, &end))
			REQUIRE(first < end && end <= block->value_count);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hpcdb_cct cct;

	if (size > 1 << 20 || hpcdb_cct_of(&cct, data, size, "cct.db", NULL))
		return 0;
	for (uint32_t i = 0; i < cct.contexts.count && i < 500; i++) {
		struct hpcdb_block block = hpcdb_cct_at(&cct, i);

		use_block(&block);
	}
	hpcdb_cct_release(&cct);
	return 0;
}
