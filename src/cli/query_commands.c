/* SPDX-License-Identifier: Apache-2.0 */
/* The commands of the SQL shell that are no SQL: .tables, .schema, .mode and so on. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <sonde/format.h>

#include "cli/human.h"
#include "cli/quantity.h"
#include "cli/query_shell.h"
#include "cli/suggest.h"
#include "cli/text.h"
#include "query/query_functions.h"

struct command {
	const char *name, *argument, *help;
	int (*run)(struct query_session *session, const char *argument);
};

/* "  name   words about it", wrapped below themselves; a name that is too long has a line of its own. */
static void put_entry(struct cli *cli, const char *name, size_t width, const char *help)
{
	size_t screen = cli_width(cli, 100), column = width + 4;

	sonde_buffer_put_text(&cli->out, "  ");
	if (strlen(name) > width) {
		sonde_buffer_put_text(&cli->out, name);
		sonde_buffer_put_char(&cli->out, '\n');
		column = 0;
	} else {
		cli_put_column(&cli->out, name, strlen(name), width, false);
		sonde_buffer_put_text(&cli->out, "  ");
	}
	cli_put_wrapped(&cli->out, help, width + 4, screen, column);
}

static bool is_first_of_table(size_t index)
{
	return !index ||
	       strcmp(query_column_at(index)->table, query_column_at(index - 1)->table) != 0;
}

/* "id, name, module" of the table whose first column is at `index`. */
static void put_column_names(struct sonde_buffer *out, size_t index)
{
	size_t i;

	for (i = index; query_column_at(i) && (i == index || !is_first_of_table(i)); i++) {
		if (i > index)
			sonde_buffer_put_text(out, ", ");
		sonde_buffer_put_text(out, query_column_at(i)->column);
	}
}

static void put_recordings(struct query_session *session)
{
	struct cli *cli = session->cli;
	size_t i;

	sonde_buffer_put_text(&cli->out, "recordings\n");
	for (i = 0; i < session->source_count; i++) {
		const struct query_source *source = &session->sources[i];
		const struct sonde_format_info *format =
			sonde_format_info(sonde_recording_format(source->recording));

		sonde_buffer_put_format(&cli->out, "  %s  ", source->schema);
		cli_put_escaped(&cli->out, sonde_recording_path(source->recording));
		sonde_buffer_put_format(&cli->out, " (%s)\n", format->name);
	}
	sonde_buffer_put_text(&cli->out, "\n");
}

static int show_tables(struct query_session *session, const char *argument)
{
	struct sonde_buffer names = { 0 };
	size_t i;

	(void)argument;
	put_recordings(session);
	sonde_buffer_put_text(
		&session->cli->out,
		session->source_count > 1 ?
			"tables, of each recording: a.events, b.events; events alone is "
			"that of the first\n" :
			"tables\n");
	for (i = 0; query_column_at(i); i++) {
		if (!is_first_of_table(i))
			continue;
		sonde_buffer_clear(&names);
		put_column_names(&names, i);
		if (sonde_buffer_text(&names))
			put_entry(session->cli, query_column_at(i)->table, 11, names.data);
	}
	sonde_buffer_release(&names);
	return CLI_OK;
}

static int unknown_table(struct query_session *session, const char *name)
{
	struct cli_suggestion suggestion = cli_suggestion_for(name);
	size_t i;

	for (i = 0; query_column_at(i); i++)
		cli_suggestion_consider(&suggestion, query_column_at(i)->table);
	cli_error(session->cli, "no such table: %s", name);
	if (suggestion.best)
		cli_hint(session->cli, "did you mean '%s'?", suggestion.best);
	else
		cli_hint(session->cli, ".tables lists them");
	return CLI_USAGE;
}

static int show_schema(struct query_session *session, const char *argument)
{
	struct cli *cli = session->cli;
	const struct query_column *column;
	struct sonde_buffer name = { 0 };
	const char *dot = argument ? strrchr(argument, '.') : NULL;
	size_t shown = 0, i;

	if (dot)
		argument = dot + 1; /* the tables of all recordings are the same */
	for (i = 0; (column = query_column_at(i)); i++) {
		if (argument && strcasecmp(argument, column->table) != 0)
			continue;
		if (is_first_of_table(i))
			sonde_buffer_put_format(&cli->out, "%s%s\n", shown ? "\n" : "",
						column->table);
		sonde_buffer_clear(&name);
		sonde_buffer_put_format(&name, "%-14s %-7s", column->column, column->type);
		if (sonde_buffer_text(&name))
			put_entry(cli, name.data, 22, column->help);
		shown++;
	}
	sonde_buffer_release(&name);
	return shown ? CLI_OK : unknown_table(session, argument ? argument : "");
}

static int show_functions(struct query_session *session, const char *argument)
{
	size_t i;

	(void)argument;
	for (i = 0; query_function_at(i); i++)
		put_entry(session->cli, query_function_at(i)->usage, 20,
			  query_function_at(i)->help);
	return CLI_OK;
}

static int set_mode(struct query_session *session, const char *argument)
{
	size_t i;

	for (i = 0; argument && query_modes[i].name; i++) {
		if (strcasecmp(argument, query_modes[i].name) != 0)
			continue;
		session->output.mode = (enum query_mode)i;
		return CLI_OK;
	}
	if (argument) {
		cli_error(session->cli, "no such mode: %s", argument);
		cli_hint(session->cli, ".mode lists them");
		return CLI_USAGE;
	}
	for (i = 0; query_modes[i].name; i++) {
		sonde_buffer_put_char(&session->cli->out, i == session->output.mode ? '*' : ' ');
		put_entry(session->cli, query_modes[i].name, 9, query_modes[i].help);
	}
	return CLI_OK;
}

static int set_header(struct query_session *session, const char *argument)
{
	if (argument && strcasecmp(argument, "on") != 0 && strcasecmp(argument, "off") != 0) {
		cli_error(session->cli, ".header is on or off");
		return CLI_USAGE;
	}
	session->output.no_header = argument ? !strcasecmp(argument, "off") :
					       !session->output.no_header;
	return CLI_OK;
}

static int set_limit(struct query_session *session, const char *argument)
{
	char *end = NULL;
	uint64_t rows = argument ? strtoull(argument, &end, 10) : 0;

	if (argument && (*end || *argument == '-')) {
		cli_error(session->cli, ".limit is a number of rows; 0: all");
		return CLI_USAGE;
	}
	if (argument)
		session->output.max_rows = rows;
	else
		sonde_buffer_put_format(&session->cli->out, "%" PRIu64 "\n",
					session->output.max_rows);
	return CLI_OK;
}

static int set_timeout(struct query_session *session, const char *argument)
{
	uint64_t ns = 0;
	const char *wrong = argument ? cli_seconds_parse(argument, &ns) : NULL;

	if (wrong) {
		cli_error(session->cli, ".timeout: '%s' %s", argument, wrong);
		return CLI_USAGE;
	}
	if (argument) {
		session->timeout_ns = ns;
		query_set_timeout(session->query, ns);
	} else if (session->timeout_ns) {
		cli_put_duration(&session->cli->out, session->timeout_ns, " ");
		sonde_buffer_put_char(&session->cli->out, '\n');
	} else {
		sonde_buffer_put_text(&session->cli->out, "none\n");
	}
	return CLI_OK;
}

static int quit(struct query_session *session, const char *argument)
{
	(void)argument;
	session->ended = true;
	return CLI_OK;
}

static int show_help(struct query_session *session, const char *argument);

static const struct command commands[] = {
	{ ".tables", "", "the recordings, and the tables they have", show_tables },
	{ ".schema", "[TABLE]", "all columns, or those of a table, and what is in them",
	  show_schema },
	{ ".functions", "", "functions beside those of SQLite", show_functions },
	{ ".mode", "[MODE]", "how rows are printed, or which ways there are", set_mode },
	{ ".header", "[on|off]", "whether names of columns are printed", set_header },
	{ ".limit", "[N]", "print the first N rows of a result; 0: all", set_limit },
	{ ".timeout", "[TIME]", "end queries that take longer; 0: none", set_timeout },
	{ ".help", "", "this list", show_help },
	{ ".quit", "", "end; Ctrl-D does too", quit },
	{ ".exit", "", "the same", quit },
};
#define COMMAND_COUNT (sizeof(commands) / sizeof(commands[0]))

static int show_help(struct query_session *session, const char *argument)
{
	struct sonde_buffer name = { 0 };
	size_t i;

	(void)argument;
	for (i = 0; i < COMMAND_COUNT; i++) {
		sonde_buffer_clear(&name);
		sonde_buffer_put_format(&name, "%s %s", commands[i].name, commands[i].argument);
		if (sonde_buffer_text(&name))
			put_entry(session->cli, name.data, 17, commands[i].help);
	}
	sonde_buffer_release(&name);
	sonde_buffer_put_text(
		&session->cli->out,
		"\nEverything else is SQL, up to a ';'. Ctrl-C ends a query that runs.\n");
	return CLI_OK;
}

const char *query_command_at(size_t index)
{
	return index < COMMAND_COUNT ? commands[index].name : NULL;
}

bool query_is_command(const char *text)
{
	text += strspn(text, " \t");
	return text[0] == '.' && text[1] >= 'a' && text[1] <= 'z';
}

/* The command that a word is, or is the beginning of; NULL after it was told that there is none. */
static const struct command *find_command(struct query_session *session, const char *word)
{
	struct cli_suggestion suggestion = cli_suggestion_for(word);
	size_t i;

	for (i = 0; i < COMMAND_COUNT; i++) {
		if (!strcmp(commands[i].name, word))
			return &commands[i];
		cli_suggestion_consider(&suggestion, commands[i].name);
	}
	cli_error(session->cli, "no such command: %s", word);
	if (suggestion.best)
		cli_hint(session->cli, "did you mean '%s'?", suggestion.best);
	else
		cli_hint(session->cli, ".help lists them");
	return NULL;
}

int query_run_command(struct query_session *session, const char *line)
{
	char *copy = strdup(line), *rest = copy, *word = NULL, *argument = NULL;
	const struct command *command;
	int code = CLI_USAGE;

	if (!copy)
		return cli_fail_nomem(session->cli);
	while (rest && (!word || !*word))
		word = strsep(&rest, " \t\r\n;");
	while (rest && (!argument || !*argument))
		argument = strsep(&rest, " \t\r\n;");
	command = find_command(session, word ? word : "");
	if (command)
		code = command->run(session, argument && *argument ? argument : NULL);
	free(copy);
	return code;
}
