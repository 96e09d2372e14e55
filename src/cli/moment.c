/* SPDX-License-Identifier: Apache-2.0 */
/* Reading of times like 1.5ms, -5ms, 50%, @1000 and of dates, without floating point. */
#include "cli/moment.h"

#include <string.h>
#include <time.h>

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

/* Exactly `digits` digits, at most `most`. */
static bool take_number(const char **text, unsigned int digits, int most, int *number)
{
	*number = 0;
	for (; digits; digits--, (*text)++) {
		if (**text < '0' || **text > '9')
			return false;
		*number = *number * 10 + (**text - '0');
	}
	return *number <= most;
}

static bool take_char(const char **text, char c)
{
	bool is_there = **text == c;

	*text += is_there;
	return is_there;
}

/* Up to nine digits behind the point. */
static bool take_fraction(const char **text, uint64_t *ns)
{
	uint64_t unit = 100000000;

	for (*ns = 0; **text >= '0' && **text <= '9' && unit; (*text)++, unit /= 10)
		*ns += (uint64_t)(**text - '0') * unit;
	return unit < 100000000;
}

static bool take_clock(const char **text, struct tm *date, uint64_t *ns)
{
	if (!take_char(text, 'T') && !take_char(text, ' '))
		return true;
	if (!take_number(text, 2, 23, &date->tm_hour) || !take_char(text, ':') ||
	    !take_number(text, 2, 59, &date->tm_min))
		return false;
	if (take_char(text, ':') && !take_number(text, 2, 60, &date->tm_sec))
		return false;
	return !take_char(text, '.') || take_fraction(text, ns);
}

const char *cli_moment_parse(const char *text, struct cli_time *time)
{
	static const char fault[] = "is not a date like 2026-01-02 or 2026-01-02T03:04:05";
	struct tm date = { 0 }, normal;
	uint64_t ns = 0;
	time_t seconds;

	if (!strchr("0123456789.@-", *text))
		return "is neither a date like 2026-01-02 nor a time like -1h, 10m or 50%";
	if (strspn(text, "0123456789") != 4 || text[4] != '-')
		return cli_time_parse(text, time);
	if (!take_number(&text, 4, 9999, &date.tm_year) || !take_char(&text, '-') ||
	    !take_number(&text, 2, 12, &date.tm_mon) || !take_char(&text, '-') ||
	    !take_number(&text, 2, 31, &date.tm_mday) || !take_clock(&text, &date, &ns))
		return fault;
	take_char(&text, 'Z');
	date.tm_year -= 1900;
	date.tm_mon -= 1;
	normal = date;
	seconds = timegm(&normal);
	if (*text || seconds < 0 || normal.tm_mday != date.tm_mday || normal.tm_mon != date.tm_mon)
		return fault;
	if ((uint64_t)seconds > UINT64_MAX / 1000000000 - 1)
		return "is too far in the future";
	*time = (struct cli_time){ .base = CLI_TIME_ABSOLUTE,
				   .value = (uint64_t)seconds * 1000000000 + ns };
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
