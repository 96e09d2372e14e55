/* SPDX-License-Identifier: Apache-2.0 */
/* The table of all commands, in the order in which they are shown, and the options of all. */
#include "cli/commands.h"

#include <string.h>

#include "cli/suggest.h"

static const struct cli_command *const commands[] = {
	&cmd_record,  &cmd_cflags,  &cmd_info, &cmd_dump,  &cmd_check,	    &cmd_formats,
	&cmd_recover, &cmd_convert, &cmd_cut,  &cmd_merge, &cmd_completion, &cmd_help,
};

const struct cli_command *cli_command_at(size_t index)
{
	return index < sizeof(commands) / sizeof(commands[0]) ? commands[index] : NULL;
}

const struct cli_command *cli_command_by_name(const char *name)
{
	const struct cli_command *command;
	size_t i;

	for (i = 0; (command = cli_command_at(i)); i++)
		if (!strcmp(command->name, name))
			return command;
	return NULL;
}

int cli_unknown_command(struct cli *cli, const char *name)
{
	struct cli_suggestion suggestion = cli_suggestion_for(name);
	const struct cli_command *command;
	size_t i;

	for (i = 0; (command = cli_command_at(i)); i++)
		cli_suggestion_consider(&suggestion, command->name);
	if (suggestion.best)
		cli_error(cli, "unknown command '%s'. Did you mean '%s'?", name, suggestion.best);
	else
		cli_error(cli, "unknown command '%s'", name);
	cli_hint(cli, "'sonde help' lists the commands");
	return CLI_USAGE;
}

const char *cli_section_title(enum cli_section section)
{
	static const char *const titles[] = {
		[CLI_SECTION_RECORD] = "Record programs",
		[CLI_SECTION_LOOK] = "Look at recordings",
		[CLI_SECTION_WRITE] = "Write new ones",
		[CLI_SECTION_HELP] = "Help",
	};

	return titles[section];
}

static const struct cli_choice color_choices[] = {
	[CLI_COLOR_AUTO] = { "auto", "on a terminal, unless NO_COLOR is set" },
	[CLI_COLOR_ALWAYS] = { "always", "everywhere" },
	[CLI_COLOR_NEVER] = { "never", "nowhere" },
	{ 0 },
};

const struct cli_option cli_common_options[] = {
	{ .name = "quiet",
	  .short_name = 'q',
	  .kind = CLI_FLAG,
	  .help = "no warnings, no summaries, no progress: only results and errors",
	  .offset = offsetof(struct cli_common, quiet) },
	{ .name = "verbose",
	  .short_name = 'v',
	  .kind = CLI_FLAG,
	  .help = "say more: full lists, and what is being read",
	  .offset = offsetof(struct cli_common, verbose) },
	{ .name = "color",
	  .argument = "WHEN",
	  .kind = CLI_CHOICE,
	  .choices = color_choices,
	  .help = "use colours",
	  .offset = offsetof(struct cli_common, color) },
	{ .name = "help",
	  .short_name = 'h',
	  .kind = CLI_FLAG,
	  .help = "show this help",
	  .offset = offsetof(struct cli_common, help) },
	{ 0 },
};
