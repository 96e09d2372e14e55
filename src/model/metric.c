/* SPDX-License-Identifier: Apache-2.0 */
/* What the definition of a metric tells of its values. */
#include "model/metric.h"

#include <string.h>

/* Its unit, or what stands in brackets at the end of the name. */
static const char *find_unit(const char *name, const char *unit, size_t *length)
{
	const char *bracket = strrchr(name, '(');
	const char *text = unit && *unit ? unit : bracket ? bracket + 1 : "";

	*length = text == unit ? strlen(unit) : strcspn(text, ")");
	return text;
}

double sonde_metric_ns(const char *name, const char *unit)
{
	static const struct {
		const char *text;
		double ns;
	} units[] = { { "sec", 1e9 }, { "s", 1e9 },    { "msec", 1e6 }, { "ms", 1e6 },
		      { "us", 1e3 },  { "usec", 1e3 }, { "nsec", 1 },	{ "ns", 1 } };
	size_t length;
	const char *text = find_unit(name, unit, &length);

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strlen(units[i].text) == length && !strncasecmp(text, units[i].text, length))
			return units[i].ns;
	}
	return 0;
}

bool sonde_metric_is_bytes(const char *name, const char *unit)
{
	size_t length;
	const char *text = find_unit(name, unit, &length);

	return (length == 5 && !strncasecmp(text, "bytes", length)) ||
	       (length == 1 && *text == 'B');
}

bool sonde_metric_is_point(const struct sonde_definitions *definitions,
			   const struct sonde_metric *metric)
{
	const char *scope = sonde_definitions_string(definitions, metric->scope);

	return !metric->statistic && (!*scope || !strcmp(scope, "point"));
}

double sonde_metric_rank(double ns, double sum)
{
	return ns > 0 ? ns * sum : -0.5;
}
