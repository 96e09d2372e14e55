/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The line editor of the SQL shell, by libedit, which is loaded for it: history in the user's state folder,
 * and completion of tables, columns, functions and commands.
 */
#include <errno.h>
#include <histedit.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <wchar.h>

#include "base/file.h"
#include "base/library.h"
#include "cli/cli.h"
#include "cli/query_shell.h"
#include "cli/text.h"
#include "query/query_functions.h"

#define HISTORY_LINES 1000

struct query_editor {
	const struct query_session *session;
	EditLine *edit;
	History *history;
	char *history_path;    /* NULL: nothing is kept */
	sigset_t open_signals; /* those that come while a key is waited for */
	bool more;
};

static const char *const keywords[] = {
	"AND",	    "ASC",    "BETWEEN",      "CASE",	 "COUNT",  "CROSS", "DESC",	"DISTINCT",
	"ELSE",	    "END",    "EXISTS",	      "EXPLAIN", "FROM",   "GLOB",  "GROUP BY", "HAVING",
	"INNER",    "JOIN",   "LEFT JOIN",    "LIKE",	 "LIMIT",  "NOT",   "NULL",	"OFFSET",
	"ORDER BY", "OVER",   "PARTITION BY", "REGEXP",	 "SELECT", "SUM",   "THEN",	"UNION ALL",
	"USING",    "VALUES", "WHEN",	      "WHERE",	 "WITH"
};

#define EDIT_FUNCTION_LIST(X)                                                                      \
	X(el_end)                                                                                  \
	X(el_get)                                                                                  \
	X(el_gets)                                                                                 \
	X(el_init)                                                                                 \
	X(el_insertstr)                                                                            \
	X(el_line)                                                                                 \
	X(el_reset)                                                                                \
	X(el_resize)                                                                               \
	X(el_set)                                                                                  \
	X(el_source)                                                                               \
	X(history)                                                                                 \
	X(history_end)                                                                             \
	X(history_init)

#define EDIT_FUNCTION(name) __typeof__(name) *name;
static struct {
	EDIT_FUNCTION_LIST(EDIT_FUNCTION)
} library;

#define EDIT_NAME(name) #name,
static const char *const library_names[] = { EDIT_FUNCTION_LIST(EDIT_NAME) };

_Static_assert(sizeof(library) == sizeof(library_names), "a pointer for each name");

static bool load_library(const struct query_session *session)
{
	struct sonde_error err;

	if (sonde_library_load("editing lines needs libedit", SONDE_EDIT_LIBRARY, library_names,
			       sizeof(library_names) / sizeof(*library_names), &library,
			       &err) == SONDE_OK)
		return true;
	cli_warning(session->cli, "%s", err.message);
	return false;
}

static struct query_editor *editor_of(EditLine *edit)
{
	void *editor = NULL;

	library.el_get(edit, EL_CLIENTDATA, &editor);
	return editor;
}

static char *prompt(EditLine *edit)
{
	static char first[] = "sonde> ", more[] = "  ...> ";

	return editor_of(edit)->more ? more : first;
}

/* Waits for a byte. Signals come here and nowhere else, so that none is overlooked. */
static bool read_byte(const struct query_editor *editor, char *byte)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };

	while (ppoll(&input, 1, NULL, &editor->open_signals) < 0)
		if (errno != EINTR || query_signal_came())
			return false;
	return read(STDIN_FILENO, byte, 1) == 1;
}

/* The next character for libedit: 1, or -1 where there is none. */
static int read_character(EditLine *edit, wchar_t *character)
{
	const struct query_editor *editor = editor_of(edit);
	mbstate_t state = { 0 };
	char byte;
	size_t length;

	do {
		if (!read_byte(editor, &byte))
			return -1;
		length = mbrtowc(character, &byte, 1, &state);
		if (length == (size_t)-1) {
			memset(&state, 0, sizeof(state)); /* not a character of this locale */
			length = (size_t)-2;
		}
	} while (length == (size_t)-2);
	return 1;
}

/* A word that can be typed at a place; NULL past the last. */
static const char *candidate_at(size_t index)
{
	size_t i;

	if (index < sizeof(keywords) / sizeof(keywords[0]))
		return keywords[index];
	index -= sizeof(keywords) / sizeof(keywords[0]);
	for (i = 0; query_command_at(i); i++)
		if (!index--)
			return query_command_at(i);
	for (i = 0; query_function_at(i); i++)
		if (!index--)
			return query_function_at(i)->name;
	for (i = 0; query_column_at(i); i++) {
		if (!index--)
			return query_column_at(i)->table;
		if (!index--)
			return query_column_at(i)->column;
	}
	return NULL;
}

/* Words that begin with what was typed: how many, what they have in common, and all of them in a list. */
struct matches {
	size_t count;
	size_t common; /* letters that all have */
	const char *first;
	struct sonde_buffer list;
};

static bool was_found(size_t before, const char *word)
{
	size_t i;

	for (i = 0; i < before; i++)
		if (!strcmp(candidate_at(i), word))
			return true;
	return false;
}

static size_t common_length(const char *a, const char *b)
{
	size_t length = 0;

	while (a[length] && a[length] == b[length])
		length++;
	return length;
}

static void find_matches(struct matches *matches, const char *typed, size_t length)
{
	const char *word;
	size_t i, common;

	for (i = 0; (word = candidate_at(i)); i++) {
		if (strncasecmp(word, typed, length) != 0 || was_found(i, word))
			continue;
		common = matches->first ? common_length(matches->first, word) : strlen(word);
		if (!matches->first)
			matches->first = word;
		if (!matches->count++ || common < matches->common)
			matches->common = common;
		sonde_buffer_put_text(&matches->list, word);
		sonde_buffer_put_text(&matches->list, "  ");
	}
}

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

static unsigned char complete(EditLine *edit, int key)
{
	const LineInfo *line = library.el_line(edit);
	const char *start = line->cursor;
	struct matches matches = { 0 };
	unsigned char result = CC_ERROR;
	size_t length;

	(void)key;
	while (start > line->buffer && is_word(start[-1]))
		start--;
	if (start == line->buffer + 1 && line->buffer[0] == '.')
		start--; /* a command */
	length = (size_t)(line->cursor - start);
	if (length)
		find_matches(&matches, start, length);
	if (matches.count && matches.common > length) {
		char *rest = strndup(matches.first + length, matches.common - length);

		result = rest && !library.el_insertstr(edit, rest) ? CC_REFRESH : CC_ERROR;
		free(rest);
		if (matches.count == 1 && result == CC_REFRESH)
			library.el_insertstr(edit, " ");
	} else if (matches.count > 1 && sonde_buffer_text(&matches.list)) {
		printf("\n");
		fwrite(matches.list.data, 1, matches.list.size, stdout);
		printf("\n");
		result = CC_REDISPLAY;
	}
	sonde_buffer_release(&matches.list);
	return result;
}

/* Makes the folders of a path that are missing; what fails is seen when the file is written. */
static void make_folders(char *path)
{
	char *slash;

	for (slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		mkdir(path, 0700);
		*slash = '/';
	}
}

/* NULL where there is no home. */
static char *find_history(void)
{
	const char *state = secure_getenv("XDG_STATE_HOME"), *home = secure_getenv("HOME");
	char *path = NULL;
	int length = -1;

	if (state && *state == '/')
		length = asprintf(&path, "%s/sonde/query_history", state);
	else if (home && *home == '/')
		length = asprintf(&path, "%s/.local/state/sonde/query_history", home);
	return length < 0 ? NULL : path;
}

static void load_history(struct query_editor *editor)
{
	HistEvent event;

	library.history(editor->history, &event, H_SETSIZE, HISTORY_LINES);
	library.history(editor->history, &event, H_SETUNIQUE, 1);
	editor->history_path = find_history();
	if (editor->history_path)
		library.history(editor->history, &event, H_LOAD, editor->history_path);
	library.el_set(editor->edit, EL_HIST, library.history, editor->history);
}

static void save_history(struct query_editor *editor)
{
	mode_t mask = umask(0077);
	HistEvent event;

	make_folders(editor->history_path);
	library.history(editor->history, &event, H_SAVE, editor->history_path);
	umask(mask);
}

struct query_editor *query_editor_new(const struct query_session *session)
{
	struct query_editor *editor;

	if (!load_library(session))
		return NULL;
	editor = calloc(1, sizeof(*editor));
	if (!editor)
		return NULL;
	editor->session = session;
	editor->edit = library.el_init("sonde", stdin, stdout, stderr);
	editor->history = library.history_init();
	if (!editor->edit || !editor->history) {
		query_editor_free(editor);
		return NULL;
	}
	setlocale(LC_CTYPE, ""); /* for characters that are more than one byte */
	sigprocmask(SIG_BLOCK, NULL, &editor->open_signals);
	library.el_set(editor->edit, EL_CLIENTDATA, editor);
	library.el_set(editor->edit, EL_GETCFN, read_character);
	library.el_set(editor->edit, EL_PROMPT, prompt);
	library.el_set(editor->edit, EL_EDITOR, "emacs");
	library.el_set(editor->edit, EL_ADDFN, "sonde-complete", "Complete a word", complete);
	library.el_set(editor->edit, EL_BIND, "^I", "sonde-complete", NULL);
	load_history(editor);
	library.el_source(editor->edit, NULL);
	return editor;
}

void query_editor_free(struct query_editor *editor)
{
	if (!editor)
		return;
	if (editor->history_path)
		save_history(editor);
	if (editor->history)
		library.history_end(editor->history);
	if (editor->edit)
		library.el_end(editor->edit);
	free(editor->history_path);
	free(editor);
}

enum query_line query_editor_read(struct query_editor *editor, bool more, const char **line)
{
	HistEvent event;
	sigset_t interrupt;
	int count = 0;

	editor->more = more;
	sigemptyset(&interrupt);
	sigaddset(&interrupt, SIGINT);
	sigprocmask(SIG_BLOCK, &interrupt, NULL);
	query_take_signal(); /* what came for a query that had ended by then */
	library.el_resize(editor->edit);
	*line = library.el_gets(editor->edit, &count);
	sigprocmask(SIG_SETMASK, &editor->open_signals, NULL);
	if (query_take_signal()) {
		printf("\n");
		fflush(stdout);
		library.el_reset(editor->edit);
		return QUERY_LINE_DROPPED;
	}
	if (!*line || count <= 0) {
		printf("\n");
		fflush(stdout);
		return QUERY_LINE_END;
	}
	if ((*line)[0] != '\n')
		library.history(editor->history, &event, H_ENTER, *line);
	return QUERY_LINE_READ;
}
