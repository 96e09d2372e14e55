/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A timer fires every 200 microseconds, or (second argument "storm") a thread sends signals as fast
 * as it can, so also in the middle of hooks; the handler makes calls, on an alternate stack or
 * (first argument "same") on the one it interrupts. The numbers of calls go to the side file.
 */
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>

#include "rec.h"

enum { TICKS = 3000, BATCHES = 9000 };

static volatile unsigned long outer_calls, inner_calls, short_calls, middle_calls;

FN static void tick_inner(void)
{
	inner_calls++;
}

FN static void tick(int number)
{
	(void)number;
	outer_calls++;
	tick_inner();
	tick_inner();
	TOUCH();
}

FN static void shorty(void)
{
	short_calls++;
}

FN static void middle(void)
{
	middle_calls++;
	for (int i = 0; i < 10; i++)
		shorty();
	TOUCH();
}

static pthread_t main_thread;
static volatile int stop;

QUIET static void *storm(void *unused)
{
	while (!stop) {
		pthread_kill(main_thread, SIGALRM);
		for (volatile int i = 0; i < 2000; i++)
			continue;
	}
	return unused;
}

QUIET static void finish(void)
{
	side_put("tick", outer_calls);
	side_put("tick_inner", inner_calls);
	side_put("shorty", short_calls);
	side_put("middle", middle_calls);
	puts("done");
}

int main(int argc, char **argv)
{
	static char memory[65536];
	stack_t stack = { .ss_sp = memory, .ss_size = sizeof(memory) };
	struct sigaction action = { .sa_handler = tick };
	struct itimerval timer = { { 0, 200 }, { 0, 200 } }, off = { { 0, 0 }, { 0, 0 } };
	int by_thread = argc > 2 && strcmp(argv[2], "storm") == 0;
	pthread_t sender;

	if (argc < 2 || strcmp(argv[1], "same") != 0) {
		sigaltstack(&stack, NULL);
		action.sa_flags = SA_ONSTACK;
	}
	sigaction(SIGALRM, &action, NULL);
	main_thread = pthread_self();
	if (!by_thread)
		setitimer(ITIMER_REAL, &timer, NULL);
	else if (pthread_create(&sender, NULL, storm, NULL) != 0)
		return 9;
	while (outer_calls < TICKS && (middle_calls < BATCHES || outer_calls == 0))
		middle();
	stop = 1;
	if (by_thread)
		pthread_join(sender, NULL);
	setitimer(ITIMER_REAL, &off, NULL);
	signal(SIGALRM, SIG_IGN);
	finish();
	return 0;
}
