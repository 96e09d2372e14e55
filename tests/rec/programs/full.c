/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stops the recorder that watches it (its parent) and makes more calls than a small ring holds.
 * Argument "drop": then lets the recorder go on, and makes some more. "wait": a child lets it go on
 * after a second, while this process waits for room.
 */
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rec.h"

enum { MANY = 60000, FEW = 1000 };

static volatile long calls;

FN static void leaf(void)
{
	calls++;
}

FN static void batch(long count)
{
	for (long i = 0; i < count; i++)
		leaf();
	TOUCH();
}

QUIET static void wake_later(pid_t recorder)
{
	if (fork() == 0) {
		sleep(1);
		kill(recorder, SIGCONT);
		_exit(0);
	}
}

int main(int argc, char **argv)
{
	int recorded = getenv("SONDE_RECORDER") != NULL;
	int later = argc > 1 && strcmp(argv[1], "wait") == 0;
	pid_t recorder = getppid();

	batch(FEW);
	if (recorded && later)
		wake_later(recorder);
	if (recorded)
		kill(recorder, SIGSTOP);
	batch(MANY);
	if (recorded && !later) {
		kill(recorder, SIGCONT);
		usleep(300000);
	}
	batch(FEW);
	while (recorded && later && wait(NULL) > 0)
		continue;
	printf("%ld calls\n", calls);
	return 0;
}
