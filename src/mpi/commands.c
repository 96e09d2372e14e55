/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program `sonde-mpi`: the commands of `sonde` that many processes can do together, with texts that
 * say how they are started here.
 */
#include "mpi/commands.h"

#include "cli/commands.h"

static const struct cli_example examples[] = {
	{ "mpirun -n 4 sonde-mpi prof app.m -o app.d", "merge measurements with four processes" },
	{ 0 },
};

const struct cli_program cli_program = {
	.name = "sonde-mpi",
	.summary = "sonde on many nodes, under mpirun",
	.examples = examples,
};

static const struct cli_example help_examples[] = {
	{ "sonde-mpi help prof", "how measurements are merged" },
	{ 0 },
};

static struct cli_command help;

void mpi_commands_prepare(void)
{
	help = cmd_help;
	help.usage = "sonde-mpi help [COMMAND]";
	help.examples = help_examples;
}

const struct cli_command *cli_command_at(size_t index)
{
	static const struct cli_command *const commands[] = { &help };

	return index < sizeof(commands) / sizeof(commands[0]) ? commands[index] : NULL;
}
