/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The entry of `sonde-mpi`: the ranks of MPI become a team, and the command runs on each of them. A
 * process that was started without mpirun is a team of one.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/start.h"
#include "mpi/commands.h"
#include "mpi/guardian.h"
#include "mpi/mpi_team.h"

#define PATIENCE_MS 60000

static void watch(void *user, const char *path)
{
	guardian_watch(user, path);
}

static bool is_first(void)
{
	int rank;

	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	return !rank;
}

static int fail(const char *message)
{
	if (is_first())
		dprintf(STDERR_FILENO, "sonde: %s\n", message);
	return CLI_FAILED;
}

static int run(int argc, char **argv, struct guardian *guardian, int threads)
{
	struct sonde_error err;
	struct mpi_team team;
	int code;

	if (threads < MPI_THREAD_FUNNELED)
		return fail("this MPI does not allow threads; another one, or a build of it with "
			    "threads, is needed");
	if (mpi_team_init(&team, &err))
		return fail(err.message);
	team.guard = watch;
	team.user = guardian;
	if (team.team.rank)
		guardian_dismiss(guardian); /* that of rank 0 is enough */
	code = cli_start(argc, argv, &team.team);
	/*
	 * Failures are agreed on, so all ranks come here together. Should a failed one be here alone,
	 * the others would wait for it for ever.
	 */
	if (!mpi_team_meet(code > CLI_FINDINGS ? PATIENCE_MS : 0)) {
		dprintf(STDERR_FILENO, "sonde: rank %u failed, the others go on: all are ended\n",
			team.team.rank);
		MPI_Abort(MPI_COMM_WORLD, code);
	}
	mpi_team_release(&team);
	return code;
}

/* These need no MPI, and are wanted where it does not work. */
static bool is_plain(int argc, char **argv)
{
	return argc < 2 || !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") ||
	       !strcmp(argv[1], "help");
}

static int show_version(void)
{
	char text[MPI_MAX_LIBRARY_VERSION_STRING];
	int length;

	MPI_Get_library_version(text, &length);
	text[strcspn(text, "\n")] = '\0';
	printf("sonde-mpi %s\n%s\n", SONDE_VERSION, text);
	return fflush(stdout) ? CLI_FAILED : CLI_OK;
}

int main(int argc, char **argv)
{
	struct guardian guardian;
	int code, threads;

	mpi_commands_prepare();
	if (argc == 2 && (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")))
		return show_version();
	if (is_plain(argc, argv))
		return cli_start(argc, argv, NULL);
	guardian_start(&guardian);
	MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &threads);
	code = run(argc, argv, &guardian, threads);
	guardian_dismiss(&guardian);
	MPI_Finalize();
	return code;
}
