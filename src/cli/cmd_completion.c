/* SPDX-License-Identifier: Apache-2.0 */
/* `sonde completion`: the script that makes a shell complete sonde's commands and options. */
#include <string.h>

#include "cli/commands.h"
#include "cli/help.h"

struct completion_options {
	struct cli_common common;
};

static const struct cli_choice shells[] = {
	{ "bash", NULL },
	{ "zsh", NULL },
	{ "fish", NULL },
	{ 0 },
};

static int run(struct cli *cli, const void *options)
{
	const char *shell = cli->operands[0];

	(void)options;
	if (!strcmp(shell, "bash"))
		cli_put_bash_completion(&cli->out);
	else if (!strcmp(shell, "zsh"))
		cli_put_zsh_completion(&cli->out);
	else if (!strcmp(shell, "fish"))
		cli_put_fish_completion(&cli->out);
	else
		return cli_usage(cli, "no completion for '%s': bash, zsh and fish are known",
				 shell);
	return CLI_OK;
}

const struct cli_command cmd_completion = {
	.name = "completion",
	.summary = "print the completion script for a shell",
	.usage = "sonde completion SHELL",
	.description =
		"Prints a script that makes the shell (bash, zsh or fish) complete commands, "
		"options, their values, and files. An installed sonde has it in place already; for "
		"one that is not installed:\n"
		"\n"
		"  bash   eval \"$(sonde completion bash)\"                in ~/.bashrc\n"
		"  zsh    eval \"$(sonde completion zsh)\"                 in ~/.zshrc\n"
		"  fish   sonde completion fish > ~/.config/fish/completions/sonde.fish",
	.section = CLI_SECTION_HELP,
	.operands = { .name = "SHELL",
		      .kind = CLI_OPERAND_CHOICE,
		      .choices = shells,
		      .at_least = 1,
		      .at_most = 1 },
	.options = (const struct cli_option_group[]){ CLI_COMMON_GROUP, { 0 } },
	.examples =
		(const struct cli_example[]){
			{ "eval \"$(sonde completion bash)\"", "complete sonde in this bash" },
			{ "sonde completion fish > sonde.fish", "the script for fish, in a file" },
			{ 0 },
		},
	.options_size = sizeof(struct completion_options),
	.run = run,
};
