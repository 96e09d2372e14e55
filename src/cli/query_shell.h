/* SPDX-License-Identifier: Apache-2.0 */
/* `sonde query` without SQL: statements and commands from standard input, typed or not. */
#ifndef SONDE_CLI_QUERY_SHELL_H
#define SONDE_CLI_QUERY_SHELL_H

#include <stdio.h>

#include "cli/query_run.h"

/*
 * Reads statements until the end of a file. Where that is standard input and somebody types, lines are
 * edited and kept for the next time; else the first error ends it. Returns an exit code.
 */
int query_shell(struct query_session *session, FILE *input);

/* Whether a text is a command (".tables") and no SQL. */
bool query_is_command(const char *text);

/* Runs one: ".schema events". Returns an exit code. */
int query_run_command(struct query_session *session, const char *line);

/* The name of a command with its dot; NULL past the last. */
const char *query_command_at(size_t index);

/* A line editor with history and completion; query_editor.c. NULL where there cannot be one. */
struct query_editor;
struct query_editor *query_editor_new(const struct query_session *session);
void query_editor_free(struct query_editor *editor);

/* What was read of a line. */
enum query_line { QUERY_LINE_READ, QUERY_LINE_DROPPED, QUERY_LINE_END };

/* One line, borrowed until the next call; `more`: a statement goes on. DROPPED: Ctrl-C was pressed. */
enum query_line query_editor_read(struct query_editor *editor, bool more, const char **line);

#endif
