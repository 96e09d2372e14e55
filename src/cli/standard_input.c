/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording on standard input: `-` where a RECORDING is expected. Readers want files, which they map
 * and read from several places; so what comes through a pipe is copied into a file without a name first.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/input.h"

#define COPY_SIZE ((size_t)1 << 18)

static const char *temporary_folder(void)
{
	const char *folder = getenv("TMPDIR");

	return folder && *folder ? folder : "/tmp";
}

/* A file without a name, in a folder; -1 with errno. Never in memory: it may be large. */
static int open_unnamed(const char *folder)
{
	int fd = open(folder, O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
	char *path;

	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
		return fd;
	/* a file system that has no files without names */
	path = sonde_path_join(folder, "sonde-input-XXXXXX");
	if (!path)
		return -1;
	fd = mkostemp(path, O_CLOEXEC);
	if (fd >= 0)
		unlink(path);
	free(path);
	return fd;
}

static int fail_copy(struct cli *cli, const char *what)
{
	int error = errno;

	cli_error(cli, "standard input: %s in %s: %s", what, temporary_folder(), strerror(error));
	if (error == ENOSPC || error == EDQUOT || error == EFBIG)
		cli_hint(cli, "a recording that comes through a pipe is copied first: set TMPDIR "
			      "to a folder with more room, or give the recording's path");
	else
		cli_hint(cli, "set TMPDIR to a folder that can be written");
	return CLI_FAILED;
}

/* All of standard input, from where it stands. */
static int copy_all(struct cli *cli, int fd)
{
	char *space = malloc(COPY_SIZE);
	uint64_t total = 0;
	int code = CLI_OK;

	if (!space)
		return cli_fail_nomem(cli);
	while (code == CLI_OK) {
		ssize_t size = read(STDIN_FILENO, space, COPY_SIZE);

		if (size < 0 && errno == EINTR)
			continue;
		if (size < 0) {
			cli_error(cli, "standard input cannot be read: %s", strerror(errno));
			code = CLI_FAILED;
		} else if (size && !sonde_write_all(fd, space, (size_t)size)) {
			code = fail_copy(cli, "it cannot be copied to a file");
		}
		if (size <= 0)
			break;
		total += (uint64_t)size;
	}
	free(space);
	if (code == CLI_OK && !total) {
		cli_error(cli, "standard input is empty: a recording was expected");
		code = CLI_FAILED;
	}
	return code;
}

static int copy_input(struct cli *cli)
{
	int code;

	cli->input_file = open_unnamed(temporary_folder());
	if (cli->input_file < 0)
		return fail_copy(cli, "a file for it cannot be made");
	code = copy_all(cli, cli->input_file);
	if (code == CLI_OK)
		snprintf(cli->input_path, sizeof(cli->input_path), "/proc/self/fd/%d",
			 cli->input_file);
	return code;
}

/* A file or a folder is used where it is, unless somebody has read some of it already. */
static bool may_stay(const struct stat *status)
{
	return S_ISDIR(status->st_mode) ||
	       (S_ISREG(status->st_mode) && lseek(STDIN_FILENO, 0, SEEK_CUR) == 0);
}

int cli_input_path(struct cli *cli, const char *operand, const char **path)
{
	struct stat status;
	int code = CLI_OK;

	*path = operand;
	if (strcmp(operand, "-") != 0)
		return CLI_OK;
	*path = cli->input_path;
	if (cli->input_path[0])
		return cli_usage(cli,
				 "'-' is standard input, which can be read once only; a file of "
				 "that name is ./-");
	if (cli->closed_files & 1u << STDIN_FILENO || fstat(STDIN_FILENO, &status))
		return cli_usage(cli, "'-' is standard input, which is closed");
	if (isatty(STDIN_FILENO))
		return cli_usage(cli, "'-' is standard input, which is a terminal: send it a "
				      "recording with '< FILE', or through a pipe");
	if (may_stay(&status))
		snprintf(cli->input_path, sizeof(cli->input_path), "/proc/self/fd/%d",
			 STDIN_FILENO);
	else
		code = copy_input(cli);
	return code;
}

bool cli_is_standard_input(const struct cli *cli, const char *path)
{
	return !strcmp(path, "-") || (cli->input_path[0] && !strcmp(path, cli->input_path));
}

const char *cli_input_name(const struct cli *cli, const char *path)
{
	return cli_is_standard_input(cli, path) ? CLI_STANDARD_INPUT : path;
}
