/* SPDX-License-Identifier: Apache-2.0 */
/* The values of one track by metric, for formats that have a profile for each metric. */
#ifndef SONDE_FORMATS_EXCHANGE_VALUES_H
#define SONDE_FORMATS_EXCHANGE_VALUES_H

#include <sonde/profile.h>

#include "base/vec.h"

struct exchange_point {
	uint32_t context;
	double value;
};

struct exchange_points {
	SONDE_VEC(struct exchange_point) list;
};

struct exchange_values {
	uint32_t metric_count;
	struct exchange_points *metrics; /* by metric; NULL: nothing came yet */
	uint64_t refused;		 /* below what the format holds, or no number */
};

/* Those of `metric_count` metrics; below `least` they are refused. */
enum sonde_status exchange_values_take(struct exchange_values *values, uint32_t metric_count,
				       double least, const struct sonde_value *items, size_t count,
				       struct sonde_error *err);
/* A zeroed struct is fine. */
void exchange_values_release(struct exchange_values *values);

/* How many metrics that tracks may have values of were not used: they are in no profile. */
uint64_t exchange_count_unused(const struct sonde_definitions *definitions,
			       const _Atomic bool *is_metric_used, uint32_t metric_count);

#endif
