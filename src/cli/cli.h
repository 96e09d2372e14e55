/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every command works with: the invocation, its buffered standard output, messages on
 * standard error, colours. Nothing here knows a particular command.
 */
#ifndef SONDE_CLI_CLI_H
#define SONDE_CLI_CLI_H

#include <stdbool.h>

#include <sonde/status.h>

#include "base/buffer.h"
#include "base/team.h"

enum cli_exit {
	CLI_OK = 0,
	CLI_FINDINGS = 1, /* the command worked, and found faults or differences */
	CLI_USAGE = 2,
	CLI_FAILED = 3,
	CLI_SIGNALLED = 128, /* plus the signal that ended the work */
};

enum cli_color { CLI_COLOR_AUTO, CLI_COLOR_ALWAYS, CLI_COLOR_NEVER };

/* The options that every command takes: the first member of every command's options struct. */
struct cli_common {
	bool quiet;
	bool verbose;
	bool help;
	unsigned int color; /* enum cli_color */
};

struct cli_command;

struct cli {
	const struct cli_command *command;
	struct cli_common common;
	char **operands;
	size_t operand_count;
	struct sonde_buffer out;   /* on its way to `out_file` */
	unsigned int closed_files; /* bits: standard files that were closed at the start */
	int out_file;		   /* standard output; of a bare `sonde`, standard error */
	char input_path[32];	   /* where standard input is, once an operand `-` took it; or "" */
	int input_file;		   /* a copy of it without a name, or -1 */
	struct sonde_team *team;   /* that does this together; NULL: this process alone */
	bool out_failed;	   /* said already, or needs no saying */
	bool out_is_terminal;
	bool out_colour;
	bool error_colour;
};

/* For output to that file descriptor. */
void cli_init(struct cli *cli, int out_file);
void cli_release(struct cli *cli);

/* Only one process of a team speaks. */
static inline bool cli_is_silent(const struct cli *cli)
{
	return sonde_team_rank(cli->team) > 0;
}

/* Decides about colours, from --color, NO_COLOR, TERM and what the outputs are. */
void cli_set_color(struct cli *cli, enum cli_color color);

/* Columns of the terminal on standard output, or `otherwise`. */
unsigned int cli_width(const struct cli *cli, unsigned int otherwise);

/* Writes out what is buffered. False once it failed; the first failure is told to the user. */
bool cli_flush(struct cli *cli);

/* The size at which a producer of much output should flush. */
#define CLI_FLUSH_SIZE ((size_t)1 << 17)

static inline bool cli_flush_when_full(struct cli *cli)
{
	return cli->out.size < CLI_FLUSH_SIZE || cli_flush(cli);
}

/*
 * A field of CSV to standard output: a terminal gets no control characters, a file the text as it is, if it
 * is text at all. `space` is for the text meanwhile.
 */
void cli_put_csv_text(struct cli *cli, struct sonde_buffer *space, const char *text);

enum cli_style {
	CLI_STYLE_NONE,
	CLI_STYLE_BOLD,
	CLI_STYLE_DIM,
	CLI_STYLE_RED,
	CLI_STYLE_GREEN,
	CLI_STYLE_YELLOW,
	CLI_STYLE_CYAN,
};

/* The escape sequences that begin and end a style. */
void cli_put_style(struct sonde_buffer *out, enum cli_style style);
void cli_put_style_end(struct sonde_buffer *out, enum cli_style style);

/* Text to standard output in a style, where there are colours. */
void cli_put_styled(struct cli *cli, enum cli_style style, const char *text);

/*
 * Messages, each a line on standard error after what is buffered for standard output. Control
 * characters in them are shown escaped.
 */
void cli_error(struct cli *cli, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Not shown with --quiet. */
void cli_warning(struct cli *cli, const char *format, ...) __attribute__((format(printf, 2, 3)));
void cli_note(struct cli *cli, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* What to do next, under an error. */
void cli_hint(struct cli *cli, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A text the user wrote, and under it a mark at one of its bytes: where the error above is. */
void cli_show_place(struct cli *cli, const char *text, size_t offset);

/* A command to run next, under a result; not shown with --quiet. */
void cli_next(struct cli *cli, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* An error in the arguments, with the way to the help. Returns CLI_USAGE. */
int cli_usage(struct cli *cli, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Shows an error of the library with its place, cause and a hint. Returns the exit code. */
int cli_fail(struct cli *cli, const struct sonde_error *err);

/* The same for memory that failed in the command itself. */
int cli_fail_nomem(struct cli *cli);

#endif
