/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks for the runtime: a command that runs from its build folder, from a prefix that was moved,
 * and from where it was installed finds the one that belongs to it.
 */
#include "cli/runtime_path.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

/* Set by the build: the library folder, in full and below the prefix. */
#ifndef SONDE_LIBDIR
#define SONDE_LIBDIR "/usr/local/lib"
#endif
#ifndef SONDE_LIBDIR_NAME
#define SONDE_LIBDIR_NAME "lib"
#endif

/* The folder of a path, with `rest` behind it; false where it does not fit. */
static bool beside(const char *path, const char *rest, char result[PATH_MAX])
{
	const char *slash = strrchr(path, '/');
	size_t length = slash ? (size_t)(slash - path) + 1 : 0;

	if (length + strlen(rest) >= PATH_MAX)
		return false;
	memcpy(result, path, length);
	memcpy(result + length, rest, strlen(rest) + 1);
	return true;
}

static bool own_path(char path[PATH_MAX])
{
	ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - 1);

	if (length <= 0)
		return false;
	path[length] = '\0';
	return true;
}

/* The full path where it is a file; else NULL. */
static char *if_file(const char *path)
{
	return sonde_path_kind(path) == SONDE_PATH_FILE ? realpath(path, NULL) : NULL;
}

static char *find_by_environment(struct cli *cli, const char *path, const char *name)
{
	char other[PATH_MAX];
	char *found = if_file(path);

	if (found && strcmp(name, CLI_RUNTIME_SHARED) != 0) {
		free(found);
		found = beside(path, name, other) ? if_file(other) : NULL;
	}
	if (!found)
		cli_error(cli, "SONDE_RUNTIME is '%s', and there is no %s", path, name);
	return found;
}

char *cli_runtime_find(struct cli *cli, const char *name)
{
	static const char *const folders[] = { "", "../" SONDE_LIBDIR_NAME "/", "../lib/",
					       "../lib64/" };
	const char *environment = getenv("SONDE_RUNTIME");
	char command[PATH_MAX] = "", place[PATH_MAX], rest[PATH_MAX];
	char *found = NULL;
	size_t i;

	if (environment && *environment)
		return find_by_environment(cli, environment, name);
	for (i = 0; i < sizeof(folders) / sizeof(folders[0]) && !found && own_path(command); i++) {
		snprintf(rest, sizeof(rest), "%s%s", folders[i], name);
		if (beside(command, rest, place))
			found = if_file(place);
	}
	if (!found) {
		snprintf(place, sizeof(place), "%s/%s", SONDE_LIBDIR, name);
		found = if_file(place);
	}
	if (!found) {
		cli_error(cli, "%s is missing: it is neither beside %s nor in %s", name,
			  command[0] ? command : "the command (which /proc does not show)",
			  SONDE_LIBDIR);
		cli_hint(
			cli,
			"install sonde whole, or set SONDE_RUNTIME to the path of " CLI_RUNTIME_SHARED);
	}
	return found;
}

char *cli_runtime_include(void)
{
	char command[PATH_MAX], header[PATH_MAX];
	char *found, *end;

	if (!own_path(command) || !beside(command, "../include/sonde/record.h", header))
		return NULL;
	found = if_file(header);
	end = found ? strstr(found, "/sonde/record.h") : NULL;
	if (end)
		*end = '\0';
	if (found && (!strcmp(found, "/usr/include") || !strcmp(found, "/usr/local/include"))) {
		free(found);
		found = NULL;
	}
	return found;
}
