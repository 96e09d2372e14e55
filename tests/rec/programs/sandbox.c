/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Puts a child into a sandbox, as the first argument says: "apart" in a namespace of process ids
 * of its own, "chroot" where there is no /proc, "proc" with a /proc of its own. In there it has
 * children that make calls. "twins": two such sandboxes, apart and without /proc, each with a child
 * of the same id, of which the recorder does not hear before it makes a call.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rec.h"

enum { CHILDREN = 3, CALLS = 10000, SKIP = 77, PATIENCE_MS = 30000 };

static volatile int *arrived; /* shared */

FN static void work(void)
{
	TOUCH();
}

FN static void *in_thread(void *unused)
{
	work();
	return unused;
}

FN static void be_child(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, in_thread, NULL);
	pthread_join(thread, NULL);
	for (int i = 1; i < CALLS; i++)
		work();
}

QUIET static void need(int failed)
{
	if (failed)
		_exit(SKIP);
}

QUIET static int wait_for_children(void)
{
	int status, worst = 0;

	while (wait(&status) > 0)
		if (status)
			worst = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
	return worst;
}

/* Empty, and away when we are in it. */
QUIET static void leave_root(void)
{
	char folder[] = "/tmp/sonde-rec-XXXXXX";

	need(!mkdtemp(folder) || chdir(folder) || rmdir(folder) || chroot("."));
}

FN static int enter(const char *way)
{
	if (strstr(way, "proc"))
		need(unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
		     mount("proc", "/proc", "proc", 0, NULL));
	if (strstr(way, "chroot"))
		leave_root();
	for (int i = 0; i < CHILDREN; i++) {
		if (fork() == 0) {
			be_child();
			return 0;
		}
	}
	return wait_for_children();
}

QUIET static void meet(int everybody)
{
	__atomic_add_fetch(arrived, 1, __ATOMIC_SEQ_CST);
	for (int i = 0; i < PATIENCE_MS && *arrived < everybody; i++)
		usleep(1000);
}

FN static int enter_as_twin(void)
{
	leave_root();
	if (syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) == 0) {
		meet(2);
		work();
		meet(4);
		_exit(0);
	}
	return wait_for_children();
}

/* In a process of its own. */
QUIET static void be_twin(void)
{
	need(unshare(CLONE_NEWPID));
	if (fork() == 0)
		_exit(enter_as_twin());
	_exit(wait_for_children());
}

int main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "";
	bool twins = strcmp(way, "twins") == 0;
	int status;

	arrived = mmap(NULL, sizeof(*arrived), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	if (arrived == MAP_FAILED)
		return 1;
	if (strstr(way, "apart"))
		need(unshare(CLONE_NEWPID));
	for (int i = 0; i < (twins ? 2 : 1); i++) {
		if (fork() == 0) {
			if (twins)
				be_twin();
			_exit(enter(way));
		}
	}
	status = wait_for_children();
	printf("done\n");
	return status;
}
