/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cct.db: the values of each context by metric and profile: the planes of profile.db turned around,
 * without the summary. Like there, all is read from the mapped file; safe from several threads.
 */
#ifndef SONDE_HPCDB_CCT_H
#define SONDE_HPCDB_CCT_H

#include "formats/hpcdb/hpcdb_profile.h"

struct hpcdb_block {
	const uint8_t *values;
	const uint8_t *indices;
	uint64_t value_count;
	uint16_t metric_count;
	bool is_whole;
	uint64_t values_offset, indices_offset;
	uint64_t stated_values;
	uint16_t stated_metrics;
};

struct hpcdb_cct {
	struct hpcdb_file file;
	struct hpcdb_table contexts; /* [ctxId] */
};

enum sonde_status hpcdb_cct_open(struct hpcdb_cct *cct, const char *folder,
				 struct sonde_error *err);
enum sonde_status hpcdb_cct_of(struct hpcdb_cct *cct, const void *data, size_t size,
			       const char *path, struct sonde_error *err);
void hpcdb_cct_release(struct hpcdb_cct *cct);

/* The block of a context; empty where the file has none for that id. */
struct hpcdb_block hpcdb_cct_at(const struct hpcdb_cct *cct, uint32_t context);

static inline uint16_t hpcdb_block_metric(const struct hpcdb_block *block, uint32_t number)
{
	return sonde_load_u16le(block->indices + (size_t)number * HPCDB_CCT_INDEX_SIZE);
}

static inline uint64_t hpcdb_block_start(const struct hpcdb_block *block, uint32_t number)
{
	return sonde_load_u64le(block->indices + (size_t)number * HPCDB_CCT_INDEX_SIZE + 2);
}

static inline void hpcdb_block_range(const struct hpcdb_block *block, uint32_t number,
				     uint64_t *first, uint64_t *end)
{
	*first = hpcdb_block_start(block, number);
	*end = number + 1u < block->metric_count ? hpcdb_block_start(block, number + 1) :
						   block->value_count;
	if (*end > block->value_count)
		*end = block->value_count;
	if (*first > *end)
		*first = *end;
}

static inline uint32_t hpcdb_block_profile(const struct hpcdb_block *block, uint64_t value)
{
	return sonde_load_u32le(block->values + value * HPCDB_CCT_VALUE_SIZE);
}

static inline double hpcdb_block_number(const struct hpcdb_block *block, uint64_t value)
{
	return hpcdb_load_double(block->values + value * HPCDB_CCT_VALUE_SIZE + 4);
}

/* The values of a metric, from *first to before *end; false where it has none. */
bool hpcdb_block_find_metric(const struct hpcdb_block *block, uint16_t metric, uint64_t *first,
			     uint64_t *end);

/* One value by binary search; false where there is none. */
bool hpcdb_block_find(const struct hpcdb_block *block, uint16_t metric, uint32_t profile,
		      double *value);

#endif
