/* SPDX-License-Identifier: Apache-2.0 */
/* Running SQL for `sonde query`: statement by statement, with messages for what goes wrong. */
#ifndef SONDE_CLI_QUERY_RUN_H
#define SONDE_CLI_QUERY_RUN_H

#include "cli/query_output.h"
#include "query/query.h"

struct query_session {
	struct cli *cli;
	struct query *query;
	struct query_output output;
	const struct query_source *sources;
	size_t source_count;
	uint64_t timeout_ns; /* 0: none */
	bool is_shell;	     /* somebody types, and goes on after an error */
	bool ended;	     /* .quit */
};

/* Runs all statements of a text up to the first that fails, which is told. Returns an exit code. */
int query_run(struct query_session *session, const char *sql);

/*
 * Ctrl-C ends what is running and not the program; `always`: a second one does not end it either. Between
 * statements it is only remembered.
 */
void query_catch_signals(struct query_session *session, bool always);
/* The signal that came since it was taken last; 0: none. */
int query_signal_came(void);
int query_take_signal(void);

/* Says what is wrong with a statement, where, and what was perhaps meant. Returns an exit code. */
int query_tell_error(struct query_session *session, const char *sql, int code);

#endif
