/* SPDX-License-Identifier: Apache-2.0 */
/* Moments as users write them on the command line, the same for every command. */
#ifndef SONDE_CLI_MOMENT_H
#define SONDE_CLI_MOMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/command.h"

enum cli_time_base {
	CLI_TIME_NOT_GIVEN,
	CLI_TIME_AFTER_START, /* value: nanoseconds */
	CLI_TIME_BEFORE_END,  /* value: nanoseconds */
	CLI_TIME_SHARE,	      /* value: billionths of the span */
	CLI_TIME_ABSOLUTE,    /* value: nanoseconds on the recording's clock */
};

struct cli_time {
	enum cli_time_base base;
	uint64_t value;
};

/* NULL on success, else what is wrong with the text. */
const char *cli_time_parse(const char *text, struct cli_time *time);

/*
 * The same, and dates in UTC ("2026-01-02", "2026-01-02 03:04", "2026-01-02T03:04:05.678Z"), for
 * what counts in nanoseconds since 1970.
 */
const char *cli_moment_parse(const char *text, struct cli_time *time);

/* The moment on the clock of a recording whose events lie between these two, both included. */
uint64_t cli_time_resolve(struct cli_time time, uint64_t first_ns, uint64_t last_ns);

/* How to write a time, for the topics of a command. */
#define CLI_TIME_TOPIC                                                                                   \
	{                                                                                                \
		.title = "Times",                                                                        \
		.text = "TIME is one of\n"                                                               \
			"  10ms  1.5s  250us   after the start of the recording (ns, us, ms, s, m, h)\n" \
			"  -5ms                before its end\n"                                         \
			"  50%                 of its span\n"                                            \
			"  @1000000010635      nanoseconds on the recording's own clock\n"               \
			"An event at --from is included, an event at --to is not.",                      \
	}

#define CLI_MOMENT_TOPIC                                                                           \
	{                                                                                          \
		.title = "Times",                                                                  \
		.text = "TIME is one of\n"                                                         \
			"  2026-01-02  2026-01-02T03:04:05.678   a date, in UTC\n"                 \
			"  -1h  -15m     before the end of the last trace (ns, us, ms, s, m, h)\n" \
			"  10m           after the start of the first one\n"                       \
			"  50%           of the time between the two\n"                            \
			"  @NUMBER       nanoseconds since 1970\n"                                 \
			"A trace that began at --from is included, one that began at --to is "     \
			"not.",                                                                    \
	}

#endif
