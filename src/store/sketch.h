/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A summary of many numbers from which quantiles are read with a relative error of at most 1 %:
 * counts in buckets that grow with the numbers in them. Two are merged by adding, which loses
 * nothing.
 */
#ifndef SONDE_STORE_SKETCH_H
#define SONDE_STORE_SKETCH_H

#include <stdbool.h>
#include <stdint.h>

#define SONDE_SKETCH_ERROR 0.01

/* Zeroed is empty. */
struct sonde_sketch {
	uint64_t count;
	uint64_t min, max;
	double sum;
	uint64_t *buckets; /* from bucket `first` on */
	uint32_t first;
	uint32_t bucket_count;
};
void sonde_sketch_release(struct sonde_sketch *sketch);

/* False where memory failed. */
bool sonde_sketch_add(struct sonde_sketch *sketch, uint64_t value);
bool sonde_sketch_merge(struct sonde_sketch *sketch, const struct sonde_sketch *other);

/* The value that a share (0 to 1) of all values does not exceed; 0 of an empty one. */
uint64_t sonde_sketch_quantile(const struct sonde_sketch *sketch, double share);
double sonde_sketch_mean(const struct sonde_sketch *sketch);

#endif
