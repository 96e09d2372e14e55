/* SPDX-License-Identifier: Apache-2.0 */
/* Questions about metrics that readers, writers and analyses all ask. */
#ifndef SONDE_MODEL_METRIC_H
#define SONDE_MODEL_METRIC_H

#include <sonde/definitions.h>

/* How many nanoseconds one is, by the unit, or by what stands in brackets at the end of the name; 0: it is no time. */
double sonde_metric_ns(const char *name, const char *unit);
/* The same of bytes. */
bool sonde_metric_is_bytes(const char *name, const char *unit);

/* Whether its values are those of single tracks in single contexts; all others follow from these. */
bool sonde_metric_is_point(const struct sonde_definitions *definitions,
			   const struct sonde_metric *metric);

/*
 * Which one is shown where nobody says which: of those with the greatest rank the first. Times come
 * before all else, by their sum over the recording, each of them `ns` long (0: it is no time).
 */
double sonde_metric_rank(double ns, double sum);

#endif
