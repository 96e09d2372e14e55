/* SPDX-License-Identifier: Apache-2.0 */
/* Messages on standard error: errors with place, cause and hint, warnings, notes. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/command.h"
#include "cli/input.h"
#include "cli/progress.h"
#include "cli/text.h"

#define MESSAGE_SIZE 2048

/* One write a line, so that lines of several programs do not mix. */
static void put_line(struct cli *cli, enum cli_style style, const char *prefix, const char *text)
{
	struct sonde_buffer line = { 0 };
	ssize_t ignored;

	cli_flush(cli);
	if (cli_is_silent(cli))
		return;
	if (!cli->error_colour)
		style = CLI_STYLE_NONE;
	cli_put_style(&line, style);
	sonde_buffer_put_text(&line, prefix);
	cli_put_style_end(&line, style);
	cli_put_escaped(&line, text);
	sonde_buffer_put_char(&line, '\n');
	ignored = write(STDERR_FILENO, line.data, line.size);
	(void)ignored;
	sonde_buffer_release(&line);
}

/* A line with the variable arguments of the function it stands in. */
#define PUT_MESSAGE(cli, style, prefix, format)                                                    \
	do {                                                                                       \
		char text[MESSAGE_SIZE];                                                           \
		va_list arguments;                                                                 \
                                                                                                   \
		va_start(arguments, format);                                                       \
		vsnprintf(text, sizeof(text), format, arguments);                                  \
		va_end(arguments);                                                                 \
		put_line(cli, style, prefix, text);                                                \
	} while (0)

void cli_error(struct cli *cli, const char *format, ...)
{
	PUT_MESSAGE(cli, CLI_STYLE_RED, "sonde: ", format);
}

void cli_warning(struct cli *cli, const char *format, ...)
{
	if (!cli->common.quiet)
		PUT_MESSAGE(cli, CLI_STYLE_YELLOW, "sonde: warning: ", format);
}

void cli_note(struct cli *cli, const char *format, ...)
{
	if (!cli->common.quiet)
		PUT_MESSAGE(cli, CLI_STYLE_NONE, "sonde: ", format);
}

void cli_hint(struct cli *cli, const char *format, ...)
{
	PUT_MESSAGE(cli, CLI_STYLE_CYAN, "  hint: ", format);
}

void cli_next(struct cli *cli, const char *format, ...)
{
	if (!cli->common.quiet)
		PUT_MESSAGE(cli, CLI_STYLE_CYAN, "  next: ", format);
}

void cli_show_place(struct cli *cli, const char *text, size_t offset)
{
	struct sonde_buffer before = { 0 }, mark = { 0 };

	sonde_buffer_put(&before, text, strnlen(text, offset));
	if (sonde_buffer_text(&before)) {
		cli_put_escaped(&mark, before.data);
		offset = cli_text_width(mark.data, mark.size);
	}
	sonde_buffer_clear(&mark);
	cli_put_spaces(&mark, offset);
	sonde_buffer_put_char(&mark, '^');
	put_line(cli, CLI_STYLE_NONE, "  ", text);
	if (sonde_buffer_text(&mark))
		put_line(cli, CLI_STYLE_NONE, "  ", mark.data);
	sonde_buffer_release(&before);
	sonde_buffer_release(&mark);
}

int cli_usage(struct cli *cli, const char *format, ...)
{
	PUT_MESSAGE(cli, CLI_STYLE_RED, "sonde: ", format);
	if (cli->command)
		cli_hint(cli, "'%s %s --help' shows how it is used", cli_program.name,
			 cli->command->name);
	else
		cli_hint(cli, "'%s help' lists the commands", cli_program.name);
	return CLI_USAGE;
}

static void hint_for(struct cli *cli, const struct sonde_error *err)
{
	bool has_place = err->offset != SONDE_NO_OFFSET;

	if (cli->command && cli->command->section == CLI_SECTION_RECORD)
		return; /* about a program, not about a recording */
	if (err->status == SONDE_CORRUPT || err->status == SONDE_TRUNCATED ||
	    (err->status == SONDE_FORMAT && has_place))
		cli_hint(cli, "'sonde check' tells all that is wrong");
	else if (err->status == SONDE_FORMAT)
		cli_hint(cli, "'sonde formats' lists what is read; --format NAME takes one by "
			      "force");
	else if (err->status == SONDE_UNSUPPORTED)
		cli_hint(cli, has_place ? "a newer sonde may read it" :
					  "'sonde formats' shows what each format can do");
	else if (err->status == SONDE_NOMEM && cli->command &&
		 cli->command->section != CLI_SECTION_STORE)
		cli_hint(cli, "'sonde cut' makes a smaller recording of it: of less time, of some "
			      "tracks or functions");
}

int cli_fail(struct cli *cli, const struct sonde_error *err)
{
	const char *message = err->message[0] ? err->message : sonde_status_text(err->status);
	const char *file = cli_input_name(cli, err->file);
	const char *colon = err->file[0] ? ": " : "";

	if (err->status == SONDE_CANCELLED) {
		cli_note(cli, "interrupted");
		return CLI_SIGNALLED + cli_interrupted_by();
	}
	if (err->offset == SONDE_NO_OFFSET)
		cli_error(cli, "%s%s%s", file, colon, message);
	else
		cli_error(cli, "%s%soffset %" PRIu64 " (0x%" PRIx64 "): %s", file, colon,
			  err->offset, err->offset, message);
	if (err->cause[0])
		put_line(cli, CLI_STYLE_NONE, "  cause: ", err->cause);
	hint_for(cli, err);
	if (err->status == SONDE_FORMAT && err->offset == SONDE_NO_OFFSET && cli->input_file >= 0)
		cli_hint(cli,
			 "a recording that is a folder cannot come through a pipe: give its path, "
			 "or convert it to a format that is a file first");
	return CLI_FAILED;
}

int cli_fail_nomem(struct cli *cli)
{
	struct sonde_error err = { 0 };

	sonde_fail_nomem(&err);
	return cli_fail(cli, &err);
}
