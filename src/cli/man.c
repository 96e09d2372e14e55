/* SPDX-License-Identifier: Apache-2.0 */
/* Man pages in mdoc(7), made from the tables of commands. */
#include <ctype.h>
#include <string.h>

#include "cli/help.h"
#include "cli/text.h"

/* Of the last change to a table; the pages must be the same however often they are made. */
#define PAGE_DATE "November 15, 2026"
#define SOURCE_WIDTH 72 /* escapes make lines longer */

static void put_escaped(struct sonde_buffer *out, const char *text, size_t length)
{
	size_t i;

	if (length && (text[0] == '.' || text[0] == '\''))
		sonde_buffer_put_text(out, "\\&");
	for (i = 0; i < length; i++) {
		if (text[i] == '\\')
			sonde_buffer_put_text(out, "\\e");
		else if (text[i] == '-')
			sonde_buffer_put_text(out, "\\-");
		else if (text[i] == '\'')
			sonde_buffer_put_text(out, "\\(aq");
		else
			sonde_buffer_put_char(out, text[i]);
	}
}

/* A line of running text, wrapped; each sentence starts a line. */
static void put_sentences(struct sonde_buffer *out, const char *text, size_t length)
{
	struct sonde_buffer sentence = { 0 }, wrapped = { 0 };
	struct cli_line line;

	while (length) {
		const char *stop = memmem(text, length, ". ", 2), *lines;
		size_t part = stop ? (size_t)(stop - text) + 1 : length;

		sonde_buffer_clear(&sentence);
		sonde_buffer_clear(&wrapped);
		sonde_buffer_put(&sentence, text, part);
		cli_put_wrapped(&wrapped, sonde_buffer_text(&sentence), 0, SOURCE_WIDTH, 0);
		lines = sonde_buffer_text(&wrapped);
		while (cli_next_line(&lines, &line)) {
			put_escaped(out, line.text, line.length);
			sonde_buffer_put_char(out, '\n');
		}
		part += stop != NULL;
		text += part;
		length -= part;
	}
	out->failed = out->failed || sentence.failed || wrapped.failed;
	sonde_buffer_release(&sentence);
	sonde_buffer_release(&wrapped);
}

/* Paragraphs; runs of lines that stay as they are become a display. */
static void put_text(struct sonde_buffer *out, const char *text)
{
	bool in_display = false, after_gap = false;
	struct cli_line line;

	while (cli_next_line(&text, &line)) {
		bool literal = cli_line_is_literal(&line);

		if (literal != in_display)
			sonde_buffer_put_text(out,
					      literal ? ".Bd -literal -offset indent\n" : ".Ed\n");
		if (after_gap && !literal && !in_display)
			sonde_buffer_put_text(out, ".Pp\n");
		if (in_display && !literal && line.length)
			sonde_buffer_put_text(out, ".Pp\n");
		in_display = literal;
		after_gap = !line.length;
		if (literal) {
			put_escaped(out, line.text + 2, line.length - 2);
			sonde_buffer_put_char(out, '\n');
		} else {
			put_sentences(out, line.text, line.length);
		}
	}
	if (in_display)
		sonde_buffer_put_text(out, ".Ed\n");
}

static void put_upper(struct sonde_buffer *out, const char *text)
{
	for (; *text; text++)
		sonde_buffer_put_char(out, (char)toupper((unsigned char)*text));
}

static void put_section_title(struct sonde_buffer *out, const char *title)
{
	sonde_buffer_put_text(out, ".Sh ");
	put_upper(out, title);
	sonde_buffer_put_char(out, '\n');
}

static void put_option(struct sonde_buffer *out, const struct cli_option *option)
{
	struct sonde_buffer text = { 0 };
	const struct cli_choice *choice;
	const char *help;

	sonde_buffer_put_text(out, ".It ");
	if (option->short_name)
		sonde_buffer_put_format(out, "Fl %c , ", option->short_name);
	sonde_buffer_put_text(out, "Fl \\-");
	put_escaped(out, option->name, strlen(option->name));
	if (option->argument)
		sonde_buffer_put_format(out, option->implied ? " Ns Op = Ns Ar %s" : " Ar %s",
					option->argument);
	sonde_buffer_put_char(out, '\n');
	cli_put_option_text(&text, option);
	help = sonde_buffer_text(&text);
	if (help && *help) {
		text.data[0] = (char)toupper((unsigned char)*help);
		put_sentences(out, help, text.size);
		out->size--; /* the full stop goes before the line feed */
		sonde_buffer_put_text(out, ".\n");
	}
	for (choice = option->choices; choice && choice->name && choice->help; choice++) {
		sonde_buffer_put_format(out, ".Cm %s :\n", choice->name);
		put_escaped(out, choice->help, strlen(choice->help));
		sonde_buffer_put_text(out, choice[1].name ? ";\n" : ".\n");
	}
	sonde_buffer_release(&text);
}

static void put_options(struct sonde_buffer *out, const struct cli_option *options)
{
	sonde_buffer_put_text(out, ".Bl -tag -width Ds\n");
	for (; options->name; options++)
		put_option(out, options);
	sonde_buffer_put_text(out, ".El\n");
}

static void put_examples(struct sonde_buffer *out, const struct cli_example *example)
{
	put_section_title(out, "examples");
	for (; example->command; example++) {
		char first = (char)toupper((unsigned char)example->shows[0]);

		sonde_buffer_put_char(out, first);
		put_escaped(out, example->shows + 1, strlen(example->shows) - 1);
		sonde_buffer_put_text(out, ":\n.Pp\n.Dl ");
		put_escaped(out, example->command, strlen(example->command));
		sonde_buffer_put_char(out, '\n');
		if (example[1].command)
			sonde_buffer_put_text(out, ".Pp\n");
	}
}

static void put_exit_status(struct sonde_buffer *out, const char *text)
{
	put_section_title(out, "exit status");
	if (text) {
		put_text(out, text);
		return;
	}
	sonde_buffer_put_text(
		out, ".Bl -tag -width 3n -compact\n"
		     ".It 0\nAll is well.\n"
		     ".It 1\nFaults were found, or with\n.Fl \\-strict\nsomething would be lost.\n"
		     ".It 2\nThe command line is wrong.\n"
		     ".It 3\nThe command failed.\n"
		     ".El\n");
}

static void put_page_head(struct sonde_buffer *out, const char *page, const char *summary)
{
	sonde_buffer_put_text(out, ".\\\" Generated by 'make man' from the option tables; "
				   "do not edit.\n"
				   ".\\\" SPDX-License-Identifier: Apache-2.0\n"
				   ".Dd " PAGE_DATE "\n.Dt ");
	put_upper(out, page);
	sonde_buffer_put_text(out, " 1\n.Os\n.Sh NAME\n.Nm ");
	sonde_buffer_put_text(out, page);
	sonde_buffer_put_text(out, "\n.Nd ");
	sonde_buffer_put_text(out, summary);
	sonde_buffer_put_char(out, '\n');
}

/* The usage line without the program's name: words in capitals are arguments. */
static void put_synopsis(struct sonde_buffer *out, const char *usage)
{
	put_section_title(out, "synopsis");
	sonde_buffer_put_text(out, ".Nm sonde\n");
	usage += strcspn(usage, " ");
	while (*usage) {
		size_t length = strcspn(++usage, " ");
		const char *macro = usage[0] == '[' || isupper((unsigned char)usage[0]) ? "Ar" :
				    usage[0] == '-'					? "Fl" :
											  "Cm";

		sonde_buffer_put_format(out, ".%s ", macro);
		put_escaped(out, usage + (usage[0] == '-'), length - (usage[0] == '-'));
		sonde_buffer_put_char(out, '\n');
		usage += length;
	}
}

/* The command below another whose name comes next in the alphabet; NULL past the last. */
static const struct cli_command *next_by_name(const struct cli_command *above, const char *name)
{
	const struct cli_command *command, *next = NULL;
	size_t i;

	for (i = 0; (command = cli_command_below(above, i)); i++)
		if (strcmp(command->name, name) > 0 &&
		    (!next || strcmp(command->name, next->name) < 0))
			next = command;
	return next;
}

/* The command that has this one as a subcommand; NULL: none. */
static const struct cli_command *command_above(const struct cli_command *command)
{
	const struct cli_command *above, *below;
	size_t i, j;

	for (i = 0; (above = cli_command_below(NULL, i)); i++)
		for (j = 0; (below = cli_command_below(above, j)); j++)
			if (below == command)
				return above;
	return NULL;
}

static void put_reference(struct sonde_buffer *out, const struct cli_command *command)
{
	if (out->data[out->size - 1] != '\n')
		sonde_buffer_put_text(out, " ,\n");
	sonde_buffer_put_text(out, command ? ".Xr sonde-" : ".Xr sonde");
	if (command)
		cli_put_command_id(out, command);
	sonde_buffer_put_text(out, " 1");
}

/* The pages above; then the subcommands, or where there are none the commands beside it. */
static void put_see_also(struct sonde_buffer *out, const struct cli_command *page)
{
	const struct cli_command *above = page ? command_above(page) : NULL;
	const struct cli_command *around = page && cli_command_below(page, 0) ? page : above;
	const struct cli_command *command;

	put_section_title(out, "see also");
	if (page)
		put_reference(out, NULL);
	if (above)
		put_reference(out, above);
	for (command = next_by_name(around, ""); command;
	     command = next_by_name(around, command->name))
		if (command != page)
			put_reference(out, command);
	sonde_buffer_put_char(out, '\n');
}

static void put_command_item(struct sonde_buffer *out, const struct cli_command *command)
{
	sonde_buffer_put_format(out, ".It Cm %s\n%c", cli_command_word(command),
				toupper((unsigned char)command->summary[0]));
	put_escaped(out, command->summary + 1, strlen(command->summary) - 1);
	sonde_buffer_put_text(out, ";\nsee\n.Xr sonde-");
	cli_put_command_id(out, command);
	sonde_buffer_put_text(out, " 1 .\n");
}

static void put_subcommands(struct sonde_buffer *out, const struct cli_command *above)
{
	const struct cli_command *command;
	size_t i;

	if (!cli_command_below(above, 0))
		return;
	sonde_buffer_put_text(out, ".Ss Commands\n.Bl -tag -width recover\n");
	for (i = 0; (command = cli_command_below(above, i)); i++)
		put_command_item(out, command);
	sonde_buffer_put_text(out, ".El\n");
}

static void put_command_page(struct sonde_buffer *out, const struct cli_command *command)
{
	const struct cli_option_group *group;
	const struct cli_topic *topic;
	struct sonde_buffer page = { 0 };

	sonde_buffer_put_text(&page, "sonde-");
	cli_put_command_id(&page, command);
	if (sonde_buffer_text(&page))
		put_page_head(out, page.data, command->summary);
	out->failed = out->failed || page.failed;
	sonde_buffer_release(&page);
	put_synopsis(out, command->usage);
	put_section_title(out, "description");
	put_text(out, command->description);
	put_subcommands(out, command);
	for (group = command->options; group->options; group++) {
		if (group->hidden)
			continue;
		sonde_buffer_put_format(out, ".Ss %s\n", group->title);
		put_options(out, group->options);
	}
	for (topic = command->topics; topic && topic->title; topic++) {
		sonde_buffer_put_format(out, ".Ss %s\n", topic->title);
		put_text(out, topic->text);
	}
	put_exit_status(out, command->exit_status);
	put_examples(out, command->examples);
	put_see_also(out, command);
}

static void put_command_list(struct sonde_buffer *out)
{
	const struct cli_command *command;
	int section;
	size_t i;

	for (section = 0; section < CLI_SECTION_COUNT; section++) {
		sonde_buffer_put_format(out, ".Ss %s\n.Bl -tag -width completion\n",
					cli_section_title((enum cli_section)section));
		for (i = 0; (command = cli_command_below(NULL, i)); i++)
			if ((int)command->section == section)
				put_command_item(out, command);
		sonde_buffer_put_text(out, ".El\n");
	}
}

static void put_main_page(struct sonde_buffer *out)
{
	put_page_head(out, "sonde", cli_program.summary);
	put_synopsis(out, "sonde COMMAND [OPTIONS] ...");
	put_section_title(out, "description");
	put_text(out, "A recording is what a tracer wrote while a program ran: calls, returns and "
		      "exceptions of its threads, with registers and stack bytes where they were "
		      "captured. The format of a recording is found out by looking at it.\n"
		      "\n"
		      "Results go to standard output, messages to standard error. Output files "
		      "appear whole or not at all, and a recording is never changed in place.");
	put_command_list(out);
	sonde_buffer_put_text(out, ".Ss Options\n");
	put_options(out, cli_top_options);
	put_section_title(out, "environment");
	sonde_buffer_put_text(out,
			      ".Bl -tag -width SONDE_RUNTIME\n"
			      ".It Ev NO_COLOR\nWhere set and not empty, no colours are used "
			      "unless\n.Fl \\-color Ar always\nasks for them.\n"
			      ".It Ev COLUMNS\nThe width of the screen, where the terminal "
			      "does not tell.\n"
			      ".It Ev SONDE_CACHE\nThe folder where what took long to find "
			      "out about large files is kept for the next time, or\n.Ql off .\n"
			      "Without it that is\n.Pa $XDG_CACHE_HOME/sonde ,\nor\n"
			      ".Pa ~/.cache/sonde .\nIt may be removed at any time.\n"
			      ".It Ev SONDE_CACHE_MINIMUM , SONDE_CACHE_LIMIT\nThe size in bytes "
			      "of the smallest file that is kept in it, 67108864, and of the "
			      "whole cache, 1073741824.\n"
			      ".It Ev SONDE_RUNTIME\nThe path of libsonde\\-rt.so for\n"
			      ".Xr sonde\\-record 1 ,\nwhere it is not found by itself.\n"
			      ".El\n");
	put_exit_status(out, NULL);
	put_examples(out, cli_program.examples);
	put_see_also(out, NULL);
}

void cli_put_man_page(struct sonde_buffer *out, const struct cli_command *command)
{
	if (command)
		put_command_page(out, command);
	else
		put_main_page(out);
}
