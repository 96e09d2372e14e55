/* SPDX-License-Identifier: Apache-2.0 */
/* What is said of a statement that fails: the place in it, and what was perhaps meant. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/human.h"
#include "cli/query_run.h"
#include "cli/suggest.h"
#include "query/query_functions.h"

#define PLACE_BEFORE 40 /* bytes of a long line that are shown before the place, and after it */
#define PLACE_AFTER 32

enum missing { MISSING_NOTHING, MISSING_TABLE, MISSING_COLUMN, MISSING_FUNCTION };

static bool is_inside_character(char byte)
{
	return ((unsigned char)byte & 0xc0) == 0x80;
}

/* The line with the place, as much of it as a screen shows, and a mark below. */
static void show_place(struct cli *cli, const char *sql, size_t offset)
{
	struct sonde_buffer line = { 0 };
	size_t start = offset, end = offset, mark;

	while (start && sql[start - 1] != '\n' && offset - start < PLACE_BEFORE)
		start--;
	if (start && sql[start - 1] != '\n')
		sonde_buffer_put_text(&line, "...");
	while (start < offset &&
	       (sql[start] == ' ' || sql[start] == '\t' || is_inside_character(sql[start])))
		start++;
	while (sql[end] && sql[end] != '\n' && end - offset < PLACE_AFTER)
		end++;
	while (end > offset && is_inside_character(sql[end]))
		end--;
	mark = line.size + offset - start;
	sonde_buffer_put(&line, sql + start, end - start);
	if (sql[end] && sql[end] != '\n')
		sonde_buffer_put_text(&line, "...");
	if (sonde_buffer_text(&line))
		cli_show_place(cli, line.data, mark);
	sonde_buffer_release(&line);
}

/* What SQLite did not find, by its message; `name` is the last part of "a.events". */
static enum missing missing_in(const char *message, const char **name)
{
	static const char *const starts[] = { [MISSING_TABLE] = "no such table: ",
					      [MISSING_COLUMN] = "no such column: ",
					      [MISSING_FUNCTION] = "no such function: " };
	size_t i;

	for (i = MISSING_TABLE; i <= MISSING_FUNCTION; i++) {
		if (strncmp(message, starts[i], strlen(starts[i])) != 0)
			continue;
		*name = message + strlen(starts[i]);
		if (strrchr(*name, '.'))
			*name = strrchr(*name, '.') + 1;
		return (enum missing)i;
	}
	return MISSING_NOTHING;
}

static void consider_functions(struct cli_suggestion *suggestion)
{
	static const char *const usual[] = { "abs",    "avg",	       "coalesce", "count",
					     "format", "group_concat", "ifnull",   "instr",
					     "length", "lower",	       "max",	   "min",
					     "nullif", "printf",       "replace",  "round",
					     "substr", "sum",	       "total",	   "upper" };
	size_t i;

	for (i = 0; query_function_at(i); i++)
		cli_suggestion_consider(suggestion, query_function_at(i)->name);
	for (i = 0; i < sizeof(usual) / sizeof(usual[0]); i++)
		cli_suggestion_consider(suggestion, usual[i]);
}

static void suggest(struct query_session *session, enum missing missing, const char *name)
{
	const char *before = session->is_shell ? "" : "sonde query RECORDING ";
	struct cli *cli = session->cli;
	struct cli_suggestion suggestion = cli_suggestion_for(name);
	const struct query_column *column;
	size_t i;

	if (missing == MISSING_FUNCTION)
		consider_functions(&suggestion);
	for (i = 0; missing != MISSING_FUNCTION && (column = query_column_at(i)); i++)
		cli_suggestion_consider(&suggestion,
					missing == MISSING_TABLE ? column->table : column->column);
	if (suggestion.best)
		cli_hint(cli, "did you mean '%s'?", suggestion.best);
	else if (missing == MISSING_TABLE)
		cli_hint(cli, "%s.tables lists the tables", before);
	else if (missing == MISSING_COLUMN)
		cli_hint(cli, "%s.schema lists the columns; texts are in single quotes", before);
	else
		cli_hint(cli, "%s.functions lists those beside SQLite's own", before);
}

/* Why it was ended; SONDE_OK: it was not. */
static int tell_interruption(struct query_session *session)
{
	struct sonde_buffer limit = { 0 };
	int signal;

	if (query_interruption(session->query) == SONDE_LIMIT) {
		sonde_put_duration(&limit, session->timeout_ns, " ");
		cli_error(session->cli, "the query took longer than %s and was ended",
			  sonde_buffer_text(&limit) ? limit.data : "it may");
		cli_hint(session->cli,
			 "%s gives it more; a condition on time, track or function "
			 "makes it faster",
			 session->is_shell ? ".timeout" : "--timeout");
		sonde_buffer_release(&limit);
		return CLI_FAILED;
	}
	signal = query_take_signal();
	cli_note(session->cli, "interrupted");
	return CLI_SIGNALLED + (signal ? signal : 2);
}

/* An error in what the user wrote. */
static int tell_mistake(struct query_session *session, const char *sql, int code)
{
	sqlite3 *connection = query_connection(session->query);
	const char *name = NULL, *found;
	int offset = sqlite3_error_offset(connection);
	char *message = strdup(sqlite3_errmsg(connection));
	enum missing missing;

	if (!message)
		return cli_fail_nomem(session->cli);
	missing = missing_in(message, &name);
	cli_error(session->cli, "%s", message);
	if (offset < 0 && missing && (found = strcasestr(sql, name)))
		offset = (int)(found - sql);
	if (offset >= 0 && (size_t)offset <= strlen(sql))
		show_place(session->cli, sql, (size_t)offset);
	if (missing)
		suggest(session, missing, name);
	else if (code == SQLITE_AUTH || strstr(message, "may not be modified"))
		cli_hint(session->cli,
			 "recordings are only read; CREATE TEMP TABLE ... AS keeps what "
			 "was found");
	else if (!strcmp(message, "incomplete input"))
		cli_hint(session->cli, "it ends too early: is a bracket or a quote open?");
	else if (!strcmp(message, "integer overflow"))
		cli_hint(session->cli, "total() adds up what is too large for sum()");
	free(message);
	return CLI_USAGE;
}

int query_tell_error(struct query_session *session, const char *sql, int code)
{
	const struct sonde_error *err = query_error(session->query);

	code &= 0xff; /* without what SQLite adds to it */
	if (code == SQLITE_INTERRUPT || query_interruption(session->query) != SONDE_OK)
		return tell_interruption(session);
	if (err)
		return cli_fail(session->cli, err);
	if (code == SQLITE_NOMEM) {
		cli_error(session->cli, "the query needs more memory than it may have");
		cli_hint(session->cli,
			 "ORDER BY and GROUP BY keep what they sort: select fewer rows "
			 "or columns");
		return CLI_FAILED;
	}
	return tell_mistake(session, sql, code);
}
