/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Durations (1.5ms), sizes (64K) and shares (5%) as users write them on the command line, the same for every
 * command. Moments in a recording, which are more than a duration, are in moment.h.
 */
#ifndef SONDE_CLI_QUANTITY_H
#define SONDE_CLI_QUANTITY_H

#include <stdbool.h>
#include <stdint.h>

/* A number with a fraction: digits / 10^decimals. */
struct cli_decimal {
	uint64_t digits;
	unsigned int decimals;
};

/* Steps over a number; false where there is none, or it has too many digits. */
bool cli_decimal_take(const char **text, struct cli_decimal *number);

/* The number of `unit`s, rounded down; false where it is too large. */
bool cli_decimal_scale(const struct cli_decimal *number, uint64_t unit, uint64_t *result);

/* Nanoseconds in a unit of time with that name; 0 where there is none. */
uint64_t cli_time_unit(const char *name);

#define CLI_TIME_UNITS "ns, us, ms, s, m or h"

/* NULL on success, else what is wrong with the text. A duration of 0 needs no unit. */
const char *cli_duration_parse(const char *text, uint64_t *ns);
const char *cli_seconds_parse(const char *text, uint64_t *ns);
const char *cli_size_parse(const char *text, uint64_t *bytes);
/* A share: 0.05 of "5%". Only 0 needs no sign. */
const char *cli_percent_parse(const char *text, double *share);

#endif
