/* SPDX-License-Identifier: Apache-2.0 */
/* A recording to standard output, by way of a temporary folder. */
#include "cli/standard_output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sonde/format.h>

#include "base/file.h"

#define COPY_SIZE ((size_t)1 << 18)
#define LOOKED_AT ((size_t)1 << 12)

/* Formats that can be sent, in a list. */
static void hint_formats(struct cli *cli)
{
	struct sonde_buffer names = { 0 };

	for (size_t i = 0; i < sonde_format_count(); i++) {
		const struct sonde_format_info *info = sonde_format_info(sonde_format_at(i));

		if (!info->lanes_written || strcmp(info->shape, "file") != 0)
			continue;
		sonde_buffer_put_text(&names, names.size ? ", " : "");
		sonde_buffer_put_text(&names, info->name);
	}
	if (sonde_buffer_text(&names))
		cli_hint(cli, "-t NAME chooses a format that is a file: %s", names.data);
	sonde_buffer_release(&names);
}

static int make_folder(struct cli *cli, struct cli_standard_output *output)
{
	const char *folder = getenv("TMPDIR");

	if (!folder || !*folder)
		folder = "/tmp";
	output->folder = sonde_path_join(folder, "sonde-output-XXXXXX");
	if (!output->folder)
		return cli_fail_nomem(cli);
	if (!mkdtemp(output->folder)) {
		cli_error(cli, "%s: a temporary folder cannot be made there: %s", folder,
			  strerror(errno));
		cli_hint(cli, "what goes to standard output is written to a temporary file first: "
			      "set TMPDIR to a folder with room for it");
		free(output->folder);
		output->folder = NULL;
		return CLI_FAILED;
	}
	output->path = sonde_path_join(output->folder, "recording");
	return output->path ? CLI_OK : cli_fail_nomem(cli);
}

int cli_standard_output_begin(struct cli *cli, const struct sonde_format_info *format,
			      struct cli_standard_output *output)
{
	if (strcmp(format->shape, "file") != 0) {
		cli_error(cli,
			  "a recording in format %s is a folder, which cannot go to standard "
			  "output",
			  format->name);
		hint_formats(cli);
		return CLI_USAGE;
	}
	if (cli->closed_files & 1u << STDOUT_FILENO)
		return cli_usage(cli, "'-o -' is standard output, which is closed");
	cli->out_file = STDERR_FILENO;
	cli->out_is_terminal = isatty(STDERR_FILENO);
	cli_set_color(cli, (enum cli_color)cli->common.color);
	return make_folder(cli, output);
}

/* What a terminal should not be sent. */
static bool is_binary(int fd)
{
	char head[LOOKED_AT];
	ssize_t size = pread(fd, head, sizeof(head), 0);

	for (ssize_t i = 0; i < size; i++) {
		if ((head[i] >= 0 && head[i] < ' ' && head[i] != '\n' && head[i] != '\t' &&
		     head[i] != '\r') ||
		    head[i] == 0x7f)
			return true;
	}
	return false;
}

static int copy_file(struct cli *cli, int fd)
{
	char *space = malloc(COPY_SIZE);
	int code = CLI_OK;
	ssize_t size;

	if (!space)
		return cli_fail_nomem(cli);
	while ((size = read(fd, space, COPY_SIZE)) > 0 || (size < 0 && errno == EINTR)) {
		if (size < 0 || sonde_write_all(STDOUT_FILENO, space, (size_t)size))
			continue;
		/* who reads may have had enough */
		if (errno != EPIPE)
			cli_error(cli, "standard output cannot be written: %s", strerror(errno));
		code = CLI_FAILED;
		break;
	}
	if (size < 0 && code == CLI_OK) {
		cli_error(cli, "the temporary file cannot be read: %s", strerror(errno));
		code = CLI_FAILED;
	}
	free(space);
	return code;
}

int cli_standard_output_send(struct cli *cli, struct cli_standard_output *output)
{
	int fd = open(output->path, O_RDONLY | O_CLOEXEC), code;

	if (fd < 0) {
		cli_error(cli, "%s: %s", output->path, strerror(errno));
		return CLI_FAILED;
	}
	/* a reader that leaves early ends this process: nothing is to stay behind */
	cli_standard_output_release(output);
	if (isatty(STDOUT_FILENO) && is_binary(fd)) {
		cli_error(cli, "the recording is binary, and standard output is a terminal");
		cli_hint(cli, "send it on with '| PROGRAM' or '> FILE', or write it with -o FILE");
		code = CLI_USAGE;
	} else {
		code = copy_file(cli, fd);
	}
	close(fd);
	return code;
}

void cli_standard_output_release(struct cli_standard_output *output)
{
	if (output->folder)
		sonde_path_remove(output->folder);
	free(output->folder);
	free(output->path);
	*output = (struct cli_standard_output){ 0 };
}
