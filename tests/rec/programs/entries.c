/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells when its entry leads to the recorder, and makes calls at moments when that changes. Argument "over":
 * until it leads nowhere. "resume": ten calls, then resumes, ten more, pauses, ten more. "start": ten calls, then
 * calls start(), which may be a trigger, ten more. "race": children in which start() is called
 * while another thread makes calls.
 */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sonde/record.h>

#include "rec.h"

enum { CALLS = 10, CHILDREN = 200, OVER_SECONDS = 30 };

static volatile int begun, stop;

FN LINE static void work(void)
{
	TOUCH();
}

FN LINE static void race_work(void)
{
	TOUCH();
}

FN LINE static void start(void)
{
	TOUCH();
}

QUIET static void make_calls(const char *when)
{
	for (int i = 0; i < CALLS; i++)
		work();
	side_put(when, (unsigned long long)is_patched(work));
}

QUIET static void until_over(void)
{
	for (int i = 0; i < OVER_SECONDS * 1000; i++) {
		work();
		if (!is_patched(work))
			break;
		usleep(1000);
	}
	make_calls("over");
}

QUIET static void *race(void *unused)
{
	begun = 1;
	while (!stop)
		race_work();
	return unused;
}

QUIET static void race_in_child(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, race, NULL) != 0)
		_exit(1);
	while (!begun)
		continue;
	start();
	for (int i = 0; i < CALLS; i++)
		work();
	stop = 1;
	pthread_join(thread, NULL);
	_exit(is_patched(work));
}

QUIET static int race_in_children(void)
{
	int patched = 0, status;

	for (int i = 0; i < CHILDREN; i++) {
		pid_t pid = fork();

		if (pid == 0)
			race_in_child();
		waitpid(pid, &status, 0);
		patched += WEXITSTATUS(status);
	}
	return patched;
}

QUIET int main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "";

	if (strcmp(way, "over") == 0) {
		until_over();
	} else if (strcmp(way, "resume") == 0) {
		make_calls("before");
		sonde_record_resume();
		make_calls("resumed");
		sonde_record_pause();
		make_calls("paused");
	} else if (strcmp(way, "start") == 0) {
		make_calls("before");
		start();
		make_calls("started");
	} else if (strcmp(way, "race") == 0) {
		side_put("patched", (unsigned long long)race_in_children());
	}
	printf("done\n");
	return 0;
}
