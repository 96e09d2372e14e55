/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ends in the way that the first argument names, from the depth of five calls: abort, segv, _exit,
 * exit, exit from an exit handler, quick_exit, a stack that overflows.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "rec.h"

static const char *way;
static volatile unsigned long entered;
static sigjmp_buf target;

FN static void in_handler(const char *text)
{
	if (write(1, text, strlen(text)) < 0)
		abort();
}

FN static void handler_exit(void)
{
	in_handler("exit handler\n");
	if (strcmp(way, "exit-in-exit") == 0)
		exit(23);
}

FN static void handler_first(void)
{
	in_handler("first handler\n");
}

FN static void end(void)
{
	TOUCH();
	if (strcmp(way, "abort") == 0)
		abort();
	if (strcmp(way, "segv") == 0)
		*(volatile int *)16 = 1;
	if (strcmp(way, "_exit") == 0)
		_exit(21);
	if (strcmp(way, "quick_exit") == 0)
		quick_exit(24);
	if (strcmp(way, "kill") == 0)
		kill(getpid(), SIGKILL);
	if (strcmp(way, "trap") == 0)
		__builtin_trap();
	exit(22);
}

FN static void level(int depth)
{
	TOUCH();
	if (depth > 0)
		level(depth - 1);
	else
		end();
	TOUCH();
}

FN static void overflow(int depth)
{
	volatile char space[100];

	entered++;
	space[0] = (char)depth;
	if (depth < 1 << 30)
		overflow(depth + space[0] - (char)depth + 1);
	space[1] = (char)depth;
}

FN static void on_overflow(int number)
{
	(void)number;
	in_handler("overflow\n");
	if (strcmp(way, "overflow-jump") == 0)
		siglongjmp(target, 1);
	side_put("overflow", entered);
	_exit(25);
}

FN static void after(void)
{
	side_put("overflow", entered);
}

FN static void *overflow_thread(void *unused)
{
	static char memory[65536];
	stack_t stack = { .ss_sp = memory, .ss_size = sizeof(memory) };

	sigaltstack(&stack, NULL);
	if (sigsetjmp(target, 1) == 0)
		overflow(0);
	after();
	return unused;
}

/* Runs on a small stack of its own, so that the depth stays in bounds. */
FN static int overflow_start(void)
{
	struct sigaction action = { .sa_handler = on_overflow, .sa_flags = SA_ONSTACK };
	pthread_attr_t attributes;
	pthread_t thread;

	sigaction(SIGSEGV, &action, NULL);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 256 * 1024);
	if (pthread_create(&thread, &attributes, overflow_thread, NULL) != 0)
		return 9;
	pthread_join(thread, NULL);
	return 26;
}

int main(int argc, char **argv)
{
	struct rlimit no_core = { 0, 0 };

	way = argc > 1 ? argv[1] : "exit";
	setrlimit(RLIMIT_CORE, &no_core);
	puts("begin");
	fflush(stdout);
	if (strncmp(way, "overflow", 8) == 0)
		return overflow_start();
	atexit(handler_first);
	atexit(handler_exit);
	at_quick_exit(handler_first);
	level(2);
	return 1;
}
