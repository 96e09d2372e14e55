/* SPDX-License-Identifier: Apache-2.0 */
/* Options that say which traces of a store are meant, and opening a store with messages. */
#ifndef SONDE_CLI_STORE_FILTER_H
#define SONDE_CLI_STORE_FILTER_H

#include "cli/command.h"
#include "cli/moment.h"
#include "store/search.h"

struct cli_store_filter {
	struct cli_time from, to;
	uint64_t min_duration, max_duration; /* ns; 0: not given */
	bool errors;
	bool shallow;
	const char *type, *service, *host, *app, *env;
	struct cli_list methods, exceptions, texts, prefixes, conditions;
};

extern const struct cli_option cli_store_filter_options[];

#define CLI_STORE_FILTER_GROUP(type)                                                               \
	{                                                                                          \
		.title = "Which traces", .options = cli_store_filter_options,                      \
		.base = offsetof(type, filter)                                                     \
	}

/* How conditions are written, for the topics of a command. */
extern const char cli_condition_text[];
#define CLI_CONDITION_TOPIC                                                                        \
	{                                                                                          \
		.title = "Conditions", .text = cli_condition_text                                  \
	}

/* Opens a store for reading, with one warning where it is damaged. Returns an exit code. */
int cli_store_open(struct cli *cli, const char *path, struct zts_base **base);

/* Does `work` with the store that is the first operand, opened likewise. */
int cli_store_read(struct cli *cli,
		   int (*work)(struct cli *cli, const void *options, struct zts_base *base),
		   const void *options);

/*
 * The query that the options and the operands from `first` on make together. Returns an exit code;
 * release the query in every case.
 */
int cli_store_query(struct cli *cli, const struct zts_base *base,
		    const struct cli_store_filter *filter, size_t first, struct sonde_query *query);

/* Says that nothing was found. */
void cli_note_nothing_found(struct cli *cli, const struct zts_base *base);

/* A warning about traces that could not be decoded. */
void cli_warn_of_unreadable(struct cli *cli, const char *path, uint64_t unreadable);

#endif
