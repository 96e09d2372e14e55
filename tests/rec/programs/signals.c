/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program can see and do about signals, as the first argument says: how it finds masks and
 * dispositions, its own handler, ending by SIGINT, changing its mask.
 */
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "rec.h"

static volatile int handled, caught, asked;

FN static void leaf(void)
{
	TOUCH();
}

FN static void handler(int number)
{
	handled += number;
	leaf();
}

FN static void count(int number)
{
	caught += number != SIGUSR2;
	asked += number == SIGUSR2;
}

/* How often a signal comes, until SIGUSR2 does. */
FN static void count_signals(void)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGUSR2 };
	struct sigaction action = { .sa_handler = count };

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		sigaction(numbers[i], &action, NULL);
	side_put("pid", (unsigned long long)getpid());
	while (!caught)
		usleep(1000);
	side_put("caught", 1);
	while (!asked)
		usleep(1000);
	printf("caught %d\n", caught);
}

/* The signals of this process as the kernel has them. */
FN static void show(const char *title)
{
	FILE *file = fopen("/proc/self/status", "r");
	char line[256];

	puts(title);
	while (file && fgets(line, sizeof(line), file))
		if (strncmp(line, "Sig", 3) == 0 || strncmp(line, "Shd", 3) == 0)
			if (strncmp(line, "SigQ", 4) != 0)
				fputs(line, stdout);
	if (file)
		fclose(file);
}

FN static void change_mask(void)
{
	sigset_t set;

	sigfillset(&set);
	sigprocmask(SIG_BLOCK, &set, NULL);
	for (int i = 0; i < 100000; i++)
		leaf();
	show("all blocked");
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_SETMASK, &set, NULL);
	for (int i = 0; i < 100000; i++)
		leaf();
	show("one blocked");
}

/* Waits for signals from outside, and says when it is ready for them. */
FN static void wait_for_signals(int count)
{
	side_put("pid", (unsigned long long)getpid());
	while (handled < count * SIGINT) {
		leaf();
		usleep(1000);
	}
}

int main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "show";
	struct sigaction action = { .sa_handler = handler };

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (strcmp(way, "show") == 0)
		show("at the start");
	if (strcmp(way, "mask") == 0)
		change_mask();
	if (strcmp(way, "handler") == 0) {
		sigaction(SIGINT, &action, NULL);
		wait_for_signals(1);
		printf("handled %d\n", handled);
	}
	if (strcmp(way, "count") == 0)
		count_signals();
	if (strcmp(way, "default") == 0)
		wait_for_signals(1000000);
	if (strcmp(way, "status") == 0)
		return argc > 2 ? atoi(argv[2]) : 0;
	return 0;
}
