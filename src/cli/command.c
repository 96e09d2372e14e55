/* SPDX-License-Identifier: Apache-2.0 */
/* Finding commands in the program's table, sections, and the options that all commands have. */
#include "cli/command.h"

#include <string.h>

#include "cli/suggest.h"

static bool is_below(const struct cli_command *command, const struct cli_command *above)
{
	size_t length;

	if (!above)
		return !strchr(command->name, ' ');
	length = strlen(above->name);
	return !strncmp(command->name, above->name, length) && command->name[length] == ' ';
}

const struct cli_command *cli_command_below(const struct cli_command *above, size_t index)
{
	const struct cli_command *command;
	size_t i;

	for (i = 0; (command = cli_command_at(i)); i++)
		if (is_below(command, above) && !index--)
			return command;
	return NULL;
}

const char *cli_command_word(const struct cli_command *command)
{
	const char *space = strrchr(command->name, ' ');

	return space ? space + 1 : command->name;
}

void cli_put_command_id(struct sonde_buffer *out, const struct cli_command *command)
{
	const char *letter;

	for (letter = command->name; *letter; letter++)
		sonde_buffer_put_char(out, *letter == ' ' ? '-' : *letter);
}

static const struct cli_command *find_below(const struct cli_command *above, const char *word)
{
	const struct cli_command *command;
	size_t i;

	for (i = 0; (command = cli_command_below(above, i)); i++)
		if (!strcmp(cli_command_word(command), word))
			return command;
	return NULL;
}

static void put_unknown(struct cli *cli, const struct cli_command *above, const char *word)
{
	struct cli_suggestion suggestion = cli_suggestion_for(word);
	const char *group = above ? above->name : "", *gap = above ? " " : "";
	const struct cli_command *command;
	size_t i;

	for (i = 0; (command = cli_command_below(above, i)); i++)
		cli_suggestion_consider(&suggestion, cli_command_word(command));
	if (suggestion.best)
		cli_error(cli, "unknown command '%s%s%s'. Did you mean '%s%s%s'?", group, gap, word,
			  group, gap, suggestion.best);
	else
		cli_error(cli, "unknown command '%s%s%s'", group, gap, word);
	cli_hint(cli, "'%s help%s%s' lists the commands", cli_program.name, gap, group);
}

const struct cli_command *cli_find_command(struct cli *cli, char *const *words, size_t *used)
{
	const struct cli_command *command = NULL, *next;

	/* An option ends the name: it is for the command that was found so far. */
	for (*used = 0; words[*used] && words[*used][0] != '-'; ++*used, command = next) {
		if (command && !cli_command_below(command, 0))
			return command;
		next = find_below(command, words[*used]);
		if (!next) {
			put_unknown(cli, command, words[*used]);
			return NULL;
		}
	}
	return command;
}

const char *cli_section_title(enum cli_section section)
{
	static const char *const titles[] = {
		[CLI_SECTION_RECORD] = "Record programs",
		[CLI_SECTION_LOOK] = "Look at recordings",
		[CLI_SECTION_WRITE] = "Write new ones",
		[CLI_SECTION_STORE] = "Keep traces of services",
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
