/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a program and writes the CPU time (user and system, in seconds) that it and all it waited
 * for have used to a file; with --all also the seconds that went by and the most memory that one of
 * them had, in kilobytes. Ends as the program did.
 * usage: sonde-cpu [--all] FILE PROGRAM ARGUMENTS...
 */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/now.h"

static double seconds(struct timeval time)
{
	return (double)time.tv_sec + (double)time.tv_usec * 1e-6;
}

static void write_down(const char *path, const struct rusage *usage, uint64_t start_ns, bool all)
{
	double cpu = seconds(usage->ru_utime) + seconds(usage->ru_stime);
	double wall = (double)(sonde_now_ns(CLOCK_MONOTONIC) - start_ns) * 1e-9;
	FILE *file = fopen(path, "w");

	if (!file ||
	    (all ? fprintf(file, "%.6f %.6f %ld\n", cpu, wall, usage->ru_maxrss) :
		   fprintf(file, "%.6f\n", cpu)) < 0 ||
	    fclose(file)) {
		perror(path);
		exit(3);
	}
}

int main(int argc, char **argv)
{
	bool all = argc > 1 && !strcmp(argv[1], "--all");
	uint64_t start_ns = sonde_now_ns(CLOCK_MONOTONIC);
	struct rusage usage;
	int status;
	pid_t child;

	argv += all;
	if (argc - all < 3) {
		fprintf(stderr, "usage: sonde-cpu [--all] FILE PROGRAM ARGUMENTS...\n");
		return 2;
	}
	child = fork();
	if (child == 0) {
		execvp(argv[2], argv + 2);
		perror(argv[2]);
		_exit(127);
	}
	if (child < 0 || wait4(child, &status, 0, &usage) != child) {
		perror("sonde-cpu");
		return 3;
	}
	write_down(argv[1], &usage, start_ns, all);
	if (WIFSIGNALED(status)) {
		signal(WTERMSIG(status), SIG_DFL);
		raise(WTERMSIG(status));
	}
	return WEXITSTATUS(status);
}
