/* SPDX-License-Identifier: Apache-2.0 */
/* Reading of times like 1.5ms, -5ms, 50% and @1000, without floating point. */
#include "cli/moment.h"

#include <string.h>

#include "cli/quantity.h"

#define WHOLE_SHARE UINT64_C(1000000000)

static const char *parse_relative(const char *text, const struct cli_decimal *number,
				  struct cli_time *time)
{
	uint64_t unit = cli_time_unit(text);

	if (!*text && !number->digits)
		return NULL; /* 0 needs no unit */
	if (!*text)
		return "needs a unit: " CLI_TIME_UNITS;
	if (!unit)
		return "has an unknown unit: ns, us, ms, s, m, h and % are known";
	return cli_decimal_scale(number, unit, &time->value) ? NULL : "is too large";
}

const char *cli_time_parse(const char *text, struct cli_time *time)
{
	struct cli_decimal number;

	*time = (struct cli_time){ .base = CLI_TIME_AFTER_START };
	if (*text == '@')
		time->base = CLI_TIME_ABSOLUTE;
	else if (*text == '-')
		time->base = CLI_TIME_BEFORE_END;
	text += time->base != CLI_TIME_AFTER_START;

	if (!cli_decimal_take(&text, &number))
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
	if (!cli_decimal_scale(&number, WHOLE_SHARE / 100, &time->value) ||
	    time->value > WHOLE_SHARE)
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
