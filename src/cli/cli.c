/* SPDX-License-Identifier: Apache-2.0 */
/* The life of an invocation: its output buffer, what the terminal can do, colours. */
#include "cli/cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/text.h"

void cli_init(struct cli *cli, int out_file)
{
	*cli = (struct cli){ .out_file = out_file,
			     .out_is_terminal = isatty(out_file),
			     .input_file = -1 };
	cli_set_color(cli, CLI_COLOR_AUTO);
}

void cli_release(struct cli *cli)
{
	sonde_buffer_release(&cli->out);
	free(cli->operands);
	cli->operands = NULL;
	if (cli->input_file >= 0)
		close(cli->input_file);
	cli->input_file = -1;
}

void cli_set_color(struct cli *cli, enum cli_color color)
{
	const char *no_color = getenv("NO_COLOR");
	const char *term = getenv("TERM");
	bool allowed = !(no_color && *no_color) && !(term && !strcmp(term, "dumb"));

	cli->out_colour = color == CLI_COLOR_ALWAYS ||
			  (color == CLI_COLOR_AUTO && allowed && cli->out_is_terminal);
	cli->error_colour = color == CLI_COLOR_ALWAYS ||
			    (color == CLI_COLOR_AUTO && allowed && isatty(STDERR_FILENO));
}

unsigned int cli_width(const struct cli *cli, unsigned int otherwise)
{
	const char *columns = getenv("COLUMNS");
	struct winsize size;

	if (columns && *columns) {
		unsigned long width = strtoul(columns, NULL, 10);

		if (width >= 20 && width <= 10000)
			return (unsigned int)width;
	}
	if (cli->out_is_terminal && !ioctl(cli->out_file, TIOCGWINSZ, &size) && size.ws_col >= 20)
		return size.ws_col;
	return otherwise;
}

bool cli_flush(struct cli *cli)
{
	bool no_memory = cli->out.failed;

	if (cli_is_silent(cli))
		sonde_buffer_clear(&cli->out);
	if (!cli->out_failed && !sonde_write_all(cli->out_file, cli->out.data, cli->out.size)) {
		int error = errno;

		/* Set first: a message flushes too. */
		cli->out_failed = true;
		sonde_buffer_clear(&cli->out);
		if (error != EPIPE)
			cli_error(cli, "cannot write the output: %s", strerror(error));
	}
	sonde_buffer_clear(&cli->out);
	if (no_memory && !cli->out_failed) {
		cli->out_failed = true;
		cli_fail_nomem(cli);
	}
	return !cli->out_failed;
}

static const char *const style_codes[] = {
	[CLI_STYLE_NONE] = "",		[CLI_STYLE_BOLD] = "\033[1m",
	[CLI_STYLE_DIM] = "\033[2m",	[CLI_STYLE_RED] = "\033[31m",
	[CLI_STYLE_GREEN] = "\033[32m", [CLI_STYLE_YELLOW] = "\033[33m",
	[CLI_STYLE_CYAN] = "\033[36m",
};

void cli_put_style(struct sonde_buffer *out, enum cli_style style)
{
	sonde_buffer_put_text(out, style_codes[style]);
}

void cli_put_style_end(struct sonde_buffer *out, enum cli_style style)
{
	if (style != CLI_STYLE_NONE)
		sonde_buffer_put_text(out, "\033[0m");
}

void cli_put_styled(struct cli *cli, enum cli_style style, const char *text)
{
	if (!cli->out_colour)
		style = CLI_STYLE_NONE;
	cli_put_style(&cli->out, style);
	sonde_buffer_put_text(&cli->out, text);
	cli_put_style_end(&cli->out, style);
}

void cli_put_csv_text(struct cli *cli, struct sonde_buffer *space, const char *text)
{
	sonde_buffer_clear(space);
	if (cli->out_is_terminal)
		cli_put_escaped(space, text);
	else
		sonde_buffer_put_utf8(space, text, strlen(text));
	if (space->failed)
		cli->out.failed = true;
	else
		cli_put_csv(&cli->out, space->data, space->size);
}
