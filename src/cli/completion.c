/* SPDX-License-Identifier: Apache-2.0 */
/* Completion scripts for bash, zsh and fish, made from the tables of commands. */
#include <string.h>

#include "cli/help.h"

/* What completes the argument of an option, or an operand. */
enum completes { COMPLETES_NOTHING, COMPLETES_FILES, COMPLETES_WORDS, COMPLETES_PROGRAM };

static enum completes option_completes(const struct cli_option *option)
{
	if (option->kind == CLI_PATH)
		return COMPLETES_FILES;
	return cli_choice_word(option, 0) ? COMPLETES_WORDS : COMPLETES_NOTHING;
}

static enum completes operands_complete(const struct cli_operands *operands)
{
	if (!operands->name)
		return COMPLETES_NOTHING;
	switch (operands->kind) {
	case CLI_OPERAND_PATH:
		return COMPLETES_FILES;
	case CLI_OPERAND_SUBCOMMAND:
		return COMPLETES_NOTHING; /* done before the command is known */
	case CLI_OPERAND_PROGRAM:
		return COMPLETES_PROGRAM;
	default:
		return COMPLETES_WORDS;
	}
}

static void put_word(struct sonde_buffer *out, size_t index, const char *word)
{
	if (index)
		sonde_buffer_put_char(out, ' ');
	sonde_buffer_put_text(out, word);
}

static void put_choice_words(struct sonde_buffer *out, const struct cli_option *option)
{
	const char *word;
	size_t i;

	for (i = 0; (word = cli_choice_word(option, i)); i++)
		put_word(out, i, word);
}

static void put_operand_words(struct sonde_buffer *out, const struct cli_operands *operands)
{
	const char *word;
	size_t i;

	for (i = 0; (word = cli_operand_word(operands, i)); i++)
		put_word(out, i, word);
}

/* The commands below another, or for NULL those of one word. */
static void put_command_names(struct sonde_buffer *out, const struct cli_command *above)
{
	const struct cli_command *command;
	size_t i;

	for (i = 0; (command = cli_command_below(above, i)); i++)
		put_word(out, i, cli_command_word(command));
}

/* The options whose value is the next word, in all their forms, with `gap` between them. */
static void put_options_with_value(struct sonde_buffer *out, const struct cli_command *command,
				   const char *gap)
{
	struct cli_option_walk walk = { 0 };
	const struct cli_option *option;
	const char *before = "";

	while ((option = cli_next_option(command, &walk))) {
		if (!cli_takes_argument(option) || option->implied)
			continue;
		if (option->short_name)
			sonde_buffer_put_format(out, "%s-%c%s--%s", before, option->short_name, gap,
						option->name);
		else
			sonde_buffer_put_format(out, "%s--%s", before, option->name);
		before = gap;
	}
}

/* bash */

static void put_bash_case(struct sonde_buffer *out, const struct cli_command *command,
			  const struct cli_option *option)
{
	sonde_buffer_put_char(out, '\t');
	cli_put_command_id(out, command);
	sonde_buffer_put_format(out, ":--%s", option->name);
	if (option->short_name) {
		sonde_buffer_put_text(out, " | ");
		cli_put_command_id(out, command);
		sonde_buffer_put_format(out, ":-%c", option->short_name);
	}
	sonde_buffer_put_text(out, option->implied ? ") [[ $equals ]] && " : ") ");
	switch (option_completes(option)) {
	case COMPLETES_FILES:
		sonde_buffer_put_text(out, "_sonde_files && return");
		break;
	case COMPLETES_WORDS:
		sonde_buffer_put_text(out, "_sonde_words '");
		put_choice_words(out, option);
		sonde_buffer_put_text(out, "' && return");
		break;
	default:
		sonde_buffer_put_text(out, "return");
		break;
	}
	sonde_buffer_put_text(out, " ;;\n");
}

static void put_bash_command(struct sonde_buffer *out, const struct cli_command *command)
{
	struct cli_option_walk walk = { 0 };
	const struct cli_option *option;
	size_t i = 0;

	sonde_buffer_put_char(out, '\t');
	cli_put_command_id(out, command);
	sonde_buffer_put_text(out, ":-*) _sonde_words '");
	while ((option = cli_next_option(command, &walk))) {
		put_word(out, i++, "--");
		sonde_buffer_put_text(out, option->name);
	}
	sonde_buffer_put_text(out, "' ;;\n\t");
	cli_put_command_id(out, command);
	sonde_buffer_put_text(out, ":*) ");
	switch (operands_complete(&command->operands)) {
	case COMPLETES_FILES:
		sonde_buffer_put_text(out, "_sonde_files");
		break;
	case COMPLETES_WORDS:
		sonde_buffer_put_text(out, "_sonde_words '");
		put_operand_words(out, &command->operands);
		sonde_buffer_put_char(out, '\'');
		break;
	case COMPLETES_PROGRAM:
		sonde_buffer_put_text(out, "_sonde_commands");
		break;
	case COMPLETES_NOTHING:
		break;
	}
	sonde_buffer_put_text(out, " ;;\n");
}

/* Where a program stands on the line already, what follows is for its own completion. */
static void put_bash_program(struct sonde_buffer *out, const struct cli_command *command)
{
	sonde_buffer_put_format(out, "\tif [[ $command == %s ]] && _sonde_program '",
				command->name);
	put_options_with_value(out, command, "|");
	sonde_buffer_put_text(out, "'; then\n\t\treturn\n\tfi\n");
}

static const char bash_head[] =
	"# shellcheck shell=bash\n"
	"# Completion of sonde for bash; made by 'sonde completion bash'.\n"
	"\n"
	"_sonde_files()\n"
	"{\n"
	"\tcompopt -o filenames 2>/dev/null\n"
	"\tmapfile -t COMPREPLY < <(compgen -f -- \"$current\")\n"
	"}\n"
	"\n"
	"# Of a list with commas the last word is completed.\n"
	"_sonde_words()\n"
	"{\n"
	"\tlocal last=${current##*,}\n"
	"\tmapfile -t COMPREPLY < <(compgen -W \"$1\" -P \"${current%\"$last\"}\" -- \"$last\")\n"
	"}\n"
	"\n"
	"_sonde_commands()\n"
	"{\n"
	"\tcompopt -o filenames 2>/dev/null\n"
	"\tmapfile -t COMPREPLY < <(compgen -c -- \"$current\"; compgen -f -- \"$current\")\n"
	"}\n"
	"\n"
	"# Completes for the program on the line; false where there is none yet. $1: options with a value.\n"
	"_sonde_program()\n"
	"{\n"
	"\tlocal i\n"
	"\tfor ((i = 2; i < COMP_CWORD; i++)); do\n"
	"\t\tif [[ ${COMP_WORDS[i]} == -- ]]; then\n"
	"\t\t\t((++i))\n"
	"\t\t\tbreak\n"
	"\t\telif [[ ${COMP_WORDS[i]} == [=:]* || \"|$1|\" == *\"|${COMP_WORDS[i]}|\"* ]]; then\n"
	"\t\t\t((++i))\n"
	"\t\telif [[ ${COMP_WORDS[i]} != -* ]]; then\n"
	"\t\t\tbreak\n"
	"\t\tfi\n"
	"\tdone\n"
	"\t((i < COMP_CWORD)) || return 1\n"
	"\tif declare -F _command_offset >/dev/null; then\n"
	"\t\t_command_offset \"$i\"\n"
	"\telse\n"
	"\t\t_sonde_files\n"
	"\tfi\n"
	"}\n"
	"\n"
	"_sonde()\n"
	"{\n"
	"\tlocal current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}\n"
	"\tlocal command=${COMP_WORDS[1]} equals=''\n"
	"\tCOMPREPLY=()\n"
	"\tif [[ $current == '=' ]]; then\n"
	"\t\tcurrent='' equals='='\n"
	"\telif [[ $previous == '=' ]]; then\n"
	"\t\tprevious=${COMP_WORDS[COMP_CWORD - 2]} equals='='\n"
	"\tfi\n"
	"\tif ((COMP_CWORD == 1)); then\n"
	"\t\t_sonde_words '";

/* The second word of a command with subcommands is a part of its name. */
static void put_bash_group(struct sonde_buffer *out, const struct cli_command *above)
{
	sonde_buffer_put_format(out,
				"\tif [[ $command == %s ]] && ((COMP_CWORD == 2)) && "
				"[[ $current != -* ]]; then\n\t\t_sonde_words '",
				above->name);
	put_command_names(out, above);
	sonde_buffer_put_format(out,
				"'\n\t\treturn\n\telif [[ $command == %s && ${COMP_WORDS[2]} != -* "
				"]]; then\n\t\tcommand+=-${COMP_WORDS[2]}\n\tfi\n",
				above->name);
}

void cli_put_bash_completion(struct sonde_buffer *out)
{
	const struct cli_command *command;
	const struct cli_option *option;
	size_t i;

	sonde_buffer_put_text(out, bash_head);
	put_command_names(out, NULL);
	for (option = cli_top_options; option->name; option++)
		sonde_buffer_put_format(out, " --%s", option->name);
	sonde_buffer_put_text(out, "'\n\t\treturn\n\tfi\n");
	for (i = 0; (command = cli_command_below(NULL, i)); i++)
		if (cli_command_below(command, 0))
			put_bash_group(out, command);
	for (i = 0; (command = cli_command_at(i)); i++)
		if (command->operands.kind == CLI_OPERAND_PROGRAM)
			put_bash_program(out, command);
	sonde_buffer_put_text(out, "\tcase $command:$previous in\n");
	for (i = 0; (command = cli_command_at(i)); i++) {
		struct cli_option_walk walk = { 0 };

		while ((option = cli_next_option(command, &walk)))
			if (cli_takes_argument(option))
				put_bash_case(out, command, option);
	}
	sonde_buffer_put_text(out, "\tesac\n\tcase $command:$current in\n");
	for (i = 0; (command = cli_command_at(i)); i++)
		put_bash_command(out, command);
	sonde_buffer_put_text(out, "\tesac\n}\n\ncomplete -F _sonde sonde\n");
}

/* zsh */

/* For the inside of single quotes, in a place where brackets and colons mean something. */
static void put_zsh_text(struct sonde_buffer *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '\'')
			sonde_buffer_put_text(out, "'\\''");
		else if (strchr("[]:\\", *text))
			sonde_buffer_put_format(out, "\\%c", *text);
		else
			sonde_buffer_put_char(out, *text);
	}
}

static void put_zsh_action(struct sonde_buffer *out, const struct cli_option *option)
{
	switch (option_completes(option)) {
	case COMPLETES_FILES:
		sonde_buffer_put_text(out, "_files");
		break;
	case COMPLETES_WORDS:
		if (option->kind == CLI_CHOICE_SET)
			sonde_buffer_put_text(out, "_values -s , word ");
		else
			sonde_buffer_put_char(out, '(');
		put_choice_words(out, option);
		if (option->kind != CLI_CHOICE_SET)
			sonde_buffer_put_char(out, ')');
		break;
	default:
		sonde_buffer_put_char(out, ' ');
		break;
	}
}

static void put_zsh_option(struct sonde_buffer *out, const struct cli_option *option)
{
	bool repeats = option->kind == CLI_LIST || option->kind == CLI_REPEAT ||
		       option->kind == CLI_CHOICE_SET;
	const char *equals = option->implied ? "=-" : option->argument ? "=" : "";

	sonde_buffer_put_text(out, " \\\n\t\t\t");
	if (option->short_name)
		sonde_buffer_put_format(out, "'(-%c --%s)'{-%c%s,--%s%s}'", option->short_name,
					option->name, option->short_name,
					option->argument ? "+" : "", option->name, equals);
	else
		sonde_buffer_put_format(out, "'%s--%s%s", repeats ? "*" : "", option->name, equals);
	sonde_buffer_put_char(out, '[');
	put_zsh_text(out, option->help);
	sonde_buffer_put_char(out, ']');
	if (option->argument) {
		sonde_buffer_put_format(out, option->implied ? "::%s:" : ":%s:", option->argument);
		put_zsh_action(out, option);
	}
	sonde_buffer_put_char(out, '\'');
}

static void put_zsh_command(struct sonde_buffer *out, const struct cli_command *command)
{
	struct cli_option_walk walk = { 0 };
	const struct cli_option *option;

	sonde_buffer_put_char(out, '\t');
	cli_put_command_id(out, command);
	sonde_buffer_put_text(out, ")\n\t\t_arguments -s -S");
	while ((option = cli_next_option(command, &walk)))
		put_zsh_option(out, option);
	switch (operands_complete(&command->operands)) {
	case COMPLETES_FILES:
		sonde_buffer_put_format(out, " \\\n\t\t\t'*:%s:_files'", command->operands.name);
		break;
	case COMPLETES_WORDS:
		sonde_buffer_put_format(out, " \\\n\t\t\t'1:%s:(", command->operands.name);
		put_operand_words(out, &command->operands);
		sonde_buffer_put_text(out, ")'");
		break;
	case COMPLETES_PROGRAM:
		sonde_buffer_put_format(out,
					" \\\n\t\t\t'(-)1:%s:_command_names -e'"
					" \\\n\t\t\t'*::argument:_normal'",
					command->operands.name);
		break;
	case COMPLETES_NOTHING:
		break;
	}
	sonde_buffer_put_text(out, "\n\t\t;;\n");
}

/* What a word may be: names and summaries, in an array `commands`. */
static void put_zsh_commands(struct sonde_buffer *out, const struct cli_command *above)
{
	const struct cli_command *command;
	size_t i;

	sonde_buffer_put_text(out, "\tcommands=(\n");
	for (i = 0; (command = cli_command_below(above, i)); i++) {
		sonde_buffer_put_format(out, "\t\t'%s:", cli_command_word(command));
		put_zsh_text(out, command->summary);
		sonde_buffer_put_text(out, "'\n");
	}
	sonde_buffer_put_text(out, "\t)\n");
}

/* The second word of a command with subcommands is a part of its name. */
static void put_zsh_group(struct sonde_buffer *out, const struct cli_command *above)
{
	sonde_buffer_put_format(out, "\tif [[ $command == %s && $words[2] != -* ]]; then\n",
				above->name);
	put_zsh_commands(out, above);
	sonde_buffer_put_text(out, "\t\tif (( CURRENT == 2 )); then\n"
				   "\t\t\t_describe -t commands command commands\n"
				   "\t\t\treturn\n\t\tfi\n"
				   "\t\tcommand+=-$words[2]\n"
				   "\t\tshift words\n\t\t(( CURRENT-- ))\n\tfi\n");
}

void cli_put_zsh_completion(struct sonde_buffer *out)
{
	const struct cli_command *command;
	const struct cli_option *option;
	size_t i;

	sonde_buffer_put_text(out,
			      "#compdef sonde\n"
			      "# Completion of sonde for zsh; made by 'sonde completion zsh'.\n"
			      "\n_sonde() {\n\tlocal -a commands\n");
	put_zsh_commands(out, NULL);
	sonde_buffer_put_text(out, "\tif (( CURRENT == 2 )); then\n"
				   "\t\t_describe -t commands command commands\n"
				   "\t\t_arguments");
	for (option = cli_top_options; option->name; option++)
		put_zsh_option(out, option);
	sonde_buffer_put_text(out, "\n\t\treturn\n\tfi\n"
				   "\tlocal command=$words[2]\n"
				   "\tshift words\n\t(( CURRENT-- ))\n");
	for (i = 0; (command = cli_command_below(NULL, i)); i++)
		if (cli_command_below(command, 0))
			put_zsh_group(out, command);
	sonde_buffer_put_text(out, "\tcase $command in\n");
	for (i = 0; (command = cli_command_at(i)); i++)
		put_zsh_command(out, command);
	sonde_buffer_put_text(out, "\tesac\n}\n\n"
				   "if [[ $funcstack[1] == _sonde ]]; then\n\t_sonde \"$@\"\n"
				   "else\n\tcompdef _sonde sonde\nfi\n");
}

/* fish */

static void put_fish_text(struct sonde_buffer *out, const char *text)
{
	sonde_buffer_put_text(out, " -d '");
	for (; *text; text++) {
		if (*text == '\'')
			sonde_buffer_put_char(out, '\\');
		sonde_buffer_put_char(out, *text);
	}
	sonde_buffer_put_text(out, "'\n");
}

static void put_fish_condition(struct sonde_buffer *out, const struct cli_command *command)
{
	sonde_buffer_put_format(out, "complete -c sonde -n '__sonde_is %s'", command->name);
}

static void put_fish_option(struct sonde_buffer *out, const struct cli_option *option)
{
	if (option->short_name)
		sonde_buffer_put_format(out, " -s %c", option->short_name);
	sonde_buffer_put_format(out, " -l %s", option->name);
	if (option->argument) {
		switch (option_completes(option)) {
		case COMPLETES_FILES:
			sonde_buffer_put_text(out, " -r -F");
			break;
		case COMPLETES_WORDS:
			sonde_buffer_put_text(out, option->implied ? " -f -a '" : " -x -a '");
			put_choice_words(out, option);
			sonde_buffer_put_char(out, '\'');
			break;
		default:
			sonde_buffer_put_text(out, " -x");
			break;
		}
	}
	put_fish_text(out, option->help);
}

static void put_fish_command(struct sonde_buffer *out, const struct cli_command *command)
{
	struct cli_option_walk walk = { 0 };
	const struct cli_option *option;
	const char *word = cli_command_word(command);

	sonde_buffer_put_text(out, "\ncomplete -c sonde -n ");
	if (word == command->name)
		sonde_buffer_put_text(out, "__fish_use_subcommand");
	else
		sonde_buffer_put_format(out, "'__sonde_is_only %.*s'",
					(int)(word - command->name) - 1, command->name);
	sonde_buffer_put_format(out, " -a %s", word);
	put_fish_text(out, command->summary);
	switch (operands_complete(&command->operands)) {
	case COMPLETES_FILES:
		put_fish_condition(out, command);
		sonde_buffer_put_text(out, " -F\n");
		break;
	case COMPLETES_WORDS:
		put_fish_condition(out, command);
		sonde_buffer_put_text(out, " -a '");
		put_operand_words(out, &command->operands);
		sonde_buffer_put_text(out, "'\n");
		break;
	case COMPLETES_PROGRAM:
		/* The '-' parts the function's own options from the words it is told of. */
		put_fish_condition(out, command);
		sonde_buffer_put_text(out, " -x -a '(__fish_complete_subcommand --fcs-skip=2 - ");
		put_options_with_value(out, command, " ");
		sonde_buffer_put_text(out, ")'\n");
		break;
	case COMPLETES_NOTHING:
		break;
	}
	while ((option = cli_next_option(command, &walk))) {
		put_fish_condition(out, command);
		put_fish_option(out, option);
	}
}

/* Whether the words behind `sonde` begin with these, or are only these. */
static const char fish_functions[] =
	"function __sonde_is\n"
	"\tset -l words (commandline -opc)\n"
	"\tset -e words[1]\n"
	"\ttest (count $words) -ge (count $argv); or return 1\n"
	"\tfor i in (seq (count $argv))\n"
	"\t\ttest \"$words[$i]\" = \"$argv[$i]\"; or return 1\n"
	"\tend\n"
	"end\n"
	"function __sonde_is_only\n"
	"\tset -l words (commandline -opc)\n"
	"\ttest (count $words) -eq (math (count $argv) + 1); or return 1\n"
	"\t__sonde_is $argv\n"
	"end\n\n";

void cli_put_fish_completion(struct sonde_buffer *out)
{
	const struct cli_command *command;
	const struct cli_option *option;
	size_t i;

	sonde_buffer_put_text(out, "# Completion of sonde for fish; made by 'sonde completion "
				   "fish'.\n\n");
	sonde_buffer_put_text(out, fish_functions);
	sonde_buffer_put_text(out, "complete -c sonde -f\n");
	for (option = cli_top_options; option->name; option++) {
		sonde_buffer_put_text(out, "complete -c sonde -n __fish_use_subcommand");
		put_fish_option(out, option);
	}
	for (i = 0; (command = cli_command_at(i)); i++)
		put_fish_command(out, command);
}
