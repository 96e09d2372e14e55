/* SPDX-License-Identifier: Apache-2.0 */
/* Reading of times like 1.5ms, -5ms, 50% and @1000, without floating point. */
#include "cli/moment.h"

#include <string.h>

#define WHOLE_SHARE UINT64_C(1000000000)

struct unit {
	const char *name;
	uint64_t ns;
};

static const struct unit units[] = {
	{ "ns", 1 },	     { "us", 1000 },	   { "ms", 1000000 },
	{ "s", 1000000000 }, { "m", 60000000000 }, { "h", 3600000000000 },
};

/* A number with a fraction: digits / 10^decimals. */
struct decimal {
	uint64_t digits;
	unsigned int decimals;
};

/* Steps over a number; false where there is none, or it has too many digits. */
static bool take_decimal(const char **text, struct decimal *number)
{
	bool in_fraction = false, any = false;

	*number = (struct decimal){ 0 };
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

/* The number of `unit`s, rounded down; false where it is too large. */
static bool scale(const struct decimal *number, uint64_t unit, uint64_t *result)
{
	unsigned __int128 value = (unsigned __int128)number->digits * unit;
	unsigned int i;

	for (i = 0; i < number->decimals; i++)
		value /= 10;
	*result = (uint64_t)value;
	return value <= UINT64_MAX;
}

static const char *parse_relative(const char *text, const struct decimal *number,
				  struct cli_time *time)
{
	size_t i;

	if (!*text && !number->digits)
		return NULL; /* 0 needs no unit */
	if (!*text)
		return "needs a unit: ns, us, ms, s, m or h";
	for (i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (!strcmp(text, units[i].name))
			return scale(number, units[i].ns, &time->value) ? NULL : "is too large";
	return "has an unknown unit: ns, us, ms, s, m, h and % are known";
}

const char *cli_time_parse(const char *text, struct cli_time *time)
{
	struct decimal number;

	*time = (struct cli_time){ .base = CLI_TIME_AFTER_START };
	if (*text == '@')
		time->base = CLI_TIME_ABSOLUTE;
	else if (*text == '-')
		time->base = CLI_TIME_BEFORE_END;
	text += time->base != CLI_TIME_AFTER_START;

	if (!take_decimal(&text, &number))
		return "is not a time like 10ms, -5ms, 50% or @1000000010635";
	if (time->base == CLI_TIME_ABSOLUTE) {
		time->value = number.digits;
		return *text || number.decimals ? "is not a whole number of nanoseconds" : NULL;
	}
	if (strcmp(text, "%") != 0)
		return parse_relative(text, &number, time);
	if (time->base == CLI_TIME_BEFORE_END)
		return "counts from the end and is a share: write it without the minus";
	time->base = CLI_TIME_SHARE;
	if (!scale(&number, WHOLE_SHARE / 100, &time->value) || time->value > WHOLE_SHARE)
		return "is more than 100%";
	return NULL;
}

uint64_t cli_time_resolve(struct cli_time time, uint64_t first_ns, uint64_t last_ns)
{
	/* The end is the first moment without an event, so that --to 100% takes all. */
	uint64_t end_ns = last_ns + (last_ns != UINT64_MAX);
	uint64_t span_ns = end_ns - first_ns;

	switch (time.base) {
	case CLI_TIME_AFTER_START:
		return time.value > UINT64_MAX - first_ns ? UINT64_MAX : first_ns + time.value;
	case CLI_TIME_BEFORE_END:
		return time.value > span_ns ? first_ns : end_ns - time.value;
	case CLI_TIME_SHARE:
		return first_ns + (uint64_t)((unsigned __int128)span_ns * time.value / WHOLE_SHARE);
	default:
		return time.value;
	}
}
