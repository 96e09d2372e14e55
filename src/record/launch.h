/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts the program: finds it, says beforehand why it could not be recorded, and runs it with the
 * runtime in front of its libraries. It sees nothing else of us.
 */
#ifndef SONDE_RECORD_LAUNCH_H
#define SONDE_RECORD_LAUNCH_H

#include <signal.h>
#include <sys/types.h>

#include "record/record.h"

/* The file that argv[0] means, malloc'd; refuses what cannot be run or recorded. */
enum sonde_status launch_find(const struct record_options *options, char **path,
			      struct sonde_error *err);

/* What the program gets back as it was when we were started. */
struct launch_signals {
	sigset_t mask;
	struct sigaction child; /* of SIGCHLD */
};

/* Starts it; `memory` is the file of the shared memory. Fails also where exec fails. */
enum sonde_status launch_start(const struct record_options *options, const char *path, int memory,
			       const struct launch_signals *signals, pid_t *child,
			       struct sonde_error *err);

/* As many open files as the system lets us have; for us, not for the program. */
void launch_raise_file_limit(void);

#endif
