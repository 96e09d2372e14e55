/* SPDX-License-Identifier: Apache-2.0 */
/* The texts that are made from the tables of commands: help, man pages, completions. */
#ifndef SONDE_CLI_HELP_H
#define SONDE_CLI_HELP_H

#include "cli/command.h"

/* Options that stand in place of a command; a table as in a command. */
extern const struct cli_option cli_top_options[];

/* All commands in a screen, and one command in full. */
void cli_put_overview(struct cli *cli);
void cli_put_command_help(struct cli *cli, const struct cli_command *command);

/* The man page of a command, of sonde itself for NULL; in mdoc(7). */
void cli_put_man_page(struct sonde_buffer *out, const struct cli_command *command);

/* The script that a shell's completion loads. */
void cli_put_bash_completion(struct sonde_buffer *out);
void cli_put_zsh_completion(struct sonde_buffer *out);
void cli_put_fish_completion(struct sonde_buffer *out);

/* The help of an option with its choices: "use colours: auto, always or never". */
void cli_put_option_text(struct sonde_buffer *out, const struct cli_option *option);

/* Walks over all options of a command that are shown; start with zeros. NULL past the last. */
struct cli_option_walk {
	size_t group;
	size_t option;
};
const struct cli_option *cli_next_option(const struct cli_command *command,
					 struct cli_option_walk *walk);

/*
 * The choices of an option or of operands as words, also where they are formats or commands;
 * NULL past the last.
 */
const char *cli_choice_word(const struct cli_option *option, size_t index);
const char *cli_operand_word(const struct cli_operands *operands, size_t index);

#endif
