/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Quantiles from buckets: 64 of the same width for each doubling, so that the middle of one is off
 * by 1/128 of a value at most. Values below 128 have a bucket of their own.
 */
#include "store/sketch.h"

#include <stdlib.h>
#include <string.h>

#define STEPS_BITS 6
#define STEPS (1u << STEPS_BITS)

static uint32_t bucket_of(uint64_t value)
{
	unsigned int doubling = 63 - (unsigned int)__builtin_clzll(value | 1);

	if (doubling < STEPS_BITS)
		return (uint32_t)value;
	return (doubling - STEPS_BITS) * STEPS + (uint32_t)(value >> (doubling - STEPS_BITS));
}

static uint64_t middle_of(uint32_t bucket)
{
	unsigned int shift = bucket < 2 * STEPS ? 0 : bucket / STEPS - 1;
	uint64_t low = (uint64_t)(bucket - shift * STEPS) << shift;

	return low + (UINT64_C(1) << shift) / 2;
}

void sonde_sketch_release(struct sonde_sketch *sketch)
{
	free(sketch->buckets);
	*sketch = (struct sonde_sketch){ 0 };
}

/* Makes room for the buckets from `low` to `high`. */
static bool cover(struct sonde_sketch *sketch, uint32_t low, uint32_t high)
{
	uint32_t end = sketch->first + sketch->bucket_count;
	uint64_t *buckets;

	if (sketch->bucket_count && low >= sketch->first && high < end)
		return true;
	if (sketch->bucket_count) {
		low = low < sketch->first ? low : sketch->first;
		high = high >= end ? high : end - 1;
	}
	/* a little more, so that growing is rare */
	low = low > 16 ? low - 16 : 0;
	high += 16;
	buckets = calloc(high - low + 1, sizeof(*buckets));
	if (!buckets)
		return false;
	if (sketch->bucket_count)
		memcpy(buckets + (sketch->first - low), sketch->buckets,
		       sketch->bucket_count * sizeof(*buckets));
	free(sketch->buckets);
	sketch->buckets = buckets;
	sketch->first = low;
	sketch->bucket_count = high - low + 1;
	return true;
}

bool sonde_sketch_add(struct sonde_sketch *sketch, uint64_t value)
{
	uint32_t bucket = bucket_of(value);

	if (!cover(sketch, bucket, bucket))
		return false;
	sketch->buckets[bucket - sketch->first]++;
	if (!sketch->count || value < sketch->min)
		sketch->min = value;
	if (value > sketch->max)
		sketch->max = value;
	sketch->count++;
	sketch->sum += (double)value;
	return true;
}

bool sonde_sketch_merge(struct sonde_sketch *sketch, const struct sonde_sketch *other)
{
	uint32_t i;

	if (!other->count)
		return true;
	if (other->bucket_count &&
	    !cover(sketch, other->first, other->first + other->bucket_count - 1))
		return false;
	for (i = 0; i < other->bucket_count; i++)
		sketch->buckets[other->first + i - sketch->first] += other->buckets[i];
	if (!sketch->count || other->min < sketch->min)
		sketch->min = other->min;
	if (other->max > sketch->max)
		sketch->max = other->max;
	sketch->count += other->count;
	sketch->sum += other->sum;
	return true;
}

uint64_t sonde_sketch_quantile(const struct sonde_sketch *sketch, double share)
{
	double wanted = share * (double)sketch->count;
	uint64_t seen = 0, value;
	uint32_t i;

	if (!sketch->count)
		return 0;
	for (i = 0; i < sketch->bucket_count - 1; i++) {
		seen += sketch->buckets[i];
		if (seen && (double)seen >= wanted)
			break;
	}
	value = middle_of(sketch->first + i);
	if (value < sketch->min)
		return sketch->min;
	return value > sketch->max ? sketch->max : value;
}

double sonde_sketch_mean(const struct sonde_sketch *sketch)
{
	return sketch->count ? sketch->sum / (double)sketch->count : 0;
}
