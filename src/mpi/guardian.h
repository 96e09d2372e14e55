/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small process that outlives ours and removes an unfinished output where we are killed, by whatever
 * signal: launchers of MPI end all ranks when one of them dies, some with SIGKILL at once.
 */
#ifndef SONDE_MPI_GUARDIAN_H
#define SONDE_MPI_GUARDIAN_H

/*
 * Started before MPI and before there are threads. Without it (no process can be made) the work goes on
 * unguarded.
 */
struct guardian {
	int fd; /* a pipe to it, or -1 */
};

void guardian_start(struct guardian *guardian);
/* What to remove when this process ends before it says otherwise; NULL: nothing. */
void guardian_watch(struct guardian *guardian, const char *path);
/* It ends, and removes nothing. */
void guardian_dismiss(struct guardian *guardian);

#endif
