/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Run by tests/interop/test_mpi.py under mpirun: the script of all teams over MPI, and a team that has an
 * output staged when one of its ranks is killed.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mpi/guardian.h"
#include "mpi/mpi_team.h"

#include "team_script.h"

#define PIECE ((size_t)1 << 20)
#define LARGE (3 * PIECE + 5) /* several pieces, the last of them a short one */

#define TIME_TO_PRINT_US 200000 /* launchers may drop what comes with the death */

static struct guardian guardian;

static void watch(void *user, const char *path)
{
	(void)user;
	guardian_watch(&guardian, path);
}

/* All write into the folder; then `victim` is killed, while the others wait for it. */
static int be_killed(struct sonde_team *team, const char *target, unsigned int victim)
{
	struct sonde_staged staged;
	char path[4096];
	FILE *file;

	if (sonde_team_stage(team, &staged, target, true, false, NULL))
		return 1;
	snprintf(path, sizeof(path), "%s/rank%u", staged.work, team->rank);
	file = fopen(path, "w");
	if (!file || fclose(file))
		return 2;
	if (sonde_team_agree(team, SONDE_OK, NULL))
		return 3;
	if (!team->rank)
		puts("staged");
	fflush(stdout);
	if (team->rank == victim) {
		usleep(TIME_TO_PRINT_US);
		raise(SIGKILL);
	}
	return sonde_team_stage_end(team, &staged, SONDE_OK, NULL) ? 4 : 5;
}

/* One rank leaves without a word; the others wait for it in a call of the team. */
static int leave(struct sonde_team *team)
{
	if (team->rank == 1)
		return mpi_team_meet(300) ? 6 : 7;
	return sonde_team_agree(team, SONDE_OK, NULL) ? 8 : 9;
}

int main(int argc, char **argv)
{
	struct mpi_team team;
	int threads, code;

	guardian_start(&guardian);
	MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &threads);
	if (mpi_team_init(&team, NULL))
		return 10;
	team.piece = PIECE;
	team.guard = watch;
	if (team.team.rank)
		guardian_dismiss(&guardian);
	if (argc == 3)
		code = be_killed(&team.team, argv[1], (unsigned int)strtoul(argv[2], NULL, 10));
	else if (argc == 2)
		code = leave(&team.team);
	else
		code = team_script_run(&team.team, LARGE);
	if (code == 7)
		MPI_Abort(MPI_COMM_WORLD, code);
	printf("rank %u of %u: %d\n", team.team.rank, team.team.size, code);
	mpi_team_release(&team);
	guardian_dismiss(&guardian);
	MPI_Finalize();
	return code;
}
