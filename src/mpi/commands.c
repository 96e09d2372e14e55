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

static const struct cli_example prof_examples[] = {
	{ "mpirun -n 4 sonde-mpi prof app.m -o app.d", "merge one run with four processes" },
	{ "mpirun --map-by ppr:1:node --bind-to none sonde-mpi prof app.m -o app.d",
	  "one process on each node, all processors of it (Open MPI)" },
	{ 0 },
};

static struct cli_command help, prof;

#define TOPIC_LIMIT 8

/* Those of `sonde prof`, behind what is to be known of many processes. */
static struct cli_topic topics[TOPIC_LIMIT + 1] = {
	{ .title = "Many processes",
	  .text = "All processes must see the measurements and the output under the same paths. "
		  "Each works with as many threads as it has processors, or -j. Only the first "
		  "prints, and only that one looks for .hpcstruct files and binaries. Where one "
		  "fails or is killed all end, and no database appears. Without mpirun it is one "
		  "process." },
};

static void take_topics(const struct cli_topic *more)
{
	size_t count;

	for (count = 1; count < TOPIC_LIMIT && more->title; count++, more++)
		topics[count] = *more;
}

void mpi_commands_prepare(void)
{
	prof = cmd_prof;
	take_topics(cmd_prof.topics);
	prof.topics = topics;
	prof.summary = "merge measurements into an HPCToolkit database, on many nodes";
	prof.usage = "mpirun -n N sonde-mpi prof [OPTIONS] MEASUREMENTS... [-o DIR]";
	prof.examples = prof_examples;
	help = cmd_help;
	help.usage = "sonde-mpi help [COMMAND]";
	help.examples = help_examples;
}

const struct cli_command *cli_command_at(size_t index)
{
	static const struct cli_command *const commands[] = { &prof, &help };

	return index < sizeof(commands) / sizeof(commands[0]) ? commands[index] : NULL;
}
