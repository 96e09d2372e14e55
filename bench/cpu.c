/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a program and writes the CPU time (user and system, in seconds) that it and all it waited
 * for have used to a file. Ends as the program did.
 * usage: sonde-cpu FILE PROGRAM ARGUMENTS...
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static double seconds(struct timeval time)
{
	return (double)time.tv_sec + (double)time.tv_usec * 1e-6;
}

int main(int argc, char **argv)
{
	struct rusage usage;
	int status;
	pid_t child;
	FILE *file;

	if (argc < 3) {
		fprintf(stderr, "usage: sonde-cpu FILE PROGRAM ARGUMENTS...\n");
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
	file = fopen(argv[1], "w");
	if (!file ||
	    fprintf(file, "%.6f\n", seconds(usage.ru_utime) + seconds(usage.ru_stime)) < 0 ||
	    fclose(file)) {
		perror(argv[1]);
		return 3;
	}
	if (WIFSIGNALED(status)) {
		signal(WTERMSIG(status), SIG_DFL);
		raise(WTERMSIG(status));
	}
	return WEXITSTATUS(status);
}
