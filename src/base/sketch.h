/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A summary of many numbers from which quantiles are read with a relative error of at most 1 %:
 * counts in buckets that grow with the numbers in them. Two are merged by adding, which loses
 * nothing.
 */
#ifndef SONDE_BASE_SKETCH_H
#define SONDE_BASE_SKETCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SONDE_SKETCH_ERROR 0.01

/* 64 buckets of the same width for each doubling; numbers below 128 have a bucket of their own. */
#define SONDE_SKETCH_STEPS_BITS 6
#define SONDE_SKETCH_STEPS (1u << SONDE_SKETCH_STEPS_BITS)
#define SONDE_SKETCH_GROUPS (64 - SONDE_SKETCH_STEPS_BITS + 1)

/* Zeroed is empty. A group of 64 buckets is there once a number fell into it. */
struct sonde_sketch {
	uint64_t *buckets; /* group after group, in the order they came */
	uint16_t group_count;
	/* Where the buckets of each group begin, plus 1; 0: it is not there. */
	uint16_t groups[SONDE_SKETCH_GROUPS];
	uint64_t count;
	uint64_t min, max;
	double sum;
};
void sonde_sketch_release(struct sonde_sketch *sketch);

static inline uint32_t sonde_sketch_bucket_of(uint64_t value)
{
	unsigned int shift = 63 - SONDE_SKETCH_STEPS_BITS -
			     (unsigned int)__builtin_clzll(value | (uint64_t)SONDE_SKETCH_STEPS);

	return (shift << SONDE_SKETCH_STEPS_BITS) + (uint32_t)(value >> shift);
}

/* Makes room for the group of a bucket that is not there yet; false where memory failed. */
bool sonde_sketch_add_group(struct sonde_sketch *sketch, uint32_t bucket);

/* The counter of a bucket; NULL where memory failed. */
static inline uint64_t *sonde_sketch_bucket(struct sonde_sketch *sketch, uint32_t bucket)
{
	const uint16_t *group = &sketch->groups[bucket / SONDE_SKETCH_STEPS];

	if (__builtin_expect(!*group, 0) && !sonde_sketch_add_group(sketch, bucket))
		return NULL;
	return &sketch->buckets[*group - 1u + bucket % SONDE_SKETCH_STEPS];
}

/* Counts a value in its bucket and nowhere else; false where memory failed. */
static inline bool sonde_sketch_count(struct sonde_sketch *sketch, uint64_t value)
{
	uint32_t bucket = sonde_sketch_bucket_of(value);
	const uint16_t *group = &sketch->groups[bucket / SONDE_SKETCH_STEPS];

	if (__builtin_expect(!*group, 0) && !sonde_sketch_add_group(sketch, bucket))
		return false;
	sketch->buckets[*group - 1u + bucket % SONDE_SKETCH_STEPS]++;
	return true;
}

/* False where memory failed. */
bool sonde_sketch_add(struct sonde_sketch *sketch, uint64_t value);
bool sonde_sketch_merge(struct sonde_sketch *sketch, const struct sonde_sketch *other);

/* The value that a share (0 to 1) of all values does not exceed; 0 of an empty one. */
uint64_t sonde_sketch_quantile(const struct sonde_sketch *sketch, double share);
double sonde_sketch_mean(const struct sonde_sketch *sketch);

#endif
