/* SPDX-License-Identifier: Apache-2.0 */
/* Reading cct.db. */
#include "formats/hpcdb/hpcdb_cct.h"

static void read_infos(struct hpcdb_cct *cct)
{
	const struct hpcdb_section *section = &cct->file.sections[HPCDB_CCT_CONTEXTS];
	const uint8_t *p = section->size >= 0x0d ? cct->file.data + section->offset : NULL;

	cct->contexts = (struct hpcdb_table){ .stride = HPCDB_CCT_CONTEXT_SIZE };
	if (p)
		cct->contexts = hpcdb_table_of(&cct->file, sonde_load_u64le(p),
					       sonde_load_u32le(p + 8), p[0x0c],
					       HPCDB_CCT_CONTEXT_SIZE);
}

enum sonde_status hpcdb_cct_open(struct hpcdb_cct *cct, const char *folder, struct sonde_error *err)
{
	enum sonde_status status;

	*cct = (struct hpcdb_cct){ 0 };
	status = hpcdb_file_open(&cct->file, folder, HPCDB_CCT_FILE, err);
	if (status == SONDE_OK)
		read_infos(cct);
	return status;
}

enum sonde_status hpcdb_cct_of(struct hpcdb_cct *cct, const void *data, size_t size,
			       const char *path, struct sonde_error *err)
{
	enum sonde_status status;

	*cct = (struct hpcdb_cct){ 0 };
	status = hpcdb_file_of(&cct->file, data, size, path, HPCDB_CCT_FILE, err);
	if (status == SONDE_OK)
		read_infos(cct);
	return status;
}

void hpcdb_cct_release(struct hpcdb_cct *cct)
{
	hpcdb_file_release(&cct->file);
}

struct hpcdb_block hpcdb_cct_at(const struct hpcdb_cct *cct, uint32_t context)
{
	const uint8_t *p = hpcdb_table_at(&cct->file, &cct->contexts, context);
	struct hpcdb_block block = { .is_whole = true };

	if (!p)
		return block;
	block.stated_values = sonde_load_u64le(p);
	block.values_offset = sonde_load_u64le(p + 8);
	block.stated_metrics = sonde_load_u16le(p + 0x10);
	block.indices_offset = sonde_load_u64le(p + 0x18);
	if (!block.stated_values && !block.stated_metrics)
		return block;
	if (block.stated_values <= cct->file.size) {
		block.values = hpcdb_at(&cct->file, block.values_offset,
					block.stated_values * HPCDB_CCT_VALUE_SIZE);
		block.indices = hpcdb_at(&cct->file, block.indices_offset,
					 (uint64_t)block.stated_metrics * HPCDB_CCT_INDEX_SIZE);
	}
	block.is_whole = block.values && block.indices;
	if (block.is_whole) {
		block.value_count = block.stated_values;
		block.metric_count = block.stated_metrics;
	}
	return block;
}

bool hpcdb_block_find_metric(const struct hpcdb_block *block, uint16_t metric, uint64_t *first,
			     uint64_t *end)
{
	uint32_t low = 0, high = block->metric_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (hpcdb_block_metric(block, middle) < metric)
			low = middle + 1;
		else
			high = middle;
	}
	if (low >= block->metric_count || hpcdb_block_metric(block, low) != metric)
		return false;
	hpcdb_block_range(block, low, first, end);
	return *first < *end;
}

bool hpcdb_block_find(const struct hpcdb_block *block, uint16_t metric, uint32_t profile,
		      double *value)
{
	uint64_t low, high, end;

	if (!hpcdb_block_find_metric(block, metric, &low, &end))
		return false;
	for (high = end; low < high;) {
		uint64_t middle = low + (high - low) / 2;

		if (hpcdb_block_profile(block, middle) < profile)
			low = middle + 1;
		else
			high = middle;
	}
	if (low >= end || hpcdb_block_profile(block, low) != profile)
		return false;
	*value = hpcdb_block_number(block, low);
	return true;
}
