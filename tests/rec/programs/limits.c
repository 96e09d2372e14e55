/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes life hard for what lives in its process, as the first argument says, then starts threads
 * and a child, all of which make calls.
 */
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rec.h"

enum { THREADS = 4 };

static size_t stack_size;
static volatile long total;

FN static long leaf(long value)
{
	TOUCH();
	return value + 1;
}

FN static void *work(void *unused)
{
	for (int i = 0; i < 1000; i++)
		__atomic_add_fetch(&total, leaf(i) - i, __ATOMIC_SEQ_CST);
	return unused;
}

QUIET static void limit(int what, rlim_t value)
{
	struct rlimit both = { value, value };

	if (setrlimit(what, &both) != 0)
		perror("setrlimit");
}

FN static int run_threads(void)
{
	pthread_t threads[THREADS];
	pthread_attr_t attributes;

	pthread_attr_init(&attributes);
	if (stack_size)
		pthread_attr_setstacksize(&attributes, stack_size);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], &attributes, work, NULL) != 0)
			return 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

FN static int run_child(void)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		work(NULL);
		_exit(run_threads() + 5);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

FN static void prepare(const char *way)
{
	if (strcmp(way, "closed") == 0)
		close_range(3, ~0u, 0);
	if (strcmp(way, "all-closed") == 0)
		close_range(0, ~0u, 0);
	if (strcmp(way, "files") == 0)
		limit(RLIMIT_NOFILE, 3);
	if (strcmp(way, "file-size") == 0)
		limit(RLIMIT_FSIZE, 4096);
	if (strcmp(way, "memory") == 0)
		limit(RLIMIT_DATA, 64 << 20);
	if (strcmp(way, "stacks") == 0)
		stack_size = 65536;
	if (strcmp(way, "small-stacks") == 0)
		stack_size = 24576;
	if (strcmp(way, "lock") == 0 && mlockall(MCL_CURRENT | MCL_FUTURE) != 0)
		perror("mlockall");
	if (strcmp(way, "user") == 0 &&
	    (setgroups(0, NULL) != 0 || setgid(65534) != 0 || setuid(65534) != 0))
		perror("setuid");
	if (strcmp(way, "root") == 0 && (chroot("/proc/self/fdinfo") != 0 || chdir("/") != 0))
		perror("chroot");
}

int main(int argc, char **argv)
{
	FILE *side = side_open(), *status;
	char line[256];
	int result;

	leaf(0);
	prepare(argc > 1 ? argv[1] : "none");
	result = run_threads() * 100 + run_child();
	printf("result %d, total %ld\n", result, total);
	status = fopen("/proc/self/status", "r");
	while (status && fgets(line, sizeof(line), status))
		if (strncmp(line, "VmLck", 5) == 0 || strncmp(line, "VmRSS", 5) == 0)
			fputs(line, side);
	return result + (int)total % 7;
}
