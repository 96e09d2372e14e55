/* SPDX-License-Identifier: Apache-2.0 */
/* Statements of a text, one after the other, and the signals that end one. */
#include "cli/query_run.h"

#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

#include "base/now.h"
#include "cli/human.h"

/* What a signal is to end; NULL: nothing runs. */
static _Atomic(struct query *) running;
static volatile sig_atomic_t caught;

static void on_signal(int number)
{
	struct query *query = atomic_load(&running);

	caught = number;
	if (query)
		query_interrupt(query);
}

void query_catch_signals(struct query_session *session, bool always)
{
	struct sigaction action = { .sa_handler = on_signal,
				    .sa_flags = always ? 0 : (int)SA_RESETHAND };

	(void)session;
	sigaction(SIGINT, &action, NULL);
	if (always)
		return;
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
}

int query_signal_came(void)
{
	return caught;
}

int query_take_signal(void)
{
	int number = caught;

	caught = 0;
	return number;
}

/* "12 rows in 3.456 ms" for who types; what was left away for everybody. */
static void tell_result(struct query_session *session, const struct query_result *result,
			uint64_t took_ns)
{
	struct sonde_buffer text = { 0 };

	if (result->cut)
		cli_note(session->cli, "only the first %" PRIu64 " rows are shown; %s",
			 result->rows,
			 session->is_shell ? ".limit 0 shows all" : "--max-rows 0 shows all");
	if (session->is_shell && !session->cli->common.quiet) {
		sonde_put_counted(&text, result->rows, "row");
		sonde_buffer_put_text(&text, " in ");
		sonde_put_duration(&text, took_ns, " ");
		sonde_buffer_put_char(&text, '\n');
		if (sonde_buffer_text(&text))
			cli_put_styled(session->cli, CLI_STYLE_DIM, text.data);
		sonde_buffer_release(&text);
	} else if (!result->rows && session->output.mode == QUERY_BOX) {
		cli_note(session->cli, "no rows");
	}
	cli_flush(session->cli);
}

static int run_statement(struct query_session *session, const char *sql, sqlite3_stmt *statement)
{
	uint64_t start_ns = sonde_now_ns(CLOCK_MONOTONIC);
	struct query_result result;

	query_begin(session->query);
	atomic_store(&running, session->query);
	if (query_signal_came())
		query_interrupt(session->query); /* just before there was anything to end */
	result = query_output_rows(&session->output, statement);
	atomic_store(&running, NULL);
	if (result.code != SQLITE_DONE && result.code != SQLITE_ROW)
		return query_tell_error(session, sql, result.code);
	if (sqlite3_column_count(statement))
		tell_result(session, &result, sonde_now_ns(CLOCK_MONOTONIC) - start_ns);
	return session->cli->out_failed ? CLI_FAILED : CLI_OK;
}

int query_run(struct query_session *session, const char *sql)
{
	sqlite3 *connection = query_connection(session->query);
	int code = CLI_OK;

	while (*sql && code == CLI_OK) {
		sqlite3_stmt *statement = NULL;
		const char *rest = sql;
		int result;

		query_begin(session->query);
		result = sqlite3_prepare_v2(connection, sql, -1, &statement, &rest);
		if (result != SQLITE_OK)
			code = query_tell_error(session, sql, result);
		else if (statement)
			code = run_statement(session, sql, statement);
		sqlite3_finalize(statement);
		if (rest == sql)
			break;
		sql = rest;
	}
	return code;
}
