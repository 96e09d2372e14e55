/* SPDX-License-Identifier: Apache-2.0 */
/* The loop of the SQL shell: lines become statements, and lines that begin with a dot are commands. */
#include "cli/query_shell.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"

/* A statement that is longer was not meant to be one. */
#define LONGEST_STATEMENT ((size_t)16 << 20)

struct shell {
	struct query_session *session;
	FILE *input;
	struct query_editor *editor; /* NULL: nobody types */
	char *line;		     /* of getline() */
	size_t line_size;
	struct sonde_buffer statement;
};

static enum query_line read_line(struct shell *shell, const char **line)
{
	cli_flush(shell->session->cli);
	if (shell->editor)
		return query_editor_read(shell->editor, shell->statement.size, line);
	if (getline(&shell->line, &shell->line_size, shell->input) < 0)
		return QUERY_LINE_END;
	*line = shell->line;
	return QUERY_LINE_READ;
}

static bool is_blank(const char *text)
{
	return !text[strspn(text, " \t\r\n")];
}

/* Runs what has come so far where it is whole, or `at_end`. */
static int run_statement(struct shell *shell, bool at_end)
{
	int code = CLI_OK;
	const char *text = sonde_buffer_text(&shell->statement);

	if (!text)
		return cli_fail_nomem(shell->session->cli);
	if (!at_end && !sqlite3_complete(text))
		return CLI_OK;
	if (!is_blank(text))
		code = query_run(shell->session, text);
	sonde_buffer_clear(&shell->statement);
	return code;
}

static int take_line(struct shell *shell, const char *line)
{
	if (!shell->statement.size && is_blank(line))
		return CLI_OK;
	if (!shell->statement.size && query_is_command(line))
		return query_run_command(shell->session, line);
	if (shell->statement.size + strlen(line) > LONGEST_STATEMENT) {
		cli_error(shell->session->cli, "a statement does not end within %zu MB",
			  LONGEST_STATEMENT >> 20);
		return CLI_USAGE;
	}
	sonde_buffer_put_text(&shell->statement, line);
	return strchr(line, ';') ? run_statement(shell, false) : CLI_OK;
}

/* All lines; errors end it where nobody types. */
static int read_lines(struct shell *shell)
{
	int code = CLI_OK;

	while (!shell->session->ended && !shell->session->cli->out_failed) {
		const char *line = NULL;
		enum query_line got = read_line(shell, &line);

		if (got == QUERY_LINE_END)
			break;
		if (got == QUERY_LINE_DROPPED) {
			sonde_buffer_clear(&shell->statement);
			continue;
		}
		code = take_line(shell, line);
		if (code != CLI_OK && !shell->editor)
			return code;
	}
	if (shell->session->ended || shell->session->cli->out_failed)
		return shell->session->cli->out_failed ? CLI_FAILED : CLI_OK;
	code = run_statement(shell, true);
	return shell->editor ? CLI_OK : code;
}

int query_shell(struct query_session *session, FILE *input)
{
	struct shell shell = { .session = session, .input = input };
	int code;

	session->is_shell = input == stdin && isatty(STDIN_FILENO) && session->cli->out_is_terminal;
	if (session->is_shell) {
		shell.editor = query_editor_new(session);
		session->is_shell = shell.editor != NULL;
	}
	query_catch_signals(session, session->is_shell);
	if (session->is_shell && !session->cli->common.quiet) {
		cli_put_styled(session->cli, CLI_STYLE_DIM,
			       "SQL ends with ';'. .tables shows what there is, .help more, Ctrl-D "
			       "ends.\n");
	}
	code = read_lines(&shell);
	query_editor_free(shell.editor);
	sonde_buffer_release(&shell.statement);
	free(shell.line);
	return code;
}
