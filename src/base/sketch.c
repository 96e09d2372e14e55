/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Quantiles from buckets: 64 of the same width for each doubling, so that the middle of one is off
 * by 1/128 of a value at most. Values below 128 have a bucket of their own.
 */
#include "base/sketch.h"

#include <stdlib.h>
#include <string.h>

#define STEPS SONDE_SKETCH_STEPS

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

bool sonde_sketch_add_group(struct sonde_sketch *sketch, uint32_t bucket)
{
	size_t count = sketch->group_count;
	uint64_t *buckets =
		realloc(sketch->buckets, (count + 1) * STEPS * sizeof(*sketch->buckets));

	if (!buckets)
		return false;
	memset(buckets + count * STEPS, 0, STEPS * sizeof(*buckets));
	sketch->buckets = buckets;
	sketch->groups[bucket / STEPS] = (uint16_t)(count * STEPS + 1);
	sketch->group_count++;
	return true;
}

bool sonde_sketch_add(struct sonde_sketch *sketch, uint64_t value)
{
	if (!sonde_sketch_count(sketch, value))
		return false;
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
	if (!other->count)
		return true;
	for (uint32_t group = 0; group < SONDE_SKETCH_GROUPS; group++) {
		const uint64_t *from;
		uint64_t *to;

		if (!other->groups[group])
			continue;
		from = &other->buckets[other->groups[group] - 1u];
		to = sonde_sketch_bucket(sketch, group * STEPS);
		if (!to)
			return false;
		for (uint32_t i = 0; i < STEPS; i++)
			to[i] += from[i];
	}
	if (!sketch->count || other->min < sketch->min)
		sketch->min = other->min;
	if (other->max > sketch->max)
		sketch->max = other->max;
	sketch->count += other->count;
	sketch->sum += other->sum;
	return true;
}

/* The bucket that a share of all values does not exceed. */
static uint32_t find_bucket(const struct sonde_sketch *sketch, double wanted)
{
	uint32_t last = 0;
	uint64_t seen = 0;

	for (uint32_t group = 0; group < SONDE_SKETCH_GROUPS; group++) {
		const uint64_t *buckets;

		if (!sketch->groups[group])
			continue;
		buckets = &sketch->buckets[sketch->groups[group] - 1u];
		for (uint32_t i = 0; i < STEPS; i++) {
			seen += buckets[i];
			if (buckets[i])
				last = group * STEPS + i;
			if (seen && (double)seen >= wanted)
				return last;
		}
	}
	return last;
}

uint64_t sonde_sketch_quantile(const struct sonde_sketch *sketch, double share)
{
	uint64_t value;

	if (!sketch->count)
		return 0;
	value = middle_of(find_bucket(sketch, share * (double)sketch->count));
	if (value < sketch->min)
		return sketch->min;
	return value > sketch->max ? sketch->max : value;
}

double sonde_sketch_mean(const struct sonde_sketch *sketch)
{
	return sketch->count ? sketch->sum / (double)sketch->count : 0;
}
