/* SPDX-License-Identifier: Apache-2.0 */
/* How a program of commands starts: prepares the process, finds the command, parses, runs it. */
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sonde/sonde.h>

#include "cli/command.h"
#include "cli/help.h"
#include "cli/memory_limit.h"
#include "cli/parse.h"
#include "cli/start.h"

/* A mapped file that gets shorter while it is read ends in this signal. */
static void on_bus_error(int number)
{
	static const char text[] = "sonde: the input was cut, or its disk failed, while it was "
				   "being read\n";
	ssize_t ignored = write(STDERR_FILENO, text, sizeof(text) - 1);

	(void)ignored;
	(void)number;
	_exit(CLI_FAILED);
}

/*
 * With one of the three standard files closed, the next file opened would take its number and
 * get its output. They are opened the wrong way round, so that using them fails as it should.
 * Returns which ones were closed.
 */
static unsigned int occupy_standard_files(void)
{
	unsigned int closed = 0;
	int file;

	for (file = STDIN_FILENO; file <= STDERR_FILENO; file++) {
		if (fcntl(file, F_GETFD) >= 0)
			continue;
		open("/dev/null", file == STDIN_FILENO ? O_WRONLY : O_RDONLY);
		closed |= 1u << file;
	}
	return closed;
}

/* What is freed is mostly wanted again: to give it back to the system in between costs time, most of all where
 * several threads do. */
static void keep_memory(void)
{
	mallopt(M_TRIM_THRESHOLD, 64 << 20);
	mallopt(M_TOP_PAD, 4 << 20);
}

static int run_command(struct cli *cli, char **arguments)
{
	void *options = malloc(cli->command->options_size);
	int code;

	keep_memory();
	if (!options)
		return cli_fail_nomem(cli);
	code = cli_parse(cli, options, arguments);
	cli->common = *(const struct cli_common *)options;
	cli_set_color(cli, (enum cli_color)cli->common.color);
	if (cli->command->section != CLI_SECTION_RECORD)
		cli_limit_memory(); /* which is not for programs that are recorded */
	if (code == CLI_OK && cli->common.help)
		cli_put_command_help(cli, cli->command);
	else if (code == CLI_OK)
		code = cli->command->run(cli, options);
	cli_parse_release(cli->command, options);
	free(options);
	return code;
}

static bool is_option(const char *argument, const struct cli_option *option)
{
	const char short_form[] = { '-', option->short_name, '\0' };

	return !strcmp(argument, short_form) ||
	       (!strncmp(argument, "--", 2) && !strcmp(argument + 2, option->name));
}

static int run(struct cli *cli, char **arguments)
{
	const char *first = arguments[0];
	size_t used;

	if (is_option(first, &cli_top_options[0])) {
		cli_put_overview(cli);
		return CLI_OK;
	}
	if (is_option(first, &cli_top_options[1])) {
		sonde_buffer_put_format(&cli->out, "%s %s\n", cli_program.name, sonde_version());
		return CLI_OK;
	}
	if (first[0] == '-')
		return cli_usage(cli,
				 "unknown option '%s': the command comes first, then its "
				 "options",
				 first);
	cli->command = cli_find_command(cli, arguments, &used);
	return cli->command ? run_command(cli, arguments + used) : CLI_USAGE;
}

int cli_start(int argc, char **argv, struct sonde_team *team)
{
	unsigned int closed_files = occupy_standard_files();
	struct cli cli;
	int code = CLI_USAGE;

	signal(SIGBUS, on_bus_error);
	cli_init(&cli, argc > 1 ? STDOUT_FILENO : STDERR_FILENO);
	cli.closed_files = closed_files;
	cli.team = team;
	if (argc > 1)
		code = run(&cli, argv + 1);
	else
		cli_put_overview(&cli);
	if (!cli_flush(&cli) && code < CLI_USAGE)
		code = CLI_FAILED;
	cli_release(&cli);
	return code;
}
