/* SPDX-License-Identifier: Apache-2.0 */
/* Reading of durations and sizes, without floating point, and of percentages. */
#include "cli/quantity.h"

#include <stddef.h>
#include <string.h>

#define NS_PER_S UINT64_C(1000000000)

struct unit {
	const char *name;
	uint64_t size;
};

static const struct unit time_units[] = {
	{ "ns", 1 },	   { "us", 1000 },	   { "ms", 1000000 },
	{ "s", NS_PER_S }, { "m", 60 * NS_PER_S }, { "h", 3600 * NS_PER_S },
	{ NULL, 0 },
};

static const struct unit size_units[] = {
	{ "", 1 },
	{ "B", 1 },
	{ "k", UINT64_C(1) << 10 },
	{ "K", UINT64_C(1) << 10 },
	{ "KiB", UINT64_C(1) << 10 },
	{ "M", UINT64_C(1) << 20 },
	{ "MiB", UINT64_C(1) << 20 },
	{ "G", UINT64_C(1) << 30 },
	{ "GiB", UINT64_C(1) << 30 },
	{ "T", UINT64_C(1) << 40 },
	{ "TiB", UINT64_C(1) << 40 },
	{ "kB", 1000 },
	{ "MB", 1000000 },
	{ "GB", UINT64_C(1000000000) },
	{ "TB", UINT64_C(1000000000000) },
	{ NULL, 0 },
};

static uint64_t unit_size(const struct unit *units, const char *name)
{
	for (; units->name; units++)
		if (!strcmp(units->name, name))
			return units->size;
	return 0;
}

uint64_t cli_time_unit(const char *name)
{
	return unit_size(time_units, name);
}

bool cli_decimal_take(const char **text, struct cli_decimal *number)
{
	bool in_fraction = false, any = false;

	*number = (struct cli_decimal){ 0 };
	for (;; (*text)++) {
		if (**text == '.' && !in_fraction) {
			in_fraction = true;
			continue;
		}
		if (**text < '0' || **text > '9')
			return any;
		any = true;
		number->decimals += in_fraction;
		if (__builtin_mul_overflow(number->digits, 10, &number->digits) ||
		    __builtin_add_overflow(number->digits, **text - '0', &number->digits))
			return false;
	}
}

bool cli_decimal_scale(const struct cli_decimal *number, uint64_t unit, uint64_t *result)
{
	unsigned __int128 value = (unsigned __int128)number->digits * unit;
	unsigned int i;

	for (i = 0; i < number->decimals; i++)
		value /= 10;
	*result = (uint64_t)value;
	return value <= UINT64_MAX;
}

/* A number and the unit behind it; without one `otherwise` counts, unless it is 0. */
static const char *parse_duration(const char *text, uint64_t otherwise, uint64_t *ns)
{
	struct cli_decimal number;
	uint64_t unit;

	*ns = 0;
	if (!cli_decimal_take(&text, &number))
		return "is not a duration like 10ms or 1.5s";
	if (!*text && !number.digits)
		return NULL;
	unit = *text ? cli_time_unit(text) : otherwise;
	if (!unit)
		return *text ? "has an unknown unit, expected " CLI_TIME_UNITS :
			       "needs a unit: " CLI_TIME_UNITS;
	return cli_decimal_scale(&number, unit, ns) ? NULL : "is too large";
}

const char *cli_duration_parse(const char *text, uint64_t *ns)
{
	return parse_duration(text, 0, ns);
}

const char *cli_seconds_parse(const char *text, uint64_t *ns)
{
	return parse_duration(text, NS_PER_S, ns);
}

const char *cli_size_parse(const char *text, uint64_t *bytes)
{
	struct cli_decimal number;
	uint64_t unit;

	*bytes = 0;
	if (!cli_decimal_take(&text, &number))
		return "is not a size like 512K or 1.5M";
	unit = unit_size(size_units, text);
	if (!unit)
		return "has an unknown unit, expected K, M, G or T (of 1024), or bytes without one";
	if (number.decimals && unit == 1)
		return "is not a whole number of bytes";
	return cli_decimal_scale(&number, unit, bytes) ? NULL : "is too large";
}

const char *cli_percent_parse(const char *text, double *share)
{
	struct cli_decimal number;
	unsigned int i;

	*share = 0;
	if (!cli_decimal_take(&text, &number))
		return "is not a percentage like 5% or 0.1%";
	if (!*text && number.digits)
		return "needs a sign: 5%";
	if (*text && strcmp(text, "%") != 0)
		return "is not a percentage like 5% or 0.1%";
	*share = (double)number.digits / 100;
	for (i = 0; i < number.decimals; i++)
		*share /= 10;
	return NULL;
}
