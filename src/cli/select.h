/* SPDX-License-Identifier: Apache-2.0 */
/* Options that say which events are meant, and what they mean for one recording. */
#ifndef SONDE_CLI_SELECT_H
#define SONDE_CLI_SELECT_H

#include <sonde/pipeline.h>

#include "cli/command.h"
#include "cli/moment.h"

struct cli_range {
	struct cli_time from;
	struct cli_time to;
};

struct cli_filter {
	struct cli_list tracks;
	struct cli_list functions;
	unsigned int kinds; /* bits 1 << enum sonde_event_kind */
	uint64_t min_depth;
	uint64_t max_depth;
};

extern const struct cli_option cli_range_options[];
extern const struct cli_option cli_filter_options[];

/* Those of the filter that commands with options of their own share; `place` is where the list is. */
#define CLI_TRACK_OPTION(place)                                                                    \
	{                                                                                          \
		.name = "track", .argument = "TRACK", .kind = CLI_LIST,                            \
		.help = "only these tracks: ids as 'sonde info' shows them, names, or patterns "   \
			"like 'worker*'; several with commas or by repeating",                     \
		.offset = (place)                                                                  \
	}
#define CLI_FUNCTION_OPTION(place)                                                                 \
	{                                                                                          \
		.name = "function", .argument = "PATTERN", .kind = CLI_REPEAT,                     \
		.help = "only functions whose name fits the shell pattern; repeat for several",    \
		.offset = (place)                                                                  \
	}

#define CLI_RANGE_GROUP(type)                                                                      \
	{                                                                                          \
		.title = "Time", .options = cli_range_options, .base = offsetof(type, range)       \
	}
#define CLI_FILTER_GROUP(type)                                                                     \
	{                                                                                          \
		.title = "Which events", .options = cli_filter_options,                            \
		.base = offsetof(type, filter)                                                     \
	}

/* A selection for one recording. Borrows the filter's lists. */
struct cli_selection {
	struct sonde_selection_spec spec;
	uint32_t *tracks; /* owned */
};

/*
 * Finds out what the options mean in this recording; either may be NULL. Returns an exit code;
 * release in every case.
 */
int cli_selection_resolve(struct cli *cli, const struct sonde_recording *recording,
			  const struct cli_range *range, const struct cli_filter *filter,
			  struct cli_selection *selection);
void cli_selection_release(struct cli_selection *selection);

/* It leaves anything out. */
bool cli_selects(const struct sonde_selection_spec *spec);

#endif
