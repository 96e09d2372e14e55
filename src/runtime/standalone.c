/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that is linked with libsonde-rt and started with SONDE_OUTPUT=FILE records itself: before
 * anything of it runs it becomes `sonde record`, which starts it anew. Where that cannot be, it says
 * so and runs unrecorded.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/runtime.h"
#include "runtime/system.h"

#define OUTPUT_VARIABLE "SONDE_OUTPUT"
#define COMMAND "sonde"

static void say(const char *text)
{
	RT_CALL3(SYS_write, STDERR_FILENO, text, strlen(text));
}

static bool is_runnable(const char *path)
{
	struct stat status;

	return !stat(path, &status) && S_ISREG(status.st_mode) && !access(path, X_OK);
}

static bool is_same_file(const char *a, const char *b)
{
	struct stat first, second;

	return !stat(a, &first) && !stat(b, &second) && first.st_dev == second.st_dev &&
	       first.st_ino == second.st_ino;
}

/* The first `folder_length` bytes of a folder, with `rest` behind it; false where it is too long. */
static bool join(char path[PATH_MAX], const char *folder, size_t folder_length, const char *rest)
{
	size_t size = strlen(rest) + 1;

	if (folder_length + 1 + size > PATH_MAX)
		return false;
	memcpy(path, folder, folder_length);
	if (folder_length)
		path[folder_length++] = '/';
	memcpy(path + folder_length, rest, size);
	return true;
}

static bool find_in_path(const char *name, char path[PATH_MAX])
{
	const char *folder = getenv("PATH");
	size_t length;

	for (; folder && *folder; folder += length + (folder[length] == ':')) {
		length = strcspn(folder, ":");
		if (join(path, folder, length, name) && is_runnable(path))
			return true;
	}
	return false;
}

/* The command that belongs to this library: from a build folder, from where both are installed. */
static bool find_command(char path[PATH_MAX])
{
	static const char *const places[] = { COMMAND, "../bin/" COMMAND, "../../bin/" COMMAND };
	Dl_info library;
	const char *slash = NULL;

	if (dladdr((void *)rt_record_itself, &library) && library.dli_fname)
		slash = strrchr(library.dli_fname, '/');
	for (size_t i = 0; slash && i < sizeof(places) / sizeof(places[0]); i++) {
		if (join(path, library.dli_fname, (size_t)(slash - library.dli_fname), places[i]) &&
		    is_runnable(path))
			return true;
	}
	return find_in_path(COMMAND, path);
}

/* What to run: the name that the program was called by, where that leads to it. */
static char *find_program(char *name, char path[PATH_MAX])
{
	static const char self[] = "/proc/self/exe";
	ssize_t length;

	if (name && (strchr(name, '/') ? is_same_file(name, self) :
					 find_in_path(name, path) && is_same_file(path, self)))
		return name;
	length = readlink(self, path, PATH_MAX - 1);
	if (length <= 0)
		return NULL;
	path[length] = '\0';
	return path;
}

void rt_record_itself(int argc, char **argv)
{
	static const char *const options[] = { COMMAND,	  "record",   "--quiet",
					       "--force", "--or-run", "--output" };
	enum { OPTIONS = sizeof(options) / sizeof(options[0]) };
	const char *output = secure_getenv(OUTPUT_VARIABLE);
	char command[PATH_MAX], program[PATH_MAX];
	char **arguments;

	if (!output || !*output || getenv(SHARED_ENVIRONMENT))
		return;
	arguments = rt_map(((size_t)argc + OPTIONS + 4) * sizeof(*arguments));
	if (!arguments || !find_command(command)) {
		say("sonde: " OUTPUT_VARIABLE " is set, but the command '" COMMAND
		    "' is neither beside libsonde-rt nor in PATH: this run is not recorded\n");
		return;
	}
	memcpy(arguments, options, sizeof(options));
	arguments[OPTIONS] = strdup(output);
	arguments[OPTIONS + 1] = (char *)"--";
	arguments[OPTIONS + 2] = find_program(argv[0], program);
	for (int i = 1; i < argc; i++)
		arguments[OPTIONS + 2 + i] = argv[i];
	unsetenv(OUTPUT_VARIABLE);
	if (arguments[OPTIONS] && arguments[OPTIONS + 2])
		execv(command, arguments);
	say("sonde: " OUTPUT_VARIABLE " is set, but '" COMMAND
	    "' could not be started: this run is not recorded\n");
}
