/* SPDX-License-Identifier: Apache-2.0 */
/* --help and the overview, and the walks over tables that all texts are made with. */
#include "cli/help.h"

#include <string.h>

#include <sonde/format.h>
#include <sonde/sonde.h>

#include "cli/text.h"

#define WIDEST 100
#define OPTION_COLUMN 26

const struct cli_option cli_top_options[] = {
	{ .name = "help", .short_name = 'h', .kind = CLI_FLAG, .help = "show the overview" },
	{ .name = "version", .short_name = 'V', .kind = CLI_FLAG, .help = "show the version" },
	{ 0 },
};

const struct cli_option *cli_next_option(const struct cli_command *command,
					 struct cli_option_walk *walk)
{
	const struct cli_option_group *group;

	for (; (group = &command->options[walk->group])->options; walk->group++, walk->option = 0)
		if (!group->hidden && group->options[walk->option].name)
			return &group->options[walk->option++];
	return NULL;
}

const char *cli_choice_word(const struct cli_option *option, size_t index)
{
	if (option->kind == CLI_FORMAT)
		return index < sonde_format_count() ?
			       sonde_format_info(sonde_format_at(index))->name :
			       NULL;
	return option->choices ? option->choices[index].name : NULL;
}

const char *cli_operand_word(const struct cli_operands *operands, size_t index)
{
	if (operands->kind == CLI_OPERAND_COMMAND)
		return cli_command_below(NULL, index) ? cli_command_below(NULL, index)->name : NULL;
	return operands->choices ? operands->choices[index].name : NULL;
}

void cli_put_option_text(struct sonde_buffer *out, const struct cli_option *option)
{
	const struct cli_choice *choice;

	sonde_buffer_put_text(out, option->help);
	for (choice = option->choices; choice && choice->name; choice++) {
		sonde_buffer_put_text(out, choice == option->choices ? ": " :
					   choice[1].name	     ? ", " :
								       " or ");
		sonde_buffer_put_text(out, choice->name);
	}
	if (option->implied)
		sonde_buffer_put_format(out, "; alone it means %s", option->implied);
}

static unsigned int text_width(const struct cli *cli)
{
	unsigned int width = cli_width(cli, 80);

	return width < WIDEST ? width : WIDEST;
}

static void put_heading(struct cli *cli, const char *title)
{
	sonde_buffer_put_char(&cli->out, '\n');
	cli_put_styled(cli, CLI_STYLE_BOLD, title);
	sonde_buffer_put_text(&cli->out, ":\n");
}

static void put_option(struct cli *cli, const struct cli_option *option)
{
	struct sonde_buffer *out = &cli->out, text = { 0 };
	size_t begin = out->size, column;

	if (option->short_name)
		sonde_buffer_put_format(out, "  -%c, --%s", option->short_name, option->name);
	else
		sonde_buffer_put_format(out, "      --%s", option->name);
	if (option->argument)
		sonde_buffer_put_format(out, option->implied ? "[=%s]" : " %s", option->argument);
	column = out->size - begin;
	if (column > OPTION_COLUMN - 2) {
		sonde_buffer_put_char(out, '\n');
		column = 0;
	}
	cli_put_option_text(&text, option);
	cli_put_spaces(out, OPTION_COLUMN - column);
	cli_put_wrapped(out, sonde_buffer_text(&text), OPTION_COLUMN, text_width(cli),
			OPTION_COLUMN);
	sonde_buffer_release(&text);
}

static void put_options(struct cli *cli, const char *title, const struct cli_option *options)
{
	put_heading(cli, title);
	for (; options->name; options++)
		put_option(cli, options);
}

static void put_examples(struct cli *cli, const struct cli_example *example)
{
	put_heading(cli, "Examples");
	for (; example->command; example++) {
		sonde_buffer_put_format(&cli->out, "  %s\n      ", example->command);
		cli_put_styled(cli, CLI_STYLE_DIM, example->shows);
		sonde_buffer_put_char(&cli->out, '\n');
	}
}

static void put_summary(struct cli *cli, const struct cli_command *command)
{
	const char *word = cli_command_word(command);

	sonde_buffer_put_text(&cli->out, "  ");
	cli_put_styled(cli, CLI_STYLE_BOLD, word);
	cli_put_spaces(&cli->out, 12 - strlen(word));
	sonde_buffer_put_text(&cli->out, command->summary);
	sonde_buffer_put_char(&cli->out, '\n');
}

static void put_subcommands(struct cli *cli, const struct cli_command *above)
{
	const struct cli_command *command;
	size_t i;

	put_heading(cli, "Commands");
	for (i = 0; (command = cli_command_below(above, i)); i++)
		put_summary(cli, command);
}

void cli_put_command_help(struct cli *cli, const struct cli_command *command)
{
	const struct cli_option_group *group;
	const struct cli_topic *topic;

	sonde_buffer_put_format(&cli->out, "%s %s - %s\n\nUsage: %s\n\n", cli_program.name,
				command->name, command->summary, command->usage);
	cli_put_wrapped(&cli->out, command->description, 0, text_width(cli), 0);
	if (cli_command_below(command, 0))
		put_subcommands(cli, command);
	for (group = command->options; group->options; group++)
		if (!group->hidden)
			put_options(cli, group->title, group->options);
	for (topic = command->topics; topic && topic->title; topic++) {
		put_heading(cli, topic->title);
		cli_put_wrapped(&cli->out, topic->text, 2, text_width(cli), 0);
	}
	if (command->exit_status) {
		put_heading(cli, "Exit status");
		cli_put_wrapped(&cli->out, command->exit_status, 2, text_width(cli), 0);
	}
	put_examples(cli, command->examples);
	if (cli_command_below(command, 0))
		sonde_buffer_put_format(&cli->out, "\n'%s help %s COMMAND' tells more about one.\n",
					cli_program.name, command->name);
}

static void put_section(struct cli *cli, enum cli_section section)
{
	const struct cli_command *command;
	bool any = false;
	size_t i;

	for (i = 0; (command = cli_command_below(NULL, i)); i++) {
		if (command->section != section)
			continue;
		if (!any)
			put_heading(cli, cli_section_title(section));
		any = true;
		put_summary(cli, command);
	}
}

void cli_put_overview(struct cli *cli)
{
	int section;

	sonde_buffer_put_format(&cli->out, "%s %s - %s\n\nUsage: %s COMMAND [OPTIONS] ...\n",
				cli_program.name, sonde_version(), cli_program.summary,
				cli_program.name);
	for (section = 0; section < CLI_SECTION_COUNT; section++)
		put_section(cli, (enum cli_section)section);
	put_options(cli, "Options", cli_top_options);
	put_examples(cli, cli_program.examples);
	sonde_buffer_put_format(&cli->out, "\n'%s help COMMAND' tells more about a command.\n",
				cli_program.name);
}
