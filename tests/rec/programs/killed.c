/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes calls until it is killed. In a file that it maps it says its process id, and counts each
 * call after its hook has run: what is counted must be in the recording. With an argument, that
 * many threads do so.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "rec.h"

struct board {
	volatile unsigned long pid, ready;
	volatile unsigned long counts[6][8]; /* a cache line each */
};

static struct board *board;

#define TICK(n)                                                                                    \
	FN static void tick##n(void)                                                               \
	{                                                                                          \
		board->counts[n][0]++;                                                             \
		TOUCH();                                                                           \
	}                                                                                          \
	FN static void *run##n(void *unused)                                                       \
	{                                                                                          \
		for (;;)                                                                           \
			tick##n();                                                                 \
		return unused;                                                                     \
	}
TICK(0)
TICK(1)
TICK(2)

int main(int argc, char **argv)
{
	static void *(*const runs[])(void *) = { run1, run2 };
	const char *path = getenv("REC_BOARD");
	int fd = path ? open(path, O_RDWR) : -1;
	pthread_t thread;

	if (fd < 0)
		return 9;
	board = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (board == MAP_FAILED)
		return 9;
	close(fd);
	for (int i = 0; i < 2 && argc > 1 && i < atoi(argv[1]); i++)
		if (pthread_create(&thread, NULL, runs[i], NULL) != 0)
			return 9;
	tick0();
	board->pid = (unsigned long)getpid();
	run0(NULL);
	return 0;
}
