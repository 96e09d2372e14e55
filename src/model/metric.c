/* SPDX-License-Identifier: Apache-2.0 */
/* What the definition of a metric tells of its values. */
#include "model/metric.h"

#include <string.h>

double sonde_metric_ns(const char *name, const char *unit)
{
	static const struct {
		const char *text;
		double ns;
	} units[] = { { "sec", 1e9 }, { "s", 1e9 },    { "msec", 1e6 }, { "ms", 1e6 },
		      { "us", 1e3 },  { "usec", 1e3 }, { "nsec", 1 },	{ "ns", 1 } };
	const char *bracket = strrchr(name, '(');
	const char *text = bracket ? bracket + 1 : "";
	size_t length = strcspn(text, ")");

	if (unit && *unit) {
		text = unit;
		length = strlen(unit);
	}
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strlen(units[i].text) == length && !strncasecmp(text, units[i].text, length))
			return units[i].ns;
	}
	return 0;
}

bool sonde_metric_is_point(const struct sonde_definitions *definitions,
			   const struct sonde_metric *metric)
{
	const char *scope = sonde_definitions_string(definitions, metric->scope);

	return !metric->statistic && (!*scope || !strcmp(scope, "point"));
}
