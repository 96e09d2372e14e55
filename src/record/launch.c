/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding and starting the program. Between fork and exec only what is safe there is done:
 * everything that needs memory is made before.
 */
#include "record/launch.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/file.h"
#include "base/vec.h"
#include "symbols/symbols.h"

#define PRELOAD "LD_PRELOAD"
#define PATH_DEFAULT "/usr/local/bin:/bin:/usr/bin"

static bool is_runnable(const char *path)
{
	struct stat status;

	return !stat(path, &status) && S_ISREG(status.st_mode) && !access(path, X_OK);
}

/* A path that stays right when the program's folder is another. */
static char *make_absolute(const char *path)
{
	char *folder, *joined;

	if (path[0] == '/')
		return strdup(path);
	folder = getcwd(NULL, 0);
	joined = folder ? sonde_path_join(folder, path) : NULL;
	free(folder);
	return joined;
}

/* Goes through PATH as execvp() does. */
static char *search_path(const char *name)
{
	const char *list = getenv("PATH"), *end;

	for (list = list ? list : PATH_DEFAULT;; list = end + 1) {
		char *folder, *path, *absolute;

		end = strchrnul(list, ':');
		folder = end > list ? strndup(list, (size_t)(end - list)) : strdup(".");
		path = folder ? sonde_path_join(folder, name) : NULL;
		absolute = path && is_runnable(path) ? make_absolute(path) : NULL;
		free(folder);
		free(path);
		if (absolute || !*end)
			return absolute;
	}
}

static enum sonde_status check_file(const char *path, const char *name, struct sonde_error *err)
{
	struct stat status;
	bool gains;

	if (stat(path, &status))
		return sonde_fail_errno(err, name, "cannot run it");
	if (S_ISDIR(status.st_mode))
		return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
				  "%s is a folder, expected a program", name);
	if (!S_ISREG(status.st_mode))
		return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
				  "%s is not a file that could be run", name);
	if (access(path, X_OK))
		return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
				  "%s is not executable; 'chmod +x' makes it so", name);
	gains = (status.st_mode & S_ISUID && status.st_uid != geteuid()) ||
		((status.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) &&
		 status.st_gid != getegid()) ||
		(geteuid() && getxattr(path, "security.capability", NULL, 0) > 0);
	if (gains)
		return sonde_fail(
			err, SONDE_UNSUPPORTED, SONDE_NO_OFFSET,
			"%s runs with the rights of another user (set-user-id, "
			"set-group-id or capabilities): the kernel does not preload "
			"libraries into such programs; record a copy without these rights, "
			"or run sonde as that user",
			name);
	return SONDE_OK;
}

/* An ELF file that no library can be preloaded into. */
static enum sonde_status check_program(const char *path, const char *name, struct sonde_error *err)
{
	struct sonde_symbols_program program;
	struct sonde_symbols *symbols;
	struct sonde_error ignored;
	unsigned char start[20] = { 0 };
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t size = fd < 0 ? 0 : read(fd, start, sizeof(start));

	if (fd >= 0)
		close(fd);
	if (size != sizeof(start) || memcmp(start, ELFMAG, SELFMAG))
		return SONDE_OK; /* a script, or nothing that we may read */
	if (start[EI_CLASS] != ELFCLASS64 || start[18] != EM_X86_64)
		return sonde_fail(err, SONDE_UNSUPPORTED, SONDE_NO_OFFSET,
				  "%s is not a 64-bit x86 program; only those can be recorded",
				  name);
	if (sonde_symbols_map(path, NULL, 0, &symbols, &ignored) < 0)
		return SONDE_OK;
	sonde_symbols_program(symbols, &program);
	sonde_symbols_free(symbols);
	if (program.dynamic || program.has_runtime)
		return SONDE_OK;
	return sonde_fail(err, SONDE_UNSUPPORTED, SONDE_NO_OFFSET,
			  "%s is linked statically, so the recorder cannot be preloaded; link it "
			  "with libsonde-rt.a, or without -static",
			  name);
}

/* Programs find the memory to record into in /proc, and we the programs, all by ids as we see them. */
static enum sonde_status check_proc(struct sonde_error *err)
{
	char told[16] = "", own[16];

	snprintf(own, sizeof(own), "%d", (int)getpid());
	if (readlink("/proc/self", told, sizeof(told) - 1) > 0 && !strcmp(told, own))
		return SONDE_OK;
	return sonde_fail(err, SONDE_UNSUPPORTED, SONDE_NO_OFFSET,
			  "/proc does not show this process as %s, and programs find the memory to "
			  "record into there: mount the /proc of this namespace, as 'unshare "
			  "--mount-proc' does",
			  own);
}

enum sonde_status launch_find(const struct record_options *options, char **path,
			      struct sonde_error *err)
{
	const char *name = options->argv[0];
	char *found;
	enum sonde_status status;

	*path = NULL;
	status = check_proc(err);
	if (status < 0)
		return status;
	if (strpbrk(options->runtime, ": \t"))
		return sonde_fail(err, SONDE_UNSUPPORTED, SONDE_NO_OFFSET,
				  "%s cannot be preloaded: its path has a space or a colon, which "
				  "LD_PRELOAD does not allow; install sonde elsewhere",
				  options->runtime);
	if (options->folder && sonde_path_kind(options->folder) != SONDE_PATH_FOLDER)
		return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
				  "%s is not a folder that the program could run in",
				  options->folder);
	if (!strchr(name, '/')) {
		found = search_path(name);
		if (!found)
			return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
					  "there is no program '%s' in PATH%s%s", name,
					  is_runnable(name) ? "; in this folder there is: ./" : "",
					  is_runnable(name) ? name : "");
	} else if (options->folder && name[0] != '/') {
		found = sonde_path_join(options->folder, name);
	} else {
		found = strdup(name);
	}
	if (!found)
		return sonde_fail_nomem(err);
	status = check_file(found, name, err);
	if (status == SONDE_OK)
		status = check_program(found, name, err);
	if (status == SONDE_OK && strchr(name, '/')) { /* as exec takes it, in its folder */
		free(found);
		found = strdup(name);
		if (!found)
			status = sonde_fail_nomem(err);
	}
	if (status < 0)
		free(found);
	else
		*path = found;
	return status;
}

/* An environment being made. */
struct environment {
	char **items;
	size_t count, capacity;
};

static size_t name_length(const char *item)
{
	return (size_t)(strchrnul(item, '=') - item);
}

/* Sets NAME=VALUE, or takes NAME away. */
static bool environment_put(struct environment *environment, const char *item)
{
	size_t length = name_length(item), kept = 0;
	char **place;

	for (size_t i = 0; i < environment->count; i++) {
		char *old = environment->items[i];

		if (name_length(old) == length && !strncmp(old, item, length))
			free(old);
		else
			environment->items[kept++] = old;
	}
	environment->count = kept;
	if (!item[length])
		return true;
	place = sonde_vec_push(environment);
	if (!place)
		return false;
	*place = strdup(item);
	environment->count -= !*place;
	return *place;
}

static const char *environment_get(const struct environment *environment, const char *name)
{
	size_t length = strlen(name);

	for (size_t i = 0; i < environment->count; i++)
		if (!strncmp(environment->items[i], name, length) &&
		    environment->items[i][length] == '=')
			return environment->items[i] + length + 1;
	return NULL;
}

static void environment_release(struct environment *environment)
{
	for (size_t i = 0; i < environment->count; i++)
		free(environment->items[i]);
	sonde_vec_release(environment);
}

static bool put_ours(struct environment *environment, const char *runtime, int memory)
{
	const char *preload = environment_get(environment, PRELOAD);
	char *item = NULL, place[64];
	bool done;

	if (asprintf(&item, PRELOAD "=%s%s%s", runtime, preload && *preload ? ":" : "",
		     preload ? preload : "") < 0)
		return false;
	done = environment_put(environment, item);
	free(item);
	snprintf(place, sizeof(place), SHARED_ENVIRONMENT "=/proc/%d/fd/%d", (int)getpid(), memory);
	return done && environment_put(environment, place);
}

static bool make_environment(struct environment *environment, const struct record_options *options,
			     int memory)
{
	for (char **item = environ; *item; item++) {
		char **place = sonde_vec_push(environment);

		if (!place)
			return false;
		*place = strdup(*item);
		if (!*place) {
			environment->count--;
			return false;
		}
	}
	for (const char *const *item = options->environment; item && *item; item++)
		if (!environment_put(environment, *item))
			return false;
	if (!put_ours(environment, options->runtime, memory) || !sonde_vec_reserve(environment, 1))
		return false;
	environment->items[environment->count] = NULL;
	return true;
}

/* What the child tells where it did not get to run the program. */
struct launch_failure {
	int number; /* errno */
	bool in_folder;
};

/* In the child. `shell` has room for "sh", the path and all arguments. */
static void run(const struct record_options *options, const char *path, char **environment,
		const char **shell, const struct launch_signals *signals, int report)
{
	struct launch_failure failure = { 0 };
	ssize_t ignored;

	sigaction(SIGCHLD, &signals->child, NULL);
	sigprocmask(SIG_SETMASK, &signals->mask, NULL);
	for (int file = 0; file < 3; file++)
		if (options->closed_files & 1u << file)
			close(file);
	if (options->folder && chdir(options->folder)) {
		failure.in_folder = true;
	} else {
		execve(path, (char *const *)options->argv, environment);
		if (errno == ENOEXEC) /* as execvp() does: a script without a first line */
			execve("/bin/sh", (char *const *)shell, environment);
	}
	failure.number = errno;
	ignored = write(report, &failure, sizeof(failure));
	(void)ignored;
	_exit(127);
}

static const char **shell_arguments(const struct record_options *options, const char *path)
{
	size_t count = 0;
	const char **shell;

	while (options->argv[count])
		count++;
	shell = calloc(count + 3, sizeof(*shell));
	if (!shell)
		return NULL;
	shell[0] = "sh";
	shell[1] = path;
	for (size_t i = 1; i < count; i++)
		shell[i + 1] = options->argv[i];
	return shell;
}

/* Waits until the program runs, or the child says why it does not. */
static enum sonde_status await_start(const struct record_options *options, int report, pid_t child,
				     struct sonde_error *err)
{
	struct launch_failure failure;
	ssize_t size;

	do
		size = read(report, &failure, sizeof(failure));
	while (size < 0 && errno == EINTR);
	if (size != sizeof(failure))
		return SONDE_OK;
	while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	errno = failure.number;
	if (failure.in_folder)
		return sonde_fail_errno(err, options->folder, "cannot change to this folder");
	return sonde_fail_errno(err, options->argv[0], "cannot run it");
}

enum sonde_status launch_start(const struct record_options *options, const char *path, int memory,
			       const struct launch_signals *signals, pid_t *child,
			       struct sonde_error *err)
{
	struct environment environment = { 0 };
	const char **shell = shell_arguments(options, path);
	int report[2] = { -1, -1 };
	enum sonde_status status;

	if (!shell || !make_environment(&environment, options, memory)) {
		status = sonde_fail_nomem(err);
		goto out;
	}
	if (pipe2(report, O_CLOEXEC)) {
		status = sonde_fail_errno(err, NULL, "cannot make a pipe");
		goto out;
	}
	*child = fork();
	if (!*child)
		run(options, path, environment.items, shell, signals, report[1]);
	close(report[1]);
	if (*child < 0)
		status = sonde_fail_errno(err, NULL, "cannot start a process");
	else
		status = await_start(options, report[0], *child, err);
	close(report[0]);
out:
	free(shell);
	environment_release(&environment);
	return status;
}

void launch_raise_file_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur == limit.rlim_max)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}
