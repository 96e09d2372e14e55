/* SPDX-License-Identifier: Apache-2.0 */
/* Starts itself in every way there is: vfork and exec, posix_spawn, system(), popen(). */
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rec.h"

extern char **environ;

FN static int child_leaf(int value)
{
	TOUCH();
	return value + 1;
}

FN static int child_work(int value)
{
	for (int i = 0; i < 5; i++)
		value = child_leaf(value);
	TOUCH();
	return value;
}

FN static int by_vfork(const char *program)
{
	int status = 0;
	pid_t pid = vfork();

	if (pid == 0) {
		execl(program, program, "child", (char *)NULL);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	return WEXITSTATUS(status);
}

FN static int by_vfork_failing(void)
{
	int status = 0;
	pid_t pid = vfork();

	if (pid == 0) {
		execl("/nonexistent", "nonexistent", (char *)NULL);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	return WEXITSTATUS(status);
}

FN static int by_spawn(char *program)
{
	char *arguments[] = { program, (char *)"child", NULL };
	int status = 0;
	pid_t pid;

	if (posix_spawn(&pid, program, NULL, NULL, arguments, environ) != 0)
		return 99;
	waitpid(pid, &status, 0);
	return WEXITSTATUS(status);
}

FN static int by_system(const char *program)
{
	char command[4096];

	snprintf(command, sizeof(command), "'%s' child", program);
	return WEXITSTATUS(system(command));
}

FN static int by_popen(const char *program)
{
	char command[4096];
	FILE *pipe;

	snprintf(command, sizeof(command), "'%s' child", program);
	pipe = popen(command, "r");
	if (!pipe)
		return 99;
	return WEXITSTATUS(pclose(pipe));
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "child") == 0)
		return child_work(argc);
	for (int i = 0; i < 3; i++) {
		printf("%d ", by_vfork(argv[0]));
		printf("%d ", by_vfork_failing());
		printf("%d ", by_spawn(argv[0]));
		fflush(stdout);
		printf("%d ", by_system(argv[0]));
		printf("%d\n", by_popen(argv[0]));
	}
	return 0;
}
