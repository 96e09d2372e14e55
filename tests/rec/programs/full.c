/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stops the recorder that watches it (its parent) and makes more calls than a small ring holds.
 * Argument "drop": then lets the recorder go on, and makes some more. "wait": a child lets it go on
 * after a second, while this process waits for room. "end": so, and this process ends before. "notes":
 * the same with annotations, of one unit and of several.
 */
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sonde/annotate.h>

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

/* A third of them are too long for one record. */
QUIET static void notes(long count)
{
	static char text[2500];

	memset(text, 'x', sizeof(text) - 1);
	for (long i = 0; i < count; i++) {
		SONDE_EVENT("note");
		SONDE_EVENT("number", SONDE_ARG(i));
		SONDE_EVENT("text", SONDE_STR(text));
	}
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
	int annotate = argc > 1 && strcmp(argv[1], "notes") == 0;
	int end = annotate || (argc > 1 && strcmp(argv[1], "end") == 0);
	int later = end || (argc > 1 && strcmp(argv[1], "wait") == 0);
	pid_t recorder = getppid();

	batch(FEW);
	if (recorded && later)
		wake_later(recorder);
	if (recorded)
		kill(recorder, SIGSTOP);
	if (annotate)
		notes(FEW);
	batch(MANY);
	if (annotate)
		notes(FEW);
	if (recorded && !later) {
		kill(recorder, SIGCONT);
		usleep(300000);
	}
	batch(FEW);
	while (recorded && later && !end && wait(NULL) > 0)
		continue;
	printf("%ld calls\n", calls);
	return 0;
}
