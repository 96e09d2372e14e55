/* SPDX-License-Identifier: Apache-2.0 */
/* Gathers the values of a track by metric. */
#include "formats/exchange_values.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "model/metric.h"

enum sonde_status exchange_values_take(struct exchange_values *values, uint32_t metric_count,
				       double least, const struct sonde_value *items, size_t count,
				       struct sonde_error *err)
{
	if (!values->metrics && metric_count) {
		values->metrics = calloc(metric_count, sizeof(*values->metrics));
		if (!values->metrics)
			return sonde_fail_nomem(err);
		values->metric_count = metric_count;
	}
	for (size_t i = 0; i < count; i++) {
		struct exchange_point *point;

		if (!values->metrics || items[i].metric >= values->metric_count)
			continue;
		if (!isfinite(items[i].value) || items[i].value < least) {
			values->refused++;
			continue;
		}
		point = sonde_vec_push(&values->metrics[items[i].metric].list);
		if (!point)
			return sonde_fail_nomem(err);
		point->context = items[i].context;
		point->value = items[i].value;
	}
	return SONDE_OK;
}

void exchange_values_release(struct exchange_values *values)
{
	for (uint32_t i = 0; i < values->metric_count; i++)
		sonde_vec_release(&values->metrics[i].list);
	free(values->metrics);
	*values = (struct exchange_values){ 0 };
}

uint64_t exchange_count_unused(const struct sonde_definitions *definitions,
			       const _Atomic bool *is_metric_used, uint32_t metric_count)
{
	uint64_t count = 0;

	for (uint32_t i = 0; i < metric_count; i++) {
		const struct sonde_metric *metric = sonde_definitions_metric(definitions, i);

		count += sonde_metric_is_point(definitions, metric) &&
			 !atomic_load(&is_metric_used[i]);
	}
	return count;
}
