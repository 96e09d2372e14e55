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

#endif
