/* SPDX-License-Identifier: Apache-2.0 */
/* `sonde help`; its hidden options are for making the man pages. */
#include "cli/commands.h"
#include "cli/help.h"

struct help_options {
	struct cli_common common;
	bool man;
	bool commands;
};

static const struct cli_option help_own_options[] = {
	{ .name = "man",
	  .kind = CLI_FLAG,
	  .help = "print the man page",
	  .offset = offsetof(struct help_options, man) },
	{ .name = "commands",
	  .kind = CLI_FLAG,
	  .help = "print the names of all commands",
	  .offset = offsetof(struct help_options, commands) },
	{ 0 },
};

static void put_names(struct sonde_buffer *out)
{
	const struct cli_command *command;
	size_t i;

	for (i = 0; (command = cli_command_at(i)); i++) {
		sonde_buffer_put_text(out, command->name);
		sonde_buffer_put_char(out, '\n');
	}
}

static int run(struct cli *cli, const void *options)
{
	const struct help_options *help = options;
	const struct cli_command *command = NULL;
	size_t used;

	if (cli->operand_count) {
		command = cli_find_command(cli, cli->operands, &used);
		if (!command)
			return CLI_USAGE;
		if (used < cli->operand_count)
			return cli_usage(cli, "'%s' is one argument too many for 'help %s'",
					 cli->operands[used], command->name);
	}
	if (help->commands)
		put_names(&cli->out);
	else if (help->man)
		cli_put_man_page(&cli->out, command);
	else if (command)
		cli_put_command_help(cli, command);
	else
		cli_put_overview(cli);
	return CLI_OK;
}

const struct cli_command cmd_help = {
	.name = "help",
	.summary = "show help, of everything or of one command",
	.usage = "sonde help [COMMAND [SUBCOMMAND]]",
	.description = "Without a command: all commands, each in a line. With one: its options and "
		       "examples, as 'sonde COMMAND --help' shows them.",
	.section = CLI_SECTION_HELP,
	.operands = { .name = "COMMAND", .kind = CLI_OPERAND_COMMAND, .at_most = 2 },
	.options =
		(const struct cli_option_group[]){
			{ .options = help_own_options, .hidden = true },
			CLI_COMMON_GROUP,
			{ 0 },
		},
	.examples =
		(const struct cli_example[]){
			{ "sonde help", "all commands" },
			{ "sonde help dump", "how to print events" },
			{ "sonde help store search", "how to find traces in a store" },
			{ 0 },
		},
	.options_size = sizeof(struct help_options),
	.run = run,
};
